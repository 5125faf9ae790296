"""Which coordinates of a robot with closed loops are independent, and a configuration in which it is assembled."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.dynamics.closed_loop.constraint import constants, gaps, jacobian, placed
from steelyard.errors import LoopError, ModelError, OptionError, choices
from steelyard.model import Robot
from steelyard.model.joint import displaced
from steelyard.model.robot import WORLD
from steelyard.numbers import ROUNDING, SAME, SEED, STEPS

LONGEST = 0.5  # radians, or lengths of the robot, in one Newton step
DAMPING, MOST_DAMPING = 1e-3, 1e3


def moved(robot: Robot, q, step):
    """Positions after a small motion, exact to first order. q (n, nq), step (n, nv), real or complex."""
    out = np.array(q, dtype=np.result_type(q, step))
    for joint, at_q, at_v in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
        if joint.mimics is not None:
            continue
        out[:, at_q] = displaced(joint, q[:, at_q], step[:, at_v])
    return out


def close(robot: Robot, q, free):
    """Close all loops by moving the coordinates `free` only. q: (n, nq) guesses. Returns q and the gaps left (n,)."""
    q = np.array(q, dtype=float)
    sizes = constants(robot).sizes[free]
    gap, K, size = _evaluated(robot, q, free)
    damping, stuck = np.zeros(len(q)), np.zeros(len(q), dtype=bool)
    for _ in range(STEPS):
        live = np.flatnonzero((size > ROUNDING) & ~stuck)
        if not live.size:
            break
        step = np.zeros((len(live), robot.nv))
        step[:, free] = -_damped(K[live] * sizes, gap[live], damping[live]) * sizes
        trial = moved(robot, q[live], step)
        new = _evaluated(robot, trial, free)
        better = new[2] < (1 - 1 / STEPS) * size[live]  # smaller gains lead nowhere in so many steps
        taken = live[better]
        q[taken] = trial[better]
        gap[taken], K[taken], size[taken] = (x[better] for x in new)
        damping[live] = np.where(better, damping[live] / 10, np.maximum(10 * damping[live], DAMPING))
        damping[damping < DAMPING] = 0.0
        stuck[live] = damping[live] > MOST_DAMPING
    return q, size


def _evaluated(robot: Robot, q, free):
    at = placed(robot, q)
    gap = gaps(robot, at)
    return gap, jacobian(robot, at, side=1)[..., free], np.linalg.norm(gap, axis=1)


def _damped(K, gap, damping):
    """Smallest steps (n, k) that reduce gaps (n, m), damped; redundant equations are left out."""
    U, s, Vt = np.linalg.svd(K, full_matrices=False)
    kept = s > SAME * s.max(axis=1, keepdims=True, initial=1e-300)
    weight = np.where(kept, s / np.maximum(s**2 + damping[:, None] ** 2, 1e-300), 0.0)
    step = np.einsum("nkj,nk,nmk,nm->nj", Vt, weight, U, gap)
    longest = np.abs(step).max(axis=1, initial=0.0)
    return step * np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))[:, None]


GUESSES, NEARBY = 32, 12
SPREAD, JITTER = 1.0, 0.15  # radians, or lengths of the robot: of guesses for assembly, and of configurations near one
USEFUL = 1e-4  # clearance that a choice of independent coordinates must have somewhere near the assembled pose


@dataclass(frozen=True, eq=False)
class Choice:
    """Independent and dependent coordinates: indices into v, and names of the independent ones.

    straight, straight_coordinates: places in q and v of independent joints with one degree; jumping: places in q of the
    others. start (nq,): an assembled configuration; clearance: the best found near it.
    """

    independent: np.ndarray
    dependent: np.ndarray
    names: tuple[str, ...]
    straight: np.ndarray
    straight_coordinates: np.ndarray
    jumping: np.ndarray
    start: np.ndarray
    clearance: float

    @property
    def positions(self) -> np.ndarray:
        """Places in q of all independent coordinates, ascending."""
        return np.sort(np.concatenate([self.straight, self.jumping]))


@dataclass(frozen=True, eq=False)
class Assembly:
    """start (nq,): closed, near the pose of the model file. jacobians (k, m, nv): there and near it, coordinates in
    units of their size. mobility: number of independent coordinates. redundant: equations that say nothing new."""

    start: np.ndarray
    jacobians: np.ndarray
    mobility: int
    redundant: int


@lru_cache(maxsize=64)
def assembled(robot: Robot) -> Assembly:
    """Assembled configuration of a robot with loops. Raises LoopError when its loops cannot be closed."""
    if not robot.loops:
        raise ModelError(
            f"Robot '{robot.name}' has no closed loops. Use the functions for trees, or describe its loops: MJCF "
            "<equality> connect or weld, or [[loop]] in its side file."
        )
    every = np.arange(robot.nv)
    rng = np.random.default_rng(SEED)
    sizes = constants(robot).sizes
    first = _rest(robot)[None]
    q, size = close(robot, first, every)
    if size[0] > SAME:
        guesses = moved(robot, np.repeat(first, GUESSES, axis=0), SPREAD * sizes * rng.normal(size=(GUESSES, robot.nv)))
        found, left = close(robot, guesses, every)
        distance = np.linalg.norm(found - first, axis=1)
        nearest = int(np.argmin(np.where(left <= SAME, distance, np.inf)))
        if left[nearest] > SAME:
            raise LoopError(_open_message(robot, np.concatenate([q, found]), np.concatenate([size, left])))
        q = found[nearest][None]
    shaken = moved(robot, np.repeat(q, NEARBY, axis=0), JITTER * sizes * rng.normal(size=(NEARBY, robot.nv)))
    near, left = close(robot, shaken, every)
    near = np.concatenate([q, near[left <= SAME]])
    K = jacobian(robot, placed(robot, near)) * sizes
    singular = np.linalg.svd(K, compute_uv=False)
    rank = int((singular > SAME * singular[:, :1]).sum(axis=1).max())
    return Assembly(q[0], K, robot.nv - rank, K.shape[1] - rank)


@lru_cache(maxsize=64)
def choose_independent(robot: Robot, actuated: tuple[str, ...] | None = None) -> Choice:
    """Independent coordinates by joint name (None: the robot's motors, or a choice that suits its loops), a free base's
    always. Raises OptionError for unknown joints, LoopError where the loops leave no motion and, with a suggestion, for
    a wrong choice."""
    found = assembled(robot)
    if not found.mobility:
        raise LoopError(
            f"Robot '{robot.name}': its loops ({choices(robot.loop_names)}) leave no joint free to move, so no motion "
            "reveals anything about its bodies. Take the loop that holds it out of the model."
        )
    names = actuated if actuated is not None else robot.actuated
    unknown = [name for name in names if name not in robot.joint_names]
    if unknown:
        raise OptionError(
            f"actuated: robot '{robot.name}' has no joint '{unknown[0]}'. Its joints: {choices(robot.joint_names)}."
        )
    suggested = _greedy(robot, found, names)
    if not names:
        return _made(robot, found, suggested)
    independent = _coordinates(robot, names)
    if len(independent) != found.mobility or _clearance(found, independent) < USEFUL:
        given = "'" + "', '".join(names) + "'"
        free = [robot.dof_names[i] for i in suggested]
        count = f"{len(independent)} coordinates ({given}{' and the free base' if robot.floating else ''})"
        reason = (
            f"{count} are given as independent, but its loops leave {found.mobility} free"
            if len(independent) != found.mobility
            else f"{given} do not determine the motion of its loops: the other joints can move while these stand still"
        )
        raise LoopError(f"Robot '{robot.name}': {reason}. A valid choice: {', '.join(free) or 'none'}.")
    return _made(robot, found, independent)


def _rest(robot: Robot) -> np.ndarray:
    """Coordinates at which every joint is where the model file draws it."""
    q = robot.neutral
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        if joint.mimics is None and joint.nq == 1:
            q[where] = -joint.offset / joint.ratio
    return q


def _coordinates(robot: Robot, names) -> np.ndarray:
    wanted = [
        k
        for joint, where in zip(robot.joints, robot.v_slices, strict=True)
        for k in range(where.start, where.stop)
        if joint.mimics is None and (joint.name in names or joint.kind == "free")
    ]
    return np.array(sorted(wanted), dtype=int)


def _greedy(robot: Robot, found: Assembly, preferred) -> np.ndarray:
    """Independent coordinates that keep the preferred joints if they can, then those nearest to the base.

    Dependent ones are taken from the tips inwards, each if it adds to the rank where the constraints are best held.
    """
    depth = np.zeros(robot.nv)
    for j, where in enumerate(robot.v_slices):
        parent, level = robot.parents[j], 1
        while parent != WORLD:
            parent, level = robot.parents[parent], level + 1
        depth[where] = level if robot.joints[j].kind != "free" else 0
    depth[_coordinates(robot, preferred)] -= robot.nj + 1
    rank = robot.nv - found.mobility
    best = int(np.argmax(np.linalg.svd(found.jacobians, compute_uv=False)[:, rank - 1])) if rank else 0
    rest, dependent = found.jacobians[best].copy(), []
    for tolerance in (1e-2, USEFUL, SAME):
        for k in np.lexsort((-np.arange(robot.nv), -depth)):
            size = np.linalg.norm(rest[:, k])
            if k not in dependent and len(dependent) < rank and size > tolerance:
                direction = rest[:, k] / size
                rest -= np.outer(direction, direction @ rest)
                dependent.append(int(k))
    return np.setdiff1d(np.arange(robot.nv), dependent)


def _clearance(found: Assembly, independent) -> float:
    dependent = np.setdiff1d(np.arange(found.jacobians.shape[2]), independent)
    if not dependent.size:
        return 1.0
    singular = np.linalg.svd(found.jacobians[..., dependent], compute_uv=False)
    if singular.shape[1] < len(dependent):
        return 0.0
    return float((singular[:, -1] / singular[:, 0]).max())


def _made(robot: Robot, found: Assembly, independent) -> Choice:
    straight, coordinates, jumping, split = [], [], [], []
    for joint, at_q, at_v in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
        inside = np.isin(np.arange(at_v.start, at_v.stop), independent)
        if joint.mimics is not None or not inside.any():
            continue
        if not inside.all():
            split.append(joint.name)
        elif joint.nq == 1:
            straight.append(at_q.start)
            coordinates.append(at_v.start)
        else:
            jumping += range(at_q.start, at_q.stop)
    if split:
        raise LoopError(
            f"Robot '{robot.name}': its loops leave part of joint '{split[0]}' free, such as the spin of a rod between "
            "two ball joints. Give that joint fewer degrees of freedom, so that every free motion has its own joint."
        )
    return Choice(
        independent=independent,
        dependent=np.setdiff1d(np.arange(robot.nv), independent),
        names=tuple(robot.dof_names[i] for i in independent),
        straight=np.array(straight, dtype=int),
        straight_coordinates=np.array(coordinates, dtype=int),
        jumping=np.array(jumping, dtype=int),
        start=found.start,
        clearance=_clearance(found, independent),
    )


def _open_message(robot: Robot, q, size) -> str:
    """Which loop stays open, and by how much, at the best of several attempts."""
    best = int(np.argmin(size))
    at = placed(robot, q[best][None])
    length = constants(robot).length
    left = np.abs(gaps(robot, at)[0]) * constants(robot).row_sizes
    sizes = [loop.equations for loop in robot.loops]
    parts = np.split(left, np.cumsum(sizes)[:-1])
    worst = int(np.argmax([part.max() for part in parts]))
    distance = np.linalg.norm(at.positions[1, 0, worst] - at.positions[0, 0, worst])
    loop = robot.loops[worst]
    ends = " and ".join("the ground" if name is None else f"'{name}'" for name in loop.bodies)
    return (
        f"Loop '{loop.name}' of robot '{robot.name}' cannot be closed: between {ends} a gap of {distance:.3g} m "
        f"({np.linalg.norm(gaps(robot, at)[0]):.2g} of the robot's mean link of {length:.3g} m, angles counted in "
        f"radians) is left at the best of {len(q)} attempts. Check the frames of the loop and the lengths of its links."
    )
