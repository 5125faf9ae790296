"""Frames on a robot: their Jacobians, and how they move.

A frame is a link, which may be fixed to another, or another named place (`robot.frames`). Its twist `[v; w]` here is
that of its origin in world axes, as a contact with the ground has it.
"""

import numpy as np

from steelyard.arguments import as_array, require_type
from steelyard.dynamics.kinematics import coordinate_map, joint_motion, joint_poses, samples_last, tree
from steelyard.dynamics.stacks import cross, times
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.namespaces import array_namespace


def jacobian(robot: Robot, q, frame: str):
    """Jacobian of a frame: its twist is `jacobian @ v`, and a force on it asks `-jacobian.T @ [f; n]` of the joints.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        frame: name of a link, also one that is fixed to another, or of another place of `robot.frames`.

    Returns:
        (..., 6, nv): linear rows first, in world axes at the origin of the frame. NumPy in, NumPy out; JAX in, JAX out.

    Raises:
        ModelError: no such frame; lists those that there are.
        OptionError: q has the wrong width.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> sy.jacobian(robot, np.zeros(4), robot.body_names[-1]).shape
        (6, 4)
    """
    xp, batch, q, _, _ = _state(robot, q)
    rows = frame_rows(robot, q, (frame,))[0][0]
    return xp.reshape(xp.moveaxis(rows, -1, 0), (*batch, 6, robot.nv))


def frame_velocity(robot: Robot, q, v, frame: str):
    """Twist of a frame.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        frame: as of `jacobian`.

    Returns:
        (..., 6) `[v; w]`, m/s and rad/s, in world axes at the origin of the frame.

    Raises:
        ModelError: no such frame.
        OptionError: q or v has the wrong width.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot, still = sy.library.scara(), np.zeros(4)
        >>> sy.frame_velocity(robot, still, np.array([1.0, 0, 0, 0]), robot.body_names[0])
        array([0., 0., 0., 0., 0., 1.])
    """
    xp, batch, q, v, _ = _state(robot, q, v)
    return xp.reshape(_moved(robot, q, v, frame)[0].T, (*batch, 6))


def bias_acceleration(robot: Robot, q, v, frame: str):
    """Acceleration of a frame that velocities alone make: the derivative of its Jacobian in time, times v.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        frame: as of `jacobian`.

    Returns:
        (..., 6), m/s^2 and rad/s^2: `jacobian @ a` and this are the rate of `frame_velocity`.

    Raises:
        ModelError: no such frame.
        OptionError: q or v has the wrong width.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot, still = sy.library.scara(), np.zeros(4)
        >>> spin = np.array([1.0, 0, 0, 0])
        >>> place = robot.body_names[1]  # an arm's length away from the first axis
        >>> arm = sy.frame_velocity(robot, still, spin, place)[1]
        >>> bool(np.isclose(sy.bias_acceleration(robot, still, spin, place)[0], -arm))
        True
    """
    xp, batch, q, v, _ = _state(robot, q, v)
    return xp.reshape(_moved(robot, q, v, frame)[1].T, (*batch, 6))


def frame_rows(robot: Robot, q, frames: tuple[str, ...]):
    """For each frame its Jacobian (6, nv, n) and the rotation (3, 3, n) of its axes in the world. q: (nq, n)."""
    xp = array_namespace(q)
    rotations, positions, axes = joint_poses(robot, q)
    to_v = xp.asarray(coordinate_map(robot), dtype=q.dtype)
    found = []
    for name in frames:
        R, p, joint = frame_pose(robot, name, rotations, positions)
        path = _path(robot, joint)
        own = xp.take(axes, xp.asarray(path), axis=0)
        at = xp.broadcast_to(p, (len(path), 3, q.shape[-1]))
        twists = xp.concat([own[:, :3] + cross(xp, own[:, 3:], at), own[:, 3:]], axis=1)
        rows = xp.tensordot(xp.take(to_v, xp.asarray(path), axis=1), twists, axes=((1,), (0,)))
        found.append((xp.moveaxis(rows, 1, 0), R))
    return found


def frame_position(robot: Robot, q, frame: str):
    """(..., 3) place of a frame's origin in the world, m. q: (..., nq); frame and errors as of `jacobian`."""
    xp, batch, q, _, _ = _state(robot, q)
    rotations, positions, _ = joint_poses(robot, q)
    return xp.reshape(frame_pose(robot, frame, rotations, positions)[1].T, (*batch, 3))


def _state(robot: Robot, q, v=None):
    require_type(Robot, robot=robot)
    q = as_array("q", q)
    still = array_namespace(q).zeros(robot.nv, dtype=q.dtype)
    return samples_last(robot, q, still if v is None else v, still)


def frame_pose(robot: Robot, name: str, rotations, positions):
    """World pose (3, 3, n), (3, n) of a frame, and the joint that moves it. rotations: (nj, 3, 3, n), positions: (nj,
    3, n) of the children of joints."""
    xp, frame = array_namespace(positions), robot.frame(name)
    R, p = (xp.asarray(x, dtype=positions.dtype)[..., None] for x in (frame.rotation, frame.position))
    n = positions.shape[-1]
    if frame.body == WORLD:
        return xp.broadcast_to(R, (3, 3, n)), xp.broadcast_to(p, (3, n)), WORLD
    joint = int(robot.body_joints[frame.body])
    above = rotations[joint]
    turned = xp.stack([times(above, R[:, i]) for i in range(3)], axis=1)
    return turned, positions[joint] + times(above, p), joint


def _path(robot: Robot, joint: int) -> np.ndarray:
    """Degrees of the tree that move a joint's child."""
    return np.flatnonzero(tree(robot).ancestors[joint]) if joint != WORLD else np.zeros(0, dtype=int)


def _moved(robot: Robot, q, v, name: str):
    xp = array_namespace(q, v)
    state = joint_motion(robot, q, v, xp.zeros_like(v))
    _, p, joint = frame_pose(robot, name, state.rotation, state.position)
    if joint == WORLD:
        return (xp.zeros((6, q.shape[-1]), dtype=q.dtype),) * 2
    gravity = xp.asarray(robot.gravity, dtype=q.dtype)[:, None]
    v, w = state.twist[joint, None, :3], state.twist[joint, None, 3:]
    a, aw = state.acceleration[joint, None, :3] + gravity, state.acceleration[joint, None, 3:]
    p = p[None]
    at = v + cross(xp, w, p)
    change = a + cross(xp, aw, p) + cross(xp, w, at)
    return tuple(xp.concat([x[0], y[0]]) for x, y in ((at, w), (change, aw)))
