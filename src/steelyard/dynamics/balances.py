"""Energy, power and wrenches of a tree, linear in its inertial parameters (paper A, closing references).

Arguments as of `regressor`; NumPy in, NumPy out; JAX in, JAX out. Raise OptionError for wrong widths.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.arguments import as_array
from steelyard.dynamics.kinematics import TreeMotion, motion, samples_last, tree
from steelyard.dynamics.newton_euler import body_wrench_regressors, dense_rows, projected_blocks, regressor
from steelyard.dynamics.stacks import cross, times, transpose_times
from steelyard.errors import OptionError, choices
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.namespaces import array_namespace

ENERGIES = ("kinetic", "potential", "total")


def energy_regressor(robot: Robot, q, v, *, kind: str = "total"):
    """Regressor of energy: `1/2 V^T M V` and `-(m p + R h)^T g` of all bodies (paper A).

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        kind: "kinetic", "potential" (zero with all mass at the world origin) or "total".

    Returns:
        (..., 10 nb) energy in J per unit of each parameter of `robot.inertias.ravel()`, armature left aside.

    Raises:
        OptionError: another kind, or q or v has the wrong width.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> q, v, a = np.random.default_rng(0).normal(size=(3, 10, 4))
        >>> energy = sy.energy_regressor(robot, q, v) @ robot.inertias.ravel()
        >>> energy.shape
        (10,)
    """
    if kind not in ENERGIES:
        raise OptionError(f"kind is one of {choices(ENERGIES)}; got {kind!r}.")
    xp, batch, q, v, _ = samples_last(robot, q, v, v)
    columns = energy_rows(robot, q, v, kind)
    return xp.reshape(columns.T, (*batch, 10 * robot.nb))


def energy_rows(robot: Robot, q, v, kind: str):
    """`energy_regressor` with samples last: (10 nb, n) of q (nq, n) and v (nv, n)."""
    xp = array_namespace(q, v)
    state = motion(robot, q, v, xp.zeros_like(v))
    R, p = state.rotation, state.position
    w = transpose_times(R, state.twist[:, 3:])
    u = transpose_times(R, state.twist[:, :3] + cross(xp, state.twist[:, 3:], p))
    g = xp.asarray(robot.gravity, dtype=q.dtype)[None, :, None]
    h = cross(xp, u, w)
    x, y, z = w[:, 0], w[:, 1], w[:, 2]
    kinetic = [xp.sum(u * u, axis=1) / 2, h[:, 0], h[:, 1], h[:, 2]]
    kinetic += [x * x / 2, x * y, y * y / 2, x * z, y * z, z * z / 2]
    down = transpose_times(R, xp.broadcast_to(g, p.shape))
    potential = [-xp.sum(g * p, axis=1), -down[:, 0], -down[:, 1], -down[:, 2], *[xp.zeros_like(x)] * 6]
    total = [k + e for k, e in zip(kinetic, potential, strict=True)]
    rows = {"kinetic": kinetic, "potential": potential, "total": total}[kind]
    return xp.reshape(xp.stack(rows, axis=1), (10 * robot.nb, q.shape[-1]))


def power_regressor(robot: Robot, q, v, a):
    """Regressor of the power that the joints feed the bodies, `v^T Y`: the rate of total energy.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        a: (..., nv) accelerations, rad/s^2 or m/s^2.

    Returns:
        (..., 10 nb) in W per unit of each parameter.
    """
    Y = regressor(robot, q, v, a)
    return array_namespace(Y).sum(as_array("v", v)[..., None] * Y, axis=-2)


def base_wrench_regressor(robot: Robot, q, v, a):
    """Regressor of the wrench `[f; n]` that everything outside the robot's bodies exerts on them, without gravity.

    For a fixed base it is what a sensor under the robot feels; external loads on the robot count in.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        a: (..., nv) accelerations, rad/s^2 or m/s^2.

    Returns:
        (..., 6, 10 nb) in N, N m per unit of each parameter, in world axes at the world origin.
    """
    xp, batch, q, v, a = samples_last(robot, q, v, a)
    wrench = base_wrench_rows(xp, motion(robot, q, v, a), slice(0, robot.nb))
    return xp.reshape(xp.moveaxis(wrench, -1, 0), (*batch, 6, 10 * robot.nb))


def wrench_regressor(robot: Robot, q, v, a, link: str):
    """Regressor of the wrench `[f; n]` that a link is held by: what a six-axis sensor in its joint feels.

    The sensor carries the link's body and everything behind it. A link fixed to a body is another frame on that body,
    whose joint holds the sensor.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        a: (..., nv) accelerations, rad/s^2 or m/s^2.
        link: a name of `robot.links`; the wrench is in its axes, at its origin.

    Returns:
        (..., 6, 10 nb) in N, N m per unit of each parameter.

    Raises:
        OptionError: an unknown link or one that cannot move.
    """
    xp, batch, q, v, a = samples_last(robot, q, v, a)
    frame = sensor_frame(robot, link)
    wrench = link_wrench_rows(xp, motion(robot, q, v, a), frame)
    n = q.shape[-1]
    zeros = [xp.zeros((6, 10 * k, n), dtype=q.dtype) for k in (frame.bodies.start, robot.nb - frame.bodies.stop)]
    wrench = xp.concat([zeros[0], wrench, zeros[1]], axis=1)
    return xp.reshape(xp.moveaxis(wrench, -1, 0), (*batch, 6, 10 * robot.nb))


@dataclass(frozen=True, eq=False)
class SensorFrame:
    """body: that the frame is fixed in; rotation (3, 3), position (3,): its pose there. bodies: that the sensor
    carries."""

    body: int
    rotation: np.ndarray
    position: np.ndarray
    bodies: slice


def sensor_frame(robot: Robot, link: str) -> SensorFrame:
    """Frame of a link by name. Raises OptionError that lists the links that move."""
    found = next((each for each in robot.links if each.name == link and each.body != WORLD), None)
    if found is None and link not in robot.body_names:
        moving = [each.name for each in robot.links if each.body != WORLD] or robot.body_names
        raise OptionError(
            f"Robot '{robot.name}' has no moving link '{link}' to carry a sensor; it has {choices(moving)}."
        )
    body = robot.body_index(link) if found is None else found.body
    R, p = (np.eye(3), np.zeros(3)) if found is None else (found.rotation, found.position)
    return SensorFrame(body, R, p, tree(robot).subtree_bodies[robot.body_joints[body]])


def base_wrench_rows(xp, state: TreeMotion, bodies: slice):
    """(6, 10 k, n) wrench on k of the bodies together, in world axes at the world origin, per unit of each
    parameter."""
    first, inertia = body_wrench_regressors(xp, state)
    first, inertia = first[:, bodies], inertia[:, bodies]
    wrench = xp.concat([first, xp.concat([xp.zeros_like(inertia), inertia])], axis=2)
    return xp.reshape(wrench, (6, 10 * first.shape[1], first.shape[-1]))


def link_wrench_rows(xp, state: TreeMotion, frame: SensorFrame):
    """(6, 10 k, n) wrench on the k bodies that a sensor carries, in the sensor's frame."""
    wrench = base_wrench_rows(xp, state, frame.bodies)
    force, moment = wrench[:3], wrench[3:]
    R, p = state.rotation[frame.body], state.position[frame.body]
    p = p + times(R, xp.asarray(frame.position, dtype=p.dtype)[:, None])
    R = xp.moveaxis(xp.moveaxis(R, -1, 0) @ xp.asarray(frame.rotation, dtype=p.dtype), 0, -1)
    moment = [moment[i] - p[i - 2] * force[i - 1] + p[i - 1] * force[i - 2] for i in range(3)]
    return xp.stack([sum(R[j, i] * u[j] for j in range(3)) for u in (force, moment) for i in range(3)])


