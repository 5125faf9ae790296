"""Spatial vectors and rigid motions. Motion `[v; w]` and force `[f; n]` are linear first, everywhere in Steelyard.

A pose is a pair `(R, p)`: rotation and origin of the child in the parent, so `x_parent = R @ x_child + p`.
All functions take leading batch axes and any array-API namespace (NumPy, JAX).
"""

import math
from functools import reduce

import numpy as np

from steelyard.namespaces import array_namespace

POSE, TWIST = 7, 6  # numbers of a free base in q, and in v
GRAVITY = (0.0, 0.0, -9.81)  # m/s^2, where nothing else is stated
Pose = tuple[np.ndarray, np.ndarray]  # rotation (3, 3), position (3,) m


def skew(u):
    """Cross-product matrix. u: (..., 3). Returns (..., 3, 3) with `skew(u) @ w = u x w`."""
    xp = array_namespace(u)
    x, y, z = u[..., 0], u[..., 1], u[..., 2]
    o = xp.zeros_like(x)
    rows = ((o, -z, y), (z, o, -x), (-y, x, o))
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)


def cross(a, b):
    """Cross product over the last axis with broadcasting. a, b: (..., 3). Returns (..., 3)."""
    xp = array_namespace(a, b)
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def rotate(R, u):
    """Matrix times vector over batch axes. R: (..., 3, 3), u: (..., 3). Returns (..., 3)."""
    return (R @ u[..., None])[..., 0]


def motion_cross(V, U):
    """`crm(V) U` of twists (..., 6)."""
    xp = array_namespace(V, U)
    v, w, u, x = V[..., :3], V[..., 3:], U[..., :3], U[..., 3:]
    return xp.concat([cross(w, u) + cross(v, x), cross(w, x)], axis=-1)


def crm(V):
    """Motion cross product. V: (..., 6) `[v; w]`. Returns (..., 6, 6) `[[S(w), S(v)], [0, S(w)]]`."""
    xp = array_namespace(V)
    v, w = skew(V[..., :3]), skew(V[..., 3:])
    top = xp.concat([w, v], axis=-1)
    bottom = xp.concat([xp.zeros_like(w), w], axis=-1)
    return xp.concat([top, bottom], axis=-2)


def crf(V):
    """Force cross product `-crm(V)^T`. V: (..., 6). Returns (..., 6, 6)."""
    xp = array_namespace(V)
    return -xp.matrix_transpose(crm(V))


def adjoint(R, p):
    """Motion transform of a pose. R: (..., 3, 3), p: (..., 3). Returns (..., 6, 6), child twist to parent twist."""
    xp = array_namespace(R, p)
    top = xp.concat([R, skew(p) @ R], axis=-1)
    bottom = xp.concat([xp.zeros_like(R), R], axis=-1)
    return xp.concat([top, bottom], axis=-2)


def rotation_from_quaternion(quaternion):
    """Rotation matrix of a unit quaternion. quaternion: (..., 4) `[x, y, z, w]`. Returns (..., 3, 3)."""
    xp = array_namespace(quaternion)
    x, y, z, w = (quaternion[..., i] for i in range(4))
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)


def rotation_from_rpy(rpy):
    """Rotation of fixed-axis roll, pitch, yaw (URDF `rpy`): `Rz(yaw) Ry(pitch) Rx(roll)`.

    rpy: (..., 3). (..., 3, 3).
    """
    xp = array_namespace(rpy)
    (cr, cp, cy), (sr, sp, sy) = ([f(rpy[..., i]) for i in range(3)] for f in (xp.cos, xp.sin))
    rows = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)


def rpy_from_rotation(R) -> list[float]:
    """Roll, pitch and yaw of a rotation (3, 3); at a pitch of 90 degrees the roll is taken as zero."""
    level = np.hypot(R[0, 0], R[1, 0])
    pitch = np.arctan2(-R[2, 0], level)
    if level < 1e-12:
        return [0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])]
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)  # near a pitch of 90 degrees yaw is rounding, which the roll has to go along with
    return [np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1]), pitch, yaw]


def identity() -> Pose:
    return np.eye(3), np.zeros(3)


def then(first: Pose, second: Pose) -> Pose:
    """The second pose, in the frame of the first, seen from where the first is."""
    return first[0] @ second[0], first[1] + first[0] @ second[1]


