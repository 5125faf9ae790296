"""Recordings that hold the last sample when no new one has come: the stamps are regular, the motion is not.

A logger that polls faster than the robot reports writes some samples twice. The others are then stamped up to one
period late, and differentiating such positions costs far more than sensor noise does.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.log.finding import Finding, warning
from steelyard.log.gaps import segments
from steelyard.log.log import Log

_NEIGHBOURS = 3  # changing steps looked at on either side of a run of repeats, to tell motion from rest


def repeated(log: Log) -> NDArray[np.bool_]:
    """(n,) True for a sample that repeats the one before in every channel although the robot moves.

    At rest repeating is no fault: there must be runs of repeats with motion on both sides, and only runs no longer than
    the longest of those count.
    """
    held = np.all(log.q[1:] == log.q[:-1], axis=1)  # step i leads to sample i + 1
    for x in (log.v, log.tau):
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
    """The log without held-over samples, the others evenly spaced in time between its gaps.

    Right for a robot that reports at a steady rate which is not that of the log. A log without repeats is returned as
    it is.
    """
    held = repeated(log)
    if not held.any():
        return log
    t = log.t.copy()
    for part in segments(log.t):
        rows = np.arange(part.start, part.stop)[~held[part]]
        t[rows] = np.linspace(log.t[rows[0]], log.t[part][-1], len(rows)) if len(rows) > 1 else t[rows]
    note = f"{int(held.sum())} repeated samples dropped, the others evenly spaced in time"
    return log.replace(t=t)[~held].noted(note)
