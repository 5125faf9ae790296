"""Motion of a sensor that an arm carries, from joint states and the arm's model."""

import numpy as np

from steelyard.dynamics import body_motion, motion, samples_last
from steelyard.errors import LogError, OptionError, choices
from steelyard.model import WORLD, Robot
from steelyard.payload.wrench_log import WrenchLog
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