def inverse(pose: Pose) -> Pose:
    return pose[0].T, -pose[0].T @ pose[1]


def product_of_exponentials(twists, q):
    """Product of the motions along each twist in turn.

    twists: (6, k) `[v; w]`, q: (k, n). Returns R (n, 3, 3), p (n, 3): pose of the moved frame in the one at rest.
    """
    n = q.shape[1]
    R, p = np.broadcast_to(np.eye(3), (n, 3, 3)), np.zeros((n, 3))
    for twist, along in zip(np.transpose(twists), q, strict=True):
        next_R, next_p = exponential(twist, along)
        R, p = R @ next_R, p + rotate(R, next_p)
    return R, p


def exponential(twist, along):
    """Motion along a twist. twist: (6,) `[v; w]`, along: (...), its multiple. Returns R (..., 3, 3), p (..., 3)."""
    turn, way = along[..., None] * twist[3:], along[..., None] * twist[:3]
    return rotation_from_vector(turn), rotate(left_jacobian(turn), way)


def rotation_from_vector(beta):
    """Rotation matrix (..., 3, 3) `exp(S(beta))` of a rotation vector (..., 3), rad."""
    xp = array_namespace(beta)
    first, second, _ = _coefficients(beta)
    S = skew(beta)
    return xp.eye(3, dtype=beta.dtype) + first * S + second * (S @ S)


def left_jacobian(beta):
    """`Jl` (..., 3, 3) with `exp(S(beta + d)) = exp(S(Jl d)) exp(S(beta))` to first order. Its determinant `2 (1 - cos
    t) / t^2`, `t = |beta|`, vanishes at full turns `t = 2 pi k`, `k >= 1`. beta: (..., 3) rad."""
    xp = array_namespace(beta)
    _, second, third = _coefficients(beta)
    S = skew(beta)
    return xp.eye(3, dtype=beta.dtype) + second * S + third * (S @ S)


def quaternion_of(R):
    """Unit quaternion (..., 4) `[x, y, z, w]`, `w >= 0`, of a rotation matrix (..., 3, 3). Its entries are linear in `q
    q^T`: build that matrix and take its row with the largest diagonal, which is never small."""
    xp = array_namespace(R)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 1, 0] + R[..., 0, 1], R[..., 2, 0] + R[..., 0, 2], R[..., 2, 1] + R[..., 1, 2]
    squares = (1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz)
    rows = ((squares[0], xy, xz, x), (xy, squares[1], yz, y), (xz, yz, squares[2], z), (x, y, z, squares[3]))
    outer = xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
    largest = xp.argmax(xp.stack(squares, axis=-1), axis=-1)[..., None]
    pick = xp.astype(xp.arange(4) == largest, R.dtype)
    q = xp.sum(pick[..., None] * outer, axis=-2)
    q = q / xp.linalg.vector_norm(q, axis=-1, keepdims=True)
    return xp.where(q[..., 3:] < 0, -q, q)


def rotation_vector(R):
    """Rotation vector (..., 3), rad, with `|beta| <= pi` of a rotation matrix (..., 3, 3)."""
    xp = array_namespace(R)
    q = quaternion_of(R)
    v, w = q[..., :3], q[..., 3:]
    sine = xp.linalg.vector_norm(v, axis=-1, keepdims=True)
    still = sine == 0
    return v * xp.where(still, 2.0, 2 * xp.atan2(sine, w) / xp.where(still, 1.0, sine))


def _coefficients(beta):
    """`sin t / t`, `(1 - cos t) / t^2`, `(t - sin t) / t^3` of `t = |beta|`, each (..., 1, 1).

    Below half a radian the closed forms cancel, so their power series are used: machine precision everywhere.
    """
    xp = array_namespace(beta)
    t2 = xp.sum(beta * beta, axis=-1)[..., None, None]
    small = t2 < 0.25
    t = xp.sqrt(xp.where(small, 1.0, t2))  # never zero: keeps automatic differentiation of the unused branch finite
    closed = (xp.sin(t) / t, (1 - xp.cos(t)) / t**2, (t - xp.sin(t)) / t**3)
    series = (reduce(lambda s, k: 1 / math.factorial(2 * k + i) - t2 * s, range(7, -1, -1), 0.0) for i in (1, 2, 3))
    return tuple(xp.where(small, s, c) for s, c in zip(series, closed, strict=True))
