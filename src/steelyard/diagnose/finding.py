"""What a diagnosis found."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.log import Finding


@dataclass(frozen=True)
class Fault(Finding):
    """A named fault of model or log.

    joint: the degree it concerns, None for all. evidence: the figures behind it, by name, with the unit in the name.
    remedy: what to do; the message ends with it.
    """

    joint: str | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""


def fault(code: str, found: str, remedy: str, *, joint: str | None = None, **evidence: float) -> Fault:
    """A warning. found: what the data says, in words with figures."""
    return Fault(
        code=code,
        severity="warning",
        message=f"{found} {remedy}",
        joint=joint,
        evidence={name: float(value) for name, value in evidence.items()},
        remedy=remedy,
    )
