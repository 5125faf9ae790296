"""Stamps that wander although the samples were taken at even times: receipt times of a network, a busy logger.

Positions are smooth in the time they were taken at. Each is predicted from its neighbours by a cubic through them, at
the stamps as they are and at even ones; where even stamps predict far better, it is the stamps that are wrong.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.log.finding import Finding, warning
from steelyard.log.gaps import segments
from steelyard.log.log import Log

SPREAD = 1e-3  # of the steps over their median, below which stamps are even
BETTER = 0.5  # error of the prediction at even stamps over that at the stamps as they are, at most
NEIGHBOURS = (-2, -1, 1, 2)


def even_stamps(log: Log) -> Log:
    """The log with stamps evenly spaced between its gaps."""
    t = log.t.copy()
    for part in segments(log.t):
        t[part] = _even(log.t[part])
    return log.replace(t=t).noted("t: spaced evenly between gaps")


def _even(t: NDArray) -> NDArray:
    """Least-squares line through the stamps of a stretch: both ends wander as well."""
    k = np.arange(len(t)) - (len(t) - 1) / 2
    return t.mean() + k * (float(k @ t) / float(k @ k)) if len(t) > 1 else t


def wandering(log: Log) -> Iterator[Finding]:
    """Stamps that are more irregular than the samples."""
    part = max(segments(log.t), key=lambda part: part.stop - part.start)
    t, q = log.t[part], log.q[part]
    if len(t) < 16:
        return
    even = _even(t)
    spread = float(np.std(t - even) / np.median(np.diff(t)))
    if spread < SPREAD:
        return
    stamped, spaced = unpredicted(t, q), unpredicted(even, q)
    moves = stamped > 0
    ratio = float(np.median(spaced[moves] / stamped[moves])) if moves.any() else 1.0
    if ratio < BETTER:
        yield warning(
            "stamp_jitter",
            f"Stamps wander by {100 * spread:.2g} % of a step, but positions are {1 / ratio:.2g} times as smooth at "
            "even times: samples were taken evenly and stamped late or early. Give --even-stamps.",
            options=["--even-stamps"],
        )


def unpredicted(t: NDArray, q: NDArray) -> NDArray:
    """(k,) median distance of samples from a cubic (Lagrange) through two neighbours on either side."""
    inner = np.arange(2, len(t) - 2)
    near = np.stack([t[inner + k] for k in NEIGHBOURS])
    predicted = np.zeros((len(inner), q.shape[1]))
    for i, k in enumerate(NEIGHBOURS):
        others = np.delete(near, i, axis=0)
        weight = np.prod((t[inner] - others) / (near[i] - others), axis=0)
        predicted += weight[:, None] * q[inner + k]
    return np.median(np.abs(q[inner] - predicted), axis=0)
