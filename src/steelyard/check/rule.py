"""A rule: a stable code, a severity, and a function that looks at a model. Its docstring is its documentation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from steelyard.check.findings import Finding
from steelyard.model import Place, Sketch


@dataclass(frozen=True)
class Hit:
    """One thing a rule found. severity: where it differs from the rule's. file: that it is about, as the model names
    it."""

    place: Place
    message: str
    remedy: str
    severity: str | None = None
    file: str = ""


@dataclass(frozen=True)
class Rule:
    """code, name and default severity are stable. repairs: how `fix` repairs it ("" when it does not)."""

    code: str
    name: str
    severity: str
    repairs: str
    look: Callable[[Sketch], Iterator[Hit]]

    @property
    def text(self) -> str:
        """Documentation: the docstring of the rule's function."""
        return self.look.__doc__ or ""

    @property
    def title(self) -> str:
        return self.text.strip().splitlines()[0].rstrip(".")

    def findings(self, sketch: Sketch) -> Iterator[Finding]:
        for hit in self.look(sketch):
            place = hit.place
            severity = hit.severity or self.severity
            where = str(place.path), place.line, self.code, severity, place.element
            yield Finding(*where, hit.message, hit.remedy, hit.file)


def rule(code: str, name: str, severity: str, *, repairs: str = ""):
    """Make a `Rule` of a function `Sketch -> iterator of Hit` whose docstring is its documentation page."""

    def wrap(look: Callable[[Sketch], Iterator[Hit]]) -> Rule:
        return Rule(code, name, severity, repairs, look)

    return wrap


def reported(sketch: Sketch, code: str, remedy: str) -> Iterator[Hit]:
    """Hits for what the scanner found under a code."""
    for fault in sketch.faults:
        if fault.code == code:
            yield Hit(fault.place, fault.message, remedy, file=fault.file)
