"""What expressions of xacro may call: its own names, each with bounds, and a few methods of texts and dictionaries.

The names are those of xacro 2.1, so that a file means the same here and there. Source: wiki.ros.org/xacro.
"""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from steelyard.model.xacro.values import LARGEST, MOST_BITS, Dotted, Unevaluable, described, dotted, measured, text_of

MOST_ITERATIONS = 100_000
WIDE = re.compile(r"\d{4,}|\*")  # in a format, a width that nobody needs
LARGEST_ARGUMENT = 500  # of factorials


class Function:
    """A function that expressions may call. kind: the type that it makes, if it does."""

    def __init__(self, name: str, call: Callable[..., Any], kind: type | None = None):
        self.name, self.call, self.kind = name, call, kind

    def __call__(self, *args, **named):
        return self.call(*args, **named)

    def __repr__(self):
        return f"the function {self.name}"


class Names(dict):
    """A namespace of functions and constants, such as `math`."""

    def __init__(self, name: str, content: dict[str, Any]):
        super().__init__(content)
        self.name = name

    def __repr__(self):
        return f"the namespace {self.name}"


def items_of(value) -> Iterable:
    """What a value iterates over. Raises Unevaluable for what does not."""
    if isinstance(value, str | list | tuple | dict | set | frozenset | range):
        return value if isinstance(value, str | dict) else map(dotted, value)
    raise Unevaluable(f"{described(value)} is no list")


def _range(*bounds) -> range:
    found = range(*bounds)
    if len(range(*bounds)) > MOST_ITERATIONS:
        raise Unevaluable(f"range() of more than {MOST_ITERATIONS:,}")
    return found


def _round(value, digits=None):
    if digits is not None and abs(digits) > 400:
        raise Unevaluable("round() to more than 400 digits")
    return round(value, digits)


def _sum(values, start=0):
    numbers = [*items_of(values), start]
    if not all(isinstance(each, int | float) for each in numbers):
        raise Unevaluable("sum() of what are no numbers")
    return sum(numbers[:-1], start)


def _small(call: Callable) -> Callable:
    """A function of whole numbers whose value grows as a factorial."""

    def bounded(*args):
        if any(abs(each) > LARGEST_ARGUMENT for each in args):
            raise Unevaluable(f"{call.__name__}() of more than {LARGEST_ARGUMENT}")
        return call(*args)

    return bounded


def _product(values, *, start=1):
    return _of_few_bits(math.prod)([*items_of(values), start])


def _of_few_bits(call: Callable) -> Callable:
    def bounded(values):
        if sum(each.bit_length() for each in values if isinstance(each, int)) > 2 * MOST_BITS:
            raise Unevaluable(f"a product has more than {2 * MOST_BITS} bits")
        return call(values)

    return bounded


def _type(value) -> Function:
    kind = next((each for each in TYPES.values() if each.kind is not None and isinstance(value, each.kind)), None)
    if kind is None:
        raise Unevaluable(f"type() of {described(value)}")
    return kind


def _isinstance(value, kinds) -> bool:
    known = [each.kind for each in (kinds if isinstance(kinds, tuple) else (kinds,)) if isinstance(each, Function)]
    return isinstance(value, tuple(kind for kind in known if kind is not None))


