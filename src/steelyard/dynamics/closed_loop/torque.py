"""Torques of the independent joints of robots with closed loops (paper D, section 3).

The loops are cut, so the tree's torques are known; virtual work projects them: `tau = Gamma^T tau_tree` (13).
"""

from functools import lru_cache

import numpy as np

from steelyard.dynamics.closed_loop.choice import choose
from steelyard.dynamics.closed_loop.state import State, named, state
from steelyard.dynamics.inverse import inverse_dynamics as tree_inverse_dynamics
from steelyard.dynamics.regressor import regressor as tree_regressor
from steelyard.model import Robot


def inverse_dynamics(robot: Robot, q, v, a, *, actuated=None, start=None):
    """Torques of the independent joints that produce a motion of a robot with closed loops, without friction.

    q: (..., nq), where entries of passive joints are guesses for closing the loops, or (..., ni), the independent
    joints only, in the order of the robot's joints. v, a: (..., nv), of which only independent entries count, or
    (..., ni). actuated: names of the independent joints; by default the robot's motors (`robot.actuated`), or a choice
    that suits its loops (`closed_loop.independent`). start: (nq,) configuration on the branch of assembly that motions
    without passive joints are on; the model's own by default.

    Returns (..., ni) in N m or N, armature of all joints included (paper D, (13)). Raises LoopError for loops that
    cannot be closed and wrong choices of joints, SingularConfigurationError where passive joints are not determined.
    """
    at = state(robot, q, v, a, actuated=actuated, start=start)
    tau = tree_torque(robot, at)
    return tau.reshape(*at.batch, tau.shape[1])


def tree_torque(robot: Robot, at: State):
    """Torques (n, ni) of the independent joints at a state."""
    tau = tree_inverse_dynamics(robot, at.q, at.v, at.a)
    return on_independent_joints(at, tau[..., None])[..., 0]


def regressor(robot: Robot, q, v, a, *, actuated=None, start=None):
    """Regressor of the independent joints' torques, `Gamma^T Y_tree`; arguments as of `closed_loop.inverse_dynamics`.

    Returns (..., ni, 10 nb), in torque per unit of each parameter of `robot.inertias.ravel()`.
    """
    at = state(robot, q, v, a, actuated=actuated, start=start)
    Y = on_independent_joints(at, tree_regressor(robot, at.q, at.v, at.a))
    return Y.reshape(*at.batch, *Y.shape[1:])


def on_independent_joints(at: State, rows):
    """Rows (n, ni, k) of the independent joints from the tree's (n, nv, k): virtual work."""
    return np.swapaxes(at.held.gamma, 1, 2) @ rows


def gamma(robot: Robot, q, *, actuated=None, start=None):
    """Gamma (..., nv, ni): `v = Gamma v_independent`, with q as in `closed_loop.inverse_dynamics`."""
    still = np.zeros(robot.nv)
    at = state(robot, q, still, still, actuated=actuated, start=start)
    return at.held.gamma.reshape(*at.batch, *at.held.gamma.shape[1:])


def tree_state(robot: Robot, q, v, a, *, actuated=None, start=None):
    """q (..., nq), v, a (..., nv) of all joints of the tree; arguments as of `closed_loop.inverse_dynamics`.

    The accelerations hold the rate of Gamma: `a = Gamma a_independent + dGamma/dt v_independent`.
    """
    at = state(robot, q, v, a, actuated=actuated, start=start)
    return tuple(x.reshape(*at.batch, x.shape[1]) for x in (at.q, at.v, at.a))


def independent(robot: Robot, *, actuated=None) -> tuple[str, ...]:
    """Names of the independent coordinates, in the order of torques and of narrow q, v and a."""
    return choose(robot, named(actuated)).names


@lru_cache(maxsize=32)
def with_motors(robot: Robot) -> Robot:
    """The robot with its motors stated: those it has, or the choice of independent joints that suits its loops.

    Without loops every joint has its own, and the robot is returned as it is.
    """
    if not robot.loops:
        return robot
    names = choose(robot).names
    return robot if robot.actuated else robot.with_actuated(name for name in names if name in robot.joint_names)
