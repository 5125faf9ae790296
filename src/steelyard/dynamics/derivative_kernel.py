"""Numba kernel of the torque derivatives, sample by sample, each on the few numbers of `displacements`.

Importing this module imports Numba. A sample's working set stays in the first-level cache, and blocks that are zero by
the tree's shape are never visited.
"""

import numpy as np
from numba import njit

OPTIONS = {"cache": True, "nogil": True, "fastmath": True, "error_model": "numpy"}


@njit(**OPTIONS)
def _cross(a, b, out):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit(**OPTIONS)
def _add_cross(a, b, out):
    out[0] += a[1] * b[2] - a[2] * b[1]
    out[1] += a[2] * b[0] - a[0] * b[2]
    out[2] += a[0] * b[1] - a[1] * b[0]


@njit(**OPTIONS)
def _motion(plan, q, fixed, v, a, s, R, p, S, V, A, square, row, moved):
    """Poses, axes, twists and accelerations; the last row of R, p, V, A is the world. square, row, moved: scratch."""
    local_R, local_p = square[0], row[0]
    for j in range(plan.above.size):
        k, above = plan.scalar[j], plan.above[j]
        angle = plan.scalar_ratio[k] * q[s, plan.scalar_q[k]] + plan.scalar_offset[k] if k >= 0 else 0.0
        sine, cosine = np.sin(angle), np.cos(angle)
        for i in range(3):
            for c in range(3):
                if k >= 0:
                    e, at = plan.scalar_R, 3 * i + c
                    local_R[i, c] = e[k, 0, at] + e[k, 1, at] * sine + e[k, 2, at] * cosine
                else:
                    local_R[i, c] = fixed[plan.other[j], 3 * i + c, s]
            if k >= 0:
                e = plan.scalar_p
                local_p[i] = e[k, 0, i] + e[k, 1, i] * angle + e[k, 2, i] * sine + e[k, 3, i] * cosine
            else:
                local_p[i] = fixed[plan.other[j], 9 + i, s]
        for i in range(3):
            r = R[above, i]
            p[j, i] = p[above, i] + r[0] * local_p[0] + r[1] * local_p[1] + r[2] * local_p[2]
            for c in range(3):
                R[j, i, c] = r[0] * local_R[0, c] + r[1] * local_R[1, c] + r[2] * local_R[2, c]
        V[j] = V[above]
        A[j] = A[above]
        for d in range(plan.degree_start[j], plan.degree_start[j + 1]):
            u, rate = plan.subspace[d], plan.ratio[d] * v[s, plan.coordinate[d]]
            change = plan.ratio[d] * a[s, plan.coordinate[d]]
            for i in range(3):
                r = R[j, i]
                S[d, i] = r[0] * u[0] + r[1] * u[1] + r[2] * u[2]
                S[d, 3 + i] = r[0] * u[3] + r[1] * u[4] + r[2] * u[5]
            _add_cross(p[j], S[d, 3:], S[d, :3])
            for i in range(6):
                V[j, i] += S[d, i] * rate
                A[j, i] += S[d, i] * change
        for d in range(plan.degree_start[j], plan.degree_start[j + 1]):
            rate = plan.ratio[d] * v[s, plan.coordinate[d]]
            for i in range(6):
                moved[i] = S[d, i] * rate
            _add_cross(V[j, 3:], moved[:3], A[j, :3])
            _add_cross(V[j, :3], moved[3:], A[j, :3])
            _add_cross(V[j, 3:], moved[3:], A[j, 3:])


