"""Numba kernel of the torque derivatives, sample by sample, each on the few numbers of `displacements`.

Importing this module imports Numba. A sample's working set stays in the first-level cache, and blocks that are zero by
the tree's shape are never visited.
"""

import numpy as np
from numba import njit

OPTIONS = {"cache": True, "nogil": True, "fastmath": True, "error_model": "numpy"}
# one version for all: the kinds of integers that loops and arrays give would else be compiled apart
CROSS = f"void({', '.join(['float64[:, ::1], int64, int64'] * 3)})"


@njit(CROSS, **OPTIONS)
def cross(a, i, k, b, j, m, out, o, n):
    """out[o, n:] = a[i, k:] x b[j, m:]"""
    out[o, n] = a[i, k + 1] * b[j, m + 2] - a[i, k + 2] * b[j, m + 1]
    out[o, n + 1] = a[i, k + 2] * b[j, m] - a[i, k] * b[j, m + 2]
    out[o, n + 2] = a[i, k] * b[j, m + 1] - a[i, k + 1] * b[j, m]


@njit(CROSS, **OPTIONS)
def add_cross(a, i, k, b, j, m, out, o, n):
    """out[o, n:] += a[i, k:] x b[j, m:]"""
    out[o, n] += a[i, k + 1] * b[j, m + 2] - a[i, k + 2] * b[j, m + 1]
    out[o, n + 1] += a[i, k + 2] * b[j, m] - a[i, k] * b[j, m + 2]
    out[o, n + 2] += a[i, k] * b[j, m + 1] - a[i, k + 1] * b[j, m]


@njit(**OPTIONS)
def motion(plan, q, fixed, v, a, s, R, p, S, V, A, square, row):
    """Poses, axes, twists and accelerations; the last row of R, p, V, A is the world. square, row: scratch."""
    e, f, u = plan.scalar_R, plan.scalar_p, plan.subspace
    for j in range(plan.above.size):
        k, above = plan.scalar[j], plan.above[j]
        if k >= 0:
            angle = plan.scalar_ratio[k] * q[s, plan.scalar_q[k]] + plan.scalar_offset[k]
            sine, cosine = np.sin(angle), np.cos(angle)
            for i in range(3):
                row[0, i] = f[k, 0, i] + f[k, 1, i] * angle + f[k, 2, i] * sine + f[k, 3, i] * cosine
                for c in range(3):
                    at = 3 * i + c
                    square[0, i, c] = e[k, 0, at] + e[k, 1, at] * sine + e[k, 2, at] * cosine
        else:
            for i in range(3):
                row[0, i] = fixed[plan.other[j], 9 + i, s]
                for c in range(3):
                    square[0, i, c] = fixed[plan.other[j], 3 * i + c, s]
        for i in range(3):
            x, y, z = R[above, i, 0], R[above, i, 1], R[above, i, 2]
            p[j, i] = p[above, i] + x * row[0, 0] + y * row[0, 1] + z * row[0, 2]
            for c in range(3):
                R[j, i, c] = x * square[0, 0, c] + y * square[0, 1, c] + z * square[0, 2, c]
        for i in range(6):
            V[j, i], A[j, i] = V[above, i], A[above, i]
            row[1, i] = 0.0
        for d in range(plan.degree_start[j], plan.degree_start[j + 1]):
            rate, change = (
                plan.ratio[d] * v[s, plan.coordinate[d]],
                plan.ratio[d] * a[s, plan.coordinate[d]],
            )
            for i in range(3):
                x, y, z = R[j, i, 0], R[j, i, 1], R[j, i, 2]
                S[d, i] = x * u[d, 0] + y * u[d, 1] + z * u[d, 2]
                S[d, 3 + i] = x * u[d, 3] + y * u[d, 4] + z * u[d, 5]
            add_cross(p, j, 0, S, d, 3, S, d, 0)
            for i in range(6):
                row[1, i] += S[d, i] * rate
                A[j, i] += S[d, i] * change
        for i in range(6):
            V[j, i] += row[1, i]
        add_cross(V, j, 3, row, 1, 0, A, j, 0)
        add_cross(V, j, 0, row, 1, 3, A, j, 0)
        add_cross(V, j, 3, row, 1, 3, A, j, 3)


