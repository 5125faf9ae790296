"""YAML files that a xacro file loads: plain data, each number with the place where it stands.

Nodes come from PyYAML, values are made here: no tag makes an object, and an alias is followed once.
"""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

from steelyard.extras import extra
from steelyard.model.xacro.expressions import evaluate
from steelyard.model.xacro.functions import MATH
from steelyard.model.xacro.values import Budget, Dotted, Spot, Unevaluable, measured, spotted

LARGEST_FILE = 256 * 2**10  # bytes; some seconds in PyYAML
STANDARD = "tag:yaml.org,2002:"
KNOWN = {
    f"{STANDARD}{each}"
    for each in ("null", "bool", "int", "float", "str", "timestamp", "binary", "seq", "map", "value")
}
UNITS = {
    "!radians": 1.0,
    "!degrees": math.pi / 180.0,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}
"""Tags of scalars with a unit -> what the number is multiplied with. Source: xacro 2.1."""


@lru_cache(maxsize=32)
def values_of(path: Path, content: bytes) -> Any:
    """What a YAML file says.

    Args:
        path: of the file.
        content: its bytes.

    Returns:
        Mappings, lists, numbers and texts.

    Raises:
        Unevaluable: for what is no YAML, of several documents, or larger than a robot needs.
        OptionError: PyYAML is not installed.
    """
    with extra(f"{path.name}: reading YAML"):
        import yaml
    if len(content) > LARGEST_FILE:
        raise Unevaluable(f"{path.name} has more than {LARGEST_FILE // 1024} kB")
    try:
        text = content.decode("utf-8-sig")
        root = yaml.compose(text, yaml.SafeLoader)
        found = None if root is None else _Made(path, text).value(root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        raise Unevaluable(f"{path.name}{where}: {getattr(error, 'problem', None) or 'no YAML'}") from error
    except UnicodeError as error:
        raise Unevaluable(f"{path.name} is not UTF-8") from error
    except RecursionError as error:
        raise Unevaluable(f"{path.name} is nested too deeply") from error
    measured(found)
    return found


class _Made:
    """Values of the nodes of one file, each made once."""

    def __init__(self, path: Path, text: str):
        from yaml.constructor import SafeConstructor

        self.path, self.text = path, text
        self.made: dict[int, Any] = {}
        self.open: set[int] = set()
        self.scalars = SafeConstructor()
        self.ascii = text.isascii()

    def value(self, node) -> Any:
        if id(node) in self.open:
            raise Unevaluable(f"{self.path.name}, line {node.start_mark.line + 1}: it holds itself")
        if node.tag not in KNOWN and node.tag not in UNITS:
            raise Unevaluable(f"{self.path.name}, line {node.start_mark.line + 1}: tag '{node.tag[:40]}' is unknown")
        if id(node) not in self.made:
            self.open.add(id(node))
            self.made[id(node)] = getattr(self, f"_{node.id}")(node)
            self.open.remove(id(node))
        return self.made[id(node)]

    def _scalar(self, node) -> Any:
        if node.tag in UNITS:
            number = evaluate(node.value, MATH.__getitem__, Budget())
            return float(number) * UNITS[node.tag]
        try:
            value = self.scalars.construct_object(node)
        except (ValueError, TypeError) as error:
            raise Unevaluable(f"{self.path.name}, line {node.start_mark.line + 1}: {error}") from error
        if value is not None and not isinstance(value, int | float | str):
            value = node.value  # dates and bytes
        return spotted(value, self._spot(node))

    def _spot(self, node) -> Spot:
        start, end = node.start_mark.index, node.end_mark.index
        if not self.ascii:
            start, end = (len(self.text[:index].encode()) for index in (start, end))
        return Spot(self.path, start, end)

    def _sequence(self, node) -> list:
        return [self.value(each) for each in node.value]

    def _mapping(self, node) -> Dotted:
        merged, own = Dotted(), {}
        for key, value in node.value:
            if key.tag == f"{STANDARD}merge":
                sources = value.value if value.id == "sequence" else [value]
                for source in reversed(sources):
                    if source.id != "mapping":
                        raise Unevaluable(f"{self.path.name}, line {key.start_mark.line + 1}: << merges mappings")
                    merged |= self.value(source)
            else:
                name = self.value(key)
                own[tuple(name) if isinstance(name, list) else name] = self.value(value)
        return Dotted(merged | own)
