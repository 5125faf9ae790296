"""Output error: drives and friction that make the simulation move as the log does, from windows of it.

Gauss-Newton steps on the error of positions. A joint's drive moves its own joint first of all, so each kind of number
is changed in all joints at once and every joint's answer is taken for its own; the others' small answers are left
aside. The residual stays exact, a step is taken only where it lowers the cost, and intervals come from all answers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.drives.parameters import Drives
from steelyard.drives.simulation import Simulation
from steelyard.drives.windows import Windows
from steelyard.dynamics import regressor
from steelyard.inertia import from_com_inertia, to_com_inertia
from steelyard.model import Robot

LOGARITHMIC = ("gain", "damping", "frictionloss", "armature", "slope_limit", "limit")
# Change of a number that its derivative is taken over, and how far it may be from the start: standard deviations of a
# weak prior, logarithms for those above. Delay in s, offset in N m.
CHANGES = {"gain": 0.03, "damping": 0.03, "frictionloss": 0.03, "armature": 0.05, "slope_limit": 0.1, "limit": 0.1}
CHANGES |= {"delay": 2e-3, "offset": 0.02}
SPREADS = {"gain": 1.0, "damping": 1.0, "frictionloss": 1.0, "armature": 2.0, "slope_limit": 1.0, "limit": 1.0}
SPREADS |= {"delay": 0.02, "offset": 0.5}
MASS_SPREAD, CENTER_SPREAD = 0.5, 0.03  # logarithm, m: of the prior of bodies
BODY_CHANGE = 0.05  # of these
FELT, MOST_DIRECTIONS = 1e-3, 10  # rad or m by which joints at rest move, of directions that are free
PRIOR = 30.0  # samples that the prior counts as much as
SETTLED = 2e-3  # relative change of the cost
OUTLIER = 6.0  # times the median error, from which on it counts less
DAMPINGS = (0.03, 0.3, 3.0, 30.0)  # tried together, times the current one


@dataclass(frozen=True, eq=False)
class Refined:
    """drives: refined; free: names of what was free; rms: (steps,) error over the windows after every step."""

    drives: Drives
    free: tuple[str, ...]
    rms: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Numbers of drives as coordinates: those of each joint in `free` (f, nv), then of the bodies (k,).

    start: where they begin. bodies: (k, nb, 4) logarithm of mass and shift of the centre of mass, m, of each direction.
    """

    drives: Drives
    free: tuple[str, ...]
    bodies: np.ndarray

    @cached_property
    def start(self) -> np.ndarray:
        own = [_coordinates(self.drives, name) for name in self.free]
        return np.concatenate([*own, np.zeros(len(self.bodies))])

    @property
    def joints(self) -> int:
        return len(self.drives.gain)

    @cached_property
    def spread(self) -> np.ndarray:
        """Standard deviations of a weak prior."""
        return np.concatenate([*(np.full(self.joints, SPREADS[name]) for name in self.free), np.ones(len(self.bodies))])

    def changes(self) -> list[tuple[np.ndarray, float, np.ndarray]]:
        """Steps that derivatives are taken over: change of the coordinates, its size, and the coordinate that the error
        of each joint (nv,) answers to."""
        n, size = self.joints, len(self.start)
        found = []
        for i, name in enumerate(self.free):
            own = np.zeros(size)
            own[i * n : (i + 1) * n] = CHANGES[name]
            found.append((own, CHANGES[name], i * n + np.arange(n)))
        for k in range(len(self.bodies)):
            own = np.zeros(size)
            own[len(self.free) * n + k] = BODY_CHANGE
            found.append((own, BODY_CHANGE, np.full(n, len(self.free) * n + k)))
        return found

    def at(self, x) -> Drives:
        n = self.joints
        values = {}
        for i, name in enumerate(self.free):
            own = x[i * n : (i + 1) * n]
            values[name] = np.exp(own) if name in LOGARITHMIC else own
        if len(self.bodies):
            moved = np.tensordot(x[len(self.free) * n :], self.bodies, axes=1)
            values["inertias"] = np.stack([_moved(t, *c) for t, c in zip(self.drives.inertias, moved, strict=True)])
        return self.drives.changed(**values)


def _moved(theta, more: float, *shift) -> np.ndarray:
    """(10,) of a body with its mass times exp(more), and its centre of mass shifted."""
    mass, center, inertia = to_com_inertia(theta)
    mass = mass * np.exp(more)
    return from_com_inertia(mass, center + np.array(shift), inertia * np.exp(more))


