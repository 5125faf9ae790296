"""Time stamps: where a log stops and starts again, stamps that wander, samples that were held.

Positions are smooth in the time they were taken at. Each is predicted from its neighbours by a cubic through them, at
the stamps as they are and at even ones; where even stamps predict far better, it is the stamps that are wrong.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.log.channels import DRIVE
from steelyard.log.findings import Finding, warning
from steelyard.log.log import Log

GAP = 5.0  # A step longer than this many median steps is a gap: nothing is interpolated or differentiated across it
WINDOW = 0.1  # s, over which velocities are integrated and compared with changes of positions: immune to encoder steps
FITS = 0.1  # share of the energy of these changes that velocities may miss: noise and filters of recorders
NONE_FITS = 0.5  # the same where they have nothing to do with the positions


def gaps(t: NDArray[np.float64]) -> NDArray[np.int_]:
    """(g,) indices i such that a gap lies between samples i and i + 1 of increasing t (n,), s."""
    steps = np.diff(t)
    return np.flatnonzero(steps > GAP * np.median(steps)) if len(steps) else np.zeros(0, dtype=int)


def segments(t: NDArray[np.float64]) -> list[slice]:
    """The stretches of increasing t (n,), s, without gaps, in order; they cover all samples."""
    edges = [0, *(gaps(t) + 1).tolist(), len(t)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def windows(t: NDArray[np.float64]) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Samples that stretches of `WINDOW` start and end with, but for those with a gap in them. t: (n,) s."""
    step = np.median(np.diff(t))
    lag = int(np.clip(round(WINDOW / step), 1, max(1, len(t) // 4)))
    start = np.flatnonzero(t[lag:] - t[:-lag] < (lag + GAP - 1) * step)
    return start, start + lag


def integral(t: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, k) integral of x (n, k) by the trapezoidal rule."""
    return np.vstack([np.zeros(x.shape[1]), np.cumsum((x[1:] + x[:-1]) / 2 * np.diff(t)[:, None], axis=0)])


def runs(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Start and stop of each run of True in (n,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


NEIGHBOURS = (-2, -1, 1, 2)


def even_stamps(log: Log) -> Log:
    """The log with stamps evenly spaced between its gaps. Of stamps that were stored too coarsely, samples are spaced
    by where stamps change."""
    step = coarse_step(log)
    if step:
        return log.replace(t=log.t[0] + step * np.arange(len(log))).noted(f"t: spaced evenly, {step:.6g} s a sample")
    t = log.t.copy()
    for part in segments(log.t):
        t[part] = _even(log.t[part])
    return log.replace(t=t).noted("t: spaced evenly between gaps")


def _even(t: NDArray) -> NDArray:
    """Least-squares line through the stamps of a stretch: both ends wander as well."""
    k = np.arange(len(t)) - (len(t) - 1) / 2
    return t.mean() + k * (float(k @ t) / float(k @ k)) if len(t) > 1 else t


def is_coarse(log: Log) -> bool:
    """Whether most stamps repeat the one before although the samples differ: stored in whole seconds, or as float32."""
    again = log.t[1:] == log.t[:-1]
    return bool(
        2 * np.count_nonzero(again) > len(again) and np.mean(np.any(np.diff(log.q, axis=0)[again], axis=1)) > 0.5
    )


def coarse_step(log: Log) -> float | None:
    """s a sample, from the samples at which coarse stamps change; None for others, and where they do not tell: they
    change less than twice, or by uneven steps after uneven numbers of samples."""
    if not np.isfinite(log.t).all() or not is_coarse(log):
        return None
    steps = np.diff(log.t)
    changes = np.flatnonzero(steps) + 1
    if len(changes) < 2:
        return None
    sizes, counts = steps[changes - 1], np.diff(changes)
    if sizes.min() <= 0 or sizes.max() > 1.5 * sizes.min() or counts.max() > 1.5 * counts.min():
        return None
    return float(np.polyfit(changes, log.t[changes] - log.t[0], 1)[0])


def wandering(log: Log) -> Iterator[Finding]:
    """Stamps that are more irregular than the samples."""
    part = max(segments(log.t), key=lambda part: part.stop - part.start)
    t, q = log.t[part], log.q[part]
    rates = [np.median(part) for part in np.array_split(np.diff(t), 8)] if len(t) >= 16 else ()
    if not rates or max(rates) >= 1.2 * min(rates):  # a logger that goes on at another rate is no jitter
        return
    even = _even(t)
    spread = float(np.std(t - even) / np.median(np.diff(t)))
    if spread < 1e-3:  # of the steps over their median, below which stamps are even
        return
    stamped, spaced = unpredicted(t, q), unpredicted(even, q)
    steps = np.abs(np.diff(q, axis=0))
    moves = stamped > 0.1 * np.where(steps > 0, steps, np.inf).min(axis=0)  # below, distances are an encoder's rounding
    ratio = float(np.median(spaced[moves] / stamped[moves])) if moves.any() else 1.0
    if ratio < 0.5:  # error of the prediction at even stamps over that at the stamps as they are, at most
        yield warning(
            "stamp_jitter",
            f"Stamps wander by {100 * spread:.2g} % of a step, but positions are {1 / max(ratio, 1e-3):.2g} times as "
            "smooth at even times: samples were taken evenly and stamped late or early. Give --even-stamps.",
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


_NEIGHBOURS = 3  # changing steps looked at on either side of a run of repeats, to tell motion from rest


def repeated(log: Log) -> NDArray[np.bool_]:
    """(n,) True for a sample that repeats the one before in every channel although the robot moves.

    At rest repeating is no fault: there must be runs of repeats with motion on both sides, and only runs no longer than
    the longest of those count.
    """
    held = np.all(log.q[1:] == log.q[:-1], axis=1)  # step i leads to sample i + 1
    for x in (log.v, log.tau, *(getattr(log, key) for key in DRIVE), *log.external.values(), *log.imu.values()):
        if x is not None:
            rows = np.flatnonzero(held)
            held[rows] = np.all(x[rows + 1] == x[rows], axis=1)
    changed = np.flatnonzero(~held)
    result = np.zeros(len(log), dtype=bool)
    if len(changed) < 2 * _NEIGHBOURS:
        return result
    size = np.abs(np.diff(log.q, axis=0)).max(axis=1)[changed]
    window = np.lib.stride_tricks.sliding_window_view(size, _NEIGHBOURS).max(axis=1) > 0.2 * np.median(size)
    runs = np.diff(changed) - 1  # repeats between one changing step and the next
    inner = slice(_NEIGHBOURS - 1, len(changed) - _NEIGHBOURS)
    moving = window[:-_NEIGHBOURS] & window[_NEIGHBOURS:]
    longest = int(np.max(runs[inner] * moving, initial=0))
    if longest:
        edges = np.concatenate([[-1], changed, [len(log) - 1]])
        for start, stop in zip(edges[:-1] + 2, edges[1:] + 1, strict=True):
            result[start:stop] = 0 < stop - start <= longest
    return result


def repeats(log: Log) -> Iterator[Finding]:
    """Samples held over from the one before."""
    held = repeated(log)
    if held.any():
        first = int(np.argmax(held))
        yield warning(
            "repeated_sample",
            f"{int(held.sum())} samples repeat the one before while the robot moves, the first at sample {first} "
            f"(t = {log.t[first]:.6g} s): the log was resampled, so its stamps are not when the samples were taken. "
            "identify (in Python filters.restamp) drops the repeats and spaces the rest evenly.",
        )


def restamp(log: Log) -> Log:
    """The log without held-over samples, the others evenly spaced between its gaps: right for a robot that reports at a
    steady rate which is not that of the log."""
    held = repeated(log)
    if not held.any():
        return log
    t = log.t.copy()
    for part in segments(log.t):
        rows = np.arange(part.start, part.stop)[~held[part]]
        t[rows] = np.linspace(log.t[rows[0]], log.t[part][-1], len(rows)) if len(rows) > 1 else t[rows]
    note = f"{int(held.sum())} repeated samples dropped, the others evenly spaced in time"
    return log.replace(t=t)[~held].noted(note)
