"""What a small change of a joint does to the links behind it, in world axes at the world origin, samples last (paper D,
Algorithm 1, summed up).

Displace everything behind a joint by a twist `d` of the world. Seen from the displaced links it is their base, with
twist `V` and proper acceleration `A`, that has changed the other way, so every link `b` there feels the same two
vectors:

    dV_b = x2,   dA_b = x1 - V_b x x2,      x2 = V x d,   x1 = A x d + V x (V x d)

A joint rate changes them alike, with `x2 = S`, `x1 = (V_parent + V_child) x S`, and an acceleration with `x2 = 0`,
`x1 = S`. The wrench of all links behind a joint then changes by `I x1 + B x2`, with composite matrices that do not
depend on what was changed. Of `B = crf(V) I - I crm(V) + (I V)x*` most cancels: with momentum P, first moment h and
second moments `Sigma` about the world origin

    B [v; w] = 2 [w x P; E w],   E = (h . V_v) 1 - V_v h^T - S(V_w) Sigma       (twelve numbers a link)

Links in front of the joint see the wrench turned besides, by `d x* F`. One pass down the tree and one up thus give all
derivatives, in numbers of order bodies times depth.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from steelyard.dynamics.external_wrenches import external_on_joints
from steelyard.dynamics.kinematics import FRAME_FIELDS, TreeMotion, joint_motion, tree
from steelyard.dynamics.stacks import congruence, cross, force_cross, motion_cross, outer, product, skew_times, times
from steelyard.inertia import pseudo
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.namespaces import array_namespace


@dataclass(frozen=True, eq=False)
class Composite:
    """Sums over the bodies behind every joint, world axes and origin.

    mass (nj,); first (nj, 3, n); inertia (nj, 3, 3, n); momentum (nj, 3, n).
    """

    mass: Any
    first: Any
    inertia: Any
    momentum: Any
    turning: Any  # (nj, 3, 3, n) E
    wrench: Any  # (nj, 6, n) what the joint transmits

    def at(self, joint) -> "Composite":
        """Those of some joints (k,)."""
        return Composite(*(of_joints(getattr(self, each.name), joint) for each in fields(self)))


@dataclass(frozen=True, eq=False)
class DisplacedTree:
    """Motion and composites of n samples. joints: motion of all joints' children; base_twist, base_acceleration (nj,
    6, n): of what each joint is mounted on.
    """

    robot: Robot
    joints: TreeMotion
    base_twist: Any
    base_acceleration: Any
    composite: Composite


def two_passes(robot: Robot, q, v, a, external=None) -> DisplacedTree:
    """One pass down the tree and one up, of (n) samples last. What acts on a link from outside (by frame) moves with
    it: joints transmit less by it, and nothing else changes."""
    xp = array_namespace(q, v, a)
    joints = joint_motion(robot, q, v, a)
    still = xp.zeros_like(joints.twist[:1])
    falling = still - xp.asarray([*robot.gravity, 0, 0, 0], dtype=q.dtype)[None, :, None]
    above = xp.asarray(np.where(robot.parents == WORLD, robot.nj, robot.parents))
    twist, acceleration = (
        xp.take(xp.concat([own, base]), above, axis=0)
        for own, base in ((joints.twist, still), (joints.acceleration, falling))
    )
    return DisplacedTree(robot, joints, twist, acceleration, _composite(robot, xp, joints, external or {}))


def _composite(robot: Robot, xp, joints: TreeMotion, external) -> Composite:
    bodies = xp.asarray(robot.body_joints)
    R, p, V, A = (xp.take(getattr(joints, key), bodies, axis=0) for key in FRAME_FIELDS)
    theta = xp.asarray(robot.inertias, dtype=p.dtype)
    m = theta[:, 0, None, None]
    moved = times(R, theta[:, 1:4, None])
    h = moved + m * p
    second = congruence(R, pseudo.to_matrix(theta)[:, :3, :3, None]) + outer(moved, p) + outer(p, h)
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
    wrench = sums[:, 24:]
    for joint, outside in external_on_joints(robot, joints.rotation, joints.position, external):
        above = xp.asarray(behind(robot, np.array([joint]), np.arange(robot.nj)).T, dtype=p.dtype)
        wrench = wrench - above[:, :, None] * outside[None]
    return Composite(
        mass=carries @ theta[:, 0],
        first=sums[:, :3],
        inertia=xp.reshape(sums[:, 3:12], (robot.nj, 3, 3, n)),
        momentum=sums[:, 12:15],
        turning=xp.reshape(sums[:, 15:24], (robot.nj, 3, 3, n)),
        wrench=wrench,
    )


def behind(robot: Robot, joint, changed) -> np.ndarray:
    """(k, c) 1.0 where a joint of `joint` (k,) is one of `changed` (c,) or moves with it."""
    first_degree = np.searchsorted(tree(robot).degree_joint, np.arange(robot.nj))
    return tree(robot).ancestors[:, first_degree][joint][:, changed]


def mounts(state: DisplacedTree):
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


@dataclass(frozen=True, eq=False)
class Displacements:
    """Small changes of joints, k of them. x1, x2 (k, 6, n): see above."""

    joint: np.ndarray  # (k,) which
    x1: Any
    x2: Any
    displacement: Any = None  # (k, 6, n) of everything behind the joint, None where nothing moves


def positions(state: DisplacedTree) -> Displacements:
    """The coordinate of every degree of the tree; those of one joint as rotations and shifts in child axes."""
    joint = tree(state.robot).degree_joint
    return _displaced(
        joint, state.joints.axes, of_joints(state.base_twist, joint), of_joints(state.base_acceleration, joint)
    )


def rates(state: DisplacedTree) -> Displacements:
    """The rate of every degree of the tree."""
    joint, S = tree(state.robot).degree_joint, state.joints.axes
    xp = array_namespace(S)
    return Displacements(
        joint, motion_cross(xp, of_joints(state.base_twist, joint) + of_joints(state.joints.twist, joint), S), S
    )


def accelerations(state: DisplacedTree) -> Displacements:
    """The acceleration of every degree of the tree."""
    S = state.joints.axes
    return Displacements(tree(state.robot).degree_joint, S, array_namespace(S).zeros_like(S))


def placements(state: DisplacedTree) -> Displacements:
    """Where every joint is mounted: six changes each, `T_0 exp(xi)` in the child's frame at zero."""
    joint = np.repeat(np.arange(state.robot.nj), 6)
    twists = frame_twists(*mounts(state))
    return _displaced(joint, twists, of_joints(state.base_twist, joint), of_joints(state.base_acceleration, joint))


