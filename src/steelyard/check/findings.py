"""What the linter reports: one `Finding` a fault, all of them in `Findings`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True, order=True)
class Finding:
    """One fault of a model file.

    code: stable rule code such as "SY203". severity: "error" (no body or robot can be like this, or simulators refuse
    it), "warning" (very likely wrong), "info" (worth a look). message: what was found, with numbers. path, line,
    element: where. remedy: what to do. file: mesh or texture that it is about, as the model
    names it.
    """

    path: str
    line: int
    code: str
    severity: str
    element: str
    message: str
    remedy: str
    file: str = ""


@dataclass(frozen=True)
class Findings:
    """All findings of one or more model files, in file and line order.

    files: the models that were checked. notes: what could not be checked and why (not findings).
    """

    items: tuple[Finding, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def counts(self) -> dict[str, int]:
        """Findings by severity, every severity named."""
        seen = Counter(finding.severity for finding in self.items)
        return {severity: seen[severity] for severity in SEVERITIES}

    @property
    def codes(self) -> tuple[str, ...]:
        """The distinct codes found, sorted."""
        return tuple(sorted({finding.code for finding in self.items}))

    def failed(self, *, strict: bool = False) -> bool:
        """Whether a check fails: any error or warning, with `strict` any finding at all."""
        return any(strict or finding.severity != "info" for finding in self.items)

    def merged(self, other: "Findings") -> "Findings":
        """Findings of both, those of `self` first."""
        return Findings(self.items + other.items, self.files + other.files, self.notes + other.notes)