@njit(**OPTIONS)
def composites(plan, R, p, V, A, h, I, P, E, F, square, row):
    """Sums over the bodies behind every joint. square (2, 3, 3), row (4, 6): scratch."""
    h[:], I[:], P[:], E[:], F[:] = 0.0, 0.0, 0.0, 0.0, 0.0
    g, M = plan.first, plan.second
    for b in range(plan.body_joint.size):
        j, m = plan.body_joint[b], plan.mass[b]
        for i in range(3):  # row: moved first moment, first moment, momentum, spin; square: half turned, second
            x, y, z = R[j, i, 0], R[j, i, 1], R[j, i, 2]
            row[0, i] = x * g[b, 0] + y * g[b, 1] + z * g[b, 2]
            row[1, i] = row[0, i] + m * p[j, i]
            for c in range(3):
                square[0, i, c] = x * M[b, 0, c] + y * M[b, 1, c] + z * M[b, 2, c]
        for i in range(3):
            for c in range(3):
                turned = square[0, i, 0] * R[j, c, 0] + square[0, i, 1] * R[j, c, 1] + square[0, i, 2] * R[j, c, 2]
                square[1, i, c] = turned + row[0, i] * p[j, c] + p[j, i] * row[1, c]
        trace = square[1, 0, 0] + square[1, 1, 1] + square[1, 2, 2]
        along = row[1, 0] * V[j, 0] + row[1, 1] * V[j, 1] + row[1, 2] * V[j, 2]
        cross(V, j, 3, row, 1, 0, row, 2, 0)
        cross(row, 1, 0, V, j, 0, row, 3, 0)
        for i in range(3):
            row[2, i] += m * V[j, i]
            F[j, i] += m * A[j, i]
            P[j, i] += row[2, i]
            h[j, i] += row[1, i]
            E[j, i, i] += along
            I[j, i, i] += trace
            for c in range(3):
                own = (trace if i == c else 0.0) - square[1, i, c]
                row[3, i] += own * V[j, 3 + c]
                F[j, 3 + i] += own * A[j, 3 + c]
                I[j, i, c] -= square[1, i, c]
                E[j, i, c] -= V[j, i] * row[1, c]
        x, y, z = V[j, 3], V[j, 4], V[j, 5]
        for c in range(3):
            E[j, 0, c] -= y * square[1, 2, c] - z * square[1, 1, c]
            E[j, 1, c] -= z * square[1, 0, c] - x * square[1, 2, c]
            E[j, 2, c] -= x * square[1, 1, c] - y * square[1, 0, c]
        add_cross(A, j, 3, row, 1, 0, F, j, 0)
        add_cross(V, j, 3, row, 2, 0, F, j, 0)
        add_cross(row, 1, 0, A, j, 0, F, j, 3)
        add_cross(V, j, 0, row, 2, 0, F, j, 3)
        add_cross(V, j, 3, row, 3, 0, F, j, 3)
    for j in range(plan.above.size - 1, -1, -1):
        above = plan.above[j]
        if above < plan.above.size:
            for i in range(3):
                h[above, i] += h[j, i]
                P[above, i] += P[j, i]
                F[above, i] += F[j, i]
                F[above, 3 + i] += F[j, 3 + i]
                for c in range(3):
                    I[above, i, c] += I[j, i, c]
                    E[above, i, c] += E[j, i, c]


