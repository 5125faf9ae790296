"""Torques that are not to be believed, joint by joint: one form for clipped ones, outliers, standstill and reversals.

A mask is (n, nv), True where the torque of a joint says something else than the model: other joints' torques of the
same sample still count, as each has an equation of its own. `masked` makes weights of a filtered log of it.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError
from steelyard.log.findings import Finding, warning
from steelyard.log.log import Log
from steelyard.log.stamps import gaps, segments

SATURATED = 0.01
"""Share of samples at exactly the largest or smallest torque above which a channel counts as clipped."""
FEWEST = 5  # samples


def saturated(log: Log) -> NDArray[np.bool_]:
    """Where torques are clipped.

    Args:
        log: with tau.

    Returns:
        (n, nv) True where a torque is clipped.
    """
    return clipped_sides(log) != 0


def clipped_sides(log: Log) -> NDArray[np.float64]:
    """Where torques are clipped, and at which side.

    What the log says of the torques that were recorded (`log.clipped`), and without, how often each of them is exactly
    its extreme.

    Args:
        log: with tau.

    Returns:
        (n, nv) 1 where a torque is clipped at its largest, -1 at its smallest, 0 elsewhere.
    """
    if log.clipped is not None:
        return log.clipped
    (tau,) = log.require("tau")
    result = np.zeros(tau.shape)
    for j in np.flatnonzero(np.ptp(tau, axis=0) > 0):
        for side in (1.0, -1.0):
            own = side * tau[:, j]
            at = own == own.max()
            if _clipped(at, int(np.count_nonzero(own == own.max(initial=-np.inf, where=~at)))):
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


def _clipped(at: NDArray[np.bool_], next_to: int) -> bool:
    """Whether samples pile up at an extreme value. next_to: samples at the value next to it, which of coarse steps are
    more."""
    count = np.count_nonzero(at)
    return bool(count >= FEWEST and count > max(SATURATED * len(at), next_to))


__all__ = ["clipped_sides", "masked", "outliers", "reversals", "saturated", "standstill"]

REACH = 0.5  # periods of the cutoff on either side that a low-pass filter mixes with a sample
SPIKE = 8.0  # deviations from the median of its neighbours that make a sample an outlier
AROUND = 3  # samples on either side that the median is taken of
SLOW = 1e-2  # rad/s or m/s: below, a joint counts as standing still


def outliers(log: Log, *, spike: float = SPIKE) -> NDArray[np.bool_]:
    """(n, nv) True for single torques far from their neighbours: beyond `spike` robust deviations from the median
    of the three on either side. Noise of any level is none, as it sets the deviation."""
    (tau,) = log.require("tau")
    result = np.zeros(tau.shape, dtype=bool)
    for part in segments(log.t):
        far = np.abs(tau[part] - _median_around(tau[part]))
        usual = 1.4826 * np.median(far, axis=0)
        result[part] = far > spike * np.maximum(usual, 1e-12 * np.abs(tau[part]).max(axis=0))
    return result


def _median_around(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, k) median of the neighbours of each sample (n, k), the upper one of two; ends are repeated."""
    n = len(x)
    near = np.pad(x, ((AROUND, AROUND), (0, 0)), mode="edge")
    others = np.stack([near[i : i + n] for i in range(2 * AROUND + 1) if i != AROUND])
    return np.partition(others, AROUND, axis=0)[AROUND]


def standstill(log: Log, *, slow: float = SLOW) -> NDArray[np.bool_]:
    """(n, nv) True where a joint moves slower than `slow`, rad/s or m/s, and its friction may be anything."""
    (v,) = log.require("v")
    return np.abs(v) < slow


def reversals(log: Log, *, within: float = 0.02) -> NDArray[np.bool_]:
    """(n, nv) True for samples less than `within` s from a change of a joint's direction."""
    (v,) = log.require("v")
    turned = np.zeros(v.shape, dtype=bool)
    turned[1:] = np.sign(v[1:]) * np.sign(v[:-1]) < 0
    turned[1:][gaps(log.t)] = False
    return near(log.t, log.t, turned, within)


def masked(filtered: Log, raw: Log, mask: ArrayLike, cutoff: float, *, name: str = "masked torques") -> Log:
    """A filtered log whose torques do not count where a mask of the raw one reaches them through the filter.

    Several masks may follow each other.

    Args:
        filtered: what is fitted.
        raw: the log before the filter.
        mask: (n, nv) of raw, True for torques that do not count.
        cutoff: Hz of the filter, 0 for none.
        name: of the mask, in notes.

    Returns:
        The filtered log with `weights`.

    Raises:
        LogError: a mask of another shape.
    """
    mask = np.asarray(mask, dtype=bool)
    if mask.shape != (len(raw), raw.nv):
        raise LogError(f"a mask of log {raw.name!r} has shape {mask.shape}, expected {(len(raw), raw.nv)}")
    if not mask.any():
        return filtered
    reached = near(filtered.t, raw.t, mask, REACH / cutoff if cutoff else 0.0)
    weights = np.where(reached, 0.0, 1.0 if filtered.weights is None else filtered.weights)
    said = ", ".join(f"{label} {100 * share:.3g} %" for label, share in _shares(filtered, reached))
    return filtered.replace(weights=weights).noted(f"tau: {name} and what the filter mixes with them left out: {said}")


def near(t: NDArray, stamps: NDArray, mask: NDArray[np.bool_], reach: float) -> NDArray[np.bool_]:
    """(len(t), nv) True within `reach` s of a True sample of a mask (n, nv) at stamps (n,)."""
    count = np.concatenate([np.zeros((1, mask.shape[1]), dtype=int), np.cumsum(mask, axis=0)])
    first = np.searchsorted(stamps, t - reach - 1e-12, side="left")
    last = np.searchsorted(stamps, t + reach + 1e-12, side="right")
    return count[last] > count[first]


def _shares(log: Log, reached: NDArray[np.bool_]):
    shares = reached.mean(axis=0)
    return [(label, share) for label, share in zip(log.labels, shares, strict=True) if share]
