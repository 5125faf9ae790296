"""Payloads that change within a log: when, and what is held in each part.

Sums of short blocks add up to those of any stretch, so the best of all splits costs what a fit costs (binary
segmentation, Vostrikova 1981); the sample at which a part ends is then the likeliest one.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from steelyard.payload.rows import Rows, RowsFit, better, fitted, memory_of
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_sums import triangle

BLOCKS = 48
MOST = 4  # parts of a log
SHORTEST = 0.06  # of a log that is a part
ROWS = 40  # rows of a block at least
BETTER = 60.0  # squared deviations by which a split has to explain a log better, of independent samples
NOTHING = 0.05  # of the heaviest part: less is held where nothing is


@dataclass(frozen=True, eq=False)
class Part:
    """A stretch of a log with one payload. start, end: s. theta: (10,)."""

    start: float
    end: float
    theta: np.ndarray

    def words(self, heaviest: float) -> str:
        mass = self.theta[0]
        if abs(mass) < NOTHING * heaviest:
            return f"nothing is held there from {self.start:.4g} to {self.end:.4g} s"
        center = ", ".join(f"{1e3 * x + 0.0:.3g}" for x in self.theta[1:4] / mass)
        return f"{mass:.4g} kg at ({center}) mm from {self.start:.4g} to {self.end:.4g} s"


def parts_of(whole: RowsFit, beside) -> tuple[list[Part], np.ndarray]:
    """The parts of a log, and the residual (n, k) that they leave; none where no split explains it better.

    whole: the fit of one payload. beside: (n, k, m) further columns of it, the same in all parts.
    """
    rows = replace(whole.rows, measured=whole.rows.measured - beside @ whole.beside)
    n, k = rows.measured.shape
    blocks = min(BLOCKS, n * k // ROWS)
    if blocks < 4 or not rows.streamed:
        return [], whole.residual
    edges = np.linspace(0, n, blocks + 1).astype(int)
    noise = _smallest_noise(rows, whole, edges)
    table = np.concatenate([rows.columns, rows.measured[:, :, None]], axis=2) / noise[rows.groups][:, None]
    factors = [triangle(table[a:b].reshape(-1, table.shape[2])) for a, b in pairwise(edges)]
    memory = float(memory_of(whole.residual, rows.groups).max())
    cuts = _cuts(factors, max(2, round(SHORTEST * blocks)), BETTER * memory)
    if not cuts:
        return [], whole.residual
    at = [0, *sorted(int(edges[cut]) for cut in cuts), n]
    for _ in range(2):
        at = _refined(rows, noise, at, int(np.diff(edges).max()))
    together = _together(whole.rows, beside, at)
    while len(at) > 2:
        fewer = [[*at[:i], *at[i + 1 :]] for i in range(1, len(at) - 1)]
        fits = [_together(whole.rows, beside, each) for each in fewer]
        best = int(np.argmin([better(each, together) for each in fits]))
        if better(fits[best], together) > BETTER and _differ(
            *together.beside[10 * best : 10 * best + 20].reshape(2, 10)
        ):
            break
        at, together = fewer[best], fits[best]
    spans = list(pairwise(at))
    if len(spans) < 2:
        return [], whole.residual
    thetas = together.beside[: 10 * len(spans)].reshape(-1, 10)
    times = [(float(rows.t[a]), float(rows.t[b - 1])) for a, b in spans]
    return [Part(*time, theta) for time, theta in zip(times, thetas, strict=True)], together.residual


def _together(rows: Rows, beside, at) -> RowsFit:
    """One fit with a payload for each part, and the same columns beside in all."""
    n, k = rows.measured.shape
    apart = np.zeros((n, k, 10 * (len(at) - 1)))
    for i, (a, b) in enumerate(pairwise(at)):
        apart[a:b, :, 10 * i : 10 * i + 10] = rows.columns[a:b]
    return fitted(replace(rows, push=0 * rows.push, pull=0 * rows.pull), np.concatenate([apart, beside], axis=2))


def _differ(one, other) -> bool:
    """Whether two payloads (10,) differ by more than a log's other errors."""
    heavier = max(abs(one[0]), abs(other[0]))
    return abs(one[0] - other[0]) > NOTHING * heavier or bool(
        np.linalg.norm(one[1:4] - other[1:4]) > THRESHOLDS.moved_center * heavier
    )


def _smallest_noise(rows, whole, edges):
    """(g,) residual deviations of blocks that one payload explains: the lower quartile of all blocks."""
    wide = edges[::4] if len(edges) > 12 else edges
    left = [fitted(rows[a:b]).noise for a, b in pairwise(wide)]
    return np.maximum(np.minimum(np.quantile(left, 0.25, axis=0), whole.noise), 1e-3 * whole.noise)


def _cuts(factors, shortest, better) -> list[int]:
    """Blocks at which parts begin."""
    found, open_spans = [], [(0, len(factors))]
    while open_spans and len(found) < MOST - 1:
        tried = [(*_best_cut(factors, a, b, shortest), a, b) for a, b in open_spans]
        gain, cut, a, b = max(tried)
        if gain < better:
            break
        found.append(cut)
        open_spans = [each for each in open_spans if each != (a, b)] + [(a, cut), (cut, b)]
    return found


def _best_cut(factors, a, b, shortest) -> tuple[float, int]:
    """Gain in squared deviations of the best cut of a stretch of blocks, and where it is."""
    if b - a < 2 * shortest:
        return 0.0, a
    before, after = _running(factors[a:b]), _running(factors[a:b][::-1])
    inner = range(shortest, b - a - shortest + 1)
    gains = [before[-1] - before[i - 1] - after[b - a - i - 1] for i in inner]
    best = int(np.argmax(gains))
    return float(gains[best]), a + inner[best]


def _running(factors) -> list[float]:
    """Squared deviations that the best fit of the first one, two, ... blocks leaves."""
    total, costs = np.zeros((0, factors[0].shape[1])), []
    for factor in factors:
        total = triangle(np.concatenate([total, factor]))
        costs.append(float(np.sum(total[total.shape[1] - 1 :, -1] ** 2)))
    return costs


def _refined(rows, noise, at, reach):
    """The likeliest sample for each cut between the payloads of its two sides."""
    thetas = [fitted(rows[a:b]).theta for a, b in pairwise(at)]
    moved = [0]
    for i in range(1, len(at) - 1):
        first, last = max(moved[-1] + 2, at[i] - reach), min(at[i + 1] - 2, at[i] + reach)
        left, right = (
            np.sum(((rows.measured - rows.columns @ theta)[first:last] / noise[rows.groups]) ** 2, axis=1)
            for theta in thetas[i - 1 : i + 1]
        )
        moved.append(first + int(np.argmin(np.concatenate([[0.0], np.cumsum(left - right)]))))
    return [*moved, at[-1]]
