"""Windows of the weak form: integrals of sampled signals and of their derivatives, without differentiating anything.

A row is `int w tau dt = int w (dx/dt) dt + int w y dt = -int (dw/dt) x dt + int w y dt` for a smooth window `w` that
ends within the log (modulating functions; Shinbrot 1957). The window is the quintic B-spline, a zero-phase low-pass
filter of finite length; one is placed every second knot, so that noise of neighbouring rows is nearly independent (0.13
correlated). Signals are taken as linear between samples, for which integration by parts is exact. At even stamps this
interpolation is one more filter, the same on both sides, so the balance holds to rounding; at uneven ones to second
order in the step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from steelyard.errors import LogError
from steelyard.log import Log, segments

DEGREE = 5
HALF = (DEGREE + 1) / 2  # of the window's length, in knots
KNOT = 0.18631  # knot spacing times the frequency of -3 dB: sinc^6 = 1 / sqrt(2)
STRIDE = 2  # knots from window to window


@dataclass(frozen=True, eq=False)
class Part:
    """Samples of a log, and the windows they take part in.

    mean, rate: (n, m) weights of the samples in `int w x dt` and `int w (dx/dt) dt`, `int w dt = 1`. done: how many of
    the m windows end here; the others are the first ones of the next part.
    """

    samples: slice
    mean: np.ndarray
    rate: np.ndarray
    done: int


def require_windows(log: Log, cutoff: float):
    """Raise LogError unless a log has room for a window, between increasing stamps that are dense enough."""
    if len(log) < 2 or not np.all(np.diff(log.t) > 0):
        raise LogError(f"Log '{log.name}': momentum and energy rows need two samples or more with increasing stamps.")
    highest = KNOT * log.rate
    if not 0 < cutoff <= highest:
        raise LogError(
            f"Log '{log.name}': cutoff {cutoff:g} Hz must lie above 0 and not above {highest:.4g} Hz, where windows "
            f"hold too few samples at {log.rate:.4g} Hz."
        )
    longest = max(float(log.t[s.stop - 1] - log.t[s.start]) for s in segments(log.t))
    needed = 2 * HALF * KNOT / cutoff
    if longest < needed:
        raise LogError(
            f"Log '{log.name}': the longest stretch without a gap lasts {longest:.4g} s; at {cutoff:g} Hz a window "
            f"needs {needed:.4g} s. Use a higher cutoff or a longer log."
        )


def parts(t, cutoff: float, chunk: int) -> Iterator[Part]:
    """A log's samples in parts of at most `chunk`, with their windows; windows do not reach across gaps."""
    h = KNOT / cutoff
    for stretch in segments(t):
        room = t[stretch.stop - 1] - t[stretch.start] - 2 * HALF * h
        if room < 0:
            continue
        centres = t[stretch.start] + HALF * h + STRIDE * h * np.arange(int(room / (STRIDE * h)) + 1)
        ended = 0
        for start in range(stretch.start, stretch.stop, chunk):
            stop = min(start + chunk, stretch.stop)
            last = stop == stretch.stop
            begun = len(centres) if last else int(np.searchsorted(centres - HALF * h, t[stop]))
            ends = len(centres) if last else int(np.searchsorted(centres + HALF * h, t[stop - 1], side="right"))
            near = slice(max(start - 1, stretch.start), min(stop + 1, stretch.stop))
            mean, rate = _weights(t[near], centres[ended:begun], h)
            own = slice(start - near.start, stop - near.start)
            yield Part(slice(start, stop), mean[own], rate[own], ends - ended)
            ended = ends


def _weights(t, centres, h):
    """Weights (n, m) of samples at t in windows at centres. The first and last are right only where no window reaches
    beyond them."""
    x = (t[:, None] - centres) / h
    return _hats(t, h * _antiderivative(x, 2), 1.0), -_hats(t, _antiderivative(x, 1), 0.0)


def _hats(t, twice, integral: float):
    """Integrals of a function times the hats of piecewise linear interpolation, from its second antiderivative and its
    integral."""
    slope = np.diff(twice, axis=0) / np.diff(t)[:, None]
    return np.concatenate([slope[:1], np.diff(slope, axis=0), integral - slope[-1:]])


def _antiderivative(x, times: int):
    """The B-spline of unit integral around zero, integrated once or twice from the left."""
    inside = np.clip(x, -HALF, HALF)
    power = DEGREE + times
    total = sum(
        (-1) ** j * comb(DEGREE + 1, j) * np.maximum(inside + HALF - j, 0.0) ** power for j in range(DEGREE + 2)
    )
    beyond = np.maximum(x - HALF, 0.0) if times == 2 else 0.0
    return total / factorial(power) + beyond
