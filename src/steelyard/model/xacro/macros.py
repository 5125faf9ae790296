"""Macros of xacro: their parameters as a definition states them."""

import re
from dataclasses import dataclass

from steelyard.model.xacro.nodes import Node
from steelyard.model.xacro.values import Unevaluable

# a default ends at a blank outside quotes, ${...} and $(...)
PARAMETER = re.compile(
    r"""\s*(?P<name>[^\s:=]+?)\s*:?=\s*(?P<forward>\^\|?)?"""
    r"""(?P<default>\$\{.*?\}|\$\(.*?\)|(?:'[^'\n]*'|"[^"\n]*"|[^\s'"]++)++|)(?:\s+|$)"""
)  # possessive: an unclosed quote is found at once
MOST_PARAMETERS = 1_000


@dataclass(frozen=True)
class Parameter:
    """name: with its stars where it is a block. forward: whether it is the caller's property of the same name, if that
    has one; default: its text; None where a call has to give it."""

    name: str
    forward: bool = False
    default: str | None = None

    @property
    def block(self) -> bool:
        return self.name.startswith("*")


@dataclass(frozen=True, eq=False)
class Macro:
    """A definition."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Node


def macro_of(node: Node) -> Macro:
    """The definition that an element states. Raises Unevaluable."""
    name = node.attributes.get("name", "").removeprefix("xacro:")
    if not name or name == "call" or "." in name:
        raise Unevaluable(f"a macro cannot be named '{name[:60]}'")
    return Macro(name, tuple(_parameters(node.attributes.get("params", ""))), node)


def _parameters(text: str):
    for _ in range(MOST_PARAMETERS):
        text = text.lstrip()
        if not text:
            return
        found = PARAMETER.match(text)
        if found is None:
            name, *rest = text.split(None, 1)
            yield Parameter(name)
            text = rest[0] if rest else ""
        else:
            yield Parameter(found["name"], bool(found["forward"]), found["default"] or None)
            text = text[found.end() :]
    raise Unevaluable(f"a macro has more than {MOST_PARAMETERS} parameters")
