"""What motion and torques of a robot say of its contacts: which frames rest on the ground, and where the ground is.

The ground is a plane whose height and slope are found from the frames themselves: where they are slow, they stand. A
frame counts as touching once it is slow and low, until it is fast or high (hysteresis).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.dynamics import frame_position, frame_velocity, inverse_dynamics, jacobian
from steelyard.log import Log
from steelyard.model import Robot

SLOW, FAST = 0.15, 0.25  # m/s: a foot that rolls on its edge is slow, one that swings fast
LOW, HIGH = 0.008, 0.016  # m above the ground, with what soft ground and estimators of poses leave open
WIDE = 0.05  # m that standing frames must be apart for the ground to show its slope
TWIST = 6  # rows of a free base, whose wrench nothing measures
FLAT = 1e-3  # m, lever below which a torque tells no force
ROUNDS = 4  # of the fit of the ground, each without what lay off the one before


@dataclass(frozen=True)
class FootMotion:
    """Motion of frames over a log, and the ground below them.

    frames: their names. position: (f, n, 3) m. speed: (f, n) m/s. height: (f, n) m above the ground. slope: (2,) of the
    ground, its rise per metre along x and y. touching: (f, n) whether each rests on it, by its motion alone.
    """

    frames: tuple[str, ...]
    position: NDArray[np.float64]
    speed: NDArray[np.float64]
    height: NDArray[np.float64]
    slope: NDArray[np.float64]
    touching: NDArray[np.bool_]

    def of(self, frame: str) -> int:
        """Row of a frame."""
        return self.frames.index(frame)


def foot_motion(robot: Robot, log: Log, frames: Sequence[str]) -> FootMotion:
    """The motion of frames.

    Args:
        robot: whose columns the log has.
        log: with v.
        frames: one or more that touch the ground now and then.

    Returns:
        The FootMotion.

    Raises:
        ModelError: an unknown frame.
        LogError: a log without v.
    """
    q, v = log.require("q", "v")
    position = np.stack([frame_position(robot, q, frame) for frame in frames])
    speed = np.stack([np.linalg.norm(frame_velocity(robot, q, v, frame)[:, :3], axis=1) for frame in frames])
    height, slope = above_ground(position, speed)
    return FootMotion(tuple(frames), position, speed, height, slope, _touching(speed, height))


def above_ground(position: NDArray, speed: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heights above the plane that slow frames lie in.

    Args:
        position: (f, n, 3) m.
        speed: (f, n) m/s.

    Returns:
        (f, n) m, and the slope (2,) of the plane.
    """
    slow = position[speed < SLOW]
    if not len(slow):
        slow = position.reshape(-1, 3)
    below, slope = slow, np.zeros(2)
    for _ in range(ROUNDS):
        slope, level = _plane(below)
        off = slow[:, 2] - slow[:, :2] @ slope - level
        near = np.abs(off) < max(LOW, 3 * float(np.median(np.abs(off))))
        below = slow[near & (off < HIGH)] if np.any(near & (off < HIGH)) else below
    slope, level = _plane(below)
    return position[..., 2] - position[..., :2] @ slope - level, slope


def _plane(points: NDArray) -> tuple[NDArray[np.float64], float]:
    """Slope (2,) and height of the plane through points (k, 3), level along directions in which they are not apart."""
    middle = points.mean(axis=0)
    x, z = points[:, :2] - middle[:2], points[:, 2] - middle[2]
    spread, axes = np.linalg.eigh(x.T @ x / len(x))
    wide = spread > WIDE**2
    slope = axes @ np.where(wide, axes.T @ (x.T @ z) / len(x) / np.where(wide, spread, 1.0), 0.0)
    return slope, float(middle[2] - middle[:2] @ slope)


def _touching(speed: NDArray, height: NDArray) -> NDArray[np.bool_]:
    on, off = (speed < SLOW) & (height < LOW), (speed > FAST) | (height > HIGH)
    decided = on | off
    last = np.maximum.accumulate(np.where(decided, np.arange(on.shape[1]), 0), axis=1)
    return np.take_along_axis(on, last, axis=1)


def estimated_forces(robot: Robot, log: Log, frames: Sequence[str]) -> NDArray[np.float64]:
    """Vertical forces at frames, roughly: by least squares over the torques of all joints, with nominal masses.

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
