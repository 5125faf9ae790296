"""Stages of the fused kernel: poses, axes, twists and accelerations of a block of samples. Importing imports Numba.

The mathematics is that of `dynamics.kinematics`; samples are last, and one output row is an inner loop so that the
compiler vectorises it.
"""

import numpy as np
from numba import njit

LARGEST_ANGLE = 1e5  # rad, up to which the reduction below loses nothing
QUARTER = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)  # pi / 2 in parts of 33 bits
OPTIONS = {"cache": True, "nogil": True, "fastmath": True, "error_model": "numpy"}


@njit(**OPTIONS)
def add_cross(a, b, out):
    """out += a x b, (3, m) each."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for s in range(out.shape[1]):
            out[i, s] += a[j, s] * b[k, s] - a[k, s] * b[j, s]


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def sines_and_cosines(x, sine, cosine):
    """Sine and cosine of a row, both in one vectorised pass: reduced to an eighth turn, then their series.

    Reassociation, which the other functions allow, would undo the reduction in three parts.
    """
    largest = 0.0
    for s in range(x.size):
        largest = max(largest, abs(x[s]))
    if not largest < LARGEST_ANGLE:
        for s in range(x.size):
            sine[s], cosine[s] = np.sin(x[s]), np.cos(x[s])
        return
    for s in range(x.size):
        quarters = np.rint(x[s] * (2 / np.pi))
        r = x[s] - quarters * QUARTER[0] - quarters * QUARTER[1] - quarters * QUARTER[2]
        z = r * r
        odd = -1 / 39916800 + z * (1 / 6227020800 - z / 1307674368000)
        odd = -1 / 6 + z * (1 / 120 + z * (-1 / 5040 + z * (1 / 362880 + z * odd)))
        odd = r + r * z * odd
        even = 1 / 479001600 + z * (-1 / 87178291200 + z / 20922789888000)
        even = 1 / 24 + z * (-1 / 720 + z * (1 / 40320 + z * (-1 / 3628800 + z * even)))
        even = 1 - (0.5 * z - z * z * even)
        turn = quarters - 4 * np.floor(0.25 * quarters)
        swapped = turn == 1 or turn == 3
        one, other = (even, odd) if swapped else (odd, even)
        sine[s] = -one if turn >= 2 else one
        cosine[s] = -other if turn == 1 or turn == 2 else other


@njit(**OPTIONS)
def poses(tree, q, fixed, first, R, p, local_R, local_p, rows):
    """World poses of all joints' children for the samples from `first` on. R (nj, 9, m), p (nj, 3, m)."""
    nj = tree.above.size
    for j in range(nj):
        above = tree.above[j]
        to_R, to_p = (R[j], p[j]) if above == nj else (local_R, local_p)
        if tree.scalar[j] >= 0:
            _scalar_pose(tree, tree.scalar[j], q, first, to_R, to_p, rows)
        else:
            k, last = tree.other[j], first + R.shape[2]
            to_R[:], to_p[:] = fixed[k, :9, first:last], fixed[k, 9:, first:last]
        if above < nj:
            _placed(R[above], p[above], to_R, to_p, R[j], p[j])


@njit(**OPTIONS)
def _scalar_pose(tree, k, q, first, R, p, rows):
    """Pose of the one-degree joint k in its parent."""
    ratio, offset, at = tree.scalar_ratio[k], tree.scalar_offset[k], tree.scalar_q[k]
    angle, sine, cosine = rows[0], rows[1], rows[2]
    for s in range(angle.size):
        angle[s] = ratio * q[first + s, at] + offset
    sines_and_cosines(angle, sine, cosine)
    for i in range(9):
        c0, c1, c2, o = tree.scalar_R[k, 0, i], tree.scalar_R[k, 1, i], tree.scalar_R[k, 2, i], R[i]
        for s in range(o.size):
            o[s] = c0 + c1 * sine[s] + c2 * cosine[s]
    for i in range(3):
        c0, c1, c2, c3 = tree.scalar_p[k, 0, i], tree.scalar_p[k, 1, i], tree.scalar_p[k, 2, i], tree.scalar_p[k, 3, i]
        o = p[i]
        for s in range(o.size):
            o[s] = c0 + c1 * angle[s] + c2 * sine[s] + c3 * cosine[s]


@njit(**OPTIONS)
def _placed(above_R, above_p, local_R, local_p, R, p):
    """World pose of what has a local pose on a frame above."""
    for i in range(3):
        a0, a1, a2 = above_R[3 * i], above_R[3 * i + 1], above_R[3 * i + 2]
        o, b, x0, x1, x2 = p[i], above_p[i], local_p[0], local_p[1], local_p[2]
        for s in range(o.size):
            o[s] = b[s] + a0[s] * x0[s] + a1[s] * x1[s] + a2[s] * x2[s]
        for c in range(3):
            o, x0, x1, x2 = R[3 * i + c], local_R[c], local_R[3 + c], local_R[6 + c]
            for s in range(o.size):
                o[s] = a0[s] * x0[s] + a1[s] * x1[s] + a2[s] * x2[s]


@njit(**OPTIONS)
def motion(tree, v, a, first, R, p, axes, twist, acceleration, moved, rows):
    """World axes (nt, 6, m) of all degrees; twists and proper accelerations (nj, 6, m) of all joints' children."""
    nj = tree.above.size
    for j in range(nj):
        above, V, A = tree.above[j], twist[j], acceleration[j]
        if above < nj:
            V[:], A[:] = twist[above], acceleration[above]
        else:
            V[:], A[:] = 0.0, 0.0
            for i in range(3):
                A[i, :] = -tree.gravity[i]
        for d in range(tree.degree_start[j], tree.degree_start[j + 1]):
            _axis(R[j], p[j], tree.subspace[d], axes[d])
            _add_rates(tree, d, v, a, first, axes[d], V, A, moved[d], rows)
        for d in range(tree.degree_start[j], tree.degree_start[j + 1]):
            u, x = moved[d, :3], moved[d, 3:]
            add_cross(V[3:], u, A[:3])
            add_cross(V[:3], x, A[:3])
            add_cross(V[3:], x, A[3:])


@njit(**OPTIONS)
def _axis(R, p, subspace, axis):
    """World axis (6, m) of a degree with its subspace (6,) in the axes of a frame."""
    for half in range(2):
        u = subspace[3 * half : 3 * half + 3]
        for i in range(3):
            r0, r1, r2, o = R[3 * i], R[3 * i + 1], R[3 * i + 2], axis[3 * half + i]
            for s in range(o.size):
                o[s] = r0[s] * u[0] + r1[s] * u[1] + r2[s] * u[2]
    add_cross(p, axis[3:], axis[:3])


@njit(**OPTIONS)
def _add_rates(tree, d, v, a, first, axis, V, A, moved, rows):
    """Add what degree d moves by itself to a twist and an acceleration; the former is `moved`, too."""
    rate, change, k, ratio = rows[0], rows[1], tree.coordinate[d], tree.ratio[d]
    for s in range(rate.size):
        rate[s], change[s] = ratio * v[first + s, k], ratio * a[first + s, k]
    for i in range(6):
        x, y, to_V, to_A = axis[i], moved[i], V[i], A[i]
        for s in range(rate.size):
            y[s] = x[s] * rate[s]
        for s in range(rate.size):
            to_V[s] += y[s]
        for s in range(rate.size):
            to_A[s] += x[s] * change[s]
