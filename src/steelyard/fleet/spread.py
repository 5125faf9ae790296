"""How much something varies beyond what noise explains, told by medians, which a minority of changes cannot move."""

import numpy as np

HALF = 0.45493642311957  # median of a chi-square with one degree of freedom
STEPS = 60  # bisections


def extra_variance(distance, variance, times: float = 1.0) -> np.ndarray:
    """(r,) variances s >= 0 for which the median of `distance^2 / (variance + times s)` is that of a chi-square.

    distance, variance: (n, r), the latter infinite where a row does not tell. 0 where fewer than three rows do.
    """
    distance, variance = np.asarray(distance, dtype=float), np.asarray(variance, dtype=float)
    known = np.isfinite(variance)
    square = np.where(known, distance**2, np.nan)
    finite = np.where(known, variance, 1.0)
    enough = known.sum(axis=0) >= 3
    low = np.zeros(distance.shape[1])
    high = np.nanmax(np.where(enough, square, 0.0), axis=0, initial=0.0) / (HALF * times)
    for _ in range(STEPS):
        middle = (low + high) / 2
        ratio = np.where(enough, square, 0.0) / (finite + times * middle)
        larger = np.nanmedian(ratio, axis=0) > HALF
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    return np.where(enough, low, 0.0)
