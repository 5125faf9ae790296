"""Torques that are not to be believed, joint by joint, such as clipped ones.

A mask is (n, nv), True where the torque of a joint says something else than the model: other joints' torques of the
same sample still count, as each has an equation of its own. `masked` makes weights of a filtered log of it.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError
from steelyard.log.findings import Finding, warning
from steelyard.log.log import Log
from steelyard.numbers import NOTICED

SATURATED = 0.01  # share of samples at exactly the largest or smallest torque above which a channel counts as clipped

HANGS = 0.05  # of its mean, that a torque changes by which stands still
BOTH_WAYS, MOVES = 0.1, 0.1  # share of the samples in which a joint moves either way, and rad or m that it does


def saturated(log: Log) -> NDArray[np.bool_]:
    """(n, nv) True where a torque of a log is clipped."""
    return clipped_sides(log) != 0


def clipped_sides(log: Log) -> NDArray[np.float64]:
    """(n, nv) 1 where a torque is clipped at its largest, -1 at its smallest, 0 elsewhere: what the log says of the
    torques that were recorded (`log.clipped`), and without, how often each of them is exactly its extreme."""
    if log.clipped is not None:
        return log.clipped
    (tau,) = log.require("tau")
    result = np.zeros(tau.shape)
    for j in np.flatnonzero(np.ptp(tau, axis=0) > 0):
        for side in (1.0, -1.0):
            own = side * tau[:, j]
            at = own == own.max()
            next_to = np.count_nonzero(own == own.max(initial=-np.inf, where=~at))  # of coarse steps these are more
            fair = 2 * len(at) / len(np.unique(own))  # twice the share of one of so many values
            if at.sum() >= 5 and at.sum() > max(SATURATED * len(at), next_to, fair):
                result[at, j] = side
    return result


def hanging(log: Log) -> NDArray[np.bool_]:
    """(nv,) True where the torque of a joint stays at one value, but for white noise, although the joint moves to and
    fro, where friction and gravity change it: of a drive whose messages are no longer refreshed."""
    (tau,), way = log.require("tau"), np.diff(log.q, axis=0)
    if log.nq != log.nv:
        return np.zeros(log.nv, dtype=bool)
    both = (np.minimum((way > 0).mean(axis=0), (way < 0).mean(axis=0)) > BOTH_WAYS) & (np.ptp(log.q, axis=0) > MOVES)
    white = np.mean(np.diff(tau, axis=0) ** 2, axis=0) >= np.var(tau, axis=0)  # of what is smooth it is far less
    return both & white & (tau.std(axis=0) < HANGS * np.abs(tau.mean(axis=0)))


def coarse(log: Log) -> NDArray[np.bool_]:
    """(nv,) whether the torque of a joint is never more than one of the steps in which it is told, and these are no
    steps of a drive that is switched."""
    (tau,) = log.require("tau")
    size = np.abs(tau).max(axis=0)
    steps = np.array([np.diff(np.unique(x)).min(initial=np.inf) for x in tau.T])
    return np.isfinite(steps) & (size <= steps) & (size < NOTICED * size.max(initial=0.0))


def hanging_torques(log: Log) -> Iterator[Finding]:
    """Every torque changes while its joint moves, by more than one of the steps in which it is told."""
    (tau,) = log.require("tau")
    for j in np.flatnonzero(coarse(log)):
        yield warning(
            "coarse_torque",
            f"Torque of {log.labels[j]} is told in steps of {np.abs(tau[:, j]).max():.3g}, and never is more: left out "
            "of the fit, as it is mostly rounding.",
        )
    for j in np.flatnonzero(hanging(log)):
        yield warning(
            "hanging_torque",
            f"Torque of {log.labels[j]} stands still at {tau[:, j].mean():.4g} while the joint moves: left out of the "
            "fit, as the other joints' torques tell most of its links. Look for what no longer refreshes it in driver "
            "or recorder.",
        )


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


def masked(filtered: Log, raw: Log, mask: ArrayLike, cutoff: float, *, name: str = "masked torques") -> Log:
    """A filtered log in which torques do not count where a mask (n, nv) of the raw one reaches them through the filter
    of a cutoff, Hz; several may follow each other. Raises LogError for a mask of another shape."""
    mask = np.asarray(mask, dtype=bool)
    if mask.shape != (len(raw), raw.nv):
        raise LogError(f"a mask of log {raw.name!r} has shape {mask.shape}, expected {(len(raw), raw.nv)}")
    if not mask.any():
        return filtered
    reached = near(filtered.t, raw.t, mask, 0.5 / cutoff if cutoff else 0.0)  # half a period either way
    weights = np.where(reached, 0.0, 1.0 if filtered.weights is None else filtered.weights)
    shares = zip(filtered.labels, reached.mean(axis=0), strict=True)
    said = ", ".join(f"{label} {100 * share:.3g} %" for label, share in shares if share)
    return filtered.replace(weights=weights).noted(f"tau: {name} and what the filter mixes with them left out: {said}")


def near(t: NDArray, stamps: NDArray, mask: NDArray[np.bool_], reach: float) -> NDArray[np.bool_]:
    """(len(t), nv) True within `reach` s of a True sample of a mask (n, nv) at stamps (n,)."""
    count = np.concatenate([np.zeros((1, mask.shape[1]), dtype=int), np.cumsum(mask, axis=0)])
    first = np.searchsorted(stamps, t - reach - 1e-12, side="left")
    last = np.searchsorted(stamps, t + reach + 1e-12, side="right")
    return count[last] > count[first]
