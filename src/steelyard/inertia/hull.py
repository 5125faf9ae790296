"""Convex hulls, of a closed convex surface that spans all points, such as that of a primitive, as it is, else by
SciPy's Qhull, which loads for longer than a model without meshes is checked; and ellipsoids that enclose them.

The smallest ellipsoid is `|A x + b| <= 1` with `A` symmetric, and `-log det A` its volume: a convex problem in nine
numbers, solved by the primal-dual interior-point method of Boyd and Vandenberghe (Convex Optimization, 8.4.1 and 11.7).
First-order ascents (Khachiyan) need no linear algebra but crawl on the symmetric, nearly repeated points of real
meshes; here such points cost nothing.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia.ellipsoid import Ellipsoid
from steelyard.inertia.mesh import is_closed
from steelyard.inertia.parameters import DIAGONAL_FIRST
from steelyard.numbers import NEGLIGIBLE, SAME, STEPS


@dataclass(frozen=True, eq=False)
class Hull:
    """points: (n, 3) m. vertices: (k,) indices of those that span it. faces: (f, 3), counterclockwise from outside.
    equations: (f, 4) outward unit normals and offsets of their planes; `n . x + d <= 0` inside. volume: m^3."""

    points: np.ndarray
    vertices: np.ndarray
    faces: np.ndarray
    equations: np.ndarray
    volume: float


def hull_of(points: np.ndarray) -> Hull | None:
    """Convex hull of points (n, 3) m, by Qhull; None where they span no volume."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    faces = found.simplices.astype(np.int64)
    inward = (_areas(points, faces) * found.equations[:, :3]).sum(axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Hull(points, found.vertices, faces, found.equations, float(found.volume))


def convex_surface(vertices: np.ndarray, faces: np.ndarray | None, points: np.ndarray) -> Hull | None:
    """The hull of points (n, 3) m, if a surface of vertices (k, 3) and faces (f, 3), counterclockwise from outside, is
    its boundary: if it is closed, has as many faces as a triangulated sphere, and no point lies in front of a face.
    None where it is no such boundary, or there are no faces."""
    if faces is None or len(faces) * len(points) > 10**6 or not is_closed(faces, len(vertices)):
        return None
    used = np.flatnonzero(np.bincount(faces.ravel()))  # np.unique loads masked arrays
    normals = _areas(vertices, faces)
    lengths = np.sqrt((normals * normals).sum(axis=1))
    if len(faces) != 2 * len(used) - 4 or not (lengths > 0).all():
        return None
    normals = normals / lengths[:, None]
    heights = (normals * vertices[faces[:, 0]]).sum(axis=1)
    if (points @ normals.T - heights).max() > NEGLIGIBLE * (points.max(axis=0) - points.min(axis=0)).max():
        return None
    middle = vertices[used].sum(axis=0) / len(used)
    volume = float((lengths * (heights - normals @ middle)).sum() / 6)
    return Hull(vertices, used, faces, np.concatenate([normals, -heights[:, None]], axis=1), volume)


_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


def _areas(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """(f, 3) normals of faces, twice as long as their areas."""
    a, b, c = (points[column] for column in faces.T)
    u, w = b - a, c - a
    return u[:, _NEXT] * w[:, _LAST] - u[:, _LAST] * w[:, _NEXT]  # `numpy.cross` takes far longer


def corners(points) -> np.ndarray:
    """Those of points (n, 3) that span their convex hull; all of them where it has no volume."""
    points = np.asarray(points, dtype=float)
    hull = hull_of(points) if len(points) > 8 else None
    return points if hull is None else points[hull.vertices]


def minimum_volume_ellipsoid(points, *, tolerance=1e-7) -> Ellipsoid:
    """The smallest ellipsoid around points, for example the vertices of a mesh.

    Args:
        points: (n, 3) in m.
        tolerance: relative excess of the volume over the minimum.

    Returns:
        The Ellipsoid; every point is inside.

    Raises:
        InertiaError: fewer than four points, numbers that are not finite, all points in or near one plane.
    """
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4 or not np.isfinite(points).all():
        raise InertiaError(
            f"enclosing ellipsoid of points with shape {points.shape}: expected (n, 3) finite numbers, n at least 4"
        )
    middle = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(points - middle, full_matrices=False)
    if extents[2] <= SAME * extents[0]:
        raise InertiaError(
            f"all {len(points)} points lie in a plane within {SAME:g} of their extent, so no solid ellipsoid is "
            "smallest; add points off the plane (a thickness), or use Ellipsoid.from_box"
        )
    from_white = (axes.T * extents) / np.sqrt(len(points))  # the problem is affine invariant, its digits are not
    white = (points - middle) @ np.linalg.inv(from_white).T
    A, b = _around_all(white, tolerance)
    to_unit = A @ np.linalg.inv(from_white)
    to_points = np.linalg.inv(to_unit)
    ellipsoid = Ellipsoid(middle - to_points @ b, to_points @ to_points.T)
    return Ellipsoid(ellipsoid.center, ellipsoid.Q * float(ellipsoid.level(points).max()))


_UNIT = np.array(
    [np.diag(row) for row in np.eye(3)] + [np.eye(3)[:, [i]] @ np.eye(3)[[j]] for i, j in DIAGONAL_FIRST[3:]]
)
_DIRECTIONS = np.array([d for d in np.ndindex(3, 3, 3) if d != (1, 1, 1)]) - 1.0  # (26, 3): faces, edges and corners
_SYMMETRIC = 0.5 * (_UNIT + _UNIT.transpose(0, 2, 1))  # basis of A, (6, 3, 3)


def _around_all(x, tolerance):
    """`A` (3, 3) and `b` (3,) of the ellipsoid around x (n, 3), from the few of them that matter.

    The smallest ellipsoid around some points is no larger than that around all, and is that where it holds all.
    """
    chosen = np.zeros(len(x), dtype=bool)
    chosen[(x @ _DIRECTIONS.T).argmax(axis=0)] = True
    while True:
        A, b = _interior_point(x[chosen], tolerance / 2)
        level = ((x @ A + b) ** 2).sum(axis=1)
        outside = np.flatnonzero((level > 1 + tolerance / 3) & ~chosen)
        if not len(outside):
            return A, b
        # so many at once, where the ellipsoid around some leaves others outside
        chosen[outside[np.argsort(-level[outside])[:32]]] = True


def _interior_point(x, tolerance):
    """`A` (3, 3) and `b` (3,) of the ellipsoid around x (n, 3); the duality gap `log(volume / minimum)` is at most
    `tolerance`."""
    n = len(x)
    D = np.concatenate([np.einsum("kij,nj->nik", _SYMMETRIC, x), np.broadcast_to(np.eye(3), (n, 3, 3))], axis=2)
    p, dual = np.zeros(9), np.ones(n)  # y = D p = A x + b, one constraint |y|^2 <= 1 and one multiplier a point
    p[:3] = 0.5 / np.linalg.norm(x, axis=1).max()
    for _ in range(STEPS):
        gradient, push, slack = _derivatives(p, x)
        gap = dual @ slack
        stationary = np.linalg.norm(gradient + push.T @ dual)
        if gap <= tolerance and stationary <= tolerance:
            break
        center = 0.1 * gap / n
        hessian = _hessian(p, D, dual) + (push.T * (dual / slack)) @ push
        step = -np.linalg.solve(hessian, gradient + push.T @ (center / slack))
        dual_step = (center + dual * (push @ step)) / slack - dual
        length = _step_length(p, step, dual, dual_step, x, center)
        if length < SAME:
            break
        p, dual = p + length * step, dual + length * dual_step
    return _matrix(p), p[6:]


def _derivatives(p, x):
    """Gradient of `-log det A`, gradients (n, 9) of `|y|^2 - 1`, and slacks (n,)."""
    A = _matrix(p)
    y = x @ A + p[6:]
    gradient = np.zeros(9)
    gradient[:6] = -_SYMMETRIC.reshape(6, 9) @ np.linalg.inv(A).ravel()
    push = np.empty((len(x), 9))
    push[:, :3] = 2 * y * x
    for k, (i, j) in enumerate(DIAGONAL_FIRST[3:]):
        push[:, 3 + k] = y[:, i] * x[:, j] + y[:, j] * x[:, i]
    push[:, 6:] = 2 * y
    return gradient, push, 1 - np.einsum("ij,ij->i", y, y)


def _hessian(p, D, dual):
    """(9, 9) of the Lagrangian."""
    along = np.linalg.inv(_matrix(p)) @ _SYMMETRIC
    hessian = 2 * (D * dual[:, None, None]).reshape(-1, 9).T @ D.reshape(-1, 9)
    hessian[:6, :6] += np.einsum("kij,lji->kl", along, along)
    return hessian


def _step_length(p, step, dual, dual_step, x, center):
    """The longest tried step that stays inside and lowers the residual of the optimality conditions."""
    shrinking = dual_step < 0
    length = min(1.0, 0.99 * (-dual[shrinking] / dual_step[shrinking]).min(initial=np.inf))
    before = _residual(p, dual, x, center)
    while (
        length >= SAME
        and not _residual(p + length * step, dual + length * dual_step, x, center) <= (1 - 0.01 * length) * before
    ):
        length *= 0.5
    return length


def _residual(p, dual, x, center):
    """Norm of stationarity and centrality; infinite where a point or the ellipsoid's orientation leaves the domain."""
    if np.linalg.eigvalsh(_matrix(p))[0] <= 0:
        return np.inf
    gradient, push, slack = _derivatives(p, x)
    if slack.min() <= 0:
        return np.inf
    return np.hypot(np.linalg.norm(gradient + push.T @ dual), np.linalg.norm(dual * slack - center))


def _matrix(p):
    a, b, c, d, e, f = p[:6]
    return np.array([[a, 0.5 * d, 0.5 * e], [0.5 * d, b, 0.5 * f], [0.5 * e, 0.5 * f, c]])
