"""Whether JSON is what its schema says: the part of JSON Schema (2020-12) that our schemas use.

Results are read by people who will not have a validator installed, and the first difference is all they need.
"""

import re
from collections.abc import Iterator
from math import isfinite

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
NOTES = {"$schema", "$id", "$defs", "title", "description"}  # keywords that demand nothing
SHOWN = 60  # characters of what was found


def difference(value, schema: dict) -> str | None:
    """The first place where a value is not as its schema says, in words; None where it is."""
    return next(_differences(value, schema, schema, ""), None)


def _differences(value, schema, root: dict, at: str) -> Iterator[str]:
    if schema is False:
        yield f"{_place(at)} is not expected"
    if isinstance(schema, bool):
        return
    for keyword, demand in schema.items():
        if keyword == "$ref":
            yield from _differences(value, root["$defs"][demand.removeprefix("#/$defs/")], root, at)
        elif keyword not in NOTES and keyword != "additionalProperties":
            yield from RULES[keyword](value, demand, root, at)
    if isinstance(value, dict) and "additionalProperties" in schema:
        for key in value.keys() - schema.get("properties", {}).keys():
            yield from _differences(value[key], schema["additionalProperties"], root, f"{at}.{key}")


def _type(value, demand, root, at) -> Iterator[str]:
    kinds = [demand] if isinstance(demand, str) else demand
    if not any(_is(value, kind) for kind in kinds):
        yield f"{_place(at)} is {_shown(value)}, expected {' or '.join(kinds)}"


def _is(value, kind: str) -> bool:
    if kind in TYPES:
        return isinstance(value, TYPES[kind])
    number = isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)
    return number and (kind == "number" or float(value).is_integer())


def _finite(value: int | float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _one_of(value, demand, root, at) -> Iterator[str]:
    if not any(value == each and type(value) is type(each) for each in demand):
        yield f"{_place(at)} is {_shown(value)}, expected {' or '.join(map(repr, demand))}"


def _any_of(value, demand, root, at) -> Iterator[str]:
    found = [next(_differences(value, each, root, at), None) for each in demand]
    if None not in found:
        yield found[-1] or ""


def _minimum(value, demand, root, at) -> Iterator[str]:
    if _is(value, "number") and value < demand:
        yield f"{_place(at)} is {value}, expected at least {demand}"


def _pattern(value, demand, root, at) -> Iterator[str]:
    if isinstance(value, str) and not re.search(demand, value):
        yield f"{_place(at)} is {_shown(value)}, expected {demand}"


def _min_items(value, demand, root, at) -> Iterator[str]:
    if isinstance(value, list) and len(value) < demand:
        yield f"{_place(at)} has {len(value)} entries, expected at least {demand}"


def _max_items(value, demand, root, at) -> Iterator[str]:
    if isinstance(value, list) and len(value) > demand:
        yield f"{_place(at)} has {len(value)} entries, expected at most {demand}"


def _items(value, demand, root, at) -> Iterator[str]:
    if isinstance(value, list):
        for k, each in enumerate(value):
            yield from _differences(each, demand, root, f"{at}[{k}]")


def _prefix_items(value, demand, root, at) -> Iterator[str]:
    if isinstance(value, list):
        for k, (each, schema) in enumerate(zip(value, demand, strict=False)):
            yield from _differences(each, schema, root, f"{at}[{k}]")


def _required(value, demand, root, at) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{_place(f'{at}.{key}')} is missing" for key in demand if key not in value)


def _properties(value, demand, root, at) -> Iterator[str]:
    if isinstance(value, dict):
        for key, schema in demand.items():
            if key in value:
                yield from _differences(value[key], schema, root, f"{at}.{key}")


def _property_names(value, demand, root, at) -> Iterator[str]:
    if isinstance(value, dict):
        for key in value:
            yield from _differences(key, demand, root, f"{at}.{key}")


RULES = {
    "type": _type,
    "const": lambda value, demand, root, at: _one_of(value, [demand], root, at),
    "enum": _one_of,
    "anyOf": _any_of,
    "minimum": _minimum,
    "pattern": _pattern,
    "minItems": _min_items,
    "maxItems": _max_items,
    "items": _items,
    "prefixItems": _prefix_items,
    "required": _required,
    "properties": _properties,
    "propertyNames": _property_names,
}


def _place(at: str) -> str:
    return at.removeprefix(".") or "all of it"


def _shown(value) -> str:
    return repr(value)[:SHOWN]
