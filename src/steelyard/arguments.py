"""The usual mistakes of arguments, refused by name with the call that makes what was expected."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from types import UnionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import OptionError, choices
from steelyard.namespaces import array_namespace

MADE_BY = {
    "Robot": "steelyard.load(path)",
    "Log": "steelyard.read_log(path, robot)",
    "WrenchLog": "steelyard.payload.read_wrench_log(path)",
    "Information": "steelyard.accumulate(robot, log)",
    "Estimate": "steelyard.fit.consistent(info)",
}


def require_type(kind: type | UnionType, **given: Any) -> None:
    """Refuse arguments, by name, of another kind than a function takes, such as a path where a Robot is needed.

    kind: a class, or several joined by `|`. Raises OptionError naming the argument, what it is, and the function that
    makes what it should be."""
    for name, value in given.items():
        if isinstance(value, kind):
            continue
        kinds = [each.__name__ for each in (kind.__args__ if isinstance(kind, UnionType) else (kind,))]
        made = " or ".join(MADE_BY[each] for each in kinds if each in MADE_BY)
        raise OptionError(
            f"{name} is a{'n' if kinds[0][0] in 'AEIOUaeiou' else ''} {' or '.join(kinds)}; found {found(value)}."
            + (f" {made} makes one." if made else "")
        )


def require_each(kind: type, **given: Any) -> None:
    """`require_type` for arguments that are one of a kind or an iterable of them, which is not used up."""
    for name, value in given.items():
        listed = isinstance(value, list | tuple)
        if listed or not isinstance(value, Iterable) or isinstance(value, str | bytes | dict | np.ndarray):
            for each in value if listed else (value,):
                require_type(kind, **{name: each})


def found(value: Any) -> str:
    """What an argument is, for a message."""
    if value is None or isinstance(value, str | int | float):
        return repr(value) if len(repr(value)) < 80 else f"text of {len(str(value))} characters"
    shape = f" of shape {tuple(value.shape)}" if isinstance(getattr(value, "shape", None), tuple) else ""
    return f"something of type {type(value).__name__}{shape}"


def as_array(name: str, value: Any) -> Any:
    """Floating-point numbers of an array library; lists become arrays of NumPy, integers floating-point numbers. Raises
    OptionError for what is no array of numbers."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value
    if isinstance(value, list | tuple | float | int):
        return _listed(name, value)
    try:
        xp = array_namespace(value)
    except TypeError:
        raise OptionError(f"{name} is an array of numbers; found {found(value)}.") from None
    if xp.isdtype(value.dtype, ("bool", "integral")):
        return xp.astype(value, xp.asarray(0.0).dtype)  # constants take the dtype of a state and must not be cut off
    if not xp.isdtype(value.dtype, "real floating"):
        raise OptionError(f"{name} is an array of real numbers; found {found(value)} and dtype {value.dtype}.")
    return value


def _listed(name: str, value: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{name} is an array of numbers, its rows equally long: {str(error)[:120]}") from error


def unknown_option(function: str, unknown: Iterable[str], known: Iterable[str]) -> str:
    """A message that names options which a function lacks, and those that they may have meant."""
    unknown, known = sorted(unknown), list(known)
    near = list(dict.fromkeys(match for name in unknown for match in get_close_matches(name, known, 2, 0.5)))
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"{function} has no option {choices(unknown)}.{meant} There are {choices(known)}."


def with_options(record: Any, function: str, options: Mapping[str, Any]) -> Any:
    """A record of options, a dataclass, with some of them given by name. function: what takes them. Raises TypeError
    for a name that is no field; says those that it may have meant."""
    known = [each.name for each in fields(record)]
    if unknown := options.keys() - set(known):
        raise TypeError(unknown_option(f"{function}()", unknown, known))
    return replace(record, **options)


def shown(path) -> str:
    """A path in a message, cut short, on one line."""
    text = " ".join(str(path).split("\n"))
    return text if len(text) <= 200 else f"{text[:100]}... ({len(text)} characters)"
