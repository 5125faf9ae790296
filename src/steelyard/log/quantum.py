"""The steps of an encoder, and the noise that they make."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

_LEVELS = 4  # least number of different values of a signal that has a resolution
_OFF = 0.02  # of a step, that quantised values may lie beside its multiples


def quantum(x: NDArray[np.float64]) -> float | None:
    """Step between neighbouring values of a quantised signal (n,), None for one that takes any value."""
    levels = np.unique(x)
    if len(levels) < _LEVELS:
        return None
    steps = np.diff(levels)
    steps = steps[steps > 1e-12 * np.abs(levels).max()]  # rounding of the same value
    if not len(steps):
        return None
    step = float(steps.min())
    step = float(np.median(steps[steps < 1.5 * step]))
    off = np.abs((levels - levels[0]) / step - np.round((levels - levels[0]) / step))
    return step if float(np.median(off)) < _OFF else None


def step_noise(x: NDArray[np.float64]) -> float:
    """Standard deviation that white noise would have, were it as dense at low frequencies as the noise of few steps.

    x: (n,). Noise of steps reaches up to the frequency at which they follow each other. Where that is beyond half the
    rate it is white, and shows at high frequencies; a signal that takes fewer steps has the same variance, step^2 / 12,
    within fewer frequencies. 0 for a signal without steps, or with one or more in two samples.
    """
    step = quantum(x)
    if step is None:
        return 0.0
    taken = float(np.mean(np.abs(np.diff(x)))) / step  # a sample
    return step / sqrt(24 * taken) if 0 < taken < 0.5 else 0.0
