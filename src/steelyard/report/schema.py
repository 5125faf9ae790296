"""The published JSON Schemas of `summary.json`, one for each kind of result."""

import json
from importlib.resources import files

from steelyard.errors import OptionError, choices

KINDS = ("identification", "payload", "comparison")


def schema(kind: str) -> dict:
    """JSON Schema (2020-12) of the summary of one of `KINDS`. Raises OptionError for others."""
    if kind not in KINDS:
        raise OptionError(f"There is no summary of kind {kind!r}. Choose from {choices(KINDS)}.")
    path = files("steelyard.report").joinpath("schemas", f"{kind}.schema.json")
    return json.loads(path.read_text("utf-8"))
