"""What a diagnosis found."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from steelyard.log import Finding

FATAL = frozenset(
    {
        "degrees",
        "gravity",
        "gravity_compensated",
        "joint_direction",
        "joint_order",
        "motor_current",
        "position_sign",
        "torque_sign",
        "torque_sign_all",
        "torque_unit",
    }
)
"""Codes of faults that make the identified masses meaningless."""


@dataclass(frozen=True)
class Fault(Finding):
    """A named fault of model or log.

    joint: the degree it concerns, None for all. evidence: the figures behind it, by name, with the unit in the name.
    remedy: what to do; the message ends with it.
    """

    joint: str | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""


def fault(
    code: str, found: str, remedy: str, *, joint: str | None = None, options: Iterable[str] = (), **evidence: float
) -> Fault:
    """found: what the data says, in words with figures. options: of the command line, that undo it."""
    words = tuple(options)
    remedy = f"{remedy} Option: {shlex.join(words)}" if words else remedy
    return Fault(
        code=code,
        severity="fatal" if code in FATAL else "warning",
        message=f"{found} {remedy}",
        options=words,
        joint=joint,
        evidence={name: float(value) for name, value in evidence.items()},
        remedy=remedy,
    )
