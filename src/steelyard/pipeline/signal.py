"""One column of a log: how large, how noisy, how finely resolved."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.log import Log, quantum, segments

#: Third difference of white noise of unit variance has this standard deviation: 1 + 9 + 9 + 1 under the root.
_THIRD = np.sqrt(20.0)
LONG = 100_000  # samples that show noise and steps; of a longer log no more are looked at for these
_NORMAL = 0.6745  # median absolute value of a normal variable


@dataclass(frozen=True)
class Signal:
    """channel: q, v, a or tau. smallest, largest, rms, noise, quantum: in SI units; quantum is None for a signal
    without steps. noise: standard deviation of what changes from sample to sample."""

    channel: str
    joint: str
    smallest: float
    largest: float
    rms: float
    noise: float
    quantum: float | None


def signals(log: Log) -> tuple[Signal, ...]:
    """Every column of a log, channel by channel."""
    part = max(segments(log.t), key=lambda part: part.stop - part.start)
    found = []
    for channel in ("q", "v", "a", "tau"):
        values = getattr(log, channel)
        if values is None:
            continue
        labels = log.labels if values.shape[1] == log.nv else [f"column {i + 1}" for i in range(values.shape[1])]
        values = np.asarray(values)[part]
        ends = values.min(axis=0), values.max(axis=0), np.sqrt(np.einsum("nk,nk->k", values, values) / len(values))
        shown = np.ascontiguousarray(values[:LONG].T)
        found += [
            Signal(channel, label, float(low), float(high), float(rms), white_noise(x), quantum(x))
            for label, low, high, rms, x in zip(labels, *ends, shown, strict=True)
        ]
    return tuple(found)


def white_noise(x: NDArray[np.float64]) -> float:
    """Standard deviation of white noise in x (n,): the median size of its third differences, which smooth motion does
    not reach. A quantised signal that moves slowly looks better than it is: see `quantum`."""
    if len(x) < 4:
        return 0.0
    return float(np.median(np.abs(np.diff(x, n=3))) / (_NORMAL * _THIRD))
