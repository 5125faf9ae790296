"""Values of xacro's expressions: how large they may be, and where in a file a number was written."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 1_000_000  # characters of the text of a value
LONGEST_SET = 10_000  # keys of a dictionary or set, which a file may choose so that all collide
MOST_BITS = 4096
DEEPEST = 40  # lists in each other
MOST_WORK = 2_000_000  # steps of one expansion: some seconds


class Unevaluable(Exception):
    """An expression has no value, or none that is small enough; says why."""


class Budget:
    """What an expansion may still do."""

    def __init__(self, work: int = MOST_WORK):
        self.left = work

    def spend(self, work: int) -> None:
        """Raise Unevaluable where nothing is left."""
        self.left -= work
        if self.left < 0:
            raise Unevaluable(f"the file takes more than {MOST_WORK:,} steps to expand, as no robot does")


@dataclass(frozen=True)
class Spot:
    """Bytes `start:end` of a file, without its byte order mark, that state a value."""

    path: Path
    start: int
    end: int


class SpottedInt(int):
    """A number with its spot. Arithmetic gives plain numbers, so that only what is handed on keeps it."""

    spot: Spot


class SpottedFloat(float):
    """As of `SpottedInt`."""

    spot: Spot


class SpottedText(str):
    """As of `SpottedInt`."""

    spot: Spot


SPOTTED = {int: SpottedInt, float: SpottedFloat, str: SpottedText}


def spotted(value, spot: Spot | None):
    """The value with its spot, where it is a number or a text of its own."""
    kind = SPOTTED.get(type(value))
    if spot is None or kind is None:
        return value
    marked = kind(value)
    marked.spot = spot
    return marked


class Dotted(dict):
    """A mapping of a YAML file, whose entries are attributes, too."""


def dotted(value):
    """A value of a dictionary or list, mappings with dots."""
    return Dotted(value) if type(value) is dict else value


def measured(value) -> int:
    """About how many characters the text of a value has. Raises Unevaluable where they are too many."""
    size, stack = 0, [(value, 0)]
    while stack:
        each, depth = stack.pop()
        if isinstance(each, str):
            size += len(each) + 4
        elif isinstance(each, int):
            bits = each.bit_length()
            if bits > MOST_BITS:
                raise Unevaluable(f"a number has more than {MOST_BITS} bits")
            size += 8 + bits // 3
        elif isinstance(each, dict | set | frozenset | list | tuple):
            if isinstance(each, dict | set | frozenset) and len(each) > LONGEST_SET:
                raise Unevaluable(f"a dictionary or set has more than {LONGEST_SET:,} keys")
            if depth == DEEPEST:
                raise Unevaluable(f"lists are nested more than {DEEPEST} deep")
            size += 8 * (len(each) + 1)
            inner = [*each, *each.values()] if isinstance(each, dict) else each
            if size <= LARGEST:
                stack += [(item, depth + 1) for item in inner]
        else:
            size += 25
        if size > LARGEST:
            raise Unevaluable(f"a value has more than {LARGEST:,} characters")
    return size


def text_of(value) -> str:
    """The text that a value becomes in an attribute. Raises Unevaluable for what has none."""
    if isinstance(value, str):
        return str(value)
    if not isinstance(value, int | float | list | tuple | dict | set | frozenset | range | None):
        raise Unevaluable(f"{str(value)[:60]} is no number, text, list or dictionary")
    if not isinstance(value, range):
        measured(value)
    return str(value)


def literal(value):
    """A text as the number or boolean that it spells; quotes around it keep it a text."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" in value or len(value) > 400:  # Python's numbers may have underscores, those of a robot have none
        return value
    for kind in (int, float):
        try:
            return spotted(kind(value), getattr(value, "spot", None))
        except ValueError:
            pass
    return {"true": True, "True": True, "false": False, "False": False}.get(value, value)


def truth(value, shown: str) -> bool:
    """Whether a condition holds. Raises Unevaluable for a text that is no boolean."""
    if not isinstance(value, str):
        return bool(value)
    if value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    try:
        return bool(int(value))
    except ValueError:
        raise Unevaluable(f"the condition {shown[:80]} is '{value[:60]}', neither true nor false") from None


NAME = re.compile(r"[A-Za-z_:][\w:.-]*")


def require_name(text: str, what: str) -> str:
    """A name of an element or attribute. Raises Unevaluable for what is none."""
    if NAME.fullmatch(text) is None:
        raise Unevaluable(f"'{text[:60]}' is no name of an {what}")
    return text


def described(value: Any) -> str:
    """What kind of value it is, for messages."""
    return {SpottedInt: "int", SpottedFloat: "float", SpottedText: "str", Dotted: "dictionary"}.get(
        type(value), type(value).__name__
    )
