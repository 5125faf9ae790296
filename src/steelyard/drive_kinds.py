"""Kinds of drives, one `DriveKind` record each, and the numbers that drives and their joints have.

The torque of every kind is `a command + b q + c v`, clipped to a limit: an affine actuator of MuJoCo. A new kind is a
record in `DRIVE_KINDS`: jobs, side files, MJCF actuators, simulations, fits and reports follow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class DriveNumber:
    """A number that a drive or its joint has."""

    units: tuple[str, str]  # where the joint turns, and where it slides
    least: str = "zero or positive"  # what it has to be, in words
    fits: Callable[[float], bool] = lambda value: value >= 0  # whether it is
    scaled: bool = False  # whether it counts in masses where nothing else says the scale
    shown: bool = True  # whether results have it


_POSITIVE: dict[str, Any] = {"least": "positive", "fits": lambda value: value > 0}
DRIVE_NUMBERS = {
    "kp": DriveNumber(("N m/rad", "N/m"), scaled=True),
    "kd": DriveNumber(("N m s/rad", "N s/m"), scaled=True),
    "gain": DriveNumber(("N m per unit", "N per unit"), least="not zero", fits=lambda value: value != 0, scaled=True),
    "limit": DriveNumber(("N m", "N"), scaled=True, **_POSITIVE),
    "delay": DriveNumber(("s", "s"), least="zero or positive (positions stamped before they were taken are `early`)"),
    "early": DriveNumber(("s", "s")),
    "slope_limit": DriveNumber(("rad/s", "m/s"), **_POSITIVE),
    "volts": DriveNumber(("V", "V"), shown=False, **_POSITIVE),
    "damping": DriveNumber(("N m s/rad", "N s/m"), scaled=True),
    "frictionloss": DriveNumber(("N m", "N"), scaled=True),
    "armature": DriveNumber(("kg m²", "kg"), scaled=True),
    "friction_base": DriveNumber(("N m", "N"), scaled=True),
    "load_friction_motor": DriveNumber(("1", "1")),
    "load_friction_external": DriveNumber(("1", "1")),
}


def _general(a: float, b: float, c: float) -> dict[str, tuple[float, ...]]:
    return {"gainprm": (a,)} | ({"biasprm": (0.0, b, c)} if b or c else {})


def _commanded(log, drive, dof: int):
    return log.require("command")[0][:, dof]


def _torque(log, drive, dof: int):
    return _commanded(log, drive, dof) if log.command is not None else log.require("tau")[0][:, dof]


def _current(log, drive, dof: int):
    return log.require("current")[0][:, dof]


def _voltage(log, drive, dof: int):
    volts = drive.volts if log.voltage is None else log.voltage[:, min(dof, log.voltage.shape[1] - 1)]
    return log.require("duty")[0][:, dof] * (log.require("voltage")[0][:, 0] if volts is None else volts)


@dataclass(frozen=True, eq=False)
class DriveKind:
    """What is particular to one kind of drive.

    taken: what it takes, (n,), of a log, a drive and the number of a degree of freedom. told: whether an affine
    actuator of MuJoCo reads as this kind, of a, b, c; of several kinds the first one counts.
    """

    gain: str  # the number of a `Drive` that is its torque per unit of what it takes
    numbers: tuple[str, ...]  # those of a `Drive` that this kind alone has or a fit finds of it
    taken: Callable[[Any, Any, int], Any] = _commanded
    channel: str = "command"  # of the log that says so
    unstated: float | None = None  # its value where a drive leaves it open, if that is known
    follows_q: bool = False  # whether it takes positions of the joint, and its torque their difference from q
    coordinate: bool = False  # whether it takes positions or speeds of the joint, which a gear multiplies
    measured: str = ""  # channel that may have it measured, beside what was commanded
    late: bool = True  # whether it may come late, as what is measured does not
    told: Callable[[float, float, float], bool] = lambda a, b, c: False
    element: str = "general"  # of MJCF, whose attributes state a, b, c as `attributes` says
    attributes: Callable[[float, float, float], dict[str, tuple[float, ...]]] = _general
    note: str = ""  # what a script that commands it has to know
    damping: str = ""  # what its kd is called where only its sum with that of the joint shows


DRIVE_KINDS = {
    "position": DriveKind(
        gain="kp",
        numbers=("kp", "kd", "slope_limit"),
        follows_q=True,
        coordinate=True,
        told=lambda a, b, c: b == -a < 0 and c <= 0,
        element="position",
        attributes=lambda a, b, c: {"kp": (a,), "kv": (-c,)},
        damping="kd of position drives",
    ),
    "velocity": DriveKind(
        gain="kd",
        numbers=("kd",),
        coordinate=True,
        told=lambda a, b, c: b == 0 and c == -a < 0,
        element="velocity",
        attributes=lambda a, b, c: {"kv": (a,)},
    ),
    "voltage": DriveKind(
        gain="gain",
        numbers=("gain", "kd"),
        taken=_voltage,
        channel="duty",
        told=lambda a, b, c: b == 0 and c < 0,
        note="Actuators of voltage drives take volts: duty times the bus voltage.",
        damping="back-EMF (kd) of voltage drives",
    ),
    "current": DriveKind(gain="gain", numbers=("gain",), taken=_current, channel="current", late=False),
    "torque": DriveKind(
        gain="gain", numbers=("gain",), taken=_torque, measured="tau", unstated=1.0, told=lambda a, b, c: b == 0 == c
    ),
}
