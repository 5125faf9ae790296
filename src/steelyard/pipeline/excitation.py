"""How the motion of a log is spread over its time: a stretch without motion tells nothing, least of all if held out."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.log import Finding, Log

PARTS = 10  # stretches of equal number of samples
STILL = 0.05  # of a joint's RMS speed, below which it hardly moves
SHORTEST = 0.05  # share of a log that an idle end must take to be worth a word


def shares(v: ArrayLike) -> NDArray[np.float64]:
    """(parts, nv) RMS speed in each tenth of a log over that of the whole, 1 for even motion. v: (n, nv)."""
    v = np.asarray(v, dtype=np.float64)
    whole = np.sqrt(np.mean(v**2, axis=0))
    parts = np.array([np.sqrt(np.mean(part**2, axis=0)) for part in np.array_split(v, min(PARTS, len(v)))])
    return parts / np.where(whole > 0, whole, 1.0)


def idle_ends(log: Log) -> Iterator[Finding]:
    """A start or an end in which no joint moves, which fits do not mind, but splits do. log: with v."""
    (v,) = log.require("v")
    rms = np.sqrt(np.mean(v**2, axis=0))
    moving = np.flatnonzero((np.abs(v) > STILL * rms).any(axis=1))
    if not len(moving):
        return
    first, last = log.t[moving[0]], log.t[moving[-1]]
    for code, place, length in (("idle_start", "first", first - log.t[0]), ("idle_end", "last", log.t[-1] - last)):
        if length > SHORTEST * log.duration:
            held = " It is what --validation holds out: give a smaller share, or cut it off." if place == "last" else ""
            yield Finding(
                code,
                "warning",
                f"No joint moves in the {place} {length:.3g} s of {log.duration:.3g} s: "
                f"cut them off with log[(log.t >= {first:.6g}) & (log.t <= {last:.6g})].{held}",
            )
