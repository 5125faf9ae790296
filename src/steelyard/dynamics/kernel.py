"""Fused Numba kernel: regressor of base columns and block-triangular Gram matrix, block by block, nothing stored.

Importing this module imports Numba. The mathematics is that of `dynamics.kinematics` and `dynamics.regressor`; the
order of loops is another one: blocks of samples small enough for the cache, samples last, one output row an inner loop
so that the compiler vectorises it. `fused_plan` flattens a robot into the arrays used here.
"""

import numpy as np
from numba import njit

BLOCK = 128
LARGEST_ANGLE = 1e5  # rad, up to which the reduction below loses nothing
QUARTER = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)  # pi / 2 in parts of 33 bits
OPTIONS = {"cache": True, "nogil": True, "fastmath": True, "error_model": "numpy"}


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
def _add_cross(a, b, out):
    """out += a x b."""
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
def _poses(plan, q, fixed, first, R, p, local_R, local_p, rows):
    """World poses of all joints' children for the samples from `first` on. R (nj, 9, m), p (nj, 3, m)."""
    m = R.shape[2]
    angle, sine, cosine = rows[0], rows[1], rows[2]
    for j in range(plan.parents.size):
        to_R, to_p = (R[j], p[j]) if plan.parents[j] < 0 else (local_R, local_p)
        k = plan.scalar[j]
        if k >= 0:
            ratio, offset, at = plan.scalar_ratio[k], plan.scalar_offset[k], plan.scalar_q[k]
            for s in range(m):
                angle[s] = ratio * q[first + s, at] + offset
            sines_and_cosines(angle, sine, cosine)
            for i in range(9):
                c0, c1, c2, o = plan.scalar_R[k, 0, i], plan.scalar_R[k, 1, i], plan.scalar_R[k, 2, i], to_R[i]
                for s in range(m):
                    o[s] = c0 + c1 * sine[s] + c2 * cosine[s]
            for i in range(3):
                e0, e1, e2, e3, o = (
                    plan.scalar_p[k, 0, i],
                    plan.scalar_p[k, 1, i],
                    plan.scalar_p[k, 2, i],
                    plan.scalar_p[k, 3, i],
                    to_p[i],
                )
                for s in range(m):
                    o[s] = e0 + e1 * angle[s] + e2 * sine[s] + e3 * cosine[s]
        else:
            for i in range(9):
                to_R[i, :] = fixed[plan.other[j], i, first : first + m]
            for i in range(3):
                to_p[i, :] = fixed[plan.other[j], 9 + i, first : first + m]
        if plan.parents[j] >= 0:
            above, base, here = R[plan.parents[j]], p[plan.parents[j]], p[j]
            for i in range(3):
                a0, a1, a2 = above[3 * i], above[3 * i + 1], above[3 * i + 2]
                o, b, x0, x1, x2 = here[i], base[i], to_p[0], to_p[1], to_p[2]
                for s in range(m):
                    o[s] = b[s] + a0[s] * x0[s] + a1[s] * x1[s] + a2[s] * x2[s]
                for c in range(3):
                    o, x0, x1, x2 = R[j, 3 * i + c], to_R[c], to_R[3 + c], to_R[6 + c]
                    for s in range(m):
                        o[s] = a0[s] * x0[s] + a1[s] * x1[s] + a2[s] * x2[s]


