"""A rule: a stable code, a severity, its documentation, and a function that looks at a model.

What rules report is one `Finding` a fault, all of them in `Findings`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cards import Card
from steelyard.check.destinations import Destination, Misread
from steelyard.model.sketch import Place, Sketch

if TYPE_CHECKING:
    from steelyard.check.engines import EngineComparison

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

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.code} {self.severity} {self.message} {self.remedy}"


@dataclass(frozen=True, repr=False)
class Findings(Card):
    """All findings of one or more model files, in file and line order.

    files: the models that were checked. notes: what could not be checked and why (not findings). engines: what engines
    read of models, where they were asked.
    """

    items: tuple[Finding, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    engines: tuple["EngineComparison", ...] = ()

    def _title(self) -> str:
        found = counted(self.counts) or "nothing found"
        models = f"{len(self.files)} model{'s' * (len(self.files) != 1)}"
        return f"{'ok' if self.ok else 'not ok'}: {found} in {models}"

    def _rows(self):
        seen = Counter(each.code for each in self.items)
        return {
            "rules": ", ".join(f"{code} x{n}" for code, n in sorted(seen.items())),
            "notes": self.notes or None,
            "engines": self.engines or None,
        }

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

    @property
    def worst(self) -> str | None:
        """The worst severity found; None where nothing is."""
        return next((severity for severity, n in self.counts.items() if n), None)

    @property
    def ok(self) -> bool:
        """Whether nothing but notes was found, as status 0 of the command says."""
        return not self.failed()

    def failed(self, at: str = "warning") -> bool:
        """Whether a check fails: any finding of this severity or a worse one; engines that differ."""
        failing = SEVERITIES[: SEVERITIES.index(at) + 1]
        return any(not each.ok for each in self.engines) or any(each.severity in failing for each in self.items)

    def merged(self, other: "Findings") -> "Findings":
        """Findings of both, those of `self` first."""
        joined = (getattr(self, each.name) + getattr(other, each.name) for each in fields(self))
        return Findings(*joined)


def figures(values) -> str:
    """Numbers of a finding, with commas."""
    return ", ".join(f"{value:.4g}" for value in values)


def counted(counts: dict[str, int]) -> str:
    """Findings by severity in words, those that are there."""
    words = {"error": "errors", "warning": "warnings", "info": "notes"}
    return ", ".join(f"{n} {words[s] if n != 1 else words[s][:-1]}" for s, n in counts.items() if n)


@dataclass(frozen=True)
class Hit:
    """One thing a rule found."""

    place: Place
    message: str
    remedy: str
    severity: str | None = None  # where it differs from the rule's
    file: str = ""  # that it is about, as the model names it


@dataclass(frozen=True)
class Rule:
    """code, name and default severity are stable.

    misread: for a rule of destinations, who reads models so; empty for rules on the model itself.
    """

    code: str
    name: str
    severity: str
    repairs: str  # how `fix` repairs it ("" when it does not)
    look: Callable[[Sketch], Iterator[Hit]]
    text: str  # its documentation
    misread: tuple[Misread, ...] = ()

    @property
    def title(self) -> str:
        return self.text.strip().splitlines()[0].rstrip(".")

    def of(self, destinations: tuple[Destination, ...]) -> "Rule | None":
        """The rule with those who read models so and are asked for; None where nobody is. General rules stay."""
        if not self.misread:
            return self
        asked = tuple(each for each in self.misread if any(each.affects(wanted) for wanted in destinations))
        return replace(self, misread=asked) if asked else None

    def findings(self, sketch: Sketch) -> Iterator[Finding]:
        readers = [each for each in self.misread if sketch.format in each.formats]
        if self.misread and not readers:
            return
        who = "; ".join(f"{each.versions}, {each.reference}" for each in readers)
        for hit in self.look(sketch):
            place = hit.place
            severity = hit.severity or self.severity
            where = str(place.path), place.line, self.code, severity, place.element
            yield Finding(*where, f"{hit.message} ({who})." if who else hit.message, hit.remedy, hit.file)


def rule(code: str, name: str, severity: str, *, repairs: str = ""):
    """Make a `Rule` of a function `Sketch -> iterator of Hit` whose docstring is its documentation page."""

    def wrap(look: Callable[[Sketch], Iterator[Hit]]) -> Rule:
        return Rule(code, name, severity, repairs, look, look.__doc__ or "")

    return wrap


def documented(
    head: str,
    look: Callable[[Sketch], Iterator[Hit]],
    title: str,
    why: str,
    example: str,
    remedy: str,
    *,
    repairs: str = "",
    misread: tuple[Misread, ...] = (),
) -> Rule:
    """A `Rule` whose documentation is stated in parts. head: code, name and severity."""
    text = f"{title}\n\nWhy: {why}\nExample:\n    {example}\nRemedy: {remedy}\n"
    code, name, severity = head.split()
    return Rule(code, name, severity, repairs, look, text, misread)


def reported(sketch: Sketch, code: str, remedy: str) -> Iterator[Hit]:
    """Hits for what the scanner found under a code."""
    for fault in sketch.faults:
        if fault.code == code:
            yield Hit(fault.place, fault.message, remedy, file=fault.file)