def momentum_regressor(robot: Robot, q, v):
    """Regressor of generalised momentum `p = M(q) v`, armature left aside (De Luca et al. 2006).

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.

    Returns:
        (..., nv, 10 nb) momentum in kg m^2/s or kg m/s per unit of each parameter of `robot.inertias.ravel()`.

    Raises:
        OptionError: q or v has the wrong width.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> q, v, a = np.random.default_rng(0).normal(size=(3, 10, 4))
        >>> p = sy.momentum_regressor(robot, q, v) @ robot.inertias.ravel()
        >>> kinetic = sy.energy_regressor(robot, q, v, kind="kinetic") @ robot.inertias.ravel()
        >>> np.allclose(kinetic, (p * v).sum(axis=-1) / 2)
        True
    """
    return _dense(robot, q, v, 0)


def momentum_drift_regressor(robot: Robot, q, v):
    """Regressor of the rate at which generalised momentum changes without joint torques: `dp/dt = tau + drift`.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.

    Returns:
        (..., nv, 10 nb) in N m or N per unit of each parameter.
    """
    return _dense(robot, q, v, 1)


def momentum_blocks(robot: Robot, q, v):
    """Nonzero parts of the rows of momentum and of drift, each as of `row_blocks`. q: (nq, n), v: (nv, n)."""
    xp = array_namespace(q, v)
    state = motion(robot, q, v, xp.zeros_like(v))
    still = xp.zeros_like(state.twist)
    momentum = body_wrench_regressors(xp, replace(state, twist=still, acceleration=state.twist))
    first, inertia = body_wrench_regressors(
        xp, replace(state, twist=still, acceleration=gravity_rows(xp, robot, still))
    )
    pulled = projected_blocks(xp, robot, state.axes, first, inertia)
    turned = projected_blocks(xp, robot, state.axis_rates, *momentum)
    drift = [turn + pull for turn, pull in zip(turned, pulled, strict=True)]
    return projected_blocks(xp, robot, state.axes, *momentum), drift


def gravity_rows(xp, robot: Robot, like):
    """Gravity as an acceleration `[g; 0]`, in the shape of accelerations of bodies (nb, 6, n)."""
    g = xp.concat([xp.asarray(robot.gravity, dtype=like.dtype), xp.zeros(3, dtype=like.dtype)])
    return xp.broadcast_to(g[None, :, None], like.shape)


def _dense(robot: Robot, q, v, which: int):
    xp, batch, q, v, _ = samples_last(robot, q, v, v)
    rows = dense_rows(xp, robot, momentum_blocks(robot, q, v)[which])
    return xp.reshape(xp.moveaxis(rows, -1, 0), (*batch, robot.nv, 10 * robot.nb))
