"""A fault that a diagnosis found: its record in the catalogue, the figures behind it and what to do."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from steelyard.diagnose.faults import CATALOGUE
from steelyard.log import Finding


@dataclass(frozen=True)
class Fault(Finding):
    """A fault of model or log that a diagnosis found.

    joint: the degree of freedom it concerns, None for all. evidence: the figures behind it, by name, with the unit in
    the name. remedy: what to do; the message ends with it.
    """

    joint: str | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""


def fault(
    code: str,
    found: str,
    remedy: str = "",
    *,
    joint: str | None = None,
    options: Iterable[str] = (),
    **evidence: float,
) -> Fault:
    """A fault of the catalogue.

    Args:
        code: of its record, which says how severe it is.
        found: what the data says, in a sentence with figures.
        remedy: where it depends on what was found; by default that of the record.
        joint: the degree of freedom it concerns.
        options: of the command line, that undo it.
        evidence: the figures behind it, by name, with the unit in the name.
    """
    record, words = CATALOGUE[code], tuple(options)
    remedy = remedy or record.remedy.format(joint=joint)
    remedy = f"{remedy} Option: {shlex.join(words)}" if words else remedy
    return Fault(
        code=code,
        severity=record.severity,
        message=f"{found} {remedy}",
        options=words,
        joint=joint,
        evidence={name: float(value) for name, value in evidence.items()},
        remedy=remedy,
    )
