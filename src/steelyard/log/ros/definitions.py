"""Message definitions: the fields of a ROS type, from the text that a recording carries or from the stock types."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from steelyard.errors import LogError
from steelyard.log.raw_channels import DEEPEST

#: NumPy code of each primitive type.
PRIMITIVES = dict.fromkeys(("bool", "byte", "char", "octet"), "u1") | {"float32": "f4", "float64": "f8"}
PRIMITIVES |= {f"{kind}{8 * size}": f"{kind[0]}{size}" for kind in ("int", "uint") for size in (1, 2, 4, 8)}
TEXTS = ("string", "wstring")
SEQUENCE = -1  # array of any length
LONGEST = 100_000  # characters of a definition
_UNPARSED = (RecursionError, AssertionError, ArithmeticError, ValueError, LookupError, MemoryError)
_RULE = re.compile(r"^={3,}\s*$", re.MULTILINE)  # between definitions
_CONSTANT = re.compile(r"^[ \t]*[\w/<=\[\]]+[ \t]+\w+[ \t]*=.*$", re.MULTILINE)  # not in the message; of any spelling


@dataclass(frozen=True)
class Field:
    """type: primitive, `string` or the name of a message. count: None for one, `SEQUENCE`, or the number of them."""

    name: str
    type: str
    count: int | None = None


Definitions = Mapping[str, tuple[Field, ...]]
#: Of every ROS; ROS 1 has them built in.
STOCK: Definitions = {
    f"builtin_interfaces/{name}": (Field("sec", "int32"), Field("nanosec", "uint32")) for name in ("Time", "Duration")
}


def short(kind: str) -> str:
    """`package/Type` of `package/msg/Type`."""
    return kind.replace("/msg/", "/")


@lru_cache(maxsize=64)  # asked for once to choose the topics, and once to decode them
def parse(text: str, kind: str) -> Definitions:
    """Definitions in the text of a recording: that of `kind`, then those it uses, each after a line of `=` and one
    with its name. Raises LogError."""
    from rosbags.typesys import TypesysError, get_types_from_idl, get_types_from_msg

    if len(text) > LONGEST:
        raise LogError(f"the definition of {kind} has {len(text):,} characters, over the limit of {LONGEST:,}")
    known: dict = {}
    try:
        for number, part in enumerate(_RULE.split(text.replace("\r\n", "\n"))):
            language, name, body = "MSG", kind, part
            if number:
                first, _, body = part.lstrip().partition("\n")
                language, _, name = first.strip().rpartition(":")
            if language == "IDL":
                known |= get_types_from_idl(re.sub(r"^\s*#.*$", "", body, flags=re.MULTILINE))
            elif number or body.strip():
                known |= get_types_from_msg(_CONSTANT.sub("", body), name.strip())
        return {**STOCK, **_converted(known)}
    except (*_UNPARSED, TypesysError) as error:
        raise LogError(f"the definition of {kind} cannot be read: {str(error)[:120]}") from error


@lru_cache(maxsize=64)
def stock(kind: str) -> Definitions | None:
    """Definitions of a type that every ROS 2 has, or None: older recordings do not carry them."""
    from rosbags.typesys import Stores, get_typestore

    known = get_typestore(Stores.LATEST).fielddefs
    return {**_converted(known), **STOCK} if kind in known else None


def number_names(kind: str, definitions: Definitions) -> set[str]:
    """Names, in lower case, of all fields of numbers in a message and in those that it holds."""
    found: set[str] = set()
    seen, left = {kind}, [kind]
    while left:
        for field in fields_of(left.pop(), definitions):
            if field.type in PRIMITIVES:
                found.add(field.name.lower())
            elif field.type not in (*TEXTS, *seen):
                seen.add(field.type)
                left.append(field.type)
    return found


def fields_of(kind: str, definitions: Definitions, depth: int = 0) -> tuple[Field, ...]:
    """Fields of a message. Raises LogError for one that is not defined, or that holds itself."""
    if kind not in definitions:
        raise LogError(f"message type {kind} is not defined in the file; record it with its definition (MCAP does)")
    if depth > DEEPEST:
        raise LogError(f"message type {kind} is nested over {DEEPEST} deep")
    return definitions[kind]


def _converted(known: Mapping) -> Definitions:
    from rosbags.interfaces import Nodetype

    found = {}
    for kind, (_, rows) in known.items():
        fields = []
        for name, (form, detail) in rows:
            count = None
            if form in (Nodetype.ARRAY, Nodetype.SEQUENCE):
                count = detail[1] if form == Nodetype.ARRAY else SEQUENCE
                form, detail = detail[0]
            fields.append(Field(name, short(detail if form == Nodetype.NAME else detail[0]), count))
        found[short(kind)] = tuple(fields)
    return found
