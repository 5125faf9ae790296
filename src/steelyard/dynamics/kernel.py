"""Fused Numba kernel: regressor of base columns and block-triangular Gram matrix, block by block, nothing stored.

Importing this module imports Numba. The mathematics is that of `dynamics.kinematics` and `dynamics.regressor`; the
order of loops is another one: blocks of samples small enough for the cache, samples last, one output row an inner loop
so that the compiler vectorises it. `fused_plan` flattens a robot into the arrays used here.
"""

import numpy as np
from numba import njit

from steelyard.dynamics.kernel_motion import OPTIONS, motion, poses
from steelyard.dynamics.kernel_wrenches import WORK, wrenches

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
