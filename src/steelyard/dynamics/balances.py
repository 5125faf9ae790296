"""Energy, momentum and base wrench of a tree, linear in its inertial parameters (paper A, closing references).

Arguments as of `regressor`; NumPy in, NumPy out; JAX in, JAX out. Raise OptionError for wrong widths.
"""

from math import prod

from array_api_compat import array_namespace

from steelyard.dynamics.kinematics import _cross, _transpose_times, motion, samples_last
from steelyard.dynamics.regressor import _wrench_regressors, regressor
from steelyard.errors import OptionError, choices
from steelyard.model.robot import Robot

ENERGIES = ("kinetic", "potential", "total")


def energy_regressor(robot: Robot, q, v, *, kind: str = "total"):
    """Regressor of energy: `1/2 V^T M V` and `-(m p + R h)^T g` of all bodies.

    q: (..., nq), v: (..., nv). kind: "kinetic", "potential" (zero with all mass at the world origin) or "total".
    Returns (..., 10 nb) with `energy = row @ robot.inertias.ravel()` in J, armature left aside.
    """
    if kind not in ENERGIES:
        raise OptionError(f"kind is one of {choices(ENERGIES)}; got {kind!r}.")
    xp, batch, q, v, a = samples_last(robot, q, v, array_namespace(v).zeros_like(v))
    state = motion(robot, q, v, a)
    R, p = state.rotation, state.position
    w = _transpose_times(R, state.twist[:, 3:])
    u = _transpose_times(R, state.twist[:, :3] + _cross(xp, state.twist[:, 3:], p))
    g = xp.asarray(robot.gravity, dtype=q.dtype)[None, :, None]
    h = _cross(xp, u, w)
    x, y, z = w[:, 0], w[:, 1], w[:, 2]
    kinetic = [xp.sum(u * u, axis=1) / 2, h[:, 0], h[:, 1], h[:, 2]]
    kinetic += [x * x / 2, x * y, y * y / 2, x * z, y * z, z * z / 2]
    down = _transpose_times(R, xp.broadcast_to(g, p.shape))
    potential = [-xp.sum(g * p, axis=1), -down[:, 0], -down[:, 1], -down[:, 2], *[xp.zeros_like(x)] * 6]
    total = [k + e for k, e in zip(kinetic, potential, strict=True)]
    rows = {"kinetic": kinetic, "potential": potential, "total": total}[kind]
    columns = xp.stack(rows, axis=1)
    return xp.reshape(xp.reshape(columns, (10 * robot.nb, prod(batch))).T, (*batch, 10 * robot.nb))


def power_regressor(robot: Robot, q, v, a):
    """Regressor of the power that the joints feed the bodies, `v^T Y`: the rate of total energy.

    Returns (..., 10 nb), in W per unit of each parameter.
    """
    xp = array_namespace(q, v, a)
    return xp.sum(v[..., None] * regressor(robot, q, v, a), axis=-2)


def momentum_regressor(robot: Robot, q, v):
    """Regressor of generalised momentum `p = M(q) v`, armature left aside.

    q: (..., nq), v: (..., nv). Returns (..., nv, 10 nb): kg m^2/s or kg m/s per unit of each parameter.
    """
    still = array_namespace(v).zeros_like(v)
    return regressor(robot, q, still, v) - regressor(robot, q, still, still)


def base_wrench_regressor(robot: Robot, q, v, a):
    """Regressor of the wrench `[f; n]` that everything outside the robot's bodies exerts on them, without gravity.

    For a fixed base it is what a sensor under the robot feels. World axes, at the world origin; external loads on the
    robot count in. Returns (..., 6, 10 nb) in N, N m per unit of each parameter.
    """
    xp, batch, q, v, a = samples_last(robot, q, v, a)
    first, inertia = _wrench_regressors(xp, motion(robot, q, v, a))
    none = xp.zeros_like(inertia)
    wrench = xp.concat([first, xp.concat([none, inertia])], axis=2)
    return xp.reshape(xp.moveaxis(xp.reshape(wrench, (6, 10 * robot.nb, -1)), -1, 0), (*batch, 6, 10 * robot.nb))
