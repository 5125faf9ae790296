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
    (tau,) = log.require("tau")
    result = np.zeros(tau.shape, dtype=bool)
    for j in np.flatnonzero(np.ptp(tau, axis=0) > 0):
        for extreme in (tau[:, j].max(), tau[:, j].min()):
            at = tau[:, j] == extreme
            if _clipped(at):
                result[:, j] |= at
    return result


def saturation(log: Log) -> Iterator[Finding]:
    """No torque is clipped."""
    (tau,) = log.require("tau")
    clipped = saturated(log)
    for j in np.flatnonzero(clipped.any(axis=0)):
        share = float(clipped[:, j].mean())
        extremes = " and ".join(f"{x:.6g}" for x in np.unique(tau[clipped[:, j], j]))
        yield warning(
            "saturation",
            f"Torque of {log.labels[j]} is exactly {extremes}, its extreme value, in {100 * share:.1f} % of "
            "the samples: it looks clipped. Give --saturation to leave these torques out, or drive the joint less "
            "hard.",
            options=["--saturation"],
        )


def _clipped(at: NDArray[np.bool_]) -> bool:
    return bool(at.mean() > SATURATED and np.count_nonzero(at) >= FEWEST)
