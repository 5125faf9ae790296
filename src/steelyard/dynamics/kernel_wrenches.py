"""Stage of the fused kernel: wrench per unit of every parameter, a block of samples. Importing imports Numba.

The mathematics is that of `dynamics.body`, in world axes: there the mass and the torque of `h` need no rotation, they
are `d` and `axis x d`; the rest is computed in body axes and turned.
"""

import numpy as np
from numba import njit

from steelyard.dynamics.kernel_motion import OPTIONS, add_cross

# Force per unit of h, torque per unit of I in body axes: each component is the sum of two signed terms, of which 0 is
# nothing, A.. the angular acceleration and XX to YZ products of the angular velocity.
AX, AY, AZ, XX, YY, ZZ, XY, XZ, YZ = range(1, 10)
IN_BODY_AXES = np.array(
    [
        [[0, 0], [0, 0], [0, 0]],  # the mass
        [[-YY, -ZZ], [XY, AZ], [XZ, -AY]],
        [[XY, -AZ], [-XX, -ZZ], [YZ, AX]],
        [[XZ, AY], [YZ, -AX], [-XX, -YY]],
        [[AX, 0], [XZ, 0], [-XY, 0]],
        [[AY, -XZ], [AX, YZ], [XX, -YY]],
        [[-YZ, 0], [AY, 0], [XY, 0]],
        [[AZ, XY], [ZZ, -XX], [AX, -YZ]],
        [[YY, -ZZ], [AZ, -XY], [AY, XZ]],
        [[YZ, 0], [-XZ, 0], [AZ, 0]],
    ]
)
WORK = 22  # rows of scratch


@njit(**OPTIONS)
def wrenches(tree, needed, R, p, twist, acceleration, F, work):
    """World wrench per unit of every needed parameter. F (nb, 10, 6, m); work (WORK, m)."""
    d, w, turned, terms, column = work[:3], work[3:6], work[6:9], work[9:19], work[19:22]
    for b in range(tree.body_joint.size):
        j = tree.body_joint[b]
        _origin_acceleration(p[j], twist[j], acceleration[j], turned, d)
        _rotated_back(R[j], twist[j, 3:], w)
        _terms(R[j], acceleration[j, 3:], w, terms)
        for c in range(10):
            if needed[b, c]:
                out = F[b, c]
                if c == 0:
                    out[:3] = d
                    out[3:] = 0.0
                else:
                    _in_body_axes(c, terms, column)
                    _rotated(R[j], column, out[:3] if c < 4 else out[3:])
                if 0 < c < 4:
                    _crossed(R[j], c - 1, d, out[3:])
                if c < 4:
                    add_cross(p[j], out[:3], out[3:])


@njit(**OPTIONS)
def _origin_acceleration(p, V, A, turned, d):
    """Classical proper acceleration d (3, m) of a frame's origin, from its motion at the world origin."""
    turned[:] = V[:3]
    add_cross(V[3:], p, turned)
    d[:] = A[:3]
    add_cross(A[3:], p, d)
    add_cross(V[3:], turned, d)


@njit(**OPTIONS)
def _terms(R, world_aw, w, terms):
    """terms (10, m): nothing, angular acceleration, products of the angular velocity w in body axes."""
    terms[0, :] = 0.0
    _rotated_back(R, world_aw, terms[AX : AZ + 1])
    for i in range(3):
        for s in range(w.shape[1]):
            terms[XX + i, s] = w[i, s] * w[i, s]
    for s in range(w.shape[1]):
        terms[XY, s] = w[0, s] * w[1, s]
        terms[XZ, s] = w[0, s] * w[2, s]
        terms[YZ, s] = w[1, s] * w[2, s]


@njit(**OPTIONS)
def _in_body_axes(c, terms, out):
    for i in range(3):
        one, other = IN_BODY_AXES[c, i, 0], IN_BODY_AXES[c, i, 1]
        x, y, o = terms[abs(one)], terms[abs(other)], out[i]
        sign_x, sign_y = 1.0 if one > 0 else -1.0, 1.0 if other > 0 else -1.0
        for s in range(o.size):
            o[s] = sign_x * x[s] + sign_y * y[s]


@njit(**OPTIONS)
def _rotated(R, x, out):
    """out = R x for rows of samples. R (9, m), x, out (3, m)."""
    for i in range(3):
        for s in range(out.shape[1]):
            out[i, s] = R[3 * i, s] * x[0, s] + R[3 * i + 1, s] * x[1, s] + R[3 * i + 2, s] * x[2, s]


@njit(**OPTIONS)
def _rotated_back(R, x, out):
    """out = R^T x."""
    for i in range(3):
        for s in range(out.shape[1]):
            out[i, s] = R[i, s] * x[0, s] + R[3 + i, s] * x[1, s] + R[6 + i, s] * x[2, s]


@njit(**OPTIONS)
def _crossed(R, column, u, out):
    """out = (column of R) x u."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for s in range(out.shape[1]):
            out[i, s] = R[3 * j + column, s] * u[k, s] - R[3 * k + column, s] * u[j, s]