def _tokenize(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    parts = re.split(f"[{re.escape(sep)}]", text)
    return [each for each in parts if each] if skip_empty else parts


def _extreme(call: Callable) -> Callable:
    return lambda *args, **named: call(list(items_of(args[0])) if len(args) == 1 else args, **named)


TYPES = {
    "bool": Function("bool", bool, bool),
    "int": Function("int", int, int),
    "float": Function("float", float, float),
    "str": Function("str", lambda value="": text_of(value), str),
    "list": Function("list", lambda values=(): list(items_of(values)), list),
    "dict": Function("dict", lambda *values, **named: dict(*values, **named), dict),
}
_GLOBAL = TYPES | {
    "map": Function("map", lambda call, *lists: [call(*each) for each in zip(*map(items_of, lists), strict=False)]),
    "len": Function("len", len),
    "min": Function("min", _extreme(min)),
    "max": Function("max", _extreme(max)),
    "round": Function("round", _round),
    "True": True,
    "False": False,
}
_SORTED = {
    "sorted": Function("sorted", lambda values, **named: sorted(items_of(values), **named)),
    "range": Function("range", _range),
}
PYTHON = _GLOBAL | _SORTED
PYTHON |= {
    "abs": Function("abs", abs),
    "all": Function("all", lambda values: all(items_of(values))),
    "any": Function("any", lambda values: any(items_of(values))),
    "divmod": Function("divmod", divmod),
    "enumerate": Function("enumerate", lambda values, start=0: list(enumerate(items_of(values), start))),
    "filter": Function("filter", lambda call, values: [each for each in items_of(values) if (call or bool)(each)]),
    "frozenset": Function("frozenset", lambda values=(): frozenset(items_of(values)), frozenset),
    "isinstance": Function("isinstance", _isinstance),
    "ord": Function("ord", ord),
    "repr": Function("repr", lambda value: repr(value) if isinstance(value, str) else text_of(value)),
    "reversed": Function("reversed", lambda values: list(reversed(list(items_of(values))))),
    "set": Function("set", lambda values=(): set(items_of(values)), set),
    "sum": Function("sum", _sum),
    "tuple": Function("tuple", lambda values=(): tuple(items_of(values)), tuple),
    "type": Function("type", _type),
    "zip": Function("zip", lambda *lists: list(zip(*map(items_of, lists), strict=False))),
}
_BOUNDED = {
    "factorial": _small(math.factorial),
    "comb": _small(math.comb),
    "perm": _small(math.perm),
    "prod": _product,
    "lcm": lambda *values: _of_few_bits(lambda numbers: math.lcm(*numbers))(values),
    "fsum": lambda values: math.fsum(items_of(values)),
}
MATH = {
    name: Function(name, _BOUNDED.get(name, value)) if callable(value) else value
    for name, value in vars(math).items()
    if not name.startswith("_") and name != "sumprod"
}


def namespaces(own: dict[str, Callable]) -> dict[str, Any]:
    """All names of expressions. own: functions of xacro itself, such as load_yaml, which depend on the file."""
    made = {name: Function(name, call) for name, call in own.items()}
    made["dotify"] = Function("dotify", lambda values: Dotted(values))
    made["tokenize"] = Function("tokenize", _tokenize)
    direct = {name: made[name] for name in ("load_yaml", "abs_filename", "dotify")}  # old files call them so
    spaces = {"python": Names("python", PYTHON), "math": Names("math", MATH), "xacro": Names("xacro", made)}
    return _GLOBAL | _SORTED | MATH | direct | spaces


def percent(text: str, right) -> str:
    """`text % right`."""
    if any(WIDE.search(each) for each in re.findall(r"%([-+ #0-9.*]*)", text)):
        raise Unevaluable(f"the format '{text[:40]}' is too wide")
    _require_short(text.count("%") * (measured(right) + 1000))
    return text % right


def _require_short(length: int) -> None:
    if length > 4 * LARGEST:
        raise Unevaluable(f"a text has more than {LARGEST:,} characters")


def _join(text: str, parts) -> str:
    words = [str(each) if isinstance(each, str) else each for each in items_of(parts)]
    _require_short(len(text) * len(words))
    return text.join(words)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    _require_short((len(text) + 1) * len(new) if not old else text.count(old) * len(new))
    return text.replace(old, new, count)


def _padded(name: str) -> Callable:
    def pad(text: str, width: int, *fill) -> str:
        _require_short(width)
        return getattr(text, name)(width, *fill)

    return pad


_TEXT = (
    *("split", "rsplit", "strip", "lstrip", "rstrip", "startswith", "endswith", "lower", "upper", "title", "find"),
    *("capitalize", "swapcase", "rfind", "index", "count", "isdigit", "isalpha", "isalnum", "isnumeric", "isspace"),
    *("islower", "isupper", "partition", "rpartition", "splitlines", "removeprefix", "removesuffix"),
)
_METHODS: tuple[tuple[type, dict[str, Callable]], ...] = (
    (
        str,
        {name: getattr(str, name) for name in _TEXT}
        | {"join": _join, "replace": _replace}
        | {name: _padded(name) for name in ("zfill", "ljust", "rjust", "center")},
    ),
    (
        dict,
        {
            "keys": lambda self: list(self),
            "values": lambda self: [dotted(each) for each in self.values()],
            "items": lambda self: [(key, dotted(each)) for key, each in self.items()],
            "get": lambda self, key, default=None: dotted(self.get(key, default)),
        },
    ),
    (list, {"index": list.index, "count": list.count}),
    (tuple, {"index": tuple.index, "count": tuple.count}),
    (float, {"is_integer": float.is_integer}),
)


def attribute(value, name: str):
    """`value.name`: of a namespace, a YAML mapping, or one of the methods above. Raises Unevaluable for all others."""
    if isinstance(value, Names):
        if name in value:
            return value[name]
        raise Unevaluable(f"{value.name} has no '{name[:60]}' here")
    methods: dict[str, Callable] = next((each for kind, each in _METHODS if isinstance(value, kind)), {})
    if name in methods:
        method = methods[name]
        return Function(name, lambda *args, **named: method(value, *args, **named))
    if isinstance(value, Dotted) and not hasattr(dict, name):
        if name in value:
            return dotted(value[name])
        raise Unevaluable(f"the YAML mapping has no key '{name[:60]}'; it has {', '.join(map(str, value))[:200]}")
    raise Unevaluable(f"'.{name[:60]}' of {described(value)} cannot be used")