@njit(**OPTIONS)
def _moved(plan, v, a, first, R, p, axes, twist, acceleration, moved, rows):
    """World axes (nt, 6, m) of all degrees; twists and proper accelerations (nj, 6, m) of all joints' children."""
    m = R.shape[2]
    rate, rate_change = rows[0], rows[1]
    for j in range(plan.parents.size):
        above, V, A = plan.parents[j], twist[j], acceleration[j]
        if above >= 0:
            V[:] = twist[above]
            A[:] = acceleration[above]
        else:
            V[:] = 0.0
            A[:] = 0.0
            for i in range(3):
                A[i, :] = -plan.gravity[i]
        for d in range(plan.degree_start[j], plan.degree_start[j + 1]):
            S, k, ratio = axes[d], plan.coordinate[d], plan.ratio[d]
            for half in range(2):
                u = plan.subspace[d, 3 * half : 3 * half + 3]
                for i in range(3):
                    r0, r1, r2, o = R[j, 3 * i], R[j, 3 * i + 1], R[j, 3 * i + 2], S[3 * half + i]
                    for s in range(m):
                        o[s] = r0[s] * u[0] + r1[s] * u[1] + r2[s] * u[2]
            _add_cross(p[j], S[3:], S[:3])
            for s in range(m):
                rate[s], rate_change[s] = ratio * v[first + s, k], ratio * a[first + s, k]
            for i in range(6):
                o, change, x, y = V[i], A[i], S[i], moved[d, i]
                for s in range(m):
                    y[s] = x[s] * rate[s]
                for s in range(m):
                    o[s] += y[s]
                for s in range(m):
                    change[s] += x[s] * rate_change[s]
        for d in range(plan.degree_start[j], plan.degree_start[j + 1]):
            u, x = moved[d, :3], moved[d, 3:]
            _add_cross(V[3:], u, A[:3])
            _add_cross(V[:3], x, A[:3])
            _add_cross(V[3:], x, A[3:])


@njit(**OPTIONS)
def _product(a, b, out):
    for s in range(out.size):
        out[s] = a[s] * b[s]


@njit(**OPTIONS)
def _sum(a, sign_a, b, sign_b, out):
    for s in range(out.size):
        out[s] = sign_a * a[s] + sign_b * b[s]


