"""Long signals for the screen: the smallest and largest sample of each stretch, so that no peak is lost."""

import numpy as np

from steelyard.log import gaps


def thin(t, y, limit: int = 2000):
    """Reduce a signal to at most about `limit` points; NaN where time has a gap, so that a drawn line breaks there.

    t: (n,), increasing; y: (n,). Returns t (k,), y (k,).
    """
    keep = _extremes(np.asarray(y), limit)
    broken = np.searchsorted(keep, gaps(t), side="right") if len(t) > 2 else np.zeros(0, dtype=int)
    broken = np.unique(broken[(broken > 0) & (broken < len(keep))])
    return np.insert(t[keep], broken, np.nan), np.insert(y[keep], broken, np.nan)


def _extremes(y, limit: int):
    """Indices of the smallest and largest value of every stretch, of all values of a short signal."""
    if len(y) <= limit:
        return np.arange(len(y))
    width = -(-2 * len(y) // limit)
    stretches = np.pad(y, (0, -len(y) % width), mode="edge").reshape(-1, width)
    start = width * np.arange(len(stretches))
    found = np.concatenate([start + stretches.argmin(axis=1), start + stretches.argmax(axis=1)])
    return np.unique(np.minimum(found, len(y) - 1))
