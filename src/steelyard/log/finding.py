"""What a check found."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["fatal", "warning"]


@dataclass(frozen=True)
class Finding:
    """One fault of a log. `fatal`: an identification from it would be meaningless. `warning`: look before you trust."""

    code: str
    severity: Severity
    message: str
    """What was found, where, and what to do."""


def fatal(code: str, message: str) -> Finding:
    return Finding(code, "fatal", message)


def warning(code: str, message: str) -> Finding:
    return Finding(code, "warning", message)


def fatal_messages(findings: Iterable[Finding]) -> list[str]:
    return [finding.message for finding in findings if finding.severity == "fatal"]
