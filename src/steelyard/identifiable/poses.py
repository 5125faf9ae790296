"""Poses that constant twists reach."""

import numpy as np

from steelyard.spatial import skew


def exponential(twists, q):
    """Product of the motions along each twist in turn.

    twists: (6, k) `[v; w]`, q: (k, n). Returns R (n, 3, 3), p (n, 3): pose of the moved frame in the one at rest.
    """
    n = q.shape[1]
    R, p = np.broadcast_to(np.eye(3), (n, 3, 3)), np.zeros((n, 3))
    for twist, along in zip(np.transpose(twists), q, strict=True):
        next_R, next_p = _one(twist, along)
        R, p = R @ next_R, p + (R @ next_p[..., None])[..., 0]
    return R, p


def _one(twist, along):
    v, w = twist[:3], twist[3:]
    speed = np.linalg.norm(w)
    if speed == 0:
        return np.broadcast_to(np.eye(3), (len(along), 3, 3)), along[:, None] * v
    W, v, angle = skew(w / speed), v / speed, along * speed
    sine, rest = np.sin(angle)[:, None, None], (1 - np.cos(angle))[:, None, None]
    R = np.eye(3) + sine * W + rest * (W @ W)
    translation = angle[:, None, None] * np.eye(3) + rest * W + (angle[:, None, None] - sine) * (W @ W)
    return R, translation @ v