@njit(**OPTIONS)
def _base(V, A, j, D, C, o):
    """`x1 = [[D, C], [0, D]] d` for displacements of what stands on a base with twist V[j] and acceleration A[j]."""
    dot = V[j, 3] * V[j, 3] + V[j, 4] * V[j, 4] + V[j, 5] * V[j, 5]
    mixed = V[j, 3] * V[j, 0] + V[j, 4] * V[j, 1] + V[j, 5] * V[j, 2]
    for i in range(3):
        for c in range(3):
            D[o, i, c] = V[j, 3 + i] * V[j, 3 + c]
            C[o, i, c] = V[j, i] * V[j, 3 + c] + V[j, 3 + i] * V[j, c]
        D[o, i, i] -= dot
        C[o, i, i] -= 2 * mixed
    for i in range(3):
        up, down = (i + 1) % 3, (i + 2) % 3
        D[o, up, down] -= A[j, 3 + i]
        D[o, down, up] += A[j, 3 + i]
        C[o, up, down] -= A[j, i]
        C[o, down, up] += A[j, i]


@njit(**OPTIONS)
def _displaced(D, C, V, j, S, t, x):
    """x[0] = [x1; x2_w] of the displacement S[t] on the base V[j]."""
    for i in range(3):
        x[0, 3 + i] = D[0, i, 0] * S[t, 3] + D[0, i, 1] * S[t, 4] + D[0, i, 2] * S[t, 5]
        x[0, i] = D[0, i, 0] * S[t, 0] + D[0, i, 1] * S[t, 1] + D[0, i, 2] * S[t, 2]
        x[0, i] += C[0, i, 0] * S[t, 3] + C[0, i, 1] * S[t, 4] + C[0, i, 2] * S[t, 5]
    cross(V, j, 3, S, t, 3, x, 0, 6)


@njit(**OPTIONS)
def _response(m, j, h, I, P, E, x, c, out, o):
    """out[o] = I x1 + B x2 of the links behind joint j, for x[c] = [x1; x2_w]."""
    cross(x, c, 3, h, j, 0, out, o, 0)
    cross(h, j, 0, x, c, 0, out, o, 3)
    for i in range(3):
        out[o, i] += m * x[c, i]
        out[o, 3 + i] += I[j, i, 0] * x[c, 3] + I[j, i, 1] * x[c, 4] + I[j, i, 2] * x[c, 5]
        out[o, 3 + i] += 2 * (E[j, i, 0] * x[c, 6] + E[j, i, 1] * x[c, 7] + E[j, i, 2] * x[c, 8])
    out[o, 0] += 2 * (x[c, 7] * P[j, 2] - x[c, 8] * P[j, 1])
    out[o, 1] += 2 * (x[c, 8] * P[j, 0] - x[c, 6] * P[j, 2])
    out[o, 2] += 2 * (x[c, 6] * P[j, 1] - x[c, 7] * P[j, 0])


@njit(**OPTIONS)
def _add_turned(d, c, F, j, out, o):
    """out[o] += d[c] x* F[j]"""
    add_cross(d, c, 3, F, j, 0, out, o, 0)
    add_cross(d, c, 0, F, j, 0, out, o, 3)
    add_cross(d, c, 3, F, j, 3, out, o, 3)


@njit(**OPTIONS)
def _resisted(plan, h, I, P, E, S, Y):
    """Y[k] = [I S; (B^T S)_w] of every degree."""
    for j in range(plan.above.size):
        m = plan.behind_mass[j]
        for k in range(plan.degree_start[j], plan.degree_start[j + 1]):
            cross(S, k, 3, h, j, 0, Y, k, 0)
            cross(h, j, 0, S, k, 0, Y, k, 3)
            cross(P, j, 0, S, k, 0, Y, k, 6)
            for i in range(3):
                Y[k, i] += m * S[k, i]
                Y[k, 3 + i] += I[j, i, 0] * S[k, 3] + I[j, i, 1] * S[k, 4] + I[j, i, 2] * S[k, 5]
                Y[k, 6 + i] += E[j, 0, i] * S[k, 3] + E[j, 1, i] * S[k, 4] + E[j, 2, i] * S[k, 5]
                Y[k, 6 + i] *= 2


