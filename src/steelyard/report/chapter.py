"""`Chapter`: a section of an identification's report with the numbers that it adds to the summary."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from steelyard.pipeline import Result
from steelyard.report.document import Part, Section


@dataclass(frozen=True)
class Chapter:
    """title, anchor: of its `Section`. numbers: keys of the summary, from a result and the keys of the chapters before.
    parts: text, tables and figures, from the whole summary.

    derived: whether its numbers follow from those of all others, so that they are computed last.
    """

    title: str
    anchor: str
    numbers: Callable[[Result, dict], dict]
    parts: Callable[[dict], Iterable[Part]]
    derived: bool = False

    def section(self, summary: dict) -> Section:
        """The section of a summary."""
        return Section(self.title, self.anchor, tuple(self.parts(summary)))
