"""Where a log stops and starts again."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

GAP = 5.0
"""A step longer than this many median steps is a gap: nothing is interpolated or differentiated across it."""


def gaps(t: NDArray[np.float64]) -> NDArray[np.int_]:
    """Indices i such that a gap lies between samples i and i + 1. t: (n,) increasing, s."""
    steps = np.diff(t)
    return np.flatnonzero(steps > GAP * np.median(steps)) if len(steps) else np.zeros(0, dtype=int)


def segments(t: NDArray[np.float64]) -> list[slice]:
    """The stretches of t without gaps, in order; they cover all samples. t: (n,) increasing, s."""
    edges = [0, *(gaps(t) + 1).tolist(), len(t)]
    return [slice(start, stop) for start, stop in pairwise(edges)]
