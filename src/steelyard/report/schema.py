"""The JSON of summaries: plain values, the published schemas, and where a value is not as its schema says."""

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.report.summary_basics import SCHEMA_VERSION
from steelyard.report.summary_records import SUMMARIES
from steelyard.report.typed_schema import json_schema

KINDS = tuple(SUMMARIES)
LONGEST = 160  # characters of a message about a value that is wrong


def jsonable(value) -> Any:
    """Dicts, lists, strings and finite numbers only; NaN and infinity become None.

    Raises TypeError for objects that have no plain form.
    """
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
    raise TypeError(f"{type(value).__name__} has no plain JSON form")


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
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:steelyard:schema:{kind}:{SCHEMA_VERSION}",
        "title": f"{record.__doc__}, version {SCHEMA_VERSION}",
        "description": "SI units, no NaN and no infinity (null instead). docs/report.md explains it.",
        **json_schema(record),
    }


def difference(value, schema: dict) -> str | None:
    """The most telling place where a value is not as its schema says, and how; None where it is all right.

    Numbers are finite here: JSON has no others, but Python reads and writes them.
    """
    from jsonschema.exceptions import best_match

    error = best_match(_validator()(schema).iter_errors(value))
    if error is None:
        return None
    place = error.json_path.removeprefix("$").removeprefix(".")
    message = error.message if len(error.message) <= LONGEST else f"{error.message[:LONGEST]}..."
    return f"{place}: {message}" if place else message


def opened(schema: Any) -> Any:
    """The same schema for values that may have further keys, such as those of a later version."""
    if isinstance(schema, dict):
        inner = {key: opened(each) for key, each in schema.items()}
        return {key: each for key, each in inner.items() if (key, each) != ("additionalProperties", False)}
    return [opened(each) for each in schema] if isinstance(schema, list) else schema


@cache
def _validator():
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    numbers = {
        "number": lambda _, value: _finite(value),
        "integer": lambda _, value: _finite(value) and float(value).is_integer(),
    }
    return extend(Draft202012Validator, type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(numbers))


def _finite(value) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False
