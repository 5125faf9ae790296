"""Constraint equations of closed loops: gaps, their Jacobian K(q) with `K v = 0`, and its rate of change.

Rows are the kept components of the second frame's motion seen from the first, in the first frame's axes; lengths are
divided by the robot's own length, so that a millimetre robot and a kilometre robot have the same numbers. Arrays have
samples first.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.dynamics.kinematics import coordinate_map, motion, tree
from steelyard.model import Robot
from steelyard.model.loops import LOOP_KINDS
from steelyard.model.robot import WORLD
from steelyard.spatial import cross, motion_cross, rotate


@dataclass(frozen=True, eq=False)
class Constants:
    """Of a robot's loops: bodies (2, L) that they join, kept rows (m,) of the 6 L components and their sizes (m,),
    paths (2, L, nt) degrees that move each side, spread (nt, nv) from coordinates to degrees, above (nt, nt) degrees
    that move each degree's child, length in metres, sizes (nv,) of the coordinates' units."""

    bodies: np.ndarray
    rotations: np.ndarray
    positions: np.ndarray
    rows: np.ndarray
    row_sizes: np.ndarray
    paths: np.ndarray
    spread: np.ndarray
    above: np.ndarray
    length: float
    sizes: np.ndarray


@lru_cache(maxsize=64)
def constants(robot: Robot) -> Constants:
    """Constants of a robot's loops (cached: a Robot never changes)."""
    index = {name: i for i, name in enumerate(robot.body_names)} | {None: WORLD}
    fixed = tree(robot)
    bodies = np.array([[index[name] for name in side] for side in zip(*(l.bodies for l in robot.loops), strict=True)])
    with_ground = np.concatenate([fixed.ancestors[robot.body_joints], np.zeros((1, fixed.ancestors.shape[1]))])
    length = _length(robot)
    kept = [LOOP_KINDS[loop.kind] for loop in robot.loops]
    return Constants(
        bodies=bodies,
        rotations=np.stack([loop.rotations for loop in robot.loops], axis=1),
        positions=np.stack([loop.positions for loop in robot.loops], axis=1),
        rows=np.array([6 * i + row for i, rows in enumerate(kept) for row in rows]),
        row_sizes=np.array([length if row < 3 else 1.0 for rows in kept for row in rows]),
        paths=with_ground[bodies],
        spread=coordinate_map(robot).T,
        above=fixed.ancestors[fixed.degree_joint],
        length=length,
        sizes=_coordinate_sizes(robot, length),
    )


@dataclass(frozen=True, eq=False)
class Placed:
    """Loops of n samples: axes (n, nt, 6) of all degrees in the world; of both frames, rotations (2, n, L, 3, 3) and
    positions (2, n, L, 3)."""

    axes: np.ndarray
    rotations: np.ndarray
    positions: np.ndarray


def placed(robot: Robot, q) -> Placed:
    """Axes and loop frames at q (n, nq), real or complex."""
    c = constants(robot)
    n = len(q)
    still = np.zeros((robot.nv, n), dtype=q.dtype)
    state = motion(robot, q.T, still, still)
    ground = np.broadcast_to(np.eye(3)[None, ..., None], (1, 3, 3, n))
    R = np.moveaxis(np.concatenate([state.rotation, ground]), -1, 0)  # the ground is last, where WORLD = -1 points
    p = np.moveaxis(np.concatenate([state.position, np.zeros((1, 3, n))]), -1, 0)
    R, p = (np.moveaxis(x[:, c.bodies], 1, 0) for x in (R, p))
    positions = p + rotate(R, c.positions[:, None])
    return Placed(np.moveaxis(state.axes, -1, 0), R @ c.rotations[:, None], positions)


def gaps(robot: Robot, at: Placed):
    """How far the loops are from closed, (n, m): lengths over the robot's length, and angles as rotation vectors.

    The gradient of half its square is `jacobian(side=1)^T gaps` exactly, however large the gap is.
    """
    from scipy.spatial.transform import Rotation

    c = constants(robot)
    first, second = at.rotations
    linear = rotate(np.swapaxes(first, -1, -2), at.positions[1] - at.positions[0])
    relative = np.swapaxes(first, -1, -2) @ second
    turn = Rotation.from_matrix(relative.reshape(-1, 3, 3)).as_rotvec().reshape(linear.shape)
    one_axis = np.array([LOOP_KINDS[loop.kind][-2:] == (3, 4) for loop in robot.loops])
    turn = np.where(one_axis[:, None], _tilt(relative[..., 2]), turn)
    everything = np.concatenate([linear, turn], axis=-1).reshape(len(linear), 6 * linear.shape[1])
    return everything[:, c.rows] / c.row_sizes


