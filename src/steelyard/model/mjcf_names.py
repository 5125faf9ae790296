"""Names and rotations of a compiled MJCF model, as Steelyard gives them."""

import numpy as np

from steelyard.spatial import rotation_from_quaternion


def body_name(m, body: int) -> str:
    """Name of a body, made up from its number where the file gives none."""
    return m.body(body).name or f"body{body}"


def joint_name(m, joint: int) -> str:
    """Name of a joint, made up from its body's where the file gives none."""
    body = m.jnt_bodyid[joint]
    return m.joint(joint).name or f"{body_name(m, body)}_joint{joint - m.body_jntadr[body]}"


def compiled_rotation(quaternion_w_first):
    """Rotation matrix of a quaternion in MuJoCo's order."""
    return rotation_from_quaternion(np.roll(np.asarray(quaternion_w_first, dtype=float), -1))
