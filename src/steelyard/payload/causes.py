"""How much of what was measured no rigid payload explains, and which known mistake would explain it.

The same tests serve wrenches of a wrist and torques of an arm: both are linear in ten parameters (`Rows`). A mistake is
a record of the columns that it adds, or of the rows without it. With it undone the log is fitted again, and what that
wins of log-likelihood, less the cost of its unknowns, compares it with others. It is named where that is sure, where
little is left, and where it matters.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.diagnose.thresholds import NEARLY_ALL
from steelyard.log import Finding
from steelyard.payload.payload_estimate import implausible
from steelyard.payload.rows import Rows, RowsFit, evidence, fitted
from steelyard.payload.thresholds import THRESHOLDS

TIE = 0.05  # of the best evidence, within which others explain about as well: motion is not known better


@dataclass(frozen=True, eq=False)
class Look:
    """What mistakes are looked for in."""

    rows: Rows
    beside: np.ndarray  # (n, k, m) columns that are fitted in any case, such as a bias
    head: float = 0.0  # nats that these have won, where they are a mistake themselves
    said: str = ""  # what is said of them before any other

    @cached_property
    def plain(self) -> RowsFit:
        """The fit as the log was read."""
        return fitted(self.rows, self.beside)

    @property
    def poor(self) -> bool:
        """Whether enough is left for mistakes that leave much."""
        return self.plain.share > THRESHOLDS.misfit_searched

    def behind(self, columns, said: str = "") -> "Look":
        """The same with columns fitted beside in any case."""
        look = Look(self.rows, np.concatenate([self.beside, columns], axis=2), said=said)
        return Look(look.rows, look.beside, evidence(self.plain, look.plain), said)


def look_at(rows: Rows, beside=None) -> Look:
    """What mistakes are looked for in, with columns beside (n, k, m)."""
    return Look(rows, np.zeros((*rows.measured.shape, 0)) if beside is None else beside)


@dataclass(frozen=True, eq=False)
class PayloadMistake:
    """A mistake that may have been made, and how it is undone.

    words: of the fit with it undone, with the remedy; None where its figures are too small. kept: samples that those
    rows have; with columns those that the payload is judged by.
    """

    name: str  # in a few words
    words: Callable[[RowsFit], str | None]
    columns: np.ndarray | None = None  # (n, k, m) that it adds
    rows: Rows | None = None  # without it
    kept: slice | np.ndarray | None = None
    unknowns: int = 0  # of its undoing beside columns
    harmless: bool = False  # whether the result stands in spite of it


@dataclass(frozen=True, eq=False)
class MisfitCause:
    """A mistake that explains a log."""

    name: str
    words: str
    left: float  # share of the signal beyond noise when it is undone
    won: float  # nats
    moves: bool  # whether it moves mass or centre of mass by what matters


def causes_of(look: Look, mistakes: Iterable[PayloadMistake]) -> list[MisfitCause]:
    """Mistakes whose undoing explains the log, the best one first."""
    return ranked([cause for mistake in mistakes if (cause := _cause(look, mistake)) is not None])


def ranked(causes: list[MisfitCause]) -> list[MisfitCause]:
    """The best one first; of those that explain about as well the first, which is the simplest."""
    enough = (1 - TIE) * max((each.won for each in causes), default=0.0)
    return sorted(causes, key=lambda each: -min(each.won, enough))


def _cause(look: Look, mistake: PayloadMistake) -> MisfitCause | None:
    """The mistake as a cause; None where it is not sure, leaves too much or changes nothing."""
    plain, kept, rows, beside = look.plain, mistake.kept, mistake.rows, look.beside
    if mistake.columns is None:
        judged = fit = fitted(rows or look.rows, beside if kept is None else beside[kept])
    else:
        fit = fitted(look.rows, np.concatenate([beside, mistake.columns], axis=2))
        judged = fit if kept is None else fitted(look.rows[kept], beside[kept])
    won = evidence(plain, fit, mistake.unknowns)
    moves = not mistake.harmless and moved(plain.theta, judged.theta)
    if won < THRESHOLDS.evidence or not (look.poor or moves) or implausible(judged.theta) is not None:
        return None
    if judged.share > max(np.sqrt(NEARLY_ALL) * plain.share, THRESHOLDS.misfit_searched if moves else 0.0):
        return None
    words = mistake.words(fit)
    return None if words is None else MisfitCause(mistake.name, look.said + words, judged.share, look.head + won, moves)


def moved(theta, other) -> bool:
    """Whether parameters (10,) are others in mass or centre of mass by what matters."""
    if not theta[0] or not other[0]:
        return False
    shift = float(np.linalg.norm(other[1:4] / other[0] - theta[1:4] / theta[0]))
    return abs(theta[0] / other[0] - 1) > THRESHOLDS.moved_mass or shift > THRESHOLDS.moved_center


def finding_of(causes: list[MisfitCause], share: float) -> Finding:
    """The first of the causes as a finding, with those that explain about as well."""
    cause = causes[0]
    best = max(each.won for each in causes)
    names = dict.fromkeys(each.name for each in causes if each.won > (1 - TIE) * best)
    others = [name for name in names if name != cause.name]
    text = cause.words
    if share > max(cause.left, 1e-9):
        text += f" That explains {100 * (1 - (cause.left / share) ** 2):.0f} % of what the payload leaves."
    if others:
        text += f" About as well explained by: {'; '.join(others[:3])}."
    fatal = share > THRESHOLDS.misfit_with_care or cause.moves
    return Finding("misread", "fatal" if fatal else "warning", text)
