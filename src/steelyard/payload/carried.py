"""A payload on an arm: the motion of its sensor, and the wrench and joint torques that the motion takes."""

import numpy as np

from steelyard.dynamics import regressor
from steelyard.dynamics.kinematics import body_motion, motion, samples_last
from steelyard.errors import InertiaError, LogError, OptionError, choices
from steelyard.inertia import parameters
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.native import LONG_CHUNK
from steelyard.payload.payload_estimate import Payload
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_sums import wrench_regressor
from steelyard.spatial import cross, rotate


def carried_log(robot: Robot, *, t, q, v, a, wrench, frame: str | None = None, name: str = "wrench log") -> WrenchLog:
    """A wrench log whose sensor is a link of an arm: pose, twist and acceleration from joint states.

    Args:
        robot: the arm; its gravity is the log's.
        t: (n,) s.
        q: (n, nq) positions.
        v: (n, nv) velocities.
        a: (n, nv) accelerations.
        wrench: (n, 6) `[f; n]` in N and N m, in the axes of `frame` at its origin.
        frame: a link or body of the model; the last body by default.
        name: of the log.

    Returns:
        The WrenchLog.

    Raises:
        OptionError: an unknown frame.
        LogError: a frame that cannot move.
    """
    body, R_body, p_body = frame_of(robot, frame)
    q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
    xp, _, q, v, a = samples_last(robot, q, v, a)
    state = motion(robot, q, v, a)
    proper, w, alpha = (np.moveaxis(np.asarray(x)[body], -1, 0) for x in body_motion(xp, state))
    R = np.moveaxis(np.asarray(state.rotation)[body], -1, 0)
    p = np.moveaxis(np.asarray(state.position)[body], -1, 0)
    V = np.moveaxis(np.asarray(state.twist)[body], -1, 0)
    to_body = R.transpose(0, 2, 1)
    velocity = rotate(to_body, V[:, :3] + cross(V[:, 3:], p))
    classical = proper + rotate(to_body, np.broadcast_to(robot.gravity, p.shape))
    arm = np.broadcast_to(p_body, p.shape)
    velocity = velocity + cross(w, arm)
    classical = classical + cross(alpha, arm) + cross(w, cross(w, arm))
    velocity, classical, w, alpha = (x @ R_body for x in (velocity, classical, w, alpha))  # body to sensor axes
    return WrenchLog(
        t=t,
        wrench=wrench,
        rotation=R @ R_body,
        position=p + rotate(R, arm),
        twist=np.concatenate([velocity, w], axis=1),
        acceleration=np.concatenate([classical - cross(w, velocity), alpha], axis=1),
        gravity=robot.gravity,
        name=name,
    )


def frame_of(robot, frame):
    """Body index, and rotation and position of the frame in it."""
    if frame is None:
        return robot.nb - 1, np.eye(3), np.zeros(3)
    link = next((link for link in robot.links if link.name == frame), None)
    if link is not None:
        if link.body == WORLD:
            raise LogError(f"link {frame!r} cannot move, so a sensor on it feels no payload. Name a link of the wrist")
        return link.body, link.rotation, link.position
    if frame in robot.body_names:
        return robot.body_names.index(frame), np.eye(3), np.zeros(3)
    raise OptionError(
        f"robot {robot.name!r} has no link {frame!r}; it has {choices(link.name for link in robot.links)}"
    )


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
    theta = theta_of(payload)
    if not len(log):
        return np.zeros((0, 6))
    return np.concatenate([wrench_regressor(log[k : k + LONG_CHUNK]) @ theta for k in range(0, len(log), LONG_CHUNK)])


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
    theta = parameters.transform(theta_of(payload), R, p)
    columns = slice(10 * body, 10 * body + 10)
    torques = np.zeros((n, robot.nv))
    for start in range(0, n, LONG_CHUNK):
        part = slice(start, start + LONG_CHUNK)
        torques[part] = regressor(robot, q[part], v[part], a[part])[..., columns] @ theta
    return torques


def theta_of(payload) -> np.ndarray:
    """(10,) of a `Payload`, or theta itself."""
    theta = np.asarray(payload.theta if isinstance(payload, Payload) else payload, dtype=float)
    if theta.shape != (10,):
        raise InertiaError(f"a payload has ten parameters [m, h, I]; got shape {theta.shape}")
    return theta