@njit(**OPTIONS)
def _composites(plan, R, p, V, A, h, I, P, E, F, square, row):
    """Sums over the bodies behind every joint. square (3, 3, 3), row (4, 3): scratch."""
    h[:], I[:], P[:], E[:], F[:] = 0.0, 0.0, 0.0, 0.0, 0.0
    moved, first, momentum, spin = row[0], row[1], row[2], row[3]
    half, second, own = square[0], square[1], square[2]
    for b in range(plan.body_joint.size):
        j, m = plan.body_joint[b], plan.mass[b]
        for i in range(3):
            r, g = R[j, i], plan.first[b]
            moved[i] = r[0] * g[0] + r[1] * g[1] + r[2] * g[2]
            first[i] = moved[i] + m * p[j, i]
            for c in range(3):
                M = plan.second[b]
                half[i, c] = r[0] * M[0, c] + r[1] * M[1, c] + r[2] * M[2, c]
        for i in range(3):
            for c in range(3):
                r = R[j, c]
                second[i, c] = half[i, 0] * r[0] + half[i, 1] * r[1] + half[i, 2] * r[2]
                second[i, c] += moved[i] * p[j, c] + p[j, i] * first[c]
        trace = second[0, 0] + second[1, 1] + second[2, 2]
        v, w, al, aw = V[j, :3], V[j, 3:], A[j, :3], A[j, 3:]
        along = first[0] * v[0] + first[1] * v[1] + first[2] * v[2]
        _cross(w, first, momentum)
        _cross(first, v, spin)
        for i in range(3):
            momentum[i] += m * v[i]
            F[j, i] += m * al[i]
            h[j, i] += first[i]
            for c in range(3):
                own[i, c] = (trace if i == c else 0.0) - second[i, c]
                spin[i] += own[i, c] * w[c]
                F[j, 3 + i] += own[i, c] * aw[c]
                I[j, i, c] += own[i, c]
                E[j, i, c] += (along if i == c else 0.0) - v[i] * first[c]
        for c in range(3):
            E[j, 0, c] -= w[1] * second[2, c] - w[2] * second[1, c]
            E[j, 1, c] -= w[2] * second[0, c] - w[0] * second[2, c]
            E[j, 2, c] -= w[0] * second[1, c] - w[1] * second[0, c]
            P[j, c] += momentum[c]
        _add_cross(aw, first, F[j, :3])
        _add_cross(w, momentum, F[j, :3])
        _add_cross(first, al, F[j, 3:])
        _add_cross(v, momentum, F[j, 3:])
        _add_cross(w, spin, F[j, 3:])
    for j in range(plan.above.size - 1, -1, -1):
        above = plan.above[j]
        if above < plan.above.size:
            h[above] += h[j]
            I[above] += I[j]
            P[above] += P[j]
            E[above] += E[j]
            F[above] += F[j]


@njit(**OPTIONS)
def _base(V, A, D, C):
    """`x1 = [[D, C], [0, D]] d` for displacements of what stands on a base with twist V and acceleration A."""
    v, w, al, aw = V[:3], V[3:], A[:3], A[3:]
    ww, wv = w[0] * w[0] + w[1] * w[1] + w[2] * w[2], w[0] * v[0] + w[1] * v[1] + w[2] * v[2]
    for i in range(3):
        for c in range(3):
            D[i, c] = w[i] * w[c]
            C[i, c] = v[i] * w[c] + w[i] * v[c]
        D[i, i] -= ww
        C[i, i] -= 2 * wv
    for M, u in ((D, aw), (C, al)):
        M[0, 1] -= u[2]
        M[0, 2] += u[1]
        M[1, 0] += u[2]
        M[1, 2] -= u[0]
        M[2, 0] -= u[1]
        M[2, 1] += u[0]


@njit(**OPTIONS)
def _displaced(D, C, w, d, x):
    """x = [x1; x2_w] of a displacement d."""
    for i in range(3):
        e, f = D[i], C[i]
        x[i] = e[0] * d[0] + e[1] * d[1] + e[2] * d[2] + f[0] * d[3] + f[1] * d[4] + f[2] * d[5]
        x[3 + i] = e[0] * d[3] + e[1] * d[4] + e[2] * d[5]
    _cross(w, d[3:], x[6:])


@njit(**OPTIONS)
def _response(m, h, I, P, E, F, x, d, out):
    """Change of the joint's wrench, `I x1 + B x2 + d x* F`."""
    u, w, turn = x[:3], x[3:6], x[6:]
    _cross(w, h, out[:3])
    _cross(h, u, out[3:])
    for i in range(3):
        out[i] += m * u[i]
        out[3 + i] += I[i, 0] * w[0] + I[i, 1] * w[1] + I[i, 2] * w[2]
        out[3 + i] += 2 * (E[i, 0] * turn[0] + E[i, 1] * turn[1] + E[i, 2] * turn[2])
    out[0] += 2 * (turn[1] * P[2] - turn[2] * P[1])
    out[1] += 2 * (turn[2] * P[0] - turn[0] * P[2])
    out[2] += 2 * (turn[0] * P[1] - turn[1] * P[0])
    _add_cross(d[3:], F[:3], out[:3])
    _add_cross(d[:3], F[:3], out[3:])
    _add_cross(d[3:], F[3:], out[3:])


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
def _frame_changes(D, C, w, R, p, sign, M, d):
    """M (6, 9) += sign * what the six unit twists of a frame do, d (6, 6) += sign * these twists of the world."""
    for c in range(3):
        x, y, z = R[0, c], R[1, c], R[2, c]
        mx, my, mz = p[1] * z - p[2] * y, p[2] * x - p[0] * z, p[0] * y - p[1] * x
        d[c, 0] += sign * x
        d[c, 1] += sign * y
        d[c, 2] += sign * z
        d[3 + c, 0] += sign * mx
        d[3 + c, 1] += sign * my
        d[3 + c, 2] += sign * mz
        d[3 + c, 3] += sign * x
        d[3 + c, 4] += sign * y
        d[3 + c, 5] += sign * z
        for i in range(3):
            turned = sign * (D[i, 0] * x + D[i, 1] * y + D[i, 2] * z)
            M[c, i] += turned
            M[3 + c, 3 + i] += turned
            M[3 + c, i] += sign * (D[i, 0] * mx + D[i, 1] * my + D[i, 2] * mz)
            M[3 + c, i] += sign * (C[i, 0] * x + C[i, 1] * y + C[i, 2] * z)
        M[3 + c, 6] += sign * (w[1] * z - w[2] * y)
        M[3 + c, 7] += sign * (w[2] * x - w[0] * z)
        M[3 + c, 8] += sign * (w[0] * y - w[1] * x)