@njit(**OPTIONS)
def _crossed(R, column, u, out):
    """out = (column of R) x u."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for s in range(out.shape[1]):
            out[i, s] = R[3 * j + column, s] * u[k, s] - R[3 * k + column, s] * u[j, s]


@njit(**OPTIONS)
def _column(c, aw, xx, yy, zz, xy, xz, yz, out):
    """Force (columns h) or torque (moments of inertia) in body axes per unit of parameter c (see `dynamics.body`).

    The mass and the torque of h need no rotation: in world axes they are `d` and `axis x d`. out (3, m).
    """
    if c == 1:
        _sum(yy, -1.0, zz, -1.0, out[0])
        _sum(xy, 1.0, aw[2], 1.0, out[1])
        _sum(xz, 1.0, aw[1], -1.0, out[2])
    elif c == 2:
        _sum(xy, 1.0, aw[2], -1.0, out[0])
        _sum(xx, -1.0, zz, -1.0, out[1])
        _sum(yz, 1.0, aw[0], 1.0, out[2])
    elif c == 3:
        _sum(xz, 1.0, aw[1], 1.0, out[0])
        _sum(yz, 1.0, aw[0], -1.0, out[1])
        _sum(xx, -1.0, yy, -1.0, out[2])
    elif c == 4:
        out[0, :] = aw[0]
        out[1, :] = xz
        _sum(xy, -1.0, xy, 0.0, out[2])
    elif c == 5:
        _sum(aw[1], 1.0, xz, -1.0, out[0])
        _sum(aw[0], 1.0, yz, 1.0, out[1])
        _sum(xx, 1.0, yy, -1.0, out[2])
    elif c == 6:
        _sum(yz, -1.0, yz, 0.0, out[0])
        out[1, :] = aw[1]
        out[2, :] = xy
    elif c == 7:
        _sum(aw[2], 1.0, xy, 1.0, out[0])
        _sum(zz, 1.0, xx, -1.0, out[1])
        _sum(aw[0], 1.0, yz, -1.0, out[2])
    elif c == 8:
        _sum(yy, 1.0, zz, -1.0, out[0])
        _sum(aw[2], 1.0, xy, -1.0, out[1])
        _sum(aw[1], 1.0, xz, 1.0, out[2])
    else:
        out[0, :] = yz
        _sum(xz, -1.0, xz, 0.0, out[1])
        out[2, :] = aw[2]


@njit(**OPTIONS)
def _wrenches(plan, R, p, twist, acceleration, F, work):
    """World wrench per unit of every needed parameter. F (nb, 10, 6, m); work (21, m)."""
    d, w, aw, turned = work[:3], work[3:6], work[6:9], work[9:12]
    xx, yy, zz, xy, xz, yz, column = work[12], work[13], work[14], work[15], work[16], work[17], work[18:21]
    for b in range(plan.body_joint.size):
        j = plan.body_joint[b]
        V, A = twist[j], acceleration[j]
        turned[:] = V[:3]
        _add_cross(V[3:], p[j], turned)
        d[:] = A[:3]
        _add_cross(A[3:], p[j], d)
        _add_cross(V[3:], turned, d)
        _rotated_back(R[j], V[3:], w)
        _rotated_back(R[j], A[3:], aw)
        _product(w[0], w[0], xx)
        _product(w[1], w[1], yy)
        _product(w[2], w[2], zz)
        _product(w[0], w[1], xy)
        _product(w[0], w[2], xz)
        _product(w[1], w[2], yz)
        for c in range(10):
            if plan.needed[b, c]:
                out = F[b, c]
                if c > 0:
                    _column(c, aw, xx, yy, zz, xy, xz, yz, column)
                if c == 0:
                    out[:3] = d
                    out[3:] = 0.0
                elif c < 4:
                    _rotated(R[j], column, out[:3])
                    _crossed(R[j], c - 1, d, out[3:])
                else:
                    _rotated(R[j], column, out[3:])
                if c < 4:
                    _add_cross(p[j], out[:3], out[3:])


@njit(**OPTIONS)
def _row(plan, dof, axes, F, y):
    """Columns of bodies of one degree's row, y (k, m)."""
    m = y.shape[1]
    for e in range(plan.entry_start[dof], plan.entry_start[dof + 1]):
        d, b, c, k = plan.entry_degree[e], plan.entry_body[e], plan.entry_column[e], plan.entry_place[e]
        ratio = plan.entry_ratio[e]
        if plan.entry_first[e]:
            for s in range(m):
                y[k, s] = ratio * (
                    axes[d, 3, s] * F[b, c, 3, s] + axes[d, 4, s] * F[b, c, 4, s] + axes[d, 5, s] * F[b, c, 5, s]
                )
        else:
            for s in range(m):
                y[k, s] += ratio * (
                    axes[d, 3, s] * F[b, c, 3, s] + axes[d, 4, s] * F[b, c, 4, s] + axes[d, 5, s] * F[b, c, 5, s]
                )
        if c < 4:
            for s in range(m):
                y[k, s] += ratio * (
                    axes[d, 0, s] * F[b, c, 0, s] + axes[d, 1, s] * F[b, c, 1, s] + axes[d, 2, s] * F[b, c, 2, s]
                )


