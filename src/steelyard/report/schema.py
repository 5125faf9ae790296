"""The JSON of summaries: plain values, the published schemas, and where a summary is not as its record says."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.job import Job
from steelyard.job_options import options_of
from steelyard.report.summary_records import SUMMARIES
from steelyard.storage import SCHEMA_VERSION

KINDS = tuple(SUMMARIES)


def jsonable(value) -> Any:
    """Dicts, lists, strings and finite numbers (else None) only. Raises TypeError for objects that have no plain
    form."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value):
        return {each.name: jsonable(getattr(value, each.name)) for each in fields(value)}
    raise TypeError(f"{type(value).__name__} has no plain JSON form")


def filled(record: type, source, **others) -> dict:
    """Keys of a record from the attributes of a source that have their names, and others."""
    return {key: others[key] if key in others else getattr(source, key) for key in get_type_hints(record)}


def write_json(summary: dict, path: Path) -> None:
    """Write a summary to a file. Raises ValueError for NaN and infinity."""
    text = json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False)
    # file names that are no text in this locale become the escapes of JSON, which read back as the same names
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def schema(kind: str) -> dict:
    """JSON Schema (2020-12) of the summary of one of `KINDS`. Raises OptionError for others."""
    if kind not in KINDS:
        raise OptionError(f"There is no summary of kind {kind!r}. Choose from {choices(KINDS)}.")
    record = SUMMARIES[kind]
    (found,), parts = msgspec.json.schema_components((record,), ref_template="{name}")
    if "Job" in parts:
        for name, (_, option) in options_of(Job).items():
            parts["Job"]["properties"][name]["description"] = option.help
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:steelyard:schema:{kind}:{SCHEMA_VERSION}",
        **_inlined(found, parts),
        "title": f"{record.__doc__}, version {SCHEMA_VERSION}",
        "description": "SI units, no NaN and no infinity (null instead). docs/files.md explains it.",
    }


def _inlined(schema: Any, parts: dict) -> Any:
    """A schema with its parts in it, whose objects have no other keys than those that it names."""
    if isinstance(schema, list):
        return [_inlined(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = parts[schema["$ref"]] | {key: each for key, each in schema.items() if key != "$ref"}
    closed = {"additionalProperties": False} if "properties" in schema else {}
    return closed | {key: _inlined(each, parts) for key, each in schema.items()}


def difference(value, kind: str) -> str | None:
    """Where a summary first is not as its record says, and how; None where it is all right. It may have further
    keys."""
    try:
        msgspec.convert(value, SUMMARIES[kind])
        json.dumps(value, allow_nan=False)  # Python reads NaN and infinity in JSON
    except ValueError as error:
        message, _, place = str(error).partition(" - at `$.")
        return f"{place.removesuffix('`')}: {message}" if place else message
    return None
