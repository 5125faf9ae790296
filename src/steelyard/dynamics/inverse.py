"""Inverse dynamics: joint torques that produce a motion (recursive Newton-Euler, in world coordinates)."""

import numpy as np

from steelyard.dynamics.geared import geared
from steelyard.dynamics.kinematics import body_motion, motion, samples_last, tree
from steelyard.dynamics.stacks import cross, times
from steelyard.model import Robot


def inverse_dynamics(robot: Robot, q, v, a, *, rotors: bool = False):
    """Generalised forces of a motion, without friction (recursive Newton-Euler; Featherstone 2008, chapter 5).

    Args:
        robot: the robot; gravity and armature (`armature * a`) are its own.
        q: (..., nq) positions, rad or m, joints in the order of `robot.joint_names`.
        v: (..., nv) velocities, rad/s or m/s.
        a: (..., nv) accelerations, rad/s^2 or m/s^2.
        rotors: whether motor rotors are bodies, too, with the parameters that the robot states; its armature should
            not stand for them as well then.

    Returns:
        (..., nv) forces in N m or N. NumPy in, NumPy out; JAX in, JAX out.

    Raises:
        OptionError: q, v or a has the wrong width.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> still = np.zeros(4)
        >>> sy.inverse_dynamics(robot, still, still, still)  # the third joint carries 0.75 kg
        array([0.    , 0.    , 7.3575, 0.    ])
    """
    robot = geared(robot).robot if rotors else robot
    xp, batch, q, v, a = samples_last(robot, q, v, a)
    state = motion(robot, q, v, a)
    force, torque = _body_wrenches(robot, xp, state, q.dtype)
    constants = tree(robot)
    behind = xp.asarray(constants.ancestors[robot.body_joints].T, dtype=q.dtype)
    wrench = xp.concat([force, torque], axis=1)
    n = q.shape[-1]
    below = xp.reshape(behind @ xp.reshape(wrench, (robot.nb, 6 * n)), (behind.shape[0], 6, n))
    per_degree = xp.sum(state.axes * below, axis=1)
    tau = xp.asarray(coordinate_map(robot), dtype=q.dtype) @ per_degree
    tau = tau + xp.asarray(robot.armature, dtype=q.dtype)[:, None] * a
    return xp.reshape(tau.T, (*batch, robot.nv))


def coordinate_map(robot: Robot) -> np.ndarray:
    """(nv, nt): generalised forces from the tree's; mimic joints add to their masters through their ratios."""
    constants = tree(robot)
    E = np.zeros((robot.nv, constants.coordinates.size))
    E[constants.coordinates, np.arange(constants.coordinates.size)] = constants.ratios
    return E


def _body_wrenches(robot, xp, state, dtype):
    """Wrench of each body in world axes at the world origin: force, torque (nb, 3, n)."""
    d, w, aw = body_motion(xp, state)
    theta = xp.asarray(robot.inertias, dtype=dtype)
    mass, h = theta[:, 0, None, None], theta[:, 1:4, None]
    I = xp.reshape(theta[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]], (robot.nb, 3, 3))[..., None]
    h = xp.broadcast_to(h, d.shape)
    force = mass * d + cross(xp, aw, h) + cross(xp, w, cross(xp, w, h))
    torque = cross(xp, h, d) + times(I, aw) + cross(xp, w, times(I, w))
    force, torque = times(state.rotation, force), times(state.rotation, torque)
    return force, torque + cross(xp, state.position, force)
