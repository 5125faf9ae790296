"""Torques from outside by the generalised-momentum observer (De Luca and Mattone 2003), as a filter of whole records.

Momentum `p = M v` changes by `dp/dt = tau - friction + C^T v - g + external`. The observer of gain K returns

    r = K (p - p(0) - int (tau - friction + C^T v - g + r) dt),     dr/dt = K (external - r),

the torque from outside through a first-order low-pass filter, without accelerations. Signals are taken as linear
between samples, for which each step is exact whatever the period; all steps are one bidiagonal system.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from steelyard.arguments import as_array, require_type
from steelyard.dynamics.armature import armature_torque
from steelyard.dynamics.balances import gravity_rows
from steelyard.dynamics.effects import friction_torque
from steelyard.dynamics.kinematics import motion, samples_last
from steelyard.dynamics.newton_euler import body_wrenches, generalised_forces
from steelyard.dynamics.rotors import with_rotor_bodies
from steelyard.errors import ModelError, OptionError, choices
from steelyard.model import Robot
from steelyard.native import LONG_CHUNK
from steelyard.terms import COULOMB_WIDTH


def momentum_observer(
    robot: Robot,
    t,
    q,
    v,
    tau,
    *,
    gain: ArrayLike = 30.0,
    rotors: bool = False,
    coulomb_width: float = COULOMB_WIDTH,
) -> np.ndarray:
    """Torques from outside, such as of contacts, by the generalised-momentum observer (De Luca and Mattone 2003).

    Args:
        robot: a tree, fixed or with a free base; inertias, armature and friction are its own.
        t: (n,) times, s, increasing.
        q: (n, nq) positions, rad or m.
        v: (n, nv) velocities, rad/s or m/s.
        tau: (n, nv) torques of the joints, N m or N; of a free base the wrench that is known to act on it.
        gain: K, 1/s, one or (nv,): the bandwidth is K / (2 pi) Hz.
        rotors: whether motor rotors are bodies, too, as of `inverse_dynamics`.
        coulomb_width: half-width of standstill of Coulomb friction, rad/s or m/s.

    Returns:
        (n, nv) torques `J^T f` of the wrenches that act on the robot beside `tau`, N m or N, after the low-pass filter;
        0 at the first sample.

    Raises:
        ModelError: a robot with closed loops.
        OptionError: widths or lengths that do not fit, times that do not increase, a gain that is not positive.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot, t = sy.library.scara(), np.arange(0, 1, 0.001)
        >>> still = np.zeros((1000, 4))
        >>> held = sy.inverse_dynamics(robot, still, still, still) - [0, 0, 5.0, 0]  # 5 N from below carry the rest
        >>> sy.momentum_observer(robot, t, still, still, held)[-1].round(3)
        array([0., 0., 5., 0.])
    """
    require_type(Robot, robot=robot)
    t, q, v, tau = (as_array(name, x) for name, x in (("t", t), ("q", q), ("v", v), ("tau", tau)))
    require_tree_of_motors(robot)
    if not (q.ndim == v.ndim == 2 and len(t) == len(q) == len(v) and tau.shape == (len(t), robot.nv)):
        raise OptionError(
            f"t, q, v and tau are one row a sample; found {t.shape}, {q.shape}, {v.shape} and {tau.shape} of a robot "
            f"with {robot.nq} positions and {robot.nv} torques."
        )
    if not np.all(np.diff(t) > 0):
        raise OptionError("times of a momentum observer increase; sort the samples, and drop those that repeat.")
    whole = with_rotor_bodies(robot).robot if rotors else robot
    parts = [slice(start, start + LONG_CHUNK) for start in range(0, len(t), LONG_CHUNK)]
    momenta, drifts = zip(*(momentum_and_drift(whole, q[at], v[at]) for at in parts), strict=True)
    driven = tau - friction_torque(robot, v, coulomb_width=coulomb_width) + np.concatenate(drifts)
    return lagged(t, -driven, np.concatenate(momenta), gains_of(gain, robot.nv))[0]


def require_tree_of_motors(robot: Robot) -> None:
    """Raise ModelError for closed loops, whose cut joints no momentum balance of its own holds for."""
    if robot.loops:
        raise ModelError(
            f"Robot '{robot.name}' has closed loops ({choices(robot.loop_names)}): forces inside them change the "
            "momentum of each joint. Observe a tree, such as dataclasses.replace(robot, loops=()) where loops bear no "
            "force."
        )


def gains_of(gain: ArrayLike, count: int) -> np.ndarray:
    """(count,) gains, 1/s, from one or all. Raises OptionError."""
    found = np.asarray(gain, dtype=float)
    if found.shape not in ((), (1,), (count,)) or not (np.isfinite(found) & (found > 0)).all():
        raise OptionError(f"gain is positive, in 1/s, one or one for each of {count} torques; got {gain!r}.")
    return np.broadcast_to(found, (count,))


def momentum_and_drift(robot: Robot, q, v):
    """Generalised momentum p (..., nv) with armature, kg m^2/s or kg m/s, and the rate at which it changes without
    torques of joints, `C^T v - g` (..., nv), N m or N: `dp/dt = tau + drift`. q: (..., nq), v: (..., nv)."""
    xp, batch, q, v, still = samples_last(robot, q, v, 0 * as_array("v", v))
    state = motion(robot, q, v, still)
    rest = xp.zeros_like(state.twist)
    moving = body_wrenches(robot, xp, replace(state, twist=rest, acceleration=state.twist))
    pulled = body_wrenches(robot, xp, replace(state, twist=rest, acceleration=gravity_rows(xp, robot, rest)))
    armature = xp.asarray(robot.armature, dtype=v.dtype)[:, None]
    p = generalised_forces(xp, robot, state.axes, moving) + armature * v
    drift = generalised_forces(xp, robot, state.axis_rates, moving)
    drift = drift + generalised_forces(xp, robot, state.axes, pulled) - armature_torque(robot, v, still)
    return tuple(xp.reshape(x.T, (*batch, robot.nv)) for x in (p, drift))


def lagged(t, level, change, gain, before=None):
    """`level + d(change)/dt` behind a low-pass filter `K / (s + K)`, exact for signals that are linear between samples.

    t: (n,) increasing, s; level: (n, m) torques, N m or N; change: (n, m) momenta; gain: (m,) K, 1/s; before: what an
    earlier call returned with the samples before these, None begins at rest. Returns (n, m), and what the next call
    takes."""
    from scipy.linalg import solve_banded

    driven = gain * change - level  # r = K (change - y), dy/dt = driven - K y
    last, was, y0 = (t[0], driven[0], change[0]) if before is None else before
    steps, earlier = np.diff(t, prepend=last), np.concatenate([was[None], driven[:-1]])
    y = np.empty_like(driven)
    for k in np.unique(gain):
        at = gain == k
        held, old, new = step_weights(k, steps)
        side = old[:, None] * earlier[:, at] + new[:, None] * driven[:, at]
        side[0] += held[0] * y0[at]
        y[:, at] = solve_banded((1, 0), np.stack([np.ones_like(held), np.append(-held[1:], 0.0)]), side)
    return gain * (change - y), (t[-1], driven[-1], y[-1])


def step_weights(gain: float, step):
    """Weights (n,) of steps (n,), s, of `dy/dt = x - K y` for x linear in them: of y before, of x before, of x
    after."""
    held = np.exp(-gain * step)
    whole = -np.expm1(-gain * step) / gain
    new = (step - whole) / (gain * np.maximum(step, np.finfo(float).tiny))
    return held, whole - new, new
