"""Stretches of time that the payload of the other samples does not explain: a contact, a drop, a late pick-up.

Least trimmed squares believe the samples that fit best. A sample is an outlier where its own residual is too large for
them, and a stretch of a stream where its residuals, each within noise, add up.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import chdtr, chdtri

from steelyard.payload.rows import Rows, fitted
from steelyard.payload.thresholds import THRESHOLDS

STEPS = 8  # of the trimmed fit
KEPT = 0.6  # of the samples, which trimmed least squares believe
JOINED = 5  # samples between outliers that belong to one stretch
FEWEST = 6  # samples that a fit of a part needs
SHORTEST = 4  # samples of a window whose residuals are added
MOST = 12  # stretches of a log: more of them are errors of model or motion at many places
ENDS = 20  # samples at either end of a stream, where motion filters err most
LOOKED_FOR = 40.0  # the same sum without trimming, from which stretches are looked for: right logs come to no more


def outlying_samples(rows: Rows, beside, *, single: bool = True) -> np.ndarray:
    """(n,) whether samples belong to stretches that the payload of the others does not explain; none where that would
    be most of them, or the log is too short to tell. beside: (n, k, m) columns that are fitted, too; single: whether
    one sample can be enough, as it is at the ends of smoothed motion."""
    none, n = np.zeros(len(rows), dtype=bool), len(rows)
    if n < 4 * FEWEST:
        return none
    third = n // 3
    starts = [np.arange(n), *(np.arange(k * third, (k + 1) * third) for k in range(3))]
    tried = [_trimmed(rows, beside, start) for start in starts]
    residual = min(tried, key=lambda each: each[0])[1]
    outlying = single & (np.sum(residual**2, axis=1) > chdtri(residual.shape[1], THRESHOLDS.outlier))
    if rows.streamed:
        outlying |= _windows(residual)
    if not outlying.any() or np.mean(outlying) > 1 - KEPT:
        return none
    found = stretches_of(outlying)
    if len(found) > MOST:
        return none
    for first, last in found:
        outlying[first : last + 1] = True
    return outlying


def has_outlying_window(residual) -> bool:
    """Whether some window of residuals (n, k) of a stream, in deviations, is worth the search for stretches."""
    return any(ratio.max() > LOOKED_FOR for _, ratio in _sums(residual))


def stretches_of(outlying) -> list[tuple[int, int]]:
    """First and last sample of stretches of outliers."""
    at = np.flatnonzero(outlying)
    edges = np.flatnonzero(np.diff(at) > JOINED)
    return [(int(part[0]), int(part[-1])) for part in np.split(at, edges + 1)]


def _trimmed(rows, beside, start):
    """Volume of the smaller residuals of least trimmed squares (Rousseeuw 1984) from a part of the samples, and all
    residuals (n, k) in deviations that those of normal noise would have."""
    part, columns = start, rows.columns
    k = rows.measured.shape[1]
    trimmed = chdtr(k + 2, chdtri(k, 1 - KEPT)) / KEPT  # mean square of the smallest of normal samples
    residual, spread, fit = np.zeros((len(rows), k)), np.ones(len(rows.noise)), fitted(rows[part], beside[part])
    for _ in range(STEPS):
        residual = rows.measured - columns @ fit.theta - beside @ fit.beside
        spread = np.maximum(rows.rms(residual[part]), 1e-12)
        squares = np.sum((residual / spread[rows.groups]) ** 2, axis=1)
        believed, part = part, np.sort(np.argsort(squares, kind="stable")[: round(KEPT * len(rows))])
        if np.array_equal(part, believed):
            break
        fit = fitted(rows[part], beside[part])
    scaled = np.sqrt(trimmed) * residual / spread[rows.groups]
    return float(np.prod(spread)), scaled * _beyond_motion(rows, fit.theta, residual) if rows.streamed else scaled


def _beyond_motion(rows, theta, residual) -> np.ndarray:
    """(n, k) share of residuals that no error of the motion explains: where the acceleration jumps, smoothed motion is
    off by a part of the jump, and so is the payload's (theta's) push. Sizes count by group."""
    from scipy.ndimage import maximum_filter1d, minimum_filter1d, uniform_filter1d

    push = uniform_filter1d(rows.push @ theta, JOINED, axis=0)
    change = maximum_filter1d(push, 2 * JOINED + 1, axis=0) - minimum_filter1d(push, 2 * JOINED + 1, axis=0)
    within = np.eye(len(rows.noise))[rows.groups]  # (k, g)
    ratio = np.sqrt((change**2 @ within) / np.maximum(residual**2 @ within, 1e-300))
    return np.maximum(1 - ratio, 0.0)[:, rows.groups]


def _windows(residual) -> np.ndarray:
    """(n,) samples of windows whose residuals add up: the worst one, and so on beside those taken."""
    total = _total(residual)
    outlying, sums = np.zeros(len(residual), dtype=bool), list(_sums(residual))
    while sums:
        size, ratio = max(sums, key=lambda each: each[1].max())
        if ratio.max() < THRESHOLDS.stretch:
            break
        first, last = _edges(total, int(ratio.argmax()) + ENDS, size)
        outlying[first:last] = True
        for size_of, ratio_of in sums:
            ratio_of[max(0, first - size_of + 1 - ENDS) : max(0, last - ENDS)] = 0.0
    return outlying


def _edges(total, first: int, size: int) -> tuple[int, int]:
    """Start and end of the stretch about a window that is likeliest to differ from the rest by a constant."""
    starts = np.arange(max(0, first - size), first + size // 2 + 1)
    ends = np.arange(first + size // 2 + 1, min(len(total), first + 2 * size))
    squares = np.sum((total[ends] - total[starts, None]) ** 2, axis=2) / (ends - starts[:, None])
    start, end = np.unravel_index(np.argmax(squares), squares.shape)
    return int(starts[start]), int(ends[end])


def _sums(residual) -> Iterator[tuple[int, np.ndarray]]:
    """Sizes of windows, doubling, and (k,) for each window inside the stream the squared sum of its residuals over its
    size and over what half the windows have beyond white noise: errors of filtered motion remember each other."""
    total, size, median = _total(residual), SHORTEST, chdtri(residual.shape[1], 0.5)
    while size <= len(residual) // 3 and size + 2 * ENDS < len(residual):
        squares = np.sum((total[size:] - total[:-size]) ** 2, axis=1) / size
        yield size, squares[ENDS : len(squares) - ENDS] / max(float(np.median(squares)) / median, 1.0)
        size *= 2


def _total(residual):
    """(n + 1, k) sums of the residuals before each sample."""
    return np.concatenate([np.zeros((1, residual.shape[1])), np.cumsum(residual, axis=0)])