@njit(**OPTIONS)
def _fill_degree(plan, j, t, S, Y, x, response, dq, dv, da, s):
    """Add the torques of one degree t of joint j: x (2, 9) and response (2, 6) are of its position and its rate."""
    at, ratio = plan.coordinate[t], plan.ratio[t]
    for k in range(plan.degree_start[j], plan.subtree_end[j]):
        row, both = plan.coordinate[k], ratio * plan.ratio[k]
        by_q, by_v, by_a = 0.0, 0.0, 0.0
        for i in range(9):
            by_q += Y[k, i] * x[0, i]
            by_v += Y[k, i] * x[1, i]
        for i in range(6):
            by_a += Y[k, i] * S[t, i]
        dq[s, at, row] += both * by_q
        dv[s, at, row] += both * by_v
        da[s, at, row] += both * by_a
    above = plan.above[j]
    while above < plan.above.size:
        for k in range(plan.degree_start[above], plan.degree_start[above + 1]):
            row, both = plan.coordinate[k], ratio * plan.ratio[k]
            by_q, by_v, by_a = 0.0, 0.0, 0.0
            for i in range(6):
                by_q += S[k, i] * response[0, i]
                by_v += S[k, i] * response[1, i]
                by_a += S[k, i] * Y[t, i]
            dq[s, at, row] += both * by_q
            dv[s, at, row] += both * by_v
            da[s, at, row] += both * by_a
        above = plan.above[above]


@njit(**OPTIONS)
def _fill_twists(plan, j, S, Y, M, L, out, s):
    """Add the torques of six changes of joint j to out[s, j] (6, nv): M (6, 9), L (6, 6) are what they do."""
    for k in range(plan.degree_start[j], plan.subtree_end[j]):
        at, ratio = plan.coordinate[k], plan.ratio[k]
        for c in range(6):
            total = 0.0
            for i in range(9):
                total += Y[k, i] * M[c, i]
            out[s, j, c, at] += ratio * total
    above = plan.above[j]
    while above < plan.above.size:
        for k in range(plan.degree_start[above], plan.degree_start[above + 1]):
            at, ratio = plan.coordinate[k], plan.ratio[k]
            for c in range(6):
                total = 0.0
                for i in range(6):
                    total += S[k, i] * L[c, i]
                out[s, j, c, at] += ratio * total
        above = plan.above[above]


@njit(**OPTIONS)
def _frame_changes(D, C, o, V, base, R, p, frame, sign, M, d):
    """M (6, 9) += sign * what the six unit twists of a frame do on a base, d (6, 6) += sign * these in the world."""
    wx, wy, wz = V[base, 3], V[base, 4], V[base, 5]
    px, py, pz = p[frame, 0], p[frame, 1], p[frame, 2]
    for c in range(3):
        x, y, z = sign * R[frame, 0, c], sign * R[frame, 1, c], sign * R[frame, 2, c]
        mx, my, mz = py * z - pz * y, pz * x - px * z, px * y - py * x
        d[c, 0] += x
        d[c, 1] += y
        d[c, 2] += z
        d[3 + c, 0] += mx
        d[3 + c, 1] += my
        d[3 + c, 2] += mz
        d[3 + c, 3] += x
        d[3 + c, 4] += y
        d[3 + c, 5] += z
        for i in range(3):
            turned = D[o, i, 0] * x + D[o, i, 1] * y + D[o, i, 2] * z
            M[c, i] += turned
            M[3 + c, 3 + i] += turned
            M[3 + c, i] += D[o, i, 0] * mx + D[o, i, 1] * my + D[o, i, 2] * mz
            M[3 + c, i] += C[o, i, 0] * x + C[o, i, 1] * y + C[o, i, 2] * z
        M[3 + c, 6] += wy * z - wz * y
        M[3 + c, 7] += wz * x - wx * z
        M[3 + c, 8] += wx * y - wy * x


