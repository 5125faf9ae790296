"""Vector-Jacobian products of inverse dynamics: the gradient of `w . tau` in one more pass, without any Jacobian.

With `W` the twist that the weights give each link, a wrench change of everything behind a joint counts in two ways:
for the degrees behind it, and, turned by the displacement, for the degrees before it. Both are sums along the tree.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from steelyard.dynamics import composites, displacements
from steelyard.dynamics.composites import Pass, mounts, of_joints
from steelyard.dynamics.inverse import coordinate_map
from steelyard.dynamics.kinematics import motion, path_sum, samples_last, tree
from steelyard.dynamics.regressor import body_wrench_regressors
from steelyard.dynamics.stacks import cross, force_cross, transpose_times
from steelyard.errors import OptionError
from steelyard.model import Robot


@dataclass(frozen=True, eq=False)
class Gradient:
    """Gradient of `sum_k w_k tau_k` at states (...).

    q, v, a: (..., nv). twist, placement: (..., nj, 6), one entry a joint of `robot.joints`, as `dtau_djoint` and
    `dtau_dplacement`. gravity: (..., 3). theta: (..., nb, 10).
    """

    q: Any
    v: Any
    a: Any
    twist: Any
    placement: Any
    gravity: Any
    theta: Any


def pull_back(robot: Robot, q, v, a, weights) -> Gradient:
    """Gradient of `weights . tau`. q (..., nq), v, a, weights (..., nv). Raises OptionError for wrong widths."""
    if weights.ndim == 0 or weights.shape[-1] != robot.nv:
        raise OptionError(f"weights has shape {tuple(weights.shape)}; one a torque is needed, (..., {robot.nv}).")
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], a.shape[:-1], weights.shape[:-1])
    xp = array_namespace(q, v, a, weights)
    q, v, a, weights = (xp.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v, a, weights))
    _, _, q, v, a = samples_last(robot, q, v, a)
    weights = xp.reshape(weights, (prod(batch), robot.nv)).T
    parts = _gradient(composites.run(robot, q, v, a), weights)
    parts["theta"] = _of_theta(xp, motion(robot, q, v, a), parts.pop("virtual"))
    return Gradient(**{name: xp.reshape(xp.moveaxis(x, -1, 0), (*batch, *x.shape[:-1])) for name, x in parts.items()})


def _gradient(state: Pass, weights) -> dict:
    robot, frames, constants = state.robot, state.joints, tree(state.robot)
    xp = array_namespace(weights)
    E = xp.asarray(coordinate_map(robot), dtype=weights.dtype)
    weighted = (E.T @ weights)[:, None, :]
    S, joint = frames.axes, constants.degree_joint
    ancestors = xp.asarray(constants.ancestors, dtype=weights.dtype)
    own = xp.asarray((np.arange(robot.nj)[:, None] == joint).astype(float), dtype=weights.dtype)
    W = path_sum(xp, ancestors, weighted * S)
    above = W - path_sum(xp, own, weighted * S)
    resisted = weighted * displacements.resisted(state, joint, S)
    inside = xp.asarray(composites.behind(robot, joint, np.arange(robot.nj)).T, dtype=weights.dtype)
    n = weights.shape[-1]
    behind = xp.reshape(inside @ xp.reshape(resisted, (len(joint), 9 * n)), (robot.nj, 9, n))
    behind = behind + displacements.resisted(state, np.arange(robot.nj), above)
    g1 = behind[:, :6]
    g2 = xp.concat([xp.zeros_like(g1[:, :3]), behind[:, 6:]], axis=1)
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
        "gravity": -xp.sum(resisted[:, :3], axis=0),
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
