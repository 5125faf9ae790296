"""Clipped torques filled in with what a fit says they were, so that a filter mixes nothing wrong into their neighbours.

A clipped sample says that the torque was at least the limit: a censored observation (Tobin 1958). It is filled with the
mean of the prediction's normal distribution beyond the limit, the expectation step of EM for such data (Dempster, Laird
and Rubin 1977), and the next fit is to the filtered result. Filled samples themselves do not count: what they would add
is little, and without them a few rounds settle.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.fit import Estimate, consistent, predict
from steelyard.information import accumulate
from steelyard.log import Log, clipped_sides, masked, split_blocks
from steelyard.model import Robot

ROUNDS = 6  # at most
SETTLED = 0.05  # of the noise: RMS change of filled torques, below which another round changes nothing


@dataclass(frozen=True, eq=False)
class Clipped:
    """raw: a log with clipped torques. log: filtered, without all torques that the filter mixes with clipped ones.
    motion: q, v and a filtered at every stamp of raw. filtering: the filter that made log, for other torques."""

    raw: Log
    log: Log
    motion: Log
    filtering: Callable[[Log], Log]


def unclipped(robot: Robot, logs: Sequence[Clipped], *, validation: float, options: Mapping) -> list[Log]:
    """Filtered logs in which torques do not count only where they are clipped themselves.

    validation: share at the end of each log that the fits which fill are not shown. options: of `accumulate`.
    """
    sides = [clipped_sides(each.raw) for each in logs]
    masks = [side != 0 for side in sides]
    result, before = [each.log for each in logs], None
    for _ in range(ROUNDS):
        train = [split_blocks(log, validation=validation)[0] for log in result]
        estimate = consistent(accumulate(robot, train, **options))
        filled, noise = _filled(estimate, logs, sides)
        result = [
            masked(each.filtering(each.raw.replace(tau=tau)), each.raw, mask, 0.0, name="clipped torques")
            for each, mask, tau in zip(logs, masks, filled, strict=True)
        ]
        if before is not None and _change(filled, before, masks, noise) < SETTLED:
            break
        before = filled
    return result


def _filled(estimate: Estimate, logs: Sequence[Clipped], sides) -> tuple[list[NDArray], NDArray]:
    """Torques (n, nv) of each raw log with clipped ones replaced, and noise (nv,) of those that are not clipped."""
    motions = [each.motion.require("q", "v", "a") for each in logs]
    predicted = [predict(estimate, *motion) for motion in motions]
    measured = [each.raw.require("tau")[0] for each in logs]
    kept = np.concatenate(sides) == 0
    left = (np.concatenate(measured) - np.concatenate(predicted)) * kept
    noise = np.sqrt(np.sum(left**2, axis=0) / np.maximum(kept.sum(axis=0), 1))
    noise = np.maximum(noise, 1e-12 * max(noise.max(initial=0.0), 1e-300))
    filled = [
        np.where(side != 0, beyond(mean, noise, tau, side), tau)
        for mean, tau, side in zip(predicted, measured, sides, strict=True)
    ]
    return filled, noise


def beyond(mean, deviation, limit, side) -> NDArray[np.float64]:
    """Mean of a normal variable that is known to lie above a limit (side 1), or below it (-1)."""
    from scipy.special import log_ndtr

    x = side * (limit - mean) / deviation
    hazard = np.exp(-0.5 * x**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(-x))
    return mean + side * deviation * hazard


def _change(filled, before, masks, noise) -> float:
    """RMS change of filled torques over the noise, of the joint that changes most."""
    change = np.concatenate([new - old for new, old in zip(filled, before, strict=True)])
    count = np.maximum(np.concatenate(masks).sum(axis=0), 1)
    return float((np.sqrt(np.sum(change**2, axis=0) / count) / noise).max())
