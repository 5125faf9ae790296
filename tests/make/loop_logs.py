"""Logs of the motors of robots with closed loops."""

import numpy as np

import steelyard as sy
from steelyard.terms import COULOMB_WIDTH


def motors_log(robot, t, q, v, a, joints=None):
    """Motion (n, ni) of the motors and their torques with 1 % noise; joints of the tree rub, passive ones too."""
    tau = sy.closed_loop.inverse_dynamics(robot, q, v, a)
    speeds = sy.closed_loop.tree_state(robot, q, v, a)[1]
    friction = robot.damping * speeds + robot.frictionloss * np.tanh(speeds / COULOMB_WIDTH)
    tau = tau + np.einsum("nji,nj->ni", sy.closed_loop.gamma(robot, q), friction)
    tau = tau + 0.01 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    return sy.Log(t=t, q=q, tau=tau, joint_names=joints or robot.actuated)
