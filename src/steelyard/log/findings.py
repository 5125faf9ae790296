"""What a check found."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from steelyard.errors import LogError

Severity = Literal["fatal", "warning"]


@dataclass(frozen=True)
class Finding:
    """One fault of a log. `fatal`: an identification from it would be meaningless. `warning`: look before you trust."""

    code: str
    severity: Severity
    message: str
    """What was found, where, and what to do."""
    options: tuple[str, ...] = ()
    """Words of the command line that undo it, as `("--unit", "q=deg")`; empty where no option does."""


def fatal(code: str, message: str, *, options: Iterable[str] = ()) -> Finding:
    """A finding that forbids identification. code: of `steelyard.diagnose.CATALOGUE`; message: what was found, and what
    to do; options: of the command line that undo it."""
    return Finding(code, "fatal", message, tuple(options))


def warning(code: str, message: str, *, options: Iterable[str] = ()) -> Finding:
    """A finding that deserves a look; otherwise as `fatal`."""
    return Finding(code, "warning", message, tuple(options))


def accepted(name: str, findings: Iterable[Finding], accept: Collection[str] = ()) -> tuple[Finding, ...]:
    """All findings of a log. accept: codes of fatal ones in spite of which to go on. Raises LogError with every message
    of the others."""
    found = tuple(findings)
    faults = fatal_messages(finding for finding in found if finding.code not in accept)
    if faults:
        raise LogError(f"log {name!r} cannot be used. {' '.join(faults)}")
    return found


def fatal_messages(findings: Iterable[Finding]) -> list[str]:
    return [finding.message for finding in findings if finding.severity == "fatal"]
