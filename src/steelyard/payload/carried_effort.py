"""What a payload costs: the wrench at the wrist and the joint torques that a motion of it takes."""

import numpy as np

from steelyard.dynamics import regressor
from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import parameters
from steelyard.model import Robot
from steelyard.payload.arm_sensor import frame_of
from steelyard.payload.payload_estimate import Payload
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_sums import wrench_regressor

CHUNK = 4096  # samples at a time


def predicted_wrench(payload, log: WrenchLog) -> np.ndarray:
    """The wrench that a hand exerts on a payload along a motion, without any bias of the sensor.

    Args:
        payload: a `Payload`, or theta (10,) in the sensor frame.
        log: a motion of the sensor; its wrench is not read. Without twist and acceleration, poses at rest.

    Returns:
        (n, 6) `[f; n]` in N and N m, sensor axes at the sensor origin.

    Raises:
        InertiaError: other than ten parameters.

    Source: paper E, 1-3.
    """
    theta = _theta(payload)
    if not len(log):
        return np.zeros((0, 6))
    return np.concatenate([wrench_regressor(log[k : k + CHUNK]) @ theta for k in range(0, len(log), CHUNK)])


def joint_torques(robot: Robot, payload, q, v, a, *, frame: str | None = None) -> np.ndarray:
    """The joint torques that a payload adds to those of the arm that carries it.

    Args:
        robot: the arm; its own masses do not matter.
        payload: a `Payload`, or theta (10,), in the axes of `frame` at its origin.
        q: (n, nq) positions, rad or m.
        v: (n, nv) velocities.
        a: (n, nv) accelerations.
        frame: link or body that holds the payload, the last body by default.

    Returns:
        (n, nv) in N m (N).

    Raises:
        InertiaError: other than ten parameters.
        OptionError: an unknown frame, or states of other shapes.
        LogError: a frame that cannot move.

    Source: paper E, 1-3, in the joints of the arm.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> arm = sy.library.scara()
        >>> point = np.array([2.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])  # 2 kg at the origin of the last body
        >>> still = np.zeros((1, arm.nv))
        >>> sy.payload.joint_torques(arm, point, still, still, still).shape == (1, arm.nv)
        True
    """
    q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
    n = len(q)
    for name, x, width in (("q", q, robot.nq), ("v", v, robot.nv), ("a", a, robot.nv)):
        if x.shape != (n, width):
            raise OptionError(
                f"{name} of {robot.name!r} has shape {x.shape}; expected ({n}, {width}), one row a sample"
            )
    body, R, p = frame_of(robot, frame)
    theta = parameters.transform(_theta(payload), R, p)
    columns = slice(10 * body, 10 * body + 10)
    torques = np.zeros((n, robot.nv))
    for start in range(0, n, CHUNK):
        part = slice(start, start + CHUNK)
        torques[part] = regressor(robot, q[part], v[part], a[part])[..., columns] @ theta
    return torques


def _theta(payload) -> np.ndarray:
    theta = np.asarray(payload.theta if isinstance(payload, Payload) else payload, dtype=float)
    if theta.shape != (10,):
        raise InertiaError(f"a payload has ten parameters [m, h, I]; got shape {theta.shape}")
    return theta
