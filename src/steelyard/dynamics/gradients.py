"""Gradients of a scalar of the torques, without any Jacobian: to states and joints, and on to geometry (paper D, 5).

With `W` the twist that the weights give each link, a wrench change of everything behind a joint counts in two ways:
for the degrees behind it, and, turned by the displacement, for the degrees before it. Both are sums along the tree.
Meshes, densities, places of parts and joint axes of robots whose bodies are made of solid parts follow by the chain
rule. A motor that sits on a joint's axis moves with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics.armature import armature_gradient
from steelyard.dynamics.displacements import DisplacedTree, behind, mounts, of_joints, resisted, two_passes
from steelyard.dynamics.external_wrenches import external_rows
from steelyard.dynamics.kinematics import coordinate_map, motion, path_sum, samples_last, tree
from steelyard.dynamics.newton_euler import body_wrench_regressors
from steelyard.dynamics.stacks import cross, force_cross, transpose_times
from steelyard.errors import ModelError, OptionError
from steelyard.inertia import Part
from steelyard.inertia.mesh_parts import PartDerivatives, combine, pull_back
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.namespaces import array_namespace
from steelyard.spatial import adjoint


@dataclass(frozen=True, eq=False, repr=False)
class Gradient(Card):
    """Gradient of `sum_k w_k tau_k` at states (...).

    q, v, a: (..., nv). twist, placement: (..., nj, 6), one entry a joint of `robot.joints`, as `dtau_djoint` and
    `dtau_dplacement`. gravity: (..., 3). theta: (..., nb, 10). Of closed loops also closure: (..., L, 2, 6) and cut:
    (..., L, 6), as `dtau_dclosure` and `dtau_dcut`.
    """

    q: Any
    v: Any
    a: Any
    twist: Any
    placement: Any
    gravity: Any
    theta: Any
    closure: Any = None
    cut: Any = None


def torque_gradient(robot: Robot, q, v, a, weights, external=None) -> Gradient:
    """Gradient of `weights . tau`: q (..., nq), v, a, weights (..., nv), external (..., 6) by frame. Raises
    OptionError."""
    if weights.ndim == 0 or weights.shape[-1] != robot.nv:
        raise OptionError(f"weights has shape {tuple(weights.shape)}; one a torque is needed, (..., {robot.nv}).")
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], a.shape[:-1], weights.shape[:-1])
    xp = array_namespace(q, v, a, weights)
    q, v, a, weights = (xp.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v, a, weights))
    _, _, q, v, a = samples_last(robot, q, v, a)
    weights = xp.reshape(weights, (prod(batch), robot.nv)).T
    parts = _gradient(two_passes(robot, q, v, a, external_rows(robot, batch, external, q)), weights)
    parts["v"] = parts["v"] + armature_gradient(robot, v, weights)
    parts["theta"] = _of_theta(xp, motion(robot, q, v, a), parts.pop("virtual"))
    return Gradient(**{name: xp.reshape(xp.moveaxis(x, -1, 0), (*batch, *x.shape[:-1])) for name, x in parts.items()})


def _gradient(state: DisplacedTree, weights) -> dict:
    robot, frames, constants = state.robot, state.joints, tree(state.robot)
    xp = array_namespace(weights)
    E = xp.asarray(coordinate_map(robot), dtype=weights.dtype)
    weighted = (E.T @ weights)[:, None, :]
    S, joint = frames.axes, constants.degree_joint
    ancestors = xp.asarray(constants.ancestors, dtype=weights.dtype)
    own = xp.asarray((np.arange(robot.nj)[:, None] == joint).astype(float), dtype=weights.dtype)
    W = path_sum(xp, ancestors, weighted * S)
    above = W - path_sum(xp, own, weighted * S)
    opposed = weighted * resisted(state, joint, S)
    inside = xp.asarray(behind(robot, joint, np.arange(robot.nj)).T, dtype=weights.dtype)
    n = weights.shape[-1]
    below = xp.reshape(inside @ xp.reshape(opposed, (len(joint), 9 * n)), (robot.nj, 9, n))
    below = below + resisted(state, np.arange(robot.nj), above)
    g1 = below[:, :6]
    g2 = xp.concat([xp.zeros_like(g1[:, :3]), below[:, 6:]], axis=1)
    wrench = state.composite.wrench
    mounted = _covector(xp, state.base_twist, state.base_acceleration, g1, g2) - force_cross(xp, above, wrench)
    hanging = _covector(xp, frames.twist, frames.acceleration, g1, g2) - force_cross(xp, W, wrench)
    speeds = g2 - force_cross(xp, state.base_twist + frames.twist, g1)
    by_degree = (xp.sum(S * of_joints(x, joint), axis=1) for x in (mounted, speeds, g1))
    by_q, by_v, by_a = (E @ x for x in by_degree)
    placement = _in_frame(xp, *mounts(state), mounted)
    return {
        "q": by_q,
        "v": by_v,
        "a": by_a + xp.asarray(robot.armature, dtype=weights.dtype)[:, None] * weights,
        "twist": placement - _in_frame(xp, frames.rotation, frames.position, hanging),
        "placement": placement,
        "gravity": -xp.sum(opposed[:, :3], axis=0),
        "virtual": xp.take(W, xp.asarray(robot.body_joints), axis=0),
    }


def _of_theta(xp, bodies, virtual):
    """(nb, 10, n): the wrench regressors seen by the virtual twists of the bodies (nb, 6, n)."""
    first, inertia = body_wrench_regressors(xp, bodies)
    mh = sum(virtual[:, i, None] * first[i] for i in range(6))
    rest = sum(virtual[:, 3 + i, None] * inertia[i] for i in range(3))
    return xp.concat([mh, rest], axis=1)


def _covector(xp, V, A, g1, g2):
    """Gradient with respect to a displacement d of `g1 . x1 + g2 . x2`, x as in `displacements`."""
    return force_cross(xp, V, force_cross(xp, V, g1) - g2) - force_cross(xp, A, g1)


def _in_frame(xp, R, p, F):
    """Wrenches of the world (k, 6, n) in frames."""
    f, n = F[:, :3], F[:, 3:] - cross(xp, p, F[:, :3])
    return xp.concat([transpose_times(R, f), transpose_times(R, n)], axis=1)


Parts = Mapping[str, Sequence[Part]]


@dataclass(frozen=True, eq=False)
class GeometryGradient:
    """Gradient of a scalar of all torques."""

    parts: dict[str, tuple[PartDerivatives, ...]]  # body name -> one a part
    twist: np.ndarray  # (nj, 6) of the joint axes, the motors that sit on them included


def with_parts(robot: Robot, parts: Parts) -> Robot:
    """The robot with inertias of named bodies made up of parts in the body frame. Raises ModelError for unknown bodies,
    InertiaError for meshes that enclose no solid."""
    theta = robot.inertias.copy()
    for body, pieces in parts.items():
        theta[robot.body_index(body)] = combine(pieces)
    return robot.with_inertias(theta)


def geometry_gradient(
    robot: Robot, parts: Parts, gradient: Gradient, *, motors: Mapping[str, tuple[str, int]] | None = None
) -> GeometryGradient:
    """Gradient with respect to geometry (`with_parts`) from that with respect to torques' inputs, summed over states.
    motors: joint -> (body, index of a part) that moves with its axis: of the joint's parent (a stator) or its child (a
    rotor). Raises ModelError for unknown ones, and a motor on a body that its joint does not touch."""
    by_theta = gradient.theta.reshape(-1, robot.nb, 10).sum(axis=0)
    found = {
        body: tuple(pull_back(part, by_theta[robot.body_index(body)]) for part in pieces)
        for body, pieces in parts.items()
    }
    twist = gradient.twist.reshape(-1, robot.nj, 6).sum(axis=0)
    for name, (body, index) in (motors or {}).items():
        if not 0 <= index < len(found.get(body, ())):
            raise ModelError(f"motors: '{body}' has {len(found.get(body, ()))} parts; there is no part {index}.")
        j, carried = _carried(robot, name, body)
        twist[j] += carried.T @ found[body][index].pose
    return GeometryGradient(found, twist)


def _carried(robot: Robot, name: str, body: str):
    """Index of a joint, and (6, 6) how a part on its axis moves in the frame of the body it rides on, per eta."""
    names = [joint.name for joint in robot.joints]
    if name not in names:
        raise ModelError(f"motors: robot '{robot.name}' has no joint '{name}'; it has {', '.join(names[:30])}.")
    j, rides_on = names.index(name), int(robot.body_joints[robot.body_index(body)])
    if rides_on == j:
        return j, np.eye(6)
    if int(robot.parents[j]) == rides_on != WORLD:
        return j, adjoint(robot.joints[j].rotation, robot.joints[j].position)
    raise ModelError(
        f"motors: '{body}' is neither the parent nor the child of joint '{name}', so cannot carry its motor."
    )
