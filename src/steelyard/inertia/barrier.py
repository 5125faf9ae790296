"""Logarithmic barriers of the cones in `cones.py`, with gradients and Hessians; cones of one kind are evaluated together."""

import numpy as np

from steelyard.inertia import cones


def degree(kinds):
    """Barrier degree of a product of cones: how far from the minimum a point of the central path can be, times tau."""
    return sum(2 if kind == "soc" else n for kind, n in kinds)


def groups(A, kinds):
    """Cones of one kind and size together: `(kind, n, rows (count, r), A[rows])`. A: (r, n)."""
    members, start = {}, 0
    for kind, n in kinds:
        size = cones.row_count(kind, n)
        index = np.arange(start, start + size)
        start += size
        for key, block in [((kind, 1), i) for i in index[:, None]] if kind == "nonnegative" else [((kind, n), index)]:
            members.setdefault(key, []).append(block)
    return [(kind, n, np.array(index), A[np.array(index)]) for (kind, n), index in members.items()]


def derivatives(members, slack):
    """Gradient (n,) and Hessian (n, n) in x of the barrier at slack `b - A x` (r,), strictly inside. members: from `groups`."""
    size = members[0][3].shape[-1]
    gradient, hessian = np.zeros(size), np.zeros((size, size))
    for kind, n, index, rows in members:
        g, h = _BARRIERS[kind](slack[index], n)
        gradient -= np.einsum("cr,crx->x", g, rows)
        curved = h @ rows
        hessian += curved.reshape(-1, size).T @ rows.reshape(-1, size)
    return gradient, hessian


def _nonnegative(s, n):
    return -1 / s, (1 / s**2)[:, :, None]


def _second_order(s, n):
    signs = np.append(1.0, -np.ones(n - 1))
    gap = (s**2 @ signs)[:, None]
    g = -2 * s * signs / gap
    return g, g[:, :, None] * g[:, None, :] - 2 * np.diag(signs) / gap[:, :, None]


def definite(s, n):
    """Gradient (c, r) and Hessian (c, r, r) of `-log det` of matrices given by their triangles (c, r)."""
    inverse = np.linalg.inv(cones.from_triangle(s, n))
    basis = cones.from_triangle(np.eye(s.shape[1]), n)
    curved = cones.triangle(inverse[:, None] @ basis @ inverse[:, None])
    return -cones.triangle(inverse), curved


_BARRIERS = {"nonnegative": _nonnegative, "soc": _second_order, "psd": definite}
