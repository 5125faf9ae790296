"""Positions of robots on a free base: changes of them and differences between them, one number a degree of freedom.

Of the base these are a displacement, m, and a rotation vector, rad, both in its own axes, as its twist is.
"""

import numpy as np

from steelyard import spatial
from steelyard.spatial import POSE, TWIST, rotate, rotation_from_quaternion


def moved(q, change) -> np.ndarray:
    """Positions (..., nq) after a change (..., nv)."""
    if np.shape(q)[-1] == np.shape(change)[-1]:
        return np.asarray(q + change)
    R, before = rotation_from_quaternion(q[..., 3:POSE]), q[..., 3:POSE]
    after = spatial.quaternion_of(R @ spatial.rotation_from_vector(change[..., 3:TWIST]))
    after = np.where(np.sum(before * after, axis=-1, keepdims=True) < 0, -after, after)  # the nearer of both
    position = q[..., :3] + rotate(R, change[..., :3])
    return np.concatenate([position, after, q[..., POSE:] + change[..., TWIST:]], axis=-1)


def apart(q, other, nv: int) -> np.ndarray:
    """The change (..., nv) that moves other positions (..., nq) to these."""
    if np.shape(q)[-1] == nv:
        return np.asarray(q - other)
    back = np.swapaxes(rotation_from_quaternion(other[..., 3:POSE]), -1, -2)
    unit = q[..., 3:POSE] / np.maximum(np.linalg.norm(q[..., 3:POSE], axis=-1, keepdims=True), 1e-300)
    turn = spatial.rotation_vector(back @ rotation_from_quaternion(unit))
    position = rotate(back, q[..., :3] - other[..., :3])
    return np.concatenate([position, turn, q[..., POSE:] - other[..., POSE:]], axis=-1)


def of_joints(q, nv: int) -> np.ndarray:
    """(..., nv) positions of joints, zero in the place of a base."""
    if np.shape(q)[-1] == nv:
        return np.asarray(q)
    return np.concatenate([np.zeros((*np.shape(q)[:-1], TWIST)), q[..., POSE:]], axis=-1)