@njit(**OPTIONS)
def add_derivatives(plan, q, fixed, v, a, dq, dv, da, twists):
    """Add to dq, dv, da (n, nv, nv) and twists (n, nj, 6, nv), changes before torques; empty twists are left out."""
    nj, nt = plan.above.size, plan.ratio.size
    R, p, S = np.zeros((nj + 1, 3, 3)), np.zeros((nj + 1, 3)), np.empty((nt, 6))
    V, A = np.zeros((nj + 1, 6)), np.zeros((nj + 1, 6))
    h, I, P = np.empty((nj, 3)), np.empty((nj, 3, 3)), np.empty((nj, 3))
    E, F, Y = np.empty((nj, 3, 3)), np.empty((nj, 6)), np.empty((nt, 9))
    D, C, D2, C2 = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    x, response, base, own = np.empty((2, 9)), np.empty((2, 6)), np.empty(6), np.empty(6)
    M, L, d, hung = np.empty((6, 9)), np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6))
    mount_R, mount_p, square, row = np.empty((3, 3)), np.empty(3), np.empty((3, 3, 3)), np.empty((4, 3))
    still = np.zeros(6)
    for i in range(3):
        R[nj, i, i] = 1.0
        A[nj, i] = -plan.gravity[i]
    for s in range(v.shape[0]):
        _motion(plan, q, fixed, v, a, s, R, p, S, V, A, square, row, base)
        _composites(plan, R, p, V, A, h, I, P, E, F, square, row)
        for j in range(nj):
            m = plan.behind_mass[j]
            for k in range(plan.degree_start[j], plan.degree_start[j + 1]):
                x[0, :6] = S[k]
                x[0, 6:] = 0.0
                _response(m, h[j], I[j], P[j], E[j], F[j], x[0], still, Y[k, :6])
                _cross(P[j], S[k, :3], Y[k, 6:])
                for i in range(3):
                    turned = E[j, 0, i] * S[k, 3] + E[j, 1, i] * S[k, 4] + E[j, 2, i] * S[k, 5]
                    Y[k, 6 + i] = 2 * (Y[k, 6 + i] + turned)
        for j in range(nj):
            above, m = plan.above[j], plan.behind_mass[j]
            _base(V[above], A[above], D, C)
            for t in range(plan.degree_start[j], plan.degree_start[j + 1]):
                for i in range(6):
                    base[i] = V[above, i] + V[j, i]
                _displaced(D, C, V[above, 3:], S[t], x[0])
                _cross(base[3:], S[t, :3], x[1, :3])
                _add_cross(base[:3], S[t, 3:], x[1, :3])
                _cross(base[3:], S[t, 3:], x[1, 3:6])
                x[1, 6:] = S[t, 3:]
                _response(m, h[j], I[j], P[j], E[j], F[j], x[0], S[t], response[0])
                _response(m, h[j], I[j], P[j], E[j], F[j], x[1], still, response[1])
                _fill_degree(plan, j, t, S, Y, x, response, dq, dv, da, s)
            if twists.size:
                for i in range(3):
                    r, e = R[above, i], plan.mount_p[j]
                    mount_p[i] = p[above, i] + r[0] * e[0] + r[1] * e[1] + r[2] * e[2]
                    for c in range(3):
                        e = plan.mount_R[j, :, c]
                        mount_R[i, c] = r[0] * e[0] + r[1] * e[1] + r[2] * e[2]
                M[:], d[:], hung[:] = 0.0, 0.0, 0.0
                _base(V[j], A[j], D2, C2)
                _frame_changes(D2, C2, V[j, 3:], R[j], p[j], -1.0, M, hung)
                d[:] = hung
                _frame_changes(D, C, V[above, 3:], mount_R, mount_p, 1.0, M, d)
                for c in range(6):
                    _response(m, h[j], I[j], P[j], E[j], F[j], M[c], d[c], L[c])
                _fill_twists(plan, j, S, Y, M, L, twists, s)
                for k in range(plan.degree_start[j], plan.degree_start[j + 1]):
                    _cross(S[k, 3:], F[j, :3], own[:3])
                    _cross(S[k, :3], F[j, :3], own[3:])
                    _add_cross(S[k, 3:], F[j, 3:], own[3:])
                    for c in range(6):
                        for i in range(6):
                            twists[s, j, c, plan.coordinate[k]] -= plan.ratio[k] * own[i] * hung[c, i]
