"""Derivatives of weighted sums of regressor entries with respect to the motion, all samples at once.

For weights Z the sum `phi = sum_i Y[i, :] . z_i` is the power of axis i against the wrenches that bodies with
parameters `z_i` would need. In the axes of body j it depends on the axes `S_i`, its twist V and its acceleration A:

    phi = sum_ij S_i . (I(z_ij) A_j + V_j x* I(z_ij) V_j)

and a joint k turns what lies above it, seen from what lies below it, by `-S_k x`. But for the latter the sum depends on
axes and weights through `W_j = sum_i S_i z_ij^T` alone, 6 x 10 a body, so no derivative is formed pair by pair.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.dynamics.kinematics import TreeMotion, coordinate_map, tree
from steelyard.excite.measured_axes import Axes
from steelyard.model import Robot
from steelyard.model.robot import WORLD


@dataclass(frozen=True, eq=False)
class StateGradient:
    """Of one number a sample: q, v, a each (nv, n)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def regressor_gradient(axes: Axes, joints: TreeMotion, bodies: TreeMotion, wrenches, v, a, weights) -> StateGradient:
    """Gradient of `sum(rows * weights)` per sample, by coordinates of joints of one degree (others get nonsense), from
    wrenches as of `body_wrench_regressors`. weights: per row of the axes (10 k, n), for its `row_bodies`."""
    robot, constants = axes.robot, tree(axes.robot)
    measured = axes.along(bodies)
    W, below = _gathered(axes, measured, wrenches, weights)
    R, p = np.moveaxis(bodies.rotation, 0, 2), np.moveaxis(bodies.position, 0, 1)
    twist = np.moveaxis(bodies.twist, 0, 1)
    W, V = _to_body(R[:, :, None], p[:, None], W), _to_body(R, p, twist)
    momentum, force = _tables()
    alpha, turned = _folded(momentum, W), _folded(momentum, _motion_cross(V[:, None], W))
    carried = np.einsum("kdbn,ckbn->cdbn", _by_parameters(V), W, optimize=False)
    alpha, nu = _to_world(R, p, alpha), _to_world(R, p, -_folded(force, carried) - turned)
    nu += _force_cross(twist, alpha)

    moved = constants.ancestors[robot.body_joints]  # (nb, nt): degree t above body b
    alpha, nu = (np.einsum("bt,cbn->ctn", moved, x, optimize=True) for x in (alpha, nu))
    S, D = np.moveaxis(joints.axes, 0, 1), np.moveaxis(joints.axis_rates, 0, 1)
    rate, change = v[constants.coordinates] * constants.ratios[:, None], a[constants.coordinates]
    V_above = np.moveaxis(joints.twist, 0, 1)[:, constants.degree_joint] - S * rate
    A_above = np.moveaxis(joints.acceleration, 0, 1)[:, constants.degree_joint]
    A_above = A_above - S * (change * constants.ratios[:, None]) - D * rate
    by_a = (S * alpha).sum(axis=0)
    by_v = (S * nu + 2 * D * alpha).sum(axis=0)
    by_q = (D * nu - (_motion_cross(S, A_above) + _motion_cross(D, V_above)) * alpha).sum(axis=0)
    by_q -= _turned_axes(axes, measured, joints.axes, below)
    to_coordinates = coordinate_map(robot)
    return StateGradient(*(to_coordinates @ x for x in (by_q, by_v, by_a)))


def _gathered(axes: Axes, S, wrenches, weights):
    """W (6, 10, nb, n) in world axes, and per joint the wrenches (m, 6, n) that bodies at or behind it would need with
    the weights of each axis at or above it."""
    robot = axes.robot
    first, inertia = wrenches
    n = S.shape[-1]
    W = np.zeros((6, 10, robot.nb, n))
    below = [np.zeros((len(above), 6, n)) for above in axes.above]
    for b, joint in enumerate(robot.body_joints):
        above = axes.above[joint]
        z = np.empty((len(above), 10, n))
        for i, axis in enumerate(above):
            at = 10 * (b - axes.row_bodies[axes.row[axis]].start)
            np.multiply(weights[axes.row[axis]][at : at + 10], axes.ratio[axis], out=z[i])
        for axis, each in zip(above, z, strict=True):
            W[:, :, b] += S[axis][:, None] * each
        needed = below[joint]
        for k in range(4):
            needed += first[:, b, k] * z[:, k, None]
        for k in range(6):
            needed[:, 3:] += inertia[:, b, k] * z[:, 4 + k, None]
    for j in range(robot.nj - 1, -1, -1):
        parent = robot.parents[j]
        if parent != WORLD:
            below[parent] += below[j][: len(below[parent])]
    return W, below


