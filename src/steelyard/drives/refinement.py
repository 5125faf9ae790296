"""Output error: drives, friction and bodies that make the simulation move as the log does, from windows of it.

Gauss-Newton steps on the errors of positions. A joint's numbers move its own joint first of all: while steps are taken,
each kind of number is changed in all joints at once and every joint's answer is taken for its own. The error itself
stays exact, and a step is taken only where it lowers the cost. Covariances come from all answers, and from how unlike
windows are: errors within one are no independent samples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.coordinates import Unknowns
from steelyard.drives.simulation import Simulation
from steelyard.drives.windows import Windows

STEPS = 12
PRIOR = 30.0  # samples that the prior counts as much as
SETTLED = 2e-3  # relative change of the cost
OUTLIER = 6.0  # times the typical error, from which on it counts less
DAMPINGS = (0.03, 0.3, 3.0, 30.0)  # tried at once, times the current one
FIRST, LEAST, MOST = 1e-2, 1e-5, 100.0  # of the damping
WORSE = 100.0  # times more of it where nothing was better


@dataclass(frozen=True, eq=False)
class Refined:
    """unknowns: where it began; x: (p,) where it ended; rms: error over the windows, rad or m, before every step and at
    the end."""

    unknowns: Unknowns
    x: np.ndarray
    rms: tuple[float, ...]

    @property
    def drives(self) -> DriveArrays:
        return self.unknowns.at(self.x)


def refine(
    simulation: Simulation, unknowns: Unknowns, windows: Windows, *, progress: Callable[[float], None] | None = None
) -> Refined:
    """Drives of less error over windows, or the given ones where there are none near.

    Args:
        simulation: of the robot.
        unknowns: what may change, and where it begins.
        windows: of the logs.
        progress: told the share that is done.

    Returns:
        The Refined.
    """
    x, damping, rms = unknowns.start, FIRST, []
    (error,) = errors_of(simulation, windows, [unknowns.at(x)])
    for step in range(STEPS):
        if progress:
            progress(step / STEPS)
        rms.append(float(np.sqrt(np.mean(error**2))))
        cost = _Cost(unknowns, error)
        gram, pull = cost.quadratic(x, _slopes(simulation, windows, unknowns, x, error, together=True))
        tried = [unknowns.within(x + cost.step(gram, pull, factor * damping)) for factor in DAMPINGS]
        errors = errors_of(simulation, windows, [unknowns.at(each) for each in tried])
        costs = [cost.value(*each) for each in zip(tried, errors, strict=True)]
        best, before = int(np.argmin(costs)), cost.value(x, error)
        if costs[best] < before:
            x, error, damping = tried[best], errors[best], max(LEAST, damping * DAMPINGS[best])
            if before - costs[best] < SETTLED * before:
                break
        elif damping > MOST:
            break
        else:
            damping *= WORSE
    rms.append(float(np.sqrt(np.mean(error**2))))
    return Refined(unknowns, x, tuple(rms))


def covariance(simulation: Simulation, refined: Refined, windows: Windows) -> np.ndarray:
    """Covariance of the coordinates: what windows unlike each other leave open, and the prior (Liang and Zeger 1986).

    Args:
        simulation: of the robot.
        refined: what was found.
        windows: that it was found from.

    Returns:
        (p, p).
    """
    unknowns, x = refined.unknowns, refined.x
    (error,) = errors_of(simulation, windows, [unknowns.at(x)])
    slopes = _slopes(simulation, windows, unknowns, x, error, together=False)
    cost = _Cost(unknowns, error)
    gram, _ = cost.quadratic(x, slopes)
    ends = np.cumsum(windows.counts)[:-1]
    scores = np.zeros((len(windows), len(x)))
    for slope, at in slopes:
        parts = np.split(np.sum(slope * cost.weight * error, axis=1), ends)
        scores[:, at[0]] += [part.sum() for part in parts]
    inverse = np.linalg.inv(gram)
    return inverse @ (scores.T @ scores + np.diag(cost.own**2 * cost.spread**2)) @ inverse


class _Cost:
    """Huber's of errors about as large as the given ones, and the prior's of coordinates."""

    def __init__(self, unknowns: Unknowns, error):
        self.start, self.spread = unknowns.start, unknowns.spread
        self.edge = OUTLIER * max(1.4826 * float(np.median(np.abs(error))), 1e-9)
        self.error, self.weight = error, np.minimum(1.0, self.edge / np.maximum(np.abs(error), 1e-300))
        self.own = PRIOR * (self.edge / OUTLIER) ** 2 / self.spread**2

    def value(self, x, error) -> float:
        size = np.abs(error)
        far = 2 * self.edge * size - self.edge**2
        return float(np.sum(np.where(size < self.edge, size**2, far)) + np.sum(self.own * (x - self.start) ** 2))

    def quadratic(self, x, slopes) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton's matrix (p, p) and gradient (p,), halved."""
        gram, pull = np.diag(self.own), self.own * (x - self.start)
        for slope, at in slopes:
            np.add.at(pull, at, np.sum(slope * self.weight * self.error, axis=0))
        for (one, at), (other, also) in product(slopes, repeat=2):
            np.add.at(gram, (at, also), np.sum(one * self.weight * other, axis=0))
        return gram, pull

    def step(self, gram, pull, damping: float) -> np.ndarray:
        move = -np.linalg.solve(gram + damping * np.diag(np.diag(gram)), pull)
        return np.clip(move, -self.spread, self.spread)


def _slopes(
    simulation, windows, unknowns: Unknowns, x, error, *, together: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Derivatives (m, nv) of the errors, and the coordinates of each joint (nv,) that they are taken with."""
    changes = unknowns.changes(together=together)
    moved = errors_of(simulation, windows, [unknowns.at(x + change) for change, _ in changes])
    return [((new - error) / change.max(), at) for new, (change, at) in zip(moved, changes, strict=True)]


def errors_of(simulation: Simulation, windows: Windows, drives: Sequence[DriveArrays]) -> list[np.ndarray]:
    """Errors of several sets of drives, as many simulated at once as memory has room for.

    Args:
        simulation: of the robot.
        windows: of the logs.
        drives: any number.

    Returns:
        (m, nv) simulated minus measured positions of each.
    """
    together, found = simulation.together(windows), []
    for first in range(0, len(drives), together):
        part = drives[first : first + together]
        models = [m for each in part for m in [simulation.driven(each)] * len(windows)]
        told = {each.told_by: windows.controls(each) for each in {d.told_by: d for d in part}.values()}
        controls = np.concatenate([told[each.told_by] for each in part])
        q, v = (np.tile(state, (len(part), 1)) for state in (windows.q, windows.v))
        q = simulation.run(models, q, v, controls)
        found += [windows.errors(own) for own in q.reshape(len(part), len(windows), *q.shape[1:])]
    return found
