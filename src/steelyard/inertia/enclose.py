"""Minimum-volume enclosing ellipsoid of a point cloud.

The ellipsoid is `|A x + b| <= 1` with `A` symmetric, and `-log det A` its volume: a convex problem in nine numbers (Boyd and Vandenberghe,
Convex Optimization, 8.4.1), solved by Newton's method along the central path of

    -log det A - mu sum_i log(1 - |A x_i + b|^2),

where the volume exceeds the minimum by at most the factor `exp(n mu)`. First-order ascents (Khachiyan) crawl on the symmetric, nearly
repeated points of real meshes; here such points cost nothing.
"""

import numpy as np
from scipy.spatial import ConvexHull

from steelyard.errors import InertiaError
from steelyard.inertia.ellipsoid import Ellipsoid

FLAT = 1e-6  # ratio of smallest to largest extent below which a cloud counts as flat
SHRINK = 0.05  # factor on mu between centrings
CENTERED = 1e-3  # Newton decrement squared, relative to mu, that ends a centring
NEWTON_STEPS = 100  # in one centring; ten are typical
SHORTEST = 1e-9  # step length at which backtracking gives up


def minimum_volume_ellipsoid(points, *, tolerance=1e-7) -> Ellipsoid:
    """The smallest ellipsoid around points, for example the vertices of a mesh.

    points: (n, 3) in m; tolerance: relative excess of its volume over the minimum. Every point is inside.
    Raises InertiaError: fewer than four points, numbers that are not finite, all points in or near one plane.
    """
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4 or not np.isfinite(points).all():
        raise InertiaError(f"enclosing ellipsoid of points with shape {points.shape}: expected (n, 3) finite numbers, n at least 4")
    middle = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(points - middle, full_matrices=False)
    if extents[2] <= FLAT * extents[0]:
        raise InertiaError(
            f"all {len(points)} points lie in a plane within {FLAT:g} of their extent, so no solid ellipsoid is smallest; "
            "add points off the plane (a thickness), or use Ellipsoid.from_box"
        )
    from_white = (axes.T * extents) / np.sqrt(len(points))  # the problem is affine invariant, its digits are not
    white = (points - middle) @ np.linalg.inv(from_white).T
    A, b = _central_path(white[ConvexHull(white).vertices], tolerance)
    to_unit = A @ np.linalg.inv(from_white)
    to_points = np.linalg.inv(to_unit)
    ellipsoid = Ellipsoid(middle - to_points @ b, to_points @ to_points.T)
    return Ellipsoid(ellipsoid.center, ellipsoid.Q * float(ellipsoid.level(points).max()))


_UNIT = np.array([np.diag(row) for row in np.eye(3)] + [np.eye(3)[:, [i]] @ np.eye(3)[[j]] for i, j in ((0, 1), (0, 2), (1, 2))])
_SYMMETRIC = 0.5 * (_UNIT + _UNIT.transpose(0, 2, 1))  # basis of A, (6, 3, 3)


def _central_path(x, tolerance):
    """`A` (3, 3) and `b` (3,) of the ellipsoid around x (n, 3), with relative excess volume at most `tolerance`."""
    n = len(x)
    D = np.concatenate([np.einsum("kij,nj->nik", _SYMMETRIC, x), np.broadcast_to(np.eye(3), (n, 3, 3))], axis=2)
    p = np.zeros(9)
    p[:3] = 0.5 / np.linalg.norm(x, axis=1).max()
    mu = 1.0
    while n * mu > tolerance:
        mu *= SHRINK
        p = _center(p, D, mu)
    return _matrix(p), p[6:]


def _center(p, D, mu):
    """Newton's method with backtracking to the point of the central path at `mu`, from a feasible p."""
    value = _value(p, D, mu)
    for _ in range(NEWTON_STEPS):
        y = D @ p
        slack = 1 - (y * y).sum(axis=1)
        push = np.einsum("nik,ni->nk", D, y)
        inverse = np.linalg.inv(_matrix(p))
        along = inverse @ _SYMMETRIC  # (6, 3, 3)
        gradient = 2 * mu * (push / slack[:, None]).sum(axis=0)
        gradient[:6] -= np.trace(along, axis1=1, axis2=2)
        weighted = (D / slack[:, None, None]).reshape(-1, 9)
        scaled = push / slack[:, None]
        hessian = mu * (2 * weighted.T @ D.reshape(-1, 9) + 4 * scaled.T @ scaled)
        hessian[:6, :6] += np.einsum("kij,lji->kl", along, along)
        step = -np.linalg.solve(hessian, gradient)
        decrease = -gradient @ step
        if decrease <= CENTERED * mu:
            return p
        length = 1.0
        while (trial := _value(p + length * step, D, mu)) > value - 0.1 * length * decrease and length > SHORTEST:
            length *= 0.5
        if not trial < value:  # rounding decides from here on: as central as the digits allow
            return p
        p, value = p + length * step, trial
    return p


def _matrix(p):
    return np.tensordot(p[:6], _SYMMETRIC, axes=1)


def _value(p, D, mu):
    """Barrier function, infinite outside its domain."""
    y = D @ p
    slack = 1 - (y * y).sum(axis=1)
    eigenvalues = np.linalg.eigvalsh(_matrix(p))
    if slack.min() <= 0 or eigenvalues[0] <= 0:
        return np.inf
    return -np.log(eigenvalues).sum() - mu * np.log(slack).sum()
