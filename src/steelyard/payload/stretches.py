"""Stretches of time in which something else acts: a touch, or another payload that is picked up, swapped or dropped.

Sums over cells of time add up to those of any stretch, so each pair of cells costs the same; the samples at which the
best one begins and ends are then the likeliest.
"""

import numpy as np

from steelyard.payload.rows import Rows, evidence, fitted
from steelyard.payload.thresholds import THRESHOLDS

CELLS = 48
ROUNDS = 4  # stretches of a log
LONGEST = 0.5  # of the samples, of all stretches: what lasts longer is the rest
SEEN = 1e-6  # of a column's length or square, that others do not explain anyway


def stretches_of(rows: Rows, beside, own) -> list[slice]:
    """Stretches in which columns own (n, k, m) explain surely more, the best one first. beside: as of `fitted`."""
    spans, surest = [], (THRESHOLDS.evidence, 0)  # nats, and with how many
    plain = before = fitted(rows, beside)
    least = THRESHOLDS.evidence + 0.5 * own.shape[2] * np.log(rows.measured.size)
    for _ in range(ROUNDS):
        columns = np.concatenate([beside, in_stretches(own, spans)], axis=2)
        won, span = _best(rows, np.concatenate([rows.columns, columns], axis=2), before, own)
        if won < least:
            break
        for _ in range(2):
            before = fitted(rows, np.concatenate([columns, in_stretches(own, [span])], axis=2))
            span = _likeliest(before, own, span, len(rows) // min(CELLS, len(rows)))
        spans.append(span)
        before = fitted(rows, np.concatenate([beside, in_stretches(own, spans)], axis=2))
        surest = max(surest, (evidence(plain, before, 2 * len(spans)), len(spans)))
    return spans[: surest[1]]


def in_stretches(own, spans: list[slice]) -> np.ndarray:
    """(n, k, m s) columns own (n, k, m) of each of s stretches, zero elsewhere."""
    columns = np.zeros((*own.shape[:2], own.shape[2] * len(spans)))
    for i, span in enumerate(spans):
        columns[span, :, own.shape[2] * i : own.shape[2] * (i + 1)] = own[span]
    return columns


def cuts_of(spans: list[slice], n: int) -> list[int]:
    """First samples of the parts that stretches make of n samples, and the end."""
    return sorted({0, n, *(span.start for span in spans), *(span.stop for span in spans)})


def _best(rows: Rows, columns, before, own) -> tuple[float, slice]:
    """The stretch of cells in which own columns (n, k, m) explain most beside columns (n, k, p) of all samples, and the
    nats that it promises."""
    n, k = rows.measured.shape
    weight = 1 / before.noise[rows.groups][:, None]
    axes, scale, _ = np.linalg.svd(_unit(columns * weight).reshape(n * k, -1), full_matrices=False)
    space = axes[:, scale > SEEN * scale[0]].reshape(n, k, -1)
    own, left = _unit(own * weight), before.residual * weight[:, 0]
    edges = np.linspace(0, n, min(CELLS, n) + 1).astype(int)
    turned = own.swapaxes(1, 2)
    square, shared, slope = (
        np.concatenate([np.zeros_like(x[:1]), np.cumsum(x, axis=0)])[edges]
        for x in (turned @ own, space.swapaxes(1, 2) @ own, turned @ left[:, :, None])
    )
    first, last = np.array([(a, b) for a in range(len(edges)) for b in range(a + 1, len(edges))]).T
    short = edges[last] - edges[first] <= LONGEST * n
    first, last = first[short], last[short]
    inside = shared[last] - shared[first]
    values, turn = np.linalg.eigh(square[last] - square[first] - inside.swapaxes(1, 2) @ inside)
    pull = (turn.swapaxes(1, 2) @ (slope[last] - slope[first]))[:, :, 0]
    seen = values > SEEN
    won = np.sum(np.where(seen, pull**2 / np.where(seen, values, 1.0), 0.0), axis=1)
    best = int(np.argmax(won))
    return 0.5 * float(won[best]), slice(int(edges[first[best]]), int(edges[last[best]]))


def _unit(columns) -> np.ndarray:
    """Columns (n, k, m) of length one, or zero."""
    size = np.linalg.norm(columns, axis=(0, 1))
    return columns / np.where(size > 0, size, 1.0)


def _likeliest(after, own, span: slice, reach: int) -> slice:
    """The samples about a stretch that its columns explain better. after: fit with them, the last ones beside."""
    with_it = own @ after.beside[-own.shape[2] :]
    left = after.residual.copy()
    left[span] += with_it[span]  # without its columns
    better = np.sum((left**2 - (left - with_it) ** 2) / after.noise[after.rows.groups] ** 2, axis=1)
    total = np.concatenate([[0.0], np.cumsum(better)])
    surest = span.start + int(np.argmax(better[span]))
    low, high = max(0, span.start - reach), min(len(better), span.stop + reach)
    return slice(
        low + int(np.argmin(total[low : surest + 1])), surest + 1 + int(np.argmax(total[surest + 1 : high + 1]))
    )
