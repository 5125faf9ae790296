"""Positions of robots on a free base: changes of them and differences between them, one number a degree of freedom.

Of the base these are a displacement, m, and a rotation vector, rad, both in its own axes, as its twist is.
"""

import numpy as np

from steelyard.spatial import POSE, TWIST, rotate, rotation_from_quaternion


def moved(q, change) -> np.ndarray:
    """Positions (..., nq) after a change (..., nv)."""
    if np.shape(q)[-1] == np.shape(change)[-1]:
        return np.asarray(q + change)
    position = q[..., :3] + rotate(rotation_from_quaternion(q[..., 3:POSE]), change[..., :3])
    angle = np.linalg.norm(change[..., 3:TWIST], axis=-1, keepdims=True)
    turn = np.concatenate([0.5 * np.sinc(angle / (2 * np.pi)) * change[..., 3:TWIST], np.cos(angle / 2)], axis=-1)
    quaternion = _product(q[..., 3:POSE], turn)
    return np.concatenate([position, quaternion, q[..., POSE:] + change[..., TWIST:]], axis=-1)


def apart(q, other, nv: int) -> np.ndarray:
    """The change (..., nv) that moves other positions (..., nq) to these."""
    if np.shape(q)[-1] == nv:
        return np.asarray(q - other)
    R = rotation_from_quaternion(other[..., 3:POSE])
    position = rotate(np.swapaxes(R, -1, -2), q[..., :3] - other[..., :3])
    back = other[..., 3:POSE] * np.array([-1.0, -1.0, -1.0, 1.0])
    turn = _product(back, q[..., 3:POSE])
    turn = turn / np.maximum(np.linalg.norm(turn, axis=-1, keepdims=True), 1e-300)
    turn = np.where(turn[..., 3:] < 0, -turn, turn)
    sine = np.linalg.norm(turn[..., :3], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, turn[..., 3:])
    vector = np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0) * turn[..., :3]
    return np.concatenate([position, vector, q[..., POSE:] - other[..., POSE:]], axis=-1)


def of_joints(q, nv: int) -> np.ndarray:
    """(..., nv) positions of joints, zero in the place of a base."""
    if np.shape(q)[-1] == nv:
        return np.asarray(q)
    return np.concatenate([np.zeros((*np.shape(q)[:-1], TWIST)), q[..., POSE:]], axis=-1)


def _product(one, other) -> np.ndarray:
    """Of quaternions (..., 4), x y z w."""
    (a, w), (b, u) = ((x[..., :3], x[..., 3:]) for x in (one, other))
    return np.concatenate([w * b + u * a + np.cross(a, b), w * u - np.sum(a * b, axis=-1, keepdims=True)], axis=-1)