@njit(**OPTIONS)
def _tile(a0, a1, a2, a3, b0, b1, b2, b3, G, i, j):
    """Add the 4 x 4 inner products of rows a and b to G at (i, j)."""
    c00 = c01 = c02 = c03 = c10 = c11 = c12 = c13 = 0.0
    c20 = c21 = c22 = c23 = c30 = c31 = c32 = c33 = 0.0
    for s in range(a0.size):
        x0, x1, x2, x3 = a0[s], a1[s], a2[s], a3[s]
        y0, y1, y2, y3 = b0[s], b1[s], b2[s], b3[s]
        c00 += x0 * y0
        c01 += x0 * y1
        c02 += x0 * y2
        c03 += x0 * y3
        c10 += x1 * y0
        c11 += x1 * y1
        c12 += x1 * y2
        c13 += x1 * y3
        c20 += x2 * y0
        c21 += x2 * y1
        c22 += x2 * y2
        c23 += x2 * y3
        c30 += x3 * y0
        c31 += x3 * y1
        c32 += x3 * y2
        c33 += x3 * y3
    g = G[i]
    g[j], g[j + 1], g[j + 2], g[j + 3] = g[j] + c00, g[j + 1] + c01, g[j + 2] + c02, g[j + 3] + c03
    g = G[i + 1]
    g[j], g[j + 1], g[j + 2], g[j + 3] = g[j] + c10, g[j + 1] + c11, g[j + 2] + c12, g[j + 3] + c13
    g = G[i + 2]
    g[j], g[j + 1], g[j + 2], g[j + 3] = g[j] + c20, g[j + 1] + c21, g[j + 2] + c22, g[j + 3] + c23
    g = G[i + 3]
    g[j], g[j + 1], g[j + 2], g[j + 3] = g[j] + c30, g[j + 1] + c31, g[j + 2] + c32, g[j + 3] + c33


@njit(**OPTIONS)
def add_samples(plan, q, fixed, v, a, tau, effects, roots, gram):
    """Add samples to the lower triangles of all rows' Gram matrices of `[columns, tau]`.

    q (n, nq); fixed (nm, 12, n): poses of joints of several degrees; v, a, tau (n, nv); effects (ne, n): columns beside
    those of bodies; roots (n, nv): what each row is multiplied by, or (0, nv); gram: flat, see `FusedPlan`. Samples are
    first in what a log holds as it is.
    """
    nj, nb, m = plan.parents.size, plan.body_joint.size, min(BLOCK, v.shape[0])
    R, p = np.empty((nj, 9, m)), np.empty((nj, 3, m))
    local_R, local_p = np.empty((9, m)), np.empty((3, m))
    axes, moved = np.empty((plan.ratio.size, 6, m)), np.empty((plan.ratio.size, 6, m))
    twist, acceleration = np.empty((nj, 6, m)), np.empty((nj, 6, m))
    F, work = np.empty((nb, 10, 6, m)), np.empty((21, m))
    y = np.zeros((plan.padded.max(), m))
    first, n = 0, v.shape[0]
    while first < n:
        if first + m > n:
            m = n - first
            R, p, local_R, local_p = (
                R[:, :, :m].copy(),
                p[:, :, :m].copy(),
                local_R[:, :m].copy(),
                local_p[:, :m].copy(),
            )
            axes, moved, twist = axes[:, :, :m].copy(), moved[:, :, :m].copy(), twist[:, :, :m].copy()
            acceleration, F, work = acceleration[:, :, :m].copy(), F[:, :, :, :m].copy(), work[:, :m].copy()
            y = y[:, :m].copy()
        _poses(plan, q, fixed, first, R, p, local_R, local_p, work)
        _moved(plan, v, a, first, R, p, axes, twist, acceleration, moved, work)
        _wrenches(plan, R, p, twist, acceleration, F, work)
        for dof in range(plan.padded.size):
            _row(plan, dof, axes, F, y)
            place = plan.bodies_end[dof]
            for e in range(plan.effect_start[dof], plan.effect_start[dof + 1]):
                y[place, :] = effects[plan.effect[e], first : first + m]
                place += 1
            for s in range(m):
                y[place, s] = tau[first + s, dof]
            if roots.shape[0] > 0:
                for i in range(place + 1):
                    for s in range(m):
                        y[i, s] *= roots[first + s, dof]
            size = plan.padded[dof]
            y[place + 1 : size] = 0.0
            G = gram[plan.gram_start[dof] : plan.gram_start[dof + 1]].reshape((size, size))
            for i in range(0, size, 4):
                for j in range(0, i + 4, 4):
                    _tile(y[i], y[i + 1], y[i + 2], y[i + 3], y[j], y[j + 1], y[j + 2], y[j + 3], G, i, j)
        first += m
