"""JSON Schema (2020-12) of typed records: `TypedDict` classes, and dataclasses of options such as `Job`.

`Annotated[kind, "text"]` describes a key; `Size` and `Pattern` beside a type bound it. Optional keys are `NotRequired`.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

PLAIN = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", NoneType: "null"}


@dataclass(frozen=True)
class Size:
    """least, most: number of items of a list; of a number, its smallest value is `least`."""

    least: int
    most: int | None = None


@dataclass(frozen=True)
class Pattern:
    """text: regular expression that a whole text matches."""

    text: str


@dataclass(frozen=True)
class Keys:
    """Of a dataclass of options. required: those that must be there; filled: lists that have an item or more."""

    required: tuple[str, ...]
    filled: tuple[str, ...] = ()


def further(kind: Any) -> Callable[[type], type]:
    """Decorator of a record that may have further keys, with values of the type `kind`."""

    def mark(record: type) -> type:
        record.further = kind  # type: ignore[attr-defined]
        return record

    return mark


def json_schema(kind: Any) -> dict:
    """Schema of a type."""
    if get_origin(kind) is Annotated:
        inner, *about = get_args(kind)
        found = json_schema(inner)
        for each in about:
            found = _described(found, each)
        return found
    if is_typeddict(kind):
        return _record(kind)
    if is_dataclass(kind):
        return {"type": "object", "properties": {each.name: _option(each) for each in fields(kind)}}
    return _built_in(kind)


def _described(found: dict, about: str | Size | Pattern | Keys) -> dict:
    if isinstance(about, str):
        return found | {"description": about}
    if isinstance(about, Keys):
        for name in about.filled:
            found["properties"][name]["minItems"] = 1
        return found | {"required": list(about.required)}
    if isinstance(about, Pattern):
        return found | {"pattern": about.text}
    if found["type"] != "array":
        return found | {"minimum": about.least}
    most = {} if about.most is None else {"maxItems": about.most}
    return found | {"minItems": about.least, **most}


def _record(kind: type) -> dict:
    """Of a TypedDict; its keys and, where it says so, others."""
    properties, required = {}, []
    for name, each in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(each) is NotRequired
        properties[name] = json_schema(get_args(each)[0] if optional else each)
        required += [] if optional else [name]
    found = {"type": "object", "properties": properties, "required": required}
    others = getattr(kind, "further", None)
    if others is Any:
        return found
    return found | {"additionalProperties": False if others is None else json_schema(others)}


def _option(field) -> dict:
    """Of a field of a dataclass, with the help of its option."""
    told = field.metadata.get("option")
    return ({"description": told.help} if told and not is_dataclass(field.type) else {}) | json_schema(field.type)


def _built_in(kind: Any) -> dict:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        parts = [json_schema(each) for each in inner]
        if all(set(part) == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"anyOf": sorted(parts, key=lambda part: part != {"type": "null"})}
    if origin is Literal:
        return {"const": inner[0]} if len(inner) == 1 else {"enum": list(inner)}
    if origin is list or (origin is tuple and inner[-1] is ...):
        return {"type": "array", "items": json_schema(inner[0])}
    if origin is tuple:
        size = {"minItems": len(inner), "maxItems": len(inner)}
        items = [json_schema(each) for each in inner]
        alike = all(each == items[0] for each in items)
        return {"type": "array", **({"items": items[0]} if alike else {"prefixItems": items}), **size}
    if origin is dict:
        names = {} if inner[0] is str else {"propertyNames": json_schema(inner[0])}
        return {"type": "object", **names, "additionalProperties": json_schema(inner[1])}
    return {"type": PLAIN[kind]}
