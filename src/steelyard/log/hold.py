"""What a drive was told holds until it is told otherwise (zero-order hold): never a straight line between two goals."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def held(at: ArrayLike, t: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
    """Signals at other times, each the last value that was there by then.

    Args:
        at: (m,) times, s; before the first stamp the first value is taken.
        t: (n,) increasing stamps of the values, s.
        values: (n, k).

    Returns:
        (m, k).
    """
    rows = np.searchsorted(np.asarray(t), np.asarray(at), side="right") - 1
    return np.asarray(values, dtype=np.float64)[np.maximum(rows, 0)]
