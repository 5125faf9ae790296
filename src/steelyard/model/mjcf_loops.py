"""Loop closures and motors of a compiled MJCF model. Inactive constraints are no part of the robot."""

import numpy as np

from steelyard.model.loops import Loop
from steelyard.model.mjcf_names import body_name, compiled_rotation, joint_name
from steelyard.model.robot import WORLD, Robot


def closures(m) -> list[int]:
    """Indices of the active equality constraints that close a kinematic loop: connect and weld."""
    import mujoco

    closing = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
    return [k for k in range(m.neq) if m.eq_active0[k] and int(m.eq_type[k]) in closing]


def loops(m, robot: Robot) -> tuple[Loop, ...]:
    """Loop closures of a robot read from this model, in file order."""
    return tuple(_loop(m, robot, k) for k in closures(m))


def actuated_joints(m, robot: Robot) -> tuple[str, ...]:
    """Joints that an actuator of the file drives directly, in the order of the robot's joints."""
    import mujoco

    direct = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    driven = {joint_name(m, int(m.actuator_trnid[k, 0])) for k in range(m.nu) if int(m.actuator_trntype[k]) in direct}
    return tuple(name for name in robot.joint_names if name in driven)


def _loop(m, robot: Robot, k: int) -> Loop:
    import mujoco

    weld = int(m.eq_type[k]) == int(mujoco.mjtEq.mjEQ_WELD)
    data = m.eq_data[k]
    ends = (int(m.eq_obj1id[k]), int(m.eq_obj2id[k]))
    if int(m.eq_objtype[k]) == int(mujoco.mjtObj.mjOBJ_SITE):
        frames = [(m.site_bodyid[s], compiled_rotation(m.site_quat[s]), m.site_pos[s]) for s in ends]
    elif weld:  # the anchor is given in the second body, the pose of the second in the first
        frames = [(ends[0], compiled_rotation(data[6:10]), data[3:6]), (ends[1], np.eye(3), data[0:3])]
    else:
        frames = [(ends[0], np.eye(3), data[0:3]), (ends[1], np.eye(3), data[3:6])]
    placed = [_in_body(m, robot, body, R, p) for body, R, p in frames]
    return Loop(
        name=m.eq(k).name or f"equality {k}",
        kind="weld" if weld else "connect",
        bodies=(placed[0][0], placed[1][0]),
        rotations=np.stack([R for _, R, _ in placed]),
        positions=np.stack([p for _, _, p in placed]),
    )


def _in_body(m, robot: Robot, body, R, p):
    """Name of the robot's body that a body of the file rides on (None: the ground), and the frame in it."""
    name = body_name(m, int(body))
    link = next(link for link in robot.links if link.name == name)
    carrier = None if link.body == WORLD else robot.body_names[link.body]
    return carrier, link.rotation @ R, link.position + link.rotation @ p
