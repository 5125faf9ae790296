"""The channels of a log: their units, and all words that files use for them.

A `Log` is always SI; whatever a file or a caller states otherwise is converted here.
"""

from collections.abc import Iterable
from enum import IntEnum
from math import inf, pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError, choices
from steelyard.numbers import to_float

#: SI unit of each channel (revolute or prismatic joints).
SI = {"t": "s", "q": "rad or m", "v": "rad/s or m/s", "a": "rad/s^2 or m/s^2", "tau": "N m or N"}
#: What drives were told and report of themselves, beside the motion; never filtered with it.
DRIVE = {"command": "SI", "duty": "share", "voltage": "V", "current": "A", "enable": "0 or 1", "temperature": "deg C"}
SI |= DRIVE
COMMON = ("voltage", "temperature")  # may be one column for all joints
HELD = ("command", "duty", "enable")  # hold from one sample to the next, as a drive does what it was told last

KILOGRAM_FORCE = 9.80665  # N
_POSITION = {"rad": 1.0, "deg": pi / 180, "rev": 2 * pi, "turn": 2 * pi, "m": 1.0, "cm": 1e-2, "mm": 1e-3}
_FACTORS = {
    "t": {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "q": _POSITION | {"radian": 1.0, "radians": 1.0, "degree": pi / 180, "degrees": pi / 180},
    "v": {f"{unit}/s": factor for unit, factor in _POSITION.items()} | {"dps": pi / 180, "rpm": pi / 30},
    "a": {f"{unit}/s2": factor for unit, factor in _POSITION.items()},
    "tau": {"nm": 1.0, "mnm": 1e-3, "cnm": 1e-2, "ncm": 1e-2, "nmm": 1e-3, "knm": 1e3, "n": 1.0, "mn": 1e-3, "kn": 1e3}
    | {"kgf": KILOGRAM_FORCE, "kgfm": KILOGRAM_FORCE, "kgfcm": KILOGRAM_FORCE / 100},
}
_FACTORS |= {
    "command": _FACTORS["q"] | _FACTORS["v"] | _FACTORS["tau"],  # of whatever the drive takes
    "duty": {"share": 1.0, "%": 1e-2, "percent": 1e-2},
    "voltage": {"v": 1.0, "mv": 1e-3},
    "current": {"a": 1.0, "ma": 1e-3},
    "enable": {"flag": 1.0},
    "temperature": {"degc": 1.0, "c": 1.0, "celsius": 1.0},
}
_SPELLING = str.maketrans({"µ": "u", "μ": "u", "°": "deg", "²": "2"} | dict.fromkeys(" *.·⋅^"))


def factor(channel: str, unit: str) -> float:
    """SI units per unit of a channel, spelled leniently (`N m`, `N*m`, `Nm`; `deg/s^2`, `°/s²`), or a number, such as
    0.00153398 of ticks of 2 pi/4096. Raises LogError for a unit the channel cannot have."""
    if unit == SI[channel]:
        return 1.0
    known = _FACTORS[channel]
    found = known.get(unit.translate(_SPELLING).lower())
    found = step(unit) if found is None else found
    if found is None:
        raise LogError(f"unit {unit!r} is not a unit of {channel}; expected one of {choices(known)}, or a number")
    return found


def step(unit: str) -> float | None:
    """The number that a unit is; None for a word, and for what no step can be."""
    try:
        value = to_float(unit)
    except ValueError:
        return None
    return value if 0 < value < inf else None


def is_unit(text: str) -> bool:
    """Whether a text, perhaps in brackets, is a unit of any channel."""
    spelled = text.strip(" []()").translate(_SPELLING).lower()
    return any(spelled in known for known in _FACTORS.values())


def is_si(channel: str, unit: str) -> bool:
    """Whether `unit` needs no conversion."""
    return factor(channel, unit) == 1.0


_WRITTEN = {
    "t": "t time times timestamp timestamps time_stamp stamp stamps __time zeit",
    "q": "q pos position positions joint_position joint_positions angle angles joint_angle winkel present_position",
    "v": "v qd dq qdot vel velocity velocities joint_velocity joint_velocities speed speeds geschwindigkeit "
    "present_velocity",
    "a": "a qdd ddq qddot acc accel acceleration accelerations joint_acceleration beschleunigung",
    "command": "command commands cmd q_cmd cmd_q q_des q_desired desired_q q_ref q_target target_q target targets goal "
    "goals goal_position goal_positions target_position target_positions desired desired_position desired_positions "
    "reference reference_position reference_positions setpoint setpoints position_setpoint commanded_position "
    "commanded_positions command_position command_positions action actions",
    "duty": "duty duty_cycle pwm pwm_duty",
    "voltage": "voltage voltages volts vbus bus_voltage input_voltage present_voltage present_input_voltage",
    "current": "current currents motor_current motor_currents iq i_q present_current",
    "enable": "enable enabled torque_enable torque_enabled",
    "temperature": "temperature temperatures temp present_temperature",
    "tau": "tau torque torques trq effort efforts joint_torque joint_torques joint_effort drehmoment",
}
WORDS = {channel: tuple(words.split()) for channel, words in _WRITTEN.items()}


class Kind(IntEnum):
    """How well a signal is measured, best first."""

    MEASURED = 0
    PLAIN = 1  # without a word on it
    FILTERED = 2
    OF_CURRENT = 3
    COMPUTED = 4  # by a controller's model, or asked for
    OTHER = 5  # part of a torque, or a limit of it


_QUALIFIED = {
    Kind.MEASURED: "actual act measured meas feedback ist sensor sensed",
    Kind.PLAIN: "joint joints motor motors as from of by raw link side",  # of torques
    Kind.FILTERED: "filt filtered smooth smoothed lowpass lp",
    Kind.OF_CURRENT: "current est estimated estimate",
    Kind.COMPUTED: "cmd command commands commanded con des desired target targets ref reference goal setpoint set ff "
    "feedforward id rnea model computed calculated calc theoretical expected predicted pred nominal soll sollwert",
    Kind.OTHER: "ext external contact gravity grav coriolis friction fric disturbance residual error limit limits max "
    "min std rate constant offset",
}
QUALIFIERS = {kind: frozenset(words.split()) for kind, words in _QUALIFIED.items()}
"""Words beside that of a signal, by what they say of it."""
#: Ends of a column's name that are its unit.
UNIT_ENDS = {"deg": "deg", "rad": "rad", "deg_s": "deg/s", "degs": "deg/s", "dps": "dps", "rpm": "rpm"}
UNIT_ENDS |= {"rad_s": "rad/s", "rads": "rad/s", "radps": "rad/s", "nm": "Nm", "mnm": "mNm"}
NAME_WORDS = ("joint_names", "names", "name", "joints", "joint_name", "joint")

#: word -> channel, longest words first, so that `joint_position_x` is not read as something shorter.
CHANNEL_OF = dict(sorted(((w, c) for c, words in WORDS.items() for w in words), key=lambda pair: -len(pair[0])))


def held(at: ArrayLike, t: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
    """(m, k) values (n, k) of stamps (n,) at other times (m,), s, each the last that was there by then, before the
    first stamp the first: never a straight line between two goals."""
    rows = np.searchsorted(np.asarray(t), np.asarray(at), side="right") - 1
    return np.asarray(values, dtype=np.float64)[np.maximum(rows, 0)]


def sampled(at: NDArray, t: NDArray, values: NDArray, *, holds: bool) -> NDArray[np.float64]:
    """(m, k) of a signal (n, k) at other times, between its own samples by straight lines, or the last one that holds.
    t: (n,) s, of which stamps that repeat count once."""
    t, first = np.unique(t, return_index=True)
    if holds:
        return held(at, t, values[first])
    return np.stack([np.interp(at, t, column) for column in np.asarray(values[first], dtype=np.float64).T], axis=1)


def count(numbers: Iterable[int]) -> bool:
    """Whether numbers in some order count from 0 or 1 on."""
    found = sorted(numbers)
    return found[:1] in ([0], [1]) and found == list(range(found[0], found[0] + len(found)))
