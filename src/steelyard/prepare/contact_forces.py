"""Forces at frames as torques tell them, roughly: with the nominal masses, and without knowing which frames touch."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.dynamics import inverse_dynamics, jacobian
from steelyard.log import Log
from steelyard.model import Robot

TWIST = 6  # rows of a free base, whose wrench nothing measures
FLAT = 1e-3  # m, lever below which a torque tells no force


def estimated_forces(robot: Robot, log: Log, frames: Sequence[str]) -> NDArray[np.float64]:
    """Vertical forces at frames, by least squares over the torques of all joints.

    Args:
        robot: free, with nominal masses.
        log: filtered, with v, a and tau.
        frames: where forces may act.

    Returns:
        (f, n) N, up, of the ground on the robot.
    """
    q, v, a, tau = log.require("q", "v", "a", "tau")
    missing = (inverse_dynamics(robot, q, v, a) - tau)[:, TWIST:]
    levers = np.concatenate([jacobian(robot, q, frame)[:, :3, TWIST:] for frame in frames], axis=1)
    square = levers @ np.swapaxes(levers, 1, 2) + FLAT**2 * np.eye(3 * len(frames))
    force = np.linalg.solve(square, levers @ missing[:, :, None])[:, :, 0]
    return force.reshape(len(log), -1, 3)[:, :, 2].T
