"""The links behind every joint of a tree as one body, in world axes at the world origin, samples last.

Sums of mass, first moment, inertia and momentum, of the matrix E of `displacements`, and the wrench that the joint
transmits; and what each joint is mounted on. One pass down the tree and one up.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from steelyard.dynamics.kinematics import Motion, joint_motion, tree
from steelyard.dynamics.stacks import congruence, cross, outer, product, skew_times, times
from steelyard.model import WORLD, Robot


@dataclass(frozen=True, eq=False)
class Composite:
    """Sums over the bodies behind every joint, world axes and origin.

    mass (nj,); first (nj, 3, n); inertia (nj, 3, 3, n); momentum (nj, 3, n); turning (nj, 3, 3, n): E; wrench
    (nj, 6, n): what the joint transmits.
    """

    mass: Any
    first: Any
    inertia: Any
    momentum: Any
    turning: Any
    wrench: Any


@dataclass(frozen=True, eq=False)
class Pass:
    """Motion and composites of n samples. joints: motion of all joints' children; base_twist, base_acceleration (nj,
    6, n): of what each joint is mounted on.
    """

    robot: Robot
    joints: Motion
    base_twist: Any
    base_acceleration: Any
    composite: Composite


def run(robot: Robot, q, v, a) -> Pass:
    """Both passes over the tree. q (nq, n), v, a (nv, n)."""
    xp = array_namespace(q, v, a)
    joints = joint_motion(robot, q, v, a)
    still = xp.zeros_like(joints.twist[:1])
    falling = still - xp.asarray([*robot.gravity, 0, 0, 0], dtype=q.dtype)[None, :, None]
    above = xp.asarray(np.where(robot.parents == WORLD, robot.nj, robot.parents))
    twist, acceleration = (
        xp.take(xp.concat([own, base]), above, axis=0)
        for own, base in ((joints.twist, still), (joints.acceleration, falling))
    )
    return Pass(robot, joints, twist, acceleration, _composite(robot, xp, joints))


def _composite(robot: Robot, xp, joints: Motion) -> Composite:
    bodies = xp.asarray(robot.body_joints)
    R, p, V, A = (
        xp.take(x, bodies, axis=0) for x in (joints.rotation, joints.position, joints.twist, joints.acceleration)
    )
    theta = xp.asarray(robot.inertias, dtype=p.dtype)
    m = theta[:, 0, None, None]
    moved = times(R, theta[:, 1:4, None])
    h = moved + m * p
    second = congruence(R, _second_moments(xp, theta)) + outer(moved, p) + outer(p, h)
    trace = second[:, 0, 0] + second[:, 1, 1] + second[:, 2, 2]
    eye = xp.eye(3, dtype=p.dtype)[None, :, :, None]
    I = trace[:, None, None] * eye - second
    v, w = V[:, :3], V[:, 3:]
    momentum = m * v + cross(xp, w, h)
    spin = cross(xp, h, v) + times(I, w)
    force = m * A[:, :3] + cross(xp, A[:, 3:], h) + cross(xp, w, momentum)
    torque = cross(xp, h, A[:, :3]) + times(I, A[:, 3:]) + cross(xp, v, momentum) + cross(xp, w, spin)
    along = xp.sum(h * v, axis=1)[:, None, None]
    turning = along * eye - outer(v, h) - skew_times(xp, w, second)
    n, nb = p.shape[-1], robot.nb
    flat = [h, xp.reshape(I, (nb, 9, n)), momentum, xp.reshape(turning, (nb, 9, n)), force, torque]
    carries = xp.asarray(behind(robot, robot.body_joints, np.arange(robot.nj)).T, dtype=p.dtype)
    sums = xp.reshape(carries @ xp.reshape(xp.concat(flat, axis=1), (nb, 30 * n)), (robot.nj, 30, n))
    return Composite(
        mass=carries @ theta[:, 0],
        first=sums[:, :3],
        inertia=xp.reshape(sums[:, 3:12], (robot.nj, 3, 3, n)),
        momentum=sums[:, 12:15],
        turning=xp.reshape(sums[:, 15:24], (robot.nj, 3, 3, n)),
        wrench=sums[:, 24:],
    )


def _second_moments(xp, theta):
    """(nb, 3, 3, 1) second moments of mass in body axes."""
    xx, xy, yy, xz, yz, zz = (theta[:, i] for i in range(4, 10))
    half = (xx + yy + zz) / 2
    rows = ((half - xx, -xy, -xz), (-xy, half - yy, -yz), (-xz, -yz, half - zz))
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)[..., None]


def behind(robot: Robot, joint, changed) -> np.ndarray:
    """(k, c) 1.0 where a joint of `joint` (k,) is one of `changed` (c,) or moves with it."""
    first_degree = np.searchsorted(tree(robot).degree_joint, np.arange(robot.nj))
    return tree(robot).ancestors[:, first_degree][joint][:, changed]


def mounts(state: Pass):
    """World pose of every joint's child frame at the joint's zero: R (nj, 3, 3, n), p (nj, 3, n)."""
    robot, frames = state.robot, state.joints
    xp = array_namespace(frames.position)
    n = frames.position.shape[-1]
    world = xp.broadcast_to(xp.eye(3, dtype=frames.position.dtype)[None, :, :, None], (1, 3, 3, n))
    above = xp.asarray(np.where(robot.parents == WORLD, robot.nj, robot.parents))
    R = xp.take(xp.concat([frames.rotation, world]), above, axis=0)
    p = xp.take(xp.concat([frames.position, xp.zeros_like(frames.position[:1])]), above, axis=0)
    R0, p0 = (
        xp.asarray(np.stack([getattr(j, key) for j in robot.joints]), dtype=p.dtype) for key in ("rotation", "position")
    )
    return product(R, R0[..., None]), p + times(R, p0[..., None])


def of_joints(array, joint):
    """Rows of the joints; the array itself where each joint has one."""
    if np.array_equal(joint, np.arange(array.shape[0])):
        return array
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(joint), axis=0)
