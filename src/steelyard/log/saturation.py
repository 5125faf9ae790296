"""Torques that a sensor or a drive clipped: which samples say less than what the joint felt."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.log.finding import Finding, warning
from steelyard.log.log import Log

SATURATED = 0.01
"""Share of samples at exactly the largest or smallest torque above which a channel counts as clipped."""
FEWEST = 5  # samples


def saturated(log: Log) -> NDArray[np.bool_]:
    """(n, nv) True where a torque is clipped."""
    return clipped_sides(log) != 0


def clipped_sides(log: Log) -> NDArray[np.float64]:
    """(n, nv) 1 where a torque is clipped at its largest, -1 at its smallest, 0 elsewhere: what the log says of the
    torques that were recorded (`log.clipped`), and without, how often each of them is exactly its extreme."""
    if log.clipped is not None:
        return log.clipped
    (tau,) = log.require("tau")
    result = np.zeros(tau.shape)
    for j in np.flatnonzero(np.ptp(tau, axis=0) > 0):
        for side, extreme in ((1.0, tau[:, j].max()), (-1.0, tau[:, j].min())):
            at = tau[:, j] == extreme
            if _clipped(at):
                result[at, j] = side
    return result


def saturation(log: Log) -> Iterator[Finding]:
    """No torque is clipped."""
    (tau,) = log.require("tau")
    clipped = saturated(log)
    for j in np.flatnonzero(clipped.any(axis=0)):
        share = float(clipped[:, j].mean())
        extremes = np.unique(tau[clipped[:, j], j])
        where = " and ".join(f"{x:.6g}" for x in extremes) + ", its extreme value,"
        yield warning(
            "saturation",
            f"Torque of {log.labels[j]} is exactly {where if len(extremes) <= 2 else 'its extreme value, as recorded,'}"
            f" in {100 * share:.1f} % of the samples: it looks clipped. Give --saturation to leave these torques out, "
            "or drive the joint less hard.",
            options=["--saturation"],
        )


def _clipped(at: NDArray[np.bool_]) -> bool:
    count = np.count_nonzero(at)
    return bool(count >= FEWEST and count > SATURATED * len(at))
