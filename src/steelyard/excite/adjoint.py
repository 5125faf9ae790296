"""Derivatives of weighted sums of regressor entries with respect to the motion, all samples at once.

For weights Z the sum `phi = sum_i Y[i, :] . z_i` is the power of axis i against the wrenches that bodies with
parameters `z_i` would need. In the axes of body j it depends on the axes `S_i`, its twist V and its acceleration A:

    phi = sum_ij S_i . (I(z_ij) A_j + V_j x* I(z_ij) V_j)

and a joint k turns what lies above it, seen from what lies below it, by `-S_k x`. Hence one pass over the pairs gives
the gradient for all joints; no derivative of the regressor itself is ever formed.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.dynamics.inverse import coordinate_map
from steelyard.dynamics.kinematics import Motion, motion, tree
from steelyard.model.robot import Robot


@dataclass(frozen=True, eq=False)
class Gradient:
    """Of one number a sample: q, v, a each (nv, n)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def regressor_gradient(robot: Robot, q, v, a, Z, *, state: Motion | None = None) -> Gradient:
    """Gradient of `sum(Y * Z)` per sample, Y the regressor of the bodies.

    q, v, a: (nv, n) of a robot whose joints have one degree each, samples last; Z: (nv, 10 nb, n). state: the motion,
    where it is known already.
    """
    constants = tree(robot)
    state = motion(robot, q, v, a) if state is None else state
    n = q.shape[-1]
    to_coordinates = coordinate_map(robot)
    degrees, bodies = _pairs(robot)
    z = Z.reshape(robot.nv, robot.nb, 10, n)[constants.coordinates[degrees], bodies]
    z = np.moveaxis(z, 1, 0) * constants.ratios[degrees][:, None]

    R = np.moveaxis(state.rotation, 0, 2)[:, :, bodies]
    p = np.moveaxis(state.position, 0, 1)[:, bodies]
    S, V, A = (
        _to_body(R, p, np.moveaxis(x, 0, 1)[:, index])
        for x, index in ((state.axes, degrees), (state.twist, bodies), (state.acceleration, bodies))
    )
    IV, IS = _momentum(z, V), _momentum(z, S)
    w = _to_world(R, p, _momentum(z, A) + _force_cross(V, IV))
    alpha = _to_world(R, p, IS)
    nu = _to_world(R, p, -_force_cross(S, IV) - _momentum(z, _motion_cross(V, S)))
    twist = np.moveaxis(state.twist, 0, 1)[:, bodies]
    nu += _force_cross(twist, alpha)

    own = _body_sums(robot, bodies, alpha), _body_sums(robot, bodies, nu)
    below = constants.ancestors[robot.body_joints]  # (nb, nt): degree t above body b
    alpha, nu = (np.einsum("bt,bcn->ctn", below, x, optimize=True) for x in own)
    S, D = np.moveaxis(state.axes, 0, 1), np.moveaxis(state.axis_rates, 0, 1)
    place = np.array([int(np.flatnonzero(robot.body_joints == j)[0]) for j in constants.degree_joint])
    rate, change = v[constants.coordinates] * constants.ratios[:, None], a[constants.coordinates]
    V_above = np.moveaxis(state.twist, 0, 1)[:, place] - S * rate
    A_above = np.moveaxis(state.acceleration, 0, 1)[:, place] - S * (change * constants.ratios[:, None]) - D * rate
    by_a = (S * alpha).sum(axis=0)
    by_v = (S * nu + 2 * D * alpha).sum(axis=0)
    by_q = (D * nu - (_motion_cross(S, A_above) + _motion_cross(D, V_above)) * alpha).sum(axis=0)
    by_q -= _turned_axes(constants, state.axes, below, degrees, bodies, w)
    return Gradient(*(to_coordinates @ x for x in (by_q, by_v, by_a)))