def _tilt(z):
    """Shortest rotation vector (..., 3) from the z axis to a unit vector z (..., 3)."""
    sine = np.hypot(z[..., 0], z[..., 1])
    angle = np.arctan2(sine, z[..., 2])
    share = angle / np.where(sine > 0, sine, 1.0)
    x = np.where(sine > 0, -z[..., 1] * share, angle)  # z upside down: any axis across will do
    return np.stack([x, z[..., 0] * share, np.zeros_like(x)], axis=-1)


def jacobian(robot: Robot, at: Placed, *, side: int = 0):
    """K (n, m, nv): `K v` is the rate of the gaps where the loops are closed.

    side: which frame's origin linear rows speak of. With 0 `jacobian_rate` is its derivative; with 1 `K^T gaps` is a
    gradient where loops are open, too. What they keep at zero is the same.
    """
    c = constants(robot)
    parts = c.paths[1] - c.paths[0]
    linear, angular = at.axes[:, None, :, :3], at.axes[:, None, :, 3:]
    there = linear + cross(angular, at.positions[side][:, :, None])
    seen = np.concatenate([there @ at.rotations[0], angular @ at.rotations[0]], axis=-1) * parts[:, :, None]
    n, count = seen.shape[:2]
    rows = np.swapaxes(seen, -1, -2).reshape(n, 6 * count, parts.shape[-1])[:, c.rows]
    return rows @ c.spread / c.row_sizes[:, None]


def jacobian_rate(robot: Robot, at: Placed, u, v):
    """Change of `K v` per unit of motion along u, v held: (n, m, k). u, v: (n, nv, k), motions that keep loops closed.

    `K a + jacobian_rate(v, v) = 0` for every acceleration a of the closed loops.
    """
    c = constants(robot)
    u, v = (np.swapaxes(c.spread @ x, -1, -2) for x in (u, v))  # (n, k, nt)
    axes = at.axes[:, None]
    drift = c.above @ (axes * u[..., None])
    moved = axes * v[..., None]
    changed = (c.paths[1] - c.paths[0]) @ motion_cross(drift, moved)
    carried, relative = c.paths[0] @ (axes * u[..., None]), (c.paths[1] - c.paths[0]) @ moved
    changed = changed - motion_cross(carried, relative)  # (n, k, L, 6): the axes of the first frame turn too
    return in_first_frames(robot, at, changed)


def in_first_frames(robot: Robot, at: Placed, twists):
    """Kept rows (n, m, k) of twists (n, k, L, 6) of the second frames seen from the first, given in world axes."""
    c = constants(robot)
    linear = twists[..., :3] + cross(twists[..., 3:], at.positions[0][:, None])
    seen = np.concatenate([_into(at, linear), _into(at, twists[..., 3:])], axis=-1)
    rows = seen.reshape(*seen.shape[:2], 6 * seen.shape[2])[..., c.rows] / c.row_sizes
    return np.swapaxes(rows, -1, -2)


def of_multipliers(robot: Robot, at: Placed, multipliers):
    """Wrenches (n, L, 6) `[f; n]` in world axes at the world origin, of multipliers (n, m) of the kept rows: their
    power on twists is that of the multipliers on `in_first_frames`.
    """
    c = constants(robot)
    rows = np.zeros((len(multipliers), 6 * c.bodies.shape[1]))
    rows[:, c.rows] = multipliers / c.row_sizes
    linear, angular = np.split(rows.reshape(len(rows), -1, 6), 2, axis=-1)
    force, moment = rotate(at.rotations[0], linear), rotate(at.rotations[0], angular)
    return np.concatenate([force, moment + cross(at.positions[0], force)], axis=-1)


def _into(at: Placed, u):
    return rotate(np.swapaxes(at.rotations[0], -1, -2)[:, None], u)


def _length(robot: Robot) -> float:
    """Mean size of what places joints and loops, metres; 1 for a robot all of whose axes meet in one point."""
    places = [joint.position for joint in robot.joints] + [p for loop in robot.loops for p in loop.positions]
    sizes = np.linalg.norm(places, axis=1)
    sizes = sizes[sizes > 1e-9]
    return float(sizes.mean()) if sizes.size else 1.0


def _coordinate_sizes(robot: Robot, length: float) -> np.ndarray:
    """(nv,) the motion of each coordinate that counts as one: a radian, or the robot's length."""
    return np.concatenate([np.where(joint.features.turning, 1.0, length) for joint in robot.free_joints])
