"""Rotation matrices, rotation vectors and quaternions, for principal axes. Leading batch axes, any array namespace."""

import math
from functools import reduce

from steelyard.namespaces import array_namespace
from steelyard.spatial import skew


def from_vector(beta):
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


def to_quaternion(R):
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


def to_vector(R):
    """Rotation vector (..., 3), rad, with `|beta| <= pi` of a rotation matrix (..., 3, 3)."""
    xp = array_namespace(R)
    q = to_quaternion(R)
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