def _pairs(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Degrees and bodies of all pairs whose degree moves the body."""
    bodies, degrees = np.nonzero(tree(robot).ancestors[robot.body_joints])
    return degrees, bodies


def _turned_axes(constants, axes, below, degrees, bodies, w) -> np.ndarray:
    """(nt, n): `sum S_k . (S_i x* w_ij)` over degrees i above k and bodies j below it."""
    count, n = len(constants.degree_joint), w.shape[-1]
    full = np.zeros((count, below.shape[0], 6, n))
    full[degrees, bodies] = np.moveaxis(w, 1, 0)
    above = constants.ancestors[constants.degree_joint] - np.eye(count)  # (k, i): i strictly above k
    found = np.zeros((count, n))
    for k in range(count):
        upper = np.flatnonzero(above[k] > 0)
        if upper.size:
            pulled = np.einsum("b,ibcn->cin", below[:, k], full[upper], optimize=True)
            S = np.moveaxis(axes[upper], 0, 1)
            found[k] = (np.broadcast_to(axes[k][:, None], S.shape) * _force_cross(S, pulled)).sum(axis=(0, 1))
    return found


def _body_sums(robot: Robot, bodies, values) -> np.ndarray:
    """(nb, 6, n) sums over the pairs of each body. values: (6, pairs, n)."""
    found = np.zeros((robot.nb, *values.shape[::2]))
    np.add.at(found, bodies, np.moveaxis(values, 1, 0))
    return found


def _cross(a, b):
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _motion_cross(V, U):
    """crm(V) U, components first."""
    return np.concatenate([_cross(V[3:], U[:3]) + _cross(V[:3], U[3:]), _cross(V[3:], U[3:])])


def _force_cross(V, F):
    """crf(V) F, components first."""
    return np.concatenate([_cross(V[3:], F[:3]), _cross(V[:3], F[:3]) + _cross(V[3:], F[3:])])


def _momentum(z, U):
    """Spatial inertia of parameters z (10, ...) times U (6, ...), about the body-frame origin."""
    h, u, w = z[1:4], U[:3], U[3:]
    Ixx, Ixy, Iyy, Ixz, Iyz, Izz = z[4:]
    turned = np.stack(
        [
            Ixx * w[0] + Ixy * w[1] + Ixz * w[2],
            Ixy * w[0] + Iyy * w[1] + Iyz * w[2],
            Ixz * w[0] + Iyz * w[1] + Izz * w[2],
        ]
    )
    return np.concatenate([z[0] * u + _cross(w, h), _cross(h, u) + turned])


def _to_body(R, p, V):
    """Twists V (6, ...) at the world origin, in body axes at the body origin. R: (3, 3, ...), p: (3, ...)."""
    linear = V[:3] + _cross(V[3:], p)
    return np.concatenate([(R * linear[:, None]).sum(axis=0), (R * V[3:, None]).sum(axis=0)])


def _to_world(R, p, F):
    """Wrenches F (6, ...) at the body origin in body axes, at the world origin."""
    force, torque = (R * F[None, :3]).sum(axis=1), (R * F[None, 3:]).sum(axis=1)
    return np.concatenate([force, torque + _cross(p, force)])


def twist_gradient(robot: Robot, state: Motion, pull) -> tuple[np.ndarray, np.ndarray]:
    """Gradient by q and v, each (nv, n), of a sum whose derivative by the twists in body axes is `pull` (6, nb, n)."""
    constants = tree(robot)
    R, p = np.moveaxis(state.rotation, 0, 2), np.moveaxis(state.position, 0, 1)
    nu = np.einsum("bt,cbn->ctn", constants.ancestors[robot.body_joints], _to_world(R, p, pull), optimize=True)
    S, D = np.moveaxis(state.axes, 0, 1), np.moveaxis(state.axis_rates, 0, 1)
    to_coordinates = coordinate_map(robot)
    return to_coordinates @ (D * nu).sum(axis=0), to_coordinates @ (S * nu).sum(axis=0)


def body_twists(state: Motion) -> np.ndarray:
    """(6, nb, n) twists of the bodies in body axes at their origins."""
    R, p = np.moveaxis(state.rotation, 0, 2), np.moveaxis(state.position, 0, 1)
    return _to_body(R, p, np.moveaxis(state.twist, 0, 1))
