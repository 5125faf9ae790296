"""A report as data: a `View` of a first `Screen` and sections, whose parts are text, tables and figures.

The page, Markdown and the terminal show one View, so that they say the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import msgspec

from steelyard.cards import Card
from steelyard.decisions.verdict import Verdict
from steelyard.numbers import DASH
from steelyard.pipeline import Result
from steelyard.sheets import Sheet

USABLE = {"good": "Yes", "care": "Yes, with care", "keep": "Not yet"}


@dataclass(frozen=True)
class Question:
    """A question of someone who did not write this, its answer in a few words, and more about it."""

    question: str
    answer: str
    detail: str


@dataclass(frozen=True)
class Screen:
    """The first screen of a report: what was found, whether it may be used, and what to look at first."""

    level: str  # `good`, `care` (use it with care) or `keep` (do not use it)
    headline: str
    advice: str = ""
    reasons: tuple[str, ...] = ()  # empty when good
    answers: tuple[Question, ...] = ()

    @classmethod
    def judged(cls, verdict: Verdict, headline: str, questions: tuple[Question, ...] = ()) -> "Screen":
        """The screen of a verdict, which is the answer to a question before others."""
        use = Question("May I use it?", USABLE[verdict.level], verdict.advice)
        return cls(verdict.level, headline, verdict.advice, verdict.words, (use, *questions) if questions else ())

    @classmethod
    def of(cls, verdict: Mapping) -> "Screen":
        """The screen of the key `verdict` of a summary."""
        return msgspec.convert(verdict, cls)

    def as_json(self) -> dict:
        """The key `verdict` of a summary."""
        return asdict(self)


@dataclass(frozen=True)
class ReportPart:
    """Paragraph, command, list, table and group of figures, as far as given, in this order.

    figures: keys of figures; robot: what is said of the 3D view that stands here;
    folded: text that stands for all this until the reader opens it.
    """

    text: str = ""
    code: str = ""
    items: tuple[str, ...] = ()
    sheet: Sheet | None = None
    figures: tuple[tuple[str, int], ...] = ()
    robot: str = ""
    folded: str = ""


@dataclass(frozen=True)
class Section:
    """title: of the heading; anchor: its address in the page, and its name in the list of sections."""

    title: str
    anchor: str
    parts: tuple[ReportPart, ...]

    @property
    def figures(self) -> tuple[tuple[str, int], ...]:
        """Keys of the figures that stand in it."""
        return tuple(key for part in self.parts for key in part.figures)


@dataclass(frozen=True)
class Chapter:
    """A section of an identification's report with the numbers that it adds to the summary."""

    title: str  # and `anchor`: of its `Section`
    anchor: str
    numbers: Callable[[Result, dict], dict]  # keys of the summary, from a result and the keys of the chapters before
    parts: Callable[[dict], Iterable[ReportPart]]  # text, tables and figures, from the whole summary
    derived: bool = False  # whether its numbers follow from those of all others, so that they are computed last

    def section(self, summary: dict) -> Section:
        """The section of a summary."""
        return Section(self.title, self.anchor, tuple(self.parts(summary)))


@dataclass(frozen=True)
class Figure:
    """draw: called with the record, and with an index for one of several. curve: kind of the curves it needs, if any;
    without them it is left out."""

    draw: Callable[..., dict]
    curve: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class View(Card):
    """summary: behind it; its `verdict` is the first screen. figures: for Plotly, by the keys that the sections name.
    robot: HTML of its 3D view, empty without; files: that have the same numbers, in words; printed: tables of the first
    page on paper; foot: what made it, where the summary has no provenance."""

    summary: dict
    title: str
    subtitle: str
    sections: Sequence[Section]
    figures: Mapping[tuple[str, int], Any]
    robot: str = ""
    files: str = "summary.json and report.md"
    printed: tuple[Sheet, ...] = ()
    foot: str = ""

    @property
    def screen(self) -> Screen:
        """What stands first."""
        return Screen.of(self.summary["verdict"])

    @property
    def footer(self) -> str:
        """Programs and machine that made it, in one line; this program alone where the summary does not say."""
        found = self.summary.get("provenance")
        if self.foot or found is None:
            return self.foot or f"steelyard {version('steelyard')}"
        packages = [f"{name} {number or DASH}" for name, number in found["packages"].items()]
        return " · ".join([*packages, f"Python {found['python']}", found["platform"]])


def drawn_figures(record, sections: Sequence[Section], known: Mapping[str, Figure]) -> dict[tuple[str, int], dict]:
    """Figures that sections name, as far as the record has their curves. known: every figure by its name."""
    available = {key[:2] for key in record.curves}
    drawn = {}
    for name, i in (key for section in sections for key in section.figures):
        figure = known[name]
        if not figure.curve:
            drawn[name, i] = figure.draw(record)
        elif (figure.curve, i) in available:
            drawn[name, i] = figure.draw(record, i)
    return drawn
