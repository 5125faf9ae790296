"""Minimum-volume enclosing ellipsoid of a point cloud.

The ellipsoid is `|A x + b| <= 1` with `A` symmetric, and `-log det A` its volume: a convex problem in nine numbers,
solved by the primal-dual interior-point method of Boyd and Vandenberghe (Convex Optimization, 8.4.1 and 11.7).
First-order ascents (Khachiyan) need no linear algebra but crawl on the symmetric, nearly repeated points of real
meshes; here such points cost nothing.
"""

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia.ellipsoid import Ellipsoid

FLAT = 1e-6  # ratio of smallest to largest extent below which a cloud counts as flat
STEPS = 200  # of the interior-point method; twenty are typical
BATCH = 32  # points taken in at once where the ellipsoid around some leaves others outside
SHORTEST = 1e-6  # step length at which rounding, not the problem, is what stops it


def corners(points) -> np.ndarray:
    """Those of points (n, 3) that span their convex hull; all of them where it has no volume."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.asarray(points, dtype=float)
    try:
        return points[ConvexHull(points).vertices] if len(points) > 8 else points
    except (QhullError, ValueError):
        return points


def minimum_volume_ellipsoid(points, *, tolerance=1e-7) -> Ellipsoid:
    """The smallest ellipsoid around points, for example the vertices of a mesh.

    points: (n, 3) in m; tolerance: relative excess of its volume over the minimum. Every point is inside.
    Raises InertiaError: fewer than four points, numbers that are not finite, all points in or near one plane.
    """
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4 or not np.isfinite(points).all():
        raise InertiaError(
            f"enclosing ellipsoid of points with shape {points.shape}: expected (n, 3) finite numbers, n at least 4"
        )
    middle = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(points - middle, full_matrices=False)
    if extents[2] <= FLAT * extents[0]:
        raise InertiaError(
            f"all {len(points)} points lie in a plane within {FLAT:g} of their extent, so no solid ellipsoid is "
            "smallest; "
            "add points off the plane (a thickness), or use Ellipsoid.from_box"
        )
    from scipy.spatial import ConvexHull

    from_white = (axes.T * extents) / np.sqrt(len(points))  # the problem is affine invariant, its digits are not
    white = (points - middle) @ np.linalg.inv(from_white).T
    A, b = _around_all(white[ConvexHull(white).vertices], tolerance)
    to_unit = A @ np.linalg.inv(from_white)
    to_points = np.linalg.inv(to_unit)
    ellipsoid = Ellipsoid(middle - to_points @ b, to_points @ to_points.T)
    return Ellipsoid(ellipsoid.center, ellipsoid.Q * float(ellipsoid.level(points).max()))


_UNIT = np.array(
    [np.diag(row) for row in np.eye(3)] + [np.eye(3)[:, [i]] @ np.eye(3)[[j]] for i, j in ((0, 1), (0, 2), (1, 2))]
)
_DIRECTIONS = np.array([d for d in np.ndindex(3, 3, 3) if d != (1, 1, 1)]) - 1.0  # (26, 3): faces, edges and corners
_SYMMETRIC = 0.5 * (_UNIT + _UNIT.transpose(0, 2, 1))  # basis of A, (6, 3, 3)


def _around_all(x, tolerance):
    """`A` (3, 3) and `b` (3,) of the ellipsoid around x (n, 3), from the few of them that matter.

    The smallest ellipsoid around some points is no larger than that around all, and is that where it holds all.
    """
    chosen = np.unique((x @ _DIRECTIONS.T).argmax(axis=0))
    while True:
        A, b = _interior_point(x[chosen], tolerance / 2)
        level = ((x @ A + b) ** 2).sum(axis=1)
        outside = np.setdiff1d(np.flatnonzero(level > 1 + tolerance / 3), chosen)
        if not len(outside):
            return A, b
        chosen = np.append(chosen, outside[np.argsort(-level[outside])[:BATCH]])


def _interior_point(x, tolerance):
    """`A` (3, 3) and `b` (3,) of the ellipsoid around x (n, 3); the duality gap `log(volume / minimum)` is at most
    `tolerance`.
    """
    n = len(x)
    D = np.concatenate([np.einsum("kij,nj->nik", _SYMMETRIC, x), np.broadcast_to(np.eye(3), (n, 3, 3))], axis=2)
    p, dual = np.zeros(9), np.ones(n)  # y = D p = A x + b, one constraint |y|^2 <= 1 and one multiplier a point
    p[:3] = 0.5 / np.linalg.norm(x, axis=1).max()
    for _ in range(STEPS):
        gradient, push, slack = _derivatives(p, D)
        gap = dual @ slack
        stationary = np.linalg.norm(gradient + push.T @ dual)
        if gap <= tolerance and stationary <= tolerance:
            break
        center = 0.1 * gap / n
        hessian = _hessian(p, D, dual) + (push.T * (dual / slack)) @ push
        step = -np.linalg.solve(hessian, gradient + push.T @ (center / slack))
        dual_step = (center + dual * (push @ step)) / slack - dual
        length = _step_length(p, step, dual, dual_step, D, center)
        if length < SHORTEST:
            break
        p, dual = p + length * step, dual + length * dual_step
    return _matrix(p), p[6:]


def _derivatives(p, D):
    """Gradient of `-log det A`, gradients (n, 9) of `|y|^2 - 1`, and slacks (n,)."""
    y = D @ p
    gradient = np.append(-_SYMMETRIC.reshape(6, 9) @ np.linalg.inv(_matrix(p)).ravel(), np.zeros(3))
    return gradient, 2 * np.einsum("nik,ni->nk", D, y), 1 - (y * y).sum(axis=1)


def _hessian(p, D, dual):
    """(9, 9) of the Lagrangian."""
    along = np.linalg.inv(_matrix(p)) @ _SYMMETRIC
    hessian = 2 * (D * dual[:, None, None]).reshape(-1, 9).T @ D.reshape(-1, 9)
    hessian[:6, :6] += np.einsum("kij,lji->kl", along, along)
    return hessian


def _step_length(p, step, dual, dual_step, D, center):
    """The longest tried step that stays inside and lowers the residual of the optimality conditions."""
    shrinking = dual_step < 0
    length = min(1.0, 0.99 * (-dual[shrinking] / dual_step[shrinking]).min(initial=np.inf))
    before = _residual(p, dual, D, center)
    while (
        length >= SHORTEST
        and not _residual(p + length * step, dual + length * dual_step, D, center) <= (1 - 0.01 * length) * before
    ):
        length *= 0.5
    return length


def _residual(p, dual, D, center):
    """Norm of stationarity and centrality; infinite where a point or the ellipsoid's orientation leaves the domain."""
    if np.linalg.eigvalsh(_matrix(p))[0] <= 0:
        return np.inf
    gradient, push, slack = _derivatives(p, D)
    if slack.min() <= 0:
        return np.inf
    return np.hypot(np.linalg.norm(gradient + push.T @ dual), np.linalg.norm(dual * slack - center))


def _matrix(p):
    return np.tensordot(p[:6], _SYMMETRIC, axes=1)
