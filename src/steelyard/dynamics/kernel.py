"""Fused Numba kernel: regressor of base columns and block-triangular Gram matrix, block by block, nothing stored.

Importing this module imports Numba. The mathematics is that of `dynamics.kinematics` and `dynamics.newton_euler`; the
order of loops is another one: blocks of samples small enough for the cache, samples last, one output row an inner loop
so that the compiler vectorises it. `fused_plan` flattens a robot into the arrays used here.
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


BLOCK = 128


@njit(**OPTIONS)
def add_samples(plan, q, fixed, v, a, tau, effects, roots, gram):
    """Add samples to the lower triangles of all rows' Gram matrices of `[columns, tau]`.

    q (n, nq); fixed (nm, 12, n): poses of joints of several degrees; v, a, tau (n, nv); effects (ne, n): columns beside
    those of bodies; roots (n, nv): what each row is multiplied by, or (0, nv); gram: flat, see `FusedPlan`. Samples are
    first in what a log holds as it is.
    """
    n, first = v.shape[0], 0
    room = _room(plan, min(BLOCK, n))
    while first < n:
        y = room[-1]
        if first + y.shape[1] > n:
            room = _room(plan, n - first)
        R, p, local_R, local_p, axes, moved, twist, acceleration, F, work, y = room
        poses(plan.tree, q, fixed, first, R, p, local_R, local_p, work)
        motion(plan.tree, v, a, first, R, p, axes, twist, acceleration, moved, work)
        wrenches(plan.tree, plan.needed, R, p, twist, acceleration, F, work)
        for dof in range(plan.padded.size):
            _row(plan.entries, dof, axes, F, y)
            _complete(plan, dof, effects, tau, roots, first, y)
            _add_gram(y, plan.padded[dof], gram[plan.gram_start[dof] : plan.gram_start[dof + 1]])
        first += y.shape[1]


@njit(**OPTIONS)
def _room(plan, m):
    """Arrays of m samples that the stages fill, in the order in which `add_samples` unpacks them."""
    nj, nt, nb = plan.tree.above.size, plan.tree.ratio.size, plan.tree.body_joint.size
    return (
        np.empty((nj, 9, m)),
        np.empty((nj, 3, m)),
        np.empty((9, m)),
        np.empty((3, m)),
        np.empty((nt, 6, m)),
        np.empty((nt, 6, m)),
        np.empty((nj, 6, m)),
        np.empty((nj, 6, m)),
        np.empty((nb, 10, 6, m)),
        np.empty((WORK, m)),
        np.zeros((plan.padded.max(), m)),
    )


@njit(**OPTIONS)
def _row(entries, dof, axes, F, y):
    """Columns of bodies of one degree's row, y (k, m). Whole arrays are indexed: views would cost as much again."""
    for e in range(entries.start[dof], entries.start[dof + 1]):
        d, b, c, k = entries.degree[e], entries.body[e], entries.parameter[e], entries.place[e]
        ratio = entries.ratio[e]
        if not entries.again[e]:
            y[k, :] = 0.0
        for s in range(y.shape[1]):
            y[k, s] += ratio * (
                axes[d, 3, s] * F[b, c, 3, s] + axes[d, 4, s] * F[b, c, 4, s] + axes[d, 5, s] * F[b, c, 5, s]
            )
        if c < 4:
            for s in range(y.shape[1]):
                y[k, s] += ratio * (
                    axes[d, 0, s] * F[b, c, 0, s] + axes[d, 1, s] * F[b, c, 1, s] + axes[d, 2, s] * F[b, c, 2, s]
                )


@njit(**OPTIONS)
def _complete(plan, dof, effects, tau, roots, first, y):
    """Effects and torque after the columns of bodies, weights on all of them, zeros in the padding."""
    place, m = plan.bodies_end[dof], y.shape[1]
    for e in range(plan.effect_start[dof], plan.effect_start[dof + 1]):
        y[place, :] = effects[plan.effect[e], first : first + m]
        place += 1
    for s in range(m):
        y[place, s] = tau[first + s, dof]
    if roots.shape[0] > 0:
        for i in range(place + 1):
            for s in range(m):
                y[i, s] *= roots[first + s, dof]
    y[place + 1 : plan.padded[dof]] = 0.0


@njit(**OPTIONS)
def _add_gram(y, size, gram):
    """Add the inner products of the first `size` rows of y to the lower tiles of a flat square."""
    G = gram.reshape((size, size))
    for i in range(0, size, 4):
        for j in range(0, i + 4, 4):
            _add_tile(y[i], y[i + 1], y[i + 2], y[i + 3], y[j], y[j + 1], y[j + 2], y[j + 3], G, i, j)


@njit(**OPTIONS)
def _add_tile(a0, a1, a2, a3, b0, b1, b2, b3, G, i, j):
    """Add the 4 x 4 inner products of rows a and b to G at (i, j). Sixteen sums fill the vector registers."""
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
