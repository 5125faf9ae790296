"""Units of logged signals. A `Log` is always SI; whatever a file or a caller states otherwise is converted here."""

from math import pi

from steelyard.errors import LogError, choices

#: SI unit of each channel (revolute or prismatic joints).
SI = {"t": "s", "q": "rad or m", "v": "rad/s or m/s", "a": "rad/s^2 or m/s^2", "tau": "N m or N"}

_POSITION = {"rad": 1.0, "deg": pi / 180, "rev": 2 * pi, "turn": 2 * pi, "m": 1.0, "cm": 1e-2, "mm": 1e-3}
_FACTORS = {
    "t": {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "q": _POSITION | {"radian": 1.0, "radians": 1.0, "degree": pi / 180, "degrees": pi / 180},
    "v": {f"{unit}/s": factor for unit, factor in _POSITION.items()} | {"dps": pi / 180, "rpm": pi / 30},
    "a": {f"{unit}/s2": factor for unit, factor in _POSITION.items()},
    "tau": {"nm": 1.0, "mnm": 1e-3, "cnm": 1e-2, "ncm": 1e-2, "knm": 1e3, "n": 1.0, "mn": 1e-3, "kn": 1e3},
}
_SPELLING = str.maketrans({"µ": "u", "μ": "u", "°": "deg", "²": "2"} | dict.fromkeys(" *.·⋅^"))


def factor(channel: str, unit: str) -> float:
    """Number that turns a value of `channel` (`t`, `q`, `v`, `a` or `tau`) given in `unit` into SI.

    Spelling is lenient (`N m`, `N*m`, `Nm`; `deg/s^2`, `°/s²`). Raises LogError for a unit the channel cannot have.
    """
    if unit == SI[channel]:
        return 1.0
    known = _FACTORS[channel]
    found = known.get(unit.translate(_SPELLING).lower())
    if found is None:
        raise LogError(f"unit {unit!r} is not a unit of {channel}; expected one of {choices(known)}")
    return found


def is_unit(text: str) -> bool:
    """Whether a text, perhaps in brackets, is a unit of any channel."""
    spelled = text.strip(" []()").translate(_SPELLING).lower()
    return any(spelled in known for known in _FACTORS.values())


def is_si(channel: str, unit: str) -> bool:
    """Whether `unit` needs no conversion."""
    return factor(channel, unit) == 1.0
