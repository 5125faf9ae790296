"""The smoothers to choose from, in one form: signals and their derivatives at their own time stamps, and responses.

They give derivatives of one curve: what they do to a signal they do to its derivatives, so `tau = Y theta` holds after
them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import OptionError, choices

BUTTERWORTH, KALMAN, SAVGOL = "butterworth", "kalman", "savgol"


@dataclass(frozen=True)
class Smoother:
    """orders: that it has, of its `order` by default; words: for notes."""

    orders: range
    order: int
    words: str


SMOOTHERS = {
    BUTTERWORTH: Smoother(range(1, 7), 4, "zero-phase Butterworth filter of order {}"),
    KALMAN: Smoother(range(3, 4), 3, "Kalman smoother of white jerk"),
    SAVGOL: Smoother(range(2, 9), 6, "Savitzky-Golay filter of degree {}"),
}


def order_of(smoother: str, order: int | None) -> int:
    """The order of a smoother, its own for None: of the filter that runs both ways, 3 of kalman, degree of the
    polynomials of savgol. Raises OptionError for an order it does not have, or an unknown word."""
    if smoother not in SMOOTHERS:
        raise OptionError(f"smoother is {smoother!r}. Choose from {choices(SMOOTHERS)}.")
    known = SMOOTHERS[smoother].orders
    order = SMOOTHERS[smoother].order if order is None else order
    if order not in known:
        raise OptionError(f"order={order} of smoother {smoother!r}: expected {known.start} to {known.stop - 1}")
    return order


def derivatives(smoother: str, t: NDArray, x: NDArray, cutoff: float, order: int, count: int) -> NDArray[np.float64]:
    """(count + 1, n, k): signals x (n, k) without gaps at increasing times t (n,), s, smoothed, then each derivative.
    cutoff: Hz, -3 dB, below half the median rate. Raises LogError where the filter does not fit the samples."""
    if smoother == SAVGOL:
        from steelyard.log import savgol

        return savgol.derivatives(t, x, cutoff, order, count)
    if smoother == KALMAN:
        from steelyard.log import kalman

        return kalman.derivatives(t, x, cutoff, count)
    from steelyard.log.spline import smooth

    curve = smooth(t, x, cutoff, order)
    return np.stack([curve(t - t[0], each) for each in range(count + 1)])


def response(
    smoother: str, frequency: NDArray, step: float, cutoff: float, order: int, derivative: int = 0
) -> NDArray[np.float64]:
    """Gain at frequencies (m,), Hz, on a derivative, relative to the exact derivative; real, as the phase is zero.
    step: s between samples."""
    if smoother == SAVGOL:
        from steelyard.log import savgol

        return savgol.response(frequency, step, cutoff, order, derivative)
    return 1 / (1 + (np.sqrt(2) - 1) * (np.asarray(frequency) / cutoff) ** (2 * order))


def describe(smoother: str, order: int) -> str:
    """In words, for notes."""
    return SMOOTHERS[smoother].words.format(order)
