"""Changes between the runs of a robot, found as they happen, with a stated probability of false alarms.

Every new run is a look at all steps within the latest runs and at a steady drift, for every cause. Over a fleet's life
the probability of any false alarm is at most `false_alarm`: each robot has an equal share; of it look n takes
6 / (pi^2 (n - 1)^2), which adds up to one however long the robot lives; and within a look all tests share evenly
(Bonferroni). What runs of one robot differ by without any change is taken from the fleet (`spread`).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.fleet.evidence import (
    Cause,
    Evidence,
    Explained,
    chance,
    change_along,
    extra_variance,
    marginal,
    probability,
    rivals,
    score_test,
)

STEP, DRIFT = "step", "drift"
LATEST = 12  # runs back to which a look searches for a step
DRIFTING = 4  # runs that a drift needs
EFFICIENCY = 0.37  # of a variance by the median of squares, over one by their mean


@dataclass(frozen=True, eq=False)
class Alarm:
    """A change of a robot."""

    first: int  # place of the first run that differs (of a drift: of the first run it is seen in)
    seen: int  # of the run at whose look it was found
    shape: str  # "step" or "drift"
    best: Explained  # the cause that explains it best
    rivals: tuple[Cause, ...]  # others that nearly do
    probability: float  # of an alarm so clear anywhere in the fleet by chance, at most


def run_spread(robots: Sequence[Sequence[Evidence]], size: int) -> tuple[np.ndarray, int]:
    """(r,) variances by which runs of one robot differ beyond noise, from successive runs of all robots, and from how
    many pairs of them."""
    distances, variances = [], []
    for runs in robots:
        told = [marginal(run) for run in runs]
        for (x, v), (y, w) in itertools.pairwise(told):
            distances.append(y - x)
            variances.append(v + w)
    if not distances:
        return np.zeros(size), 0
    return extra_variance(np.stack(distances), np.stack(variances), times=2.0), len(distances)


def alarms(
    runs: Sequence[Evidence],
    times,
    causes: Sequence[Cause],
    *,
    false_alarm: float,
    robots: int = 1,
    spread: np.ndarray | float = 0.0,
    pairs: int = 0,
) -> tuple[Alarm, ...]:
    """Changes of one robot of a fleet of `robots`, in order. times: (l,) of the runs; spread: (r,) variances between
    runs of one robot, told by so many `pairs` of runs."""
    found: list[Alarm] = []
    start = 0
    spread = np.broadcast_to(np.asarray(spread, dtype=float), (len(runs[0].moment),))
    both = [(run.with_spread(spread), run) for run in runs]
    spread_degrees = max(EFFICIENCY * pairs, 1.0) if np.any(spread) else np.inf
    for n in range(1, len(runs)):
        share = robots * np.pi**2 / 6 * n**2
        alarm = _look(both[: n + 1], times, start, causes, share, false_alarm, spread_degrees)
        if alarm is not None:
            found.append(alarm)
            start = alarm.first
    return tuple(found)


def _look(both, times, start: int, causes, share: float, false_alarm: float, spread_degrees: float) -> Alarm | None:
    """The clearest change in the runs since the last one, if it is clear enough. both: runs with and without spread."""
    runs, plain = zip(*both[start:], strict=True)
    n = len(both) - 1
    shapes = [
        (STEP, k, (np.arange(start, n + 1) >= k).astype(float)) for k in range(max(start + 1, n + 1 - LATEST), n + 1)
    ]
    if n + 1 - start >= DRIFTING:
        u = np.asarray(times[start : n + 1], dtype=float)
        shapes.append((DRIFT, n, (u - u[0]) / max(u[-1] - u[0], np.finfo(float).tiny)))
    results = []
    for shape, first, u in shapes:
        change, noise = change_along(runs, u), change_along(plain, u)
        results += [
            (score_test(change, cause, noise=noise, spread_degrees=spread_degrees), shape, first) for cause in causes
        ]
    log_p = chance([test for test, _, _ in results], share)
    if log_p > np.log(false_alarm):
        return None
    best, shape, first = min(results, key=lambda result: result[0].log_fit)
    alike = (test for test, *place in results if place == [shape, first])
    return Alarm(first, n, shape, best, rivals(best, alike), probability(log_p))