def attachments(state: DisplacedTree) -> Displacements:
    """How everything behind every joint hangs on it, its axes staying: six changes each, `T(q) exp(xi)` in the child's
    frame."""
    joint = np.repeat(np.arange(state.robot.nj), 6)
    frames = state.joints
    twists = frame_twists(frames.rotation, frames.position)
    return _displaced(joint, twists, of_joints(frames.twist, joint), of_joints(frames.acceleration, joint))


def twists(state: DisplacedTree) -> tuple[Displacements, Any]:
    """Every joint's twist, six changes each, `A -> Ad_exp(eta) A` in the child's frame: mounted by exp(eta), with what
    it carries attached by exp(-eta). Also returns the displacement of the attachment (6 nj, 6, n).
    """
    mount, hang = placements(state), attachments(state)
    change = (x - y for x, y in ((mount.x1, hang.x1), (mount.x2, hang.x2), (mount.displacement, hang.displacement)))
    return Displacements(mount.joint, *change), hang.displacement


def _displaced(joint, d, V, A) -> Displacements:
    xp = array_namespace(d)
    x2 = motion_cross(xp, V, d)
    return Displacements(joint, motion_cross(xp, A, d) + motion_cross(xp, V, x2), x2, d)


def frame_twists(R, p):
    """The six unit twists of frames as twists of the world. Returns (6 k, 6, n)."""
    xp = array_namespace(R)
    k, n = R.shape[0], R.shape[-1]
    axes = xp.permute_dims(R, (0, 2, 1, 3))  # row c: axis c of the frame
    moments = xp.stack([cross(xp, p, axes[:, c]) for c in range(3)], axis=1)
    shifts = xp.concat([axes, xp.zeros_like(axes)], axis=2)
    turns = xp.concat([moments, axes], axis=2)
    return xp.reshape(xp.concat([shifts, turns], axis=1), (6 * k, 6, n))


def resisted(state: DisplacedTree, joint, U):
    """What the links behind joints oppose to changes: `[I U; (B^T U)_w]` for twists U (k, 6, n), so that
    `U . (I x1 + B x2)` is its product with `[x1; x2_w]`. Returns (k, 9, n).
    """
    xp, own = array_namespace(U), state.composite.at(joint)
    rows = cross(xp, own.momentum, U[:, :3]) + times(xp.permute_dims(own.turning, (0, 2, 1, 3)), U[:, 3:])
    return xp.concat([*_carried(xp, own, U), 2 * rows], axis=1)


def responses(state: DisplacedTree, changes: Displacements):
    """Change (k, 6, n) of the wrench that joints transmit, in world axes."""
    xp, own, turn = array_namespace(changes.x1), state.composite.at(changes.joint), changes.x2[:, 3:]
    force, torque = _carried(xp, own, changes.x1)
    force, torque = force + 2 * cross(xp, turn, own.momentum), torque + 2 * times(own.turning, turn)
    change = xp.concat([force, torque], axis=1)
    d = changes.displacement
    return change if d is None else change + force_cross(xp, d, own.wrench)


def _carried(xp, own: Composite, U):
    """Force and moment `I U` (k, 3, n) each, of accelerations U (k, 6, n) at the world origin."""
    u, w = U[:, :3], U[:, 3:]
    force = own.mass[:, None, None] * u + cross(xp, w, own.first)
    return force, cross(xp, own.first, u) + times(own.inertia, w)