@njit(**OPTIONS)
def _mount(plan, j, R, p, mount_R, mount_p):
    """World pose of joint j's child frame at the joint's zero."""
    above = plan.above[j]
    for i in range(3):
        x, y, z = R[above, i, 0], R[above, i, 1], R[above, i, 2]
        place = x * plan.mount_p[j, 0] + y * plan.mount_p[j, 1] + z * plan.mount_p[j, 2]
        mount_p[0, i] = p[above, i] + place
        for c in range(3):
            mount_R[0, i, c] = x * plan.mount_R[j, 0, c] + y * plan.mount_R[j, 1, c] + z * plan.mount_R[j, 2, c]


@njit(**OPTIONS)
def add_derivatives(plan, q, fixed, v, a, dq, dv, da, twists):
    """Add to dq, dv, da (n, nv, nv) and twists (n, nj, 6, nv), changes before torques; empty twists are left out.

    q (n, nq), v, a (n, nv); fixed (nm, 12, n): poses of joints of several degrees.
    """
    nj, nt = plan.above.size, plan.ratio.size
    R, p, S = np.zeros((nj + 1, 3, 3)), np.zeros((nj + 1, 3)), np.empty((nt, 6))
    V, A = np.zeros((nj + 1, 6)), np.zeros((nj + 1, 6))
    h, I, P = np.empty((nj, 3)), np.empty((nj, 3, 3)), np.empty((nj, 3))
    E, F, Y = np.empty((nj, 3, 3)), np.empty((nj, 6)), np.empty((nt, 9))
    D, C, square, row = np.empty((2, 3, 3)), np.empty((2, 3, 3)), np.empty((2, 3, 3)), np.empty((4, 6))
    x, response, base, own = np.zeros((2, 9)), np.empty((2, 6)), np.empty((1, 6)), np.zeros((1, 6))
    M, L, d, hung = np.empty((6, 9)), np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6))
    mount_R, mount_p = np.empty((1, 3, 3)), np.empty((1, 3))
    for i in range(3):
        R[nj, i, i] = 1.0
        A[nj, i] = -plan.gravity[i]
    for s in range(v.shape[0]):
        motion(plan, q, fixed, v, a, s, R, p, S, V, A, square, row)
        composites(plan, R, p, V, A, h, I, P, E, F, square, row)
        _resisted(plan, h, I, P, E, S, Y)
        for j in range(nj):
            above, m = plan.above[j], plan.behind_mass[j]
            _base(V, A, above, D, C, 0)
            for i in range(6):
                base[0, i] = V[above, i] + V[j, i]
            for t in range(plan.degree_start[j], plan.degree_start[j + 1]):
                _displaced(D, C, V, above, S, t, x)
                cross(base, 0, 3, S, t, 0, x, 1, 0)
                add_cross(base, 0, 0, S, t, 3, x, 1, 0)
                cross(base, 0, 3, S, t, 3, x, 1, 3)
                for i in range(3):
                    x[1, 6 + i] = S[t, 3 + i]
                _response(m, j, h, I, P, E, x, 0, response, 0)
                _add_turned(S, t, F, j, response, 0)
                _response(m, j, h, I, P, E, x, 1, response, 1)
                _fill_degree(plan, j, t, S, Y, x, response, dq, dv, da, s)
            if twists.size:
                M[:], hung[:] = 0.0, 0.0
                _mount(plan, j, R, p, mount_R, mount_p)
                _base(V, A, j, D, C, 1)
                _frame_changes(D, C, 1, V, j, R, p, j, -1.0, M, hung)
                d[:] = hung
                _frame_changes(D, C, 0, V, above, mount_R, mount_p, 0, 1.0, M, d)
                for c in range(6):
                    _response(m, j, h, I, P, E, M, c, L, c)
                    _add_turned(d, c, F, j, L, c)
                _fill_twists(plan, j, S, Y, M, L, twists, s)
                for k in range(plan.degree_start[j], plan.degree_start[j + 1]):
                    for i in range(6):
                        own[0, i] = 0.0
                    _add_turned(S, k, F, j, own, 0)
                    for c in range(6):
                        for i in range(6):
                            twists[s, j, c, plan.coordinate[k]] -= plan.ratio[k] * own[0, i] * hung[c, i]
