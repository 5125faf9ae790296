"""Motion of a whole tree at once, in world axes at the world origin, samples last.

World coordinates turn the recursions into sums along paths: with every joint axis `S` in world coordinates,
velocities are `V = Path (S v)` with a constant 0/1 matrix, and only poses need a walk down the tree. Samples are the
last axis so that each elementary operation is one long vector instruction; arrays are (bodies or joints, components,
samples).
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from steelyard.arguments import as_array, require_type
from steelyard.dynamics.stacks import cross, motion_cross, times, transpose_times
from steelyard.errors import OptionError, choices
from steelyard.model import Robot
from steelyard.model.joint import joint_pose, twist_pose_coefficients
from steelyard.model.robot import WORLD
from steelyard.namespaces import array_namespace


@dataclass(frozen=True, eq=False)
class Tree:
    """Constants of a robot that every pass needs; computed once a robot.

    row_bodies: per coordinate of v, the slice of bodies its torque depends on (wider than a subtree where mimic joints
    share a coordinate). scalar_R (4, ns, 3, 3), scalar_p (4, ns, 3): their pose coefficients.
    """

    ancestors: np.ndarray  # (nj, nt) 1 where degree t of the tree moves joint j's child
    degree_joint: np.ndarray  # (nt,) joint of each degree
    subspace: np.ndarray
    subtree_bodies: tuple[slice, ...]  # per joint, the slice of bodies behind it
    row_bodies: tuple[slice, ...]
    coordinates: np.ndarray  # (nt,) index into v
    ratios: np.ndarray  # (nt,) speed of the degree over v
    scalar: tuple[int, ...]  # indices of one-degree joints
    scalar_q: np.ndarray
    scalar_ratio: np.ndarray
    scalar_offset: np.ndarray
    scalar_R: np.ndarray
    scalar_p: np.ndarray


@dataclass(frozen=True, eq=False)
class TreeMotion:
    """State of the tree for n samples; world axes, world origin.

    rotation (k, 3, 3, n), position (k, 3, n): poses of the bodies, or of the children of all joints. twist (k, 6, n),
    acceleration (k, 6, n): of the same k frames, the latter proper (gravity subtracted).
    """

    rotation: Any
    position: Any
    axes: Any  # (nt, 6, n) joint axes `[v; w]`; axis_rates (nt, 6, n) their derivatives in time
    axis_rates: Any
    twist: Any
    acceleration: Any


FRAME_FIELDS = ("rotation", "position", "twist", "acceleration")


@lru_cache(maxsize=64)
def tree(robot: Robot) -> Tree:
    """Constants of a robot's tree (cached: a Robot never changes)."""
    degree_joint = np.array([j for j, joint in enumerate(robot.joints) for _ in range(joint.nv)])
    above = np.zeros((robot.nj, robot.nj))
    for j, parent in enumerate(robot.parents):
        if parent != WORLD:
            above[j] = above[parent]
        above[j, j] = 1.0
    subtree = []
    for j in range(robot.nj):
        inside = np.flatnonzero(above[robot.body_joints, j])
        subtree.append(slice(int(inside[0]), int(inside[-1]) + 1) if inside.size else slice(0, 0))
    coordinates = np.concatenate([np.arange(s.start, s.stop) for s in robot.v_slices])
    scalar = tuple(j for j, joint in enumerate(robot.joints) if joint.nq == 1)
    R, p = np.zeros((4, len(scalar), 3, 3)), np.zeros((4, len(scalar), 3))
    for k, j in enumerate(scalar):
        R[:, k], p[:, k] = twist_pose_coefficients(robot.joints[j])
    return Tree(
        ancestors=above[:, degree_joint],
        degree_joint=degree_joint,
        subspace=np.concatenate([joint.subspace.T for joint in robot.joints]),
        subtree_bodies=tuple(subtree),
        row_bodies=tuple(_span(subtree[j] for j in degree_joint[coordinates == k]) for k in range(robot.nv)),
        coordinates=coordinates,
        ratios=np.array([robot.joints[j].ratio for j in degree_joint]),
        scalar=scalar,
        scalar_q=np.array([robot.q_slices[j].start for j in scalar], dtype=int),
        scalar_ratio=np.array([robot.joints[j].ratio for j in scalar]),
        scalar_offset=np.array([robot.joints[j].offset for j in scalar]),
        scalar_R=R,
        scalar_p=p,
    )


def coordinate_map(robot: Robot) -> np.ndarray:
    """(nv, nt) generalised forces from the tree's; mimic joints add to their masters through their ratios."""
    constants = tree(robot)
    E = np.zeros((robot.nv, constants.coordinates.size))
    E[constants.coordinates, np.arange(constants.coordinates.size)] = constants.ratios
    return E


def _span(slices) -> slice:
    """Smallest slice that holds all non-empty ones."""
    filled = [s for s in slices if s.stop > s.start]
    return slice(min(s.start for s in filled), max(s.stop for s in filled)) if filled else slice(0, 0)


def samples_last(robot: Robot, q, v, a):
    """Namespace, batch shape, q (nq, n), v and a (nv, n) of states q (..., nq), v and a (..., nv), which are
    checked."""
    require_type(Robot, robot=robot)
    q, v, a = (as_array(name, value) for name, value in (("q", q), ("v", v), ("a", a)))
    xp = array_namespace(q, v, a)
    for name, array, width in (("q", q, robot.nq), ("v", v, robot.nv), ("a", a, robot.nv)):
        if array.ndim == 0 or array.shape[-1] != width:
            raise OptionError(
                f"{name} has shape {tuple(array.shape)}; robot '{robot.name}' needs (..., {width}), joints ordered "
                f"{', '.join(robot.joint_names[:12])}{', ...' if len(robot.joint_names) > 12 else ''}."
                + (" Rows are samples: pass the transpose." if array.ndim == 2 and array.shape[0] == width else "")
            )
    leading = [tuple(x.shape[:-1]) for x in (q, v, a)]
    try:
        batch = np.broadcast_shapes(*leading)
    except ValueError as error:
        raise OptionError(f"q, v and a need the same samples; found batches of {choices(leading)}.") from error
    count = prod(batch)
    flat = (xp.reshape(xp.broadcast_to(x, (*batch, x.shape[-1])), (count, x.shape[-1])).T for x in (q, v, a))
    return xp, batch, *flat


