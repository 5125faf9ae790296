"""Static poses: what gravity alone shows, for robots that must not move fast."""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.cards import Card
from steelyard.errors import OptionError
from steelyard.excite.collisions import scene_notes, scene_within
from steelyard.excite.design_goal import goal_of
from steelyard.excite.limits import Limits, bounds_of, random_states
from steelyard.excite.measured_rows import base_rows
from steelyard.excite.optimality import Goal
from steelyard.model import Robot
from steelyard.motion_options import Aim
from steelyard.numbers import ROUNDS

CANDIDATES = 400


@dataclass(frozen=True, eq=False, repr=False)
class PoseSet(Card):
    """Poses to hold at rest."""

    poses: np.ndarray  # (k, nq) rad or m, the most telling first
    goal: Goal  # what was to be known
    gram: np.ndarray  # (r, r) their information in base columns
    condition: float  # condition number of the regressor with unit columns, of what poses can show
    notes: tuple[str, ...] = ()  # what a reader has to know of the result


def poses(
    robot: Robot,
    count: int = 20,
    *,
    limits: Limits | None = None,
    criterion: str = "D",
    focus=None,
    locked=(),
    rest=None,
    friction=("offset",),
    noise=None,
    weight: float = 1.0,
    seed: int = 0,
) -> PoseSet:
    """A set of static poses for torques of gravity, by exchange among random poses free of collisions (Fedorov 1972).

    Args:
        robot: a tree whose base is held.
        count: number of poses, one independent sample each.
        limits, criterion, focus, locked, rest, friction, noise, weight: as of `design`.
        seed: of the random poses.

    Returns:
        The poses, most telling first, and what they show.

    Raises:
        OptionError: fewer than `count` of the random poses are free of collisions.

    Example:
        >>> import steelyard as sy
        >>> sy.excite.poses(sy.library.scara(), 8, limits=sy.excite.Limits(collisions=False)).poses.shape
        (8, 4)
    """
    limits = Limits() if limits is None else limits
    bounds = bounds_of(robot, limits, locked=locked, rest=rest)
    if count < 1:
        raise OptionError(f"count={count}: a set has one pose or more.")
    states = random_states(robot, bounds)
    rng = np.random.default_rng(seed)
    x = rng.uniform(bounds.lower, bounds.upper, size=(CANDIDATES, robot.nv))
    x[:, bounds.locked] = bounds.rest[bounds.locked]
    q = bounds.positions(x.T).T
    scene = scene_within(robot, bounds, replace(limits, cartesian_speed=None), states[0].T)
    q = q if scene is None else np.delete(q, np.unique(scene.contacts(q).sample), axis=0)
    if len(q) < count:
        raise OptionError(
            f"Of {CANDIDATES} random poses only {len(q)} are free of collisions; {count} are wanted. Widen the "
            "position limits, or lower clearance or floor."
        )
    still = np.zeros((robot.nv, len(q)))
    tau = states[3]
    aim = Aim(criterion, focus, friction=friction, noise=noise, rate=1.0, weight=weight)
    goal = goal_of(robot, (q.T, still, still, tau), aim)
    rows = base_rows(robot, goal.layout, goal.basis, q.T, still, still, goal.coulomb_width)
    rows = np.moveaxis(rows / goal.noise[:, None], 2, 0)  # (n, r, nv)
    grams = rows @ np.swapaxes(rows, 1, 2)
    chosen = _exchanged(goal, grams, rng.choice(len(q), size=count, replace=False))
    gram = grams[chosen].sum(axis=0)
    return PoseSet(q[chosen], goal, gram, goal.condition(gram), scene_notes(robot, scene, limits))


def _exchanged(goal: Goal, grams, chosen) -> np.ndarray:
    """Indices (count,) of a set that no single exchange along the gradient improves."""
    total, cost = grams[chosen].sum(axis=0), np.inf
    for _ in range(ROUNDS):
        before = cost
        for k in range(len(chosen)):
            rest = total - grams[chosen[k]]
            gains = np.einsum("nij,ij->n", grams, goal.cost(rest + 1e-9 * total)[1], optimize=True)
            best = int(np.argmin(gains))
            trial = goal.cost(rest + grams[best])[0]
            if trial < goal.cost(total)[0]:
                chosen[k], total = best, rest + grams[best]
        cost = goal.cost(total)[0]
        if not cost < before:
            break
    return chosen
