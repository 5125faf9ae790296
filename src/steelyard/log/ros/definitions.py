"""Message definitions: the fields of a ROS type, from the text that a recording carries or from the stock types."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from steelyard.errors import LogError

#: NumPy code of each primitive type; ROS 1 and ROS 2 spell some differently.
PRIMITIVES = {
    "bool": "u1",
    "byte": "u1",
    "char": "u1",
    "octet": "u1",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float32": "f4",
    "float64": "f8",
    "float": "f4",
    "double": "f8",
}
SEQUENCE = -1  # array of any length
DEEPEST = 12  # messages in messages
LONGEST = 200_000  # characters of a definition
_UNPARSED = (RecursionError, AssertionError, ArithmeticError, ValueError, LookupError, MemoryError)
_FIELD = re.compile(r"^(?P<type>[A-Za-z]\w*(?:/\w+)*)(?:<=\d+)?(?:\[(?:<=\d+|(?P<count>\d*))\])?\s+(?P<name>\w+)")
_STAMPS = {
    "time": (("sec", "uint32"), ("nanosec", "uint32")),
    "duration": (("sec", "int32"), ("nanosec", "int32")),
    "builtin_interfaces/Time": (("sec", "int32"), ("nanosec", "uint32")),
    "builtin_interfaces/Duration": (("sec", "int32"), ("nanosec", "uint32")),
}


@dataclass(frozen=True)
class Field:
    """type: primitive, `string` or the name of a message. count: None for one, `SEQUENCE`, or the number of them."""

    name: str
    type: str
    count: int | None = None


Definitions = Mapping[str, tuple[Field, ...]]
STOCK: Definitions = {kind: tuple(Field(*field) for field in fields) for kind, fields in _STAMPS.items()}


def short(kind: str) -> str:
    """`package/Type` of `package/msg/Type`."""
    return kind.replace("/msg/", "/")


def parse(text: str, kind: str) -> Definitions:
    """Definitions in the text of a recording: that of `kind`, then those it uses, each after a line of `=` and one
    with its name. Raises LogError."""
    if len(text) > LONGEST:
        raise LogError(f"the definition of {kind} has {len(text):,} characters, over the limit of {LONGEST:,}")
    bodies, languages = {short(kind): ""}, {}
    for number, part in enumerate(re.split(r"^={3,}\s*$", text, flags=re.MULTILINE)):
        name, body = short(kind), part
        if number:
            first, _, body = part.lstrip().partition("\n")
            language, _, name = first.strip().rpartition(":")
            name, languages[short(name.strip())] = short(name.strip()), language
        bodies[name] = body
    found: dict[str, tuple[Field, ...]] = {**STOCK}
    for name, body in bodies.items():
        if languages.get(name) == "IDL":
            found |= _of_idl(body, name)
        elif body.strip() or name not in found:
            found[name] = tuple(_fields(body, name, set(bodies)))
    return found


@lru_cache(maxsize=64)  # asked for once to choose the topics, and once to decode them
def _of_idl(text: str, name: str) -> Definitions:
    """Definitions in OMG IDL, as recorded of types that were never written as messages."""
    from rosbags.typesys import TypesysError, get_types_from_idl

    try:
        known = get_types_from_idl(re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE))
        return dict(pair for kind in known for pair in _converted(kind, known))
    except (*_UNPARSED, TypesysError) as error:
        raise LogError(f"the definition of {name} (IDL) cannot be read: {str(error)[:120]}") from error


def stock(kind: str) -> Definitions | None:
    """Definitions of a type that every ROS 2 has, or None: older recordings do not carry them."""
    from rosbags.typesys import Stores, get_typestore

    known = get_typestore(Stores.LATEST).fielddefs
    return dict(_converted(kind, known)) | dict(STOCK) if kind in known else None


def leaves(kind: str, definitions: Definitions, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """(path, primitive type) of every number in a message, arrays once."""
    if kind in PRIMITIVES:
        yield path, kind
    elif kind not in ("string", "wstring"):
        for field in fields_of(kind, definitions, depth):
            yield from leaves(field.type, definitions, f"{path}.{field.name}" if path else field.name, depth + 1)


def fields_of(kind: str, definitions: Definitions, depth: int) -> tuple[Field, ...]:
    """Fields of a message. Raises LogError for one that is not defined, or that holds itself."""
    if kind not in definitions:
        raise LogError(f"message type {kind} is not defined in the file; record it with its definition (MCAP does)")
    if depth > DEEPEST:
        raise LogError(f"message type {kind} is nested over {DEEPEST} deep")
    return definitions[kind]


def _fields(body: str, name: str, known: set[str]) -> Iterator[Field]:
    for line in body.splitlines():
        line = line.split("#")[0].strip()
        if not line or re.match(r"^[\w/<=\[\]]+\s+\w+\s*=", line):  # constants are not in the message
            continue
        found = _FIELD.match(line)
        if not found:
            raise LogError(f"the definition of {name} has the line {line[:80]!r}, which is no field")
        kind, array, count = found["type"], "[" in line.split()[0], found["count"]
        yield Field(found["name"], _resolved(kind, name, known), (int(count) if count else SEQUENCE) if array else None)


def _resolved(kind: str, owner: str, known: set[str]) -> str:
    """Full name of a type as written in the definition of `owner`."""
    kind = short(kind)
    if kind in PRIMITIVES or kind in ("string", "wstring") or kind in STOCK or "/" in kind:
        return kind
    beside = f"{owner.split('/')[0]}/{kind}"
    if kind == "Header" and beside not in known:
        return "std_msgs/Header"
    return beside


def _converted(kind: str, known: Mapping) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """Definitions of a type and those it uses, from the tables of rosbags, as far as these hold them."""
    from rosbags.interfaces import Nodetype

    fields = []
    for name, (form, detail) in known[kind][1]:
        count = None
        if form in (Nodetype.ARRAY, Nodetype.SEQUENCE):
            count = detail[1] if form == Nodetype.ARRAY else SEQUENCE
            form, detail = detail[0]
        inner = detail if form == Nodetype.NAME else detail[0]
        fields.append(Field(name, short(inner), count))
        if form == Nodetype.NAME and short(inner) not in STOCK and inner in known:
            yield from _converted(inner, known)
    yield short(kind), tuple(fields)