def motion(robot: Robot, q, v, a) -> TreeMotion:
    """Motion of all bodies. q: (nq, n), v, a: (nv, n)."""
    return of_bodies(robot, joint_motion(robot, q, v, a))


def of_bodies(robot: Robot, state: TreeMotion) -> TreeMotion:
    """Motion of the bodies among the children of all joints."""
    xp, bodies = array_namespace(state.axes), robot.body_joints
    frames = {key: xp.take(getattr(state, key), xp.asarray(bodies), axis=0) for key in FRAME_FIELDS}
    return replace(state, **frames)


def joint_motion(robot: Robot, q, v, a) -> TreeMotion:
    """Motion of the children of all joints, those without a body included. q: (nq, n), v, a: (nv, n)."""
    xp = array_namespace(q, v, a)
    constants = tree(robot)

    def const(array):
        return xp.asarray(array, dtype=q.dtype)

    rotations, positions, axes = joint_poses(robot, q)
    ratios = const(constants.ratios)[:, None]
    rate = xp.take(v, xp.asarray(constants.coordinates), axis=0) * ratios
    rate_change = xp.take(a, xp.asarray(constants.coordinates), axis=0) * ratios
    ancestors = const(constants.ancestors)
    moved = axes * rate[:, None, :]
    twist = path_sum(xp, ancestors, moved)
    axis_rates = motion_cross(xp, xp.take(twist, xp.asarray(constants.degree_joint), axis=0), axes)
    turned = axes * rate_change[:, None, :] + axis_rates * rate[:, None, :]
    base = xp.concat([-const(robot.gravity), xp.zeros(3, dtype=q.dtype)])
    acceleration = path_sum(xp, ancestors, turned) + base[None, :, None]
    return TreeMotion(rotations, positions, axes, axis_rates, twist, acceleration)


def joint_poses(robot: Robot, q):
    """Poses of the children of all joints, and the axes of all degrees, at q (nq, n): rotation (nj, 3, 3, n), position
    (nj, 3, n), axes (nt, 6, n), as of `TreeMotion`."""
    xp, constants = array_namespace(q), tree(robot)

    def const(array):
        return xp.asarray(array, dtype=q.dtype)

    rotations, positions = _poses(robot, constants, q, xp, const)
    R, p = (xp.stack([each[j] for j in constants.degree_joint]) for each in (rotations, positions))
    linear = times(R, const(constants.subspace[:, :3])[:, :, None])
    angular = times(R, const(constants.subspace[:, 3:])[:, :, None])
    axes = xp.concat([linear + cross(xp, p, angular), angular], axis=1)
    return xp.stack(rotations), xp.stack(positions), axes


def body_motion(xp, state: TreeMotion):
    """Body-axes components for the Newton-Euler equations: classical proper acceleration d, angular velocity w and its
    rate aw, each (nb, 3, n)."""
    R, p = state.rotation, state.position
    v, w = state.twist[:, :3], state.twist[:, 3:]
    a, aw = state.acceleration[:, :3], state.acceleration[:, 3:]
    at_origin = a + cross(xp, aw, p) + cross(xp, w, v + cross(xp, w, p))
    return tuple(transpose_times(R, u) for u in (at_origin, w, aw))


def _poses(robot, constants, q, xp, const):
    """World poses of all joints' children: lists of (3, 3, n) and (3, n)."""
    local = {}
    if constants.scalar:
        angle = xp.take(q, xp.asarray(constants.scalar_q), axis=0)
        angle = angle * const(constants.scalar_ratio)[:, None] + const(constants.scalar_offset)[:, None]
        sine, cosine = xp.sin(angle), xp.cos(angle)
        R0, _, Rs, Rc = (const(c)[..., None] for c in constants.scalar_R)
        p0, pq, ps, pc = (const(c)[..., None] for c in constants.scalar_p)
        R = R0 + Rs * sine[:, None, None, :] + Rc * cosine[:, None, None, :]
        p = p0 + pq * angle[:, None, :] + ps * sine[:, None, :] + pc * cosine[:, None, :]
        local = {j: (R[k], p[k]) for k, j in enumerate(constants.scalar)}
    for j, joint in enumerate(robot.joints):
        if j not in local:
            R, p = joint_pose(joint, q[robot.q_slices[j]].T)
            local[j] = (xp.moveaxis(R, 0, -1), p.T)
    rotations, positions = [], []
    for j, parent in enumerate(robot.parents):
        R, p = local[j]
        if parent != WORLD:
            above = rotations[parent]
            p = positions[parent] + times(above, p)
            R = (
                above[:, 0, None, :] * R[None, 0]
                + above[:, 1, None, :] * R[None, 1]
                + above[:, 2, None, :] * R[None, 2]
            )
        rotations.append(R)
        positions.append(p)
    return rotations, positions


def path_sum(xp, ancestors, per_degree):
    """Sum over the degrees above each joint. ancestors: (nj, nt), per_degree: (nt, 6, n). Returns (nj, 6, n)."""
    degrees, _, n = per_degree.shape
    return xp.reshape(ancestors @ xp.reshape(per_degree, (degrees, 6 * n)), (ancestors.shape[0], 6, n))
