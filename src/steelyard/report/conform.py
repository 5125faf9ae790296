"""Whether JSON is what its schema says, and where it is not."""

from functools import cache
from math import isfinite
from typing import Any

SHOWN = 160  # characters of what is wrong


def difference(value, schema: dict) -> str | None:
    """The most telling place where a value is not as its schema says, in words; None where it is all right.

    Numbers are finite here: JSON has no others, but Python reads and writes them.
    """
    from jsonschema.exceptions import best_match

    error = best_match(_validator()(schema).iter_errors(value))
    if error is None:
        return None
    place = error.json_path.removeprefix("$").removeprefix(".")
    words = error.message if len(error.message) <= SHOWN else f"{error.message[:SHOWN]}..."
    return f"{place}: {words}" if place else words


def opened(schema: Any) -> Any:
    """The same schema for values that may have further keys, such as those of a later version."""
    if isinstance(schema, dict):
        kept = {key: opened(each) for key, each in schema.items()}
        return {key: each for key, each in kept.items() if (key, each) != ("additionalProperties", False)}
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
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False