def _turned_axes(axes: Axes, S, joint_axes, below) -> np.ndarray:
    """(nt, n): `sum S_k . (S_i x* w_ij)` over axes i above degree k and bodies j below it."""
    constants = tree(axes.robot)
    found = np.zeros(joint_axes.shape[::2])
    for k, joint in enumerate(constants.degree_joint):
        parent = axes.robot.parents[joint]
        count = axes.ground if parent == WORLD else len(axes.above[parent])
        if count:
            upper = np.moveaxis(S[axes.above[joint][:count]], 0, 1)
            force = _force_cross(upper, np.moveaxis(below[joint][:count], 0, 1)).sum(axis=1)
            found[k] = (joint_axes[k] * force).sum(axis=0)
    return found


@lru_cache(maxsize=1)
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """The bilinear maps `I(z) u` (6, 6 u, 10 z) and `S x* f` (6, 6 S, 6 f)."""
    momentum, force = np.zeros((6, 6, 10)), np.zeros((6, 6, 6))
    for c, u in enumerate(np.eye(6)):
        for k, z in enumerate(np.eye(10)):
            momentum[:, c, k] = _momentum(z, u)
        for k, f in enumerate(np.eye(6)):
            force[:, c, k] = _force_cross(u, f)
    return momentum, force


def _folded(table, W) -> np.ndarray:
    """(6, nb, n) contraction of a table (6, i, k) with W (i, k, nb, n)."""
    return (table.reshape(6, -1) @ W.reshape(table.shape[1] * table.shape[2], -1)).reshape(6, *W.shape[2:])


def _by_parameters(V) -> np.ndarray:
    """(10, 6, nb, n): `I(z) V` for each unit parameter z."""
    table = np.moveaxis(_tables()[0], 2, 0).reshape(60, 6)
    return (table @ V.reshape(6, -1)).reshape(10, 6, *V.shape[1:])


def _cross(a, b):
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _motion_cross(V, U):
    """crm(V) U, components first."""
    return np.concatenate([_cross(V[3:], U[:3]) + _cross(V[:3], U[3:]), _cross(V[3:], U[3:])])


def _force_cross(V, F):
    """crf(V) F, components first."""
    return np.concatenate([_cross(V[3:], F[:3]), _cross(V[:3], F[:3]) + _cross(V[3:], F[3:])])


def _momentum(z, u):
    """Spatial inertia of parameters z (10,) times u (6,), about the body-frame origin."""
    Ixx, Ixy, Iyy, Ixz, Iyz, Izz = z[4:]
    turned = np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]]) @ u[3:]
    return np.concatenate([z[0] * u[:3] + np.cross(u[3:], z[1:4]), np.cross(z[1:4], u[:3]) + turned])


def _to_body(R, p, V):
    """Twists V (6, ...) at the world origin, in body axes at the body origin. R: (3, 3, ...), p: (3, ...)."""
    linear = V[:3] + _cross(V[3:], p)
    return np.concatenate([(R * linear[:, None]).sum(axis=0), (R * V[3:, None]).sum(axis=0)])


def _to_world(R, p, F):
    """Wrenches F (6, ...) at the body origin in body axes, at the world origin."""
    force, torque = (R * F[None, :3]).sum(axis=1), (R * F[None, 3:]).sum(axis=1)
    return np.concatenate([force, torque + _cross(p, force)])


def twist_gradient(robot: Robot, state: TreeMotion, pull) -> tuple[np.ndarray, np.ndarray]:
    """Gradient by q and v, each (nv, n), of a sum whose derivative by the twists in body axes is `pull` (6, nb, n)."""
    constants = tree(robot)
    R, p = np.moveaxis(state.rotation, 0, 2), np.moveaxis(state.position, 0, 1)
    nu = np.einsum("bt,cbn->ctn", constants.ancestors[robot.body_joints], _to_world(R, p, pull), optimize=True)
    S, D = np.moveaxis(state.axes, 0, 1), np.moveaxis(state.axis_rates, 0, 1)
    to_coordinates = coordinate_map(robot)
    return to_coordinates @ (D * nu).sum(axis=0), to_coordinates @ (S * nu).sum(axis=0)


def body_twists(state: TreeMotion) -> np.ndarray:
    """(6, nb, n) twists of the bodies in body axes at their origins."""
    R, p = np.moveaxis(state.rotation, 0, 2), np.moveaxis(state.position, 0, 1)
    return _to_body(R, p, np.moveaxis(state.twist, 0, 1))
