"""Generalised momentum of a tree and what changes it besides joint torques: equations of motion without acceleration.

With the momentum `h` and the weight of the bodies behind joint k, in world axes at the world origin, `p_k = S_k^T h`
and `tau_k = S_k^T (dh/dt - weight)`, so

    dp_k/dt = tau_k + drift_k,    drift_k = (dS_k/dt)^T h + S_k^T weight,    dS_k/dt = crm(V_k) S_k:

`drift = C^T v - g`, as in the momentum observers of collision detection (De Luca et al. 2006), here linear in the
inertial parameters. Armature and friction are left aside.
"""

from dataclasses import replace

from array_api_compat import array_namespace

from steelyard.dynamics.kinematics import motion, samples_last
from steelyard.dynamics.regressor import body_wrench_regressors, dense_rows, projected_blocks
from steelyard.model import Robot


def momentum_regressor(robot: Robot, q, v):
    """Regressor of generalised momentum `p = M(q) v`, armature left aside.

    q: (..., nq), v: (..., nv). Returns (..., nv, 10 nb): kg m^2/s or kg m/s per unit of each parameter. Raises
    OptionError for wrong widths.
    """
    return _dense(robot, q, v, 0)


def momentum_drift_regressor(robot: Robot, q, v):
    """Regressor of the rate at which generalised momentum changes without joint torques: `dp/dt = tau + drift`.

    Arguments as of `momentum_regressor`. Returns (..., nv, 10 nb): N m or N per unit of each parameter.
    """
    return _dense(robot, q, v, 1)


def momentum_blocks(robot: Robot, q, v):
    """Nonzero parts of the rows of momentum and of drift, each as of `row_blocks`. q (nq, n), v (nv, n)."""
    xp = array_namespace(q, v)
    state = motion(robot, q, v, xp.zeros_like(v))
    still = xp.zeros_like(state.twist)
    momentum = body_wrench_regressors(xp, replace(state, twist=still, acceleration=state.twist))
    first, inertia = body_wrench_regressors(xp, replace(state, twist=still, acceleration=_gravity(xp, robot, still)))
    pulled = projected_blocks(xp, robot, state.axes, first, inertia)
    turned = projected_blocks(xp, robot, state.axis_rates, *momentum)
    drift = [turn + pull for turn, pull in zip(turned, pulled, strict=True)]
    return projected_blocks(xp, robot, state.axes, *momentum), drift


def _gravity(xp, robot: Robot, like):
    g = xp.concat([xp.asarray(robot.gravity, dtype=like.dtype), xp.zeros(3, dtype=like.dtype)])
    return xp.broadcast_to(g[None, :, None], like.shape)


def _dense(robot: Robot, q, v, which: int):
    xp, batch, q, v, _ = samples_last(robot, q, v, v)
    rows = dense_rows(xp, robot, momentum_blocks(robot, q, v)[which])
    return xp.reshape(xp.moveaxis(rows, -1, 0), (*batch, robot.nv, 10 * robot.nb))
