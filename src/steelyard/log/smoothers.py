"""The smoothers to choose from, in one form: signals and their derivatives at their own time stamps, and responses.

They give derivatives of one curve: what they do to a signal they do to its derivatives, so `tau = Y theta` holds after
them.
"""

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import OptionError, choices

BUTTERWORTH, KALMAN, SAVGOL = "butterworth", "kalman", "savgol"
SMOOTHERS = (BUTTERWORTH, KALMAN, SAVGOL)
ORDERS = {BUTTERWORTH: range(1, 7), KALMAN: range(3, 4), SAVGOL: range(2, 9)}
DEFAULT_ORDERS = {BUTTERWORTH: 4, KALMAN: 3, SAVGOL: 6}


def order_of(smoother: str, order: int | None) -> int:
    """The order of a smoother: of the filter that runs both ways, 3 of kalman, degree of the polynomials of savgol.

    Args:
        smoother: "butterworth", "kalman" or "savgol".
        order: None for the smoother's own.

    Returns:
        The order.

    Raises:
        OptionError: an order it does not have, or an unknown word.
    """
    if smoother not in SMOOTHERS:
        raise OptionError(f"smoother is {smoother!r}. Choose from {choices(SMOOTHERS)}.")
    order, known = DEFAULT_ORDERS[smoother] if order is None else order, ORDERS[smoother]
    if order not in known:
        raise OptionError(f"order={order} of smoother {smoother!r}: expected {known.start} to {known.stop - 1}")
    return order


def derivatives(smoother: str, t: NDArray, x: NDArray, cutoff: float, order: int, count: int) -> NDArray[np.float64]:
    """Signals without gaps, smoothed, and their derivatives.

    Args:
        smoother: "butterworth", "kalman" or "savgol".
        t: (n,) increasing times, s.
        x: (n, k) signals.
        cutoff: Hz, -3 dB, below half the median rate.
        order: as of `order_of`.
        count: how many derivatives.

    Returns:
        (count + 1, n, k): the smoothed signals, then each derivative.

    Raises:
        LogError: the filter does not fit the samples.
    """
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
    return {
        BUTTERWORTH: f"zero-phase Butterworth filter of order {order}",
        KALMAN: "Kalman smoother of white jerk",
        SAVGOL: f"Savitzky-Golay filter of degree {order}",
    }[smoother]
