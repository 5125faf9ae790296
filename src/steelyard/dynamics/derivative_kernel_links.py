"""Stages of the kernel of the derivatives: motion of one sample's links, and sums over the links behind every joint.

Importing this module imports Numba. Vectors are passed as an array, a row and the column they start at: a view of them
would cost more than what is done with it.
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