def felt_directions(robot: Robot, drives: Drives, q) -> np.ndarray:
    """(k, nb, 4) changes of masses and centres of mass that move joints at rest, the most felt first.

    One is as large as the prior's standard deviations allow. q: (n, nq) positions where the robot was.
    """
    rows = regressor(robot, q, np.zeros((len(q), robot.nv)), np.zeros((len(q), robot.nv)))
    spreads = np.array([MASS_SPREAD, *[CENTER_SPREAD] * 3])
    columns = np.zeros((10 * robot.nb, 4 * robot.nb))
    for b, theta in enumerate(drives.inertias):
        columns[10 * b, 4 * b] = theta[0] * spreads[0]
        columns[10 * b + 1 : 10 * b + 4, 4 * b] = theta[1:4] * spreads[0]
        columns[10 * b + 1 : 10 * b + 4, 4 * b + 1 : 4 * b + 4] = theta[0] * CENTER_SPREAD * np.eye(3)
    felt = (rows @ columns) / drives.gain[:, None]
    _, size, axes = np.linalg.svd(felt.reshape(-1, 4 * robot.nb) / np.sqrt(len(q)), full_matrices=False)
    kept = np.flatnonzero(size > FELT)[:MOST_DIRECTIONS]
    return axes[kept].reshape(-1, robot.nb, 4) * spreads


def refine(
    simulation: Simulation,
    drives: Drives,
    windows: Windows,
    *,
    free=("gain", "damping", "frictionloss", "armature", "delay", "slope_limit", "offset"),
    bodies=True,
    steps: int = 12,
    progress: Callable[[float], None] | None = None,
) -> Refined:
    """Drives with a smaller error over windows than the given ones, which they start from."""
    free = tuple(name for name in free if np.isfinite(getattr(drives, name)).all())
    felt = felt_directions(simulation.robot, drives, windows.q) if bodies else np.zeros((0, simulation.robot.nb, 4))
    unknowns = Unknowns(drives, free, felt)
    x, damping, found = unknowns.start.copy(), 1.0, []
    error = _errors(simulation, windows, [unknowns.at(x)])[0]
    size, spread = len(x), unknowns.spread
    for step in range(steps):
        if progress:
            progress(step / steps)
        scale = max(1.4826 * float(np.median(np.abs(error))), 1e-6)
        told = lambda e, y: _cost(e, scale) + PRIOR * scale**2 * float(np.sum(((y - unknowns.start) / spread) ** 2))
        cost = told(error, x)
        found.append(float(np.sqrt(np.mean(error**2))))
        changes = unknowns.changes()
        answers = _errors(simulation, windows, [unknowns.at(x + change) for change, _, _ in changes])
        slopes = [(answer - error) / by for answer, (_, by, _) in zip(answers, changes, strict=True)]
        weight = np.minimum(1.0, OUTLIER * scale / np.maximum(np.abs(error), 1e-300))
        gram, pull = np.zeros((size, size)), np.zeros(size)
        for one, (_, _, at) in zip(slopes, changes, strict=True):
            np.add.at(pull, at, np.sum(one * weight * error, axis=0))
            for other, (_, _, also) in zip(slopes, changes, strict=True):
                np.add.at(gram, (at, also), np.sum(one * weight * other, axis=0))
        own = PRIOR * scale**2 / spread**2
        gram, pull = gram + np.diag(own), pull + own * (x - unknowns.start)
        trials = []
        for factor in DAMPINGS:
            move = -np.linalg.solve(gram + factor * damping * 1e-2 * np.diag(np.diag(gram)), pull)
            trials.append(x + np.clip(move, -spread, spread))
        errors = _errors(simulation, windows, [unknowns.at(each) for each in trials])
        costs = [told(e, each) for e, each in zip(errors, trials, strict=True)]
        best = int(np.argmin(costs))
        print(step, 'rms', 1e3 * found[-1], 'cost', cost, '->', costs[best], best)
        if not costs[best] < cost:
            damping *= 100
            if damping > 1e4:
                break
            continue
        x, error, damping = trials[best], errors[best], max(1e-3, damping * DAMPINGS[best])
        if cost - costs[best] < SETTLED * cost:
            break
    found.append(float(np.sqrt(np.mean(error**2))))
    return Refined(unknowns.at(x), free, tuple(found))


def _coordinates(drives: Drives, name: str) -> np.ndarray:
    values = getattr(drives, name)
    return np.log(values) if name in LOGARITHMIC else np.asarray(values, dtype=float)


def _cost(error, scale: float) -> float:
    """Huber's: squares up to an outlier, then straight."""
    size, edge = np.abs(error), OUTLIER * scale
    return float(np.sum(np.where(size < edge, size**2, 2 * edge * size - edge**2)))


def _errors(simulation: Simulation, windows: Windows, drives: list[Drives]) -> list[np.ndarray]:
    """(m, nv) of each set of drives, all simulated together."""
    controls: dict[bytes, np.ndarray] = {}
    for each in drives:
        key = each.delay.tobytes() + each.slope_limit.tobytes()
        controls.setdefault(key, windows.controls(each))
    models = [m for each in drives for m in [simulation.driven(each)] * len(windows)]
    told = np.concatenate([controls[each.delay.tobytes() + each.slope_limit.tobytes()] for each in drives])
    q = simulation.run(models, np.tile(windows.q, (len(drives), 1)), np.tile(windows.v, (len(drives), 1)), told)
    parts = q.reshape(len(drives), len(windows), *q.shape[1:])
    return [windows.errors(part) for part in parts]
