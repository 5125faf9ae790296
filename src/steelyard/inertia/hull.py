"""Convex hulls, of a closed convex surface that spans all points, such as that of a primitive, as it is, else by
SciPy's Qhull, which loads for longer than a model without meshes is checked; and ellipsoids that enclose them.

The smallest ellipsoid is `|A x + b| <= 1` with `A` symmetric, and `-log det A` its volume: a convex problem in nine
numbers, solved by the primal-dual interior-point method of Boyd and Vandenberghe (Convex Optimization, 8.4.1 and 11.7).
First-order ascents (Khachiyan) need no linear algebra but crawl on the symmetric, nearly repeated points of real
meshes; here such points cost nothing.

The union of several is the bounding volume of B, Corollary 2, for shapes that one ellipsoid fits badly. The shape is
cut by planes, always the piece with the largest ellipsoid and always where the two new ellipsoids are smallest in sum.
From a point cloud the union contains every point and the convex hull of every piece; nothing is promised between
pieces. From a closed mesh it contains **the whole solid**, convex or not: triangles are clipped at the cutting planes,
and the part of a solid in a convex cell is bounded by clipped surface and by sections whose outlines lie on that
surface, so it lies in the convex hull of the clipped triangles. The union also contains points outside the shape; more
ellipsoids leave fewer.
"""

from dataclasses import dataclass
from itertools import product

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


ANYWHERE = tuple(product(range(3), (0.3, 0.4, 0.5, 0.6, 0.7)))  # (principal axis, where on it): heads and handles
SUPPORTS = 120  # directions whose farthest points stand for a piece while cuts are compared


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


def cover(vertices, faces=None, *, count=4) -> tuple[Ellipsoid, ...]:
    """At most `count` ellipsoids that together contain a mesh's solid, or every point of a cloud.

    Args:
        vertices: (n, 3) in m.
        faces: (f, 3) of a closed mesh, None for a cloud.
        count: ellipsoids at most.

    Returns:
        Of the covers by 1, 2, ... `count` ellipsoids met on the way, the one whose union is smallest, so a ball keeps a
        single one.

    Raises:
        InertiaError: count below 1, flat or too few points.
    """
    if count < 1:
        raise InertiaError(f"a cover by {count} ellipsoids was asked for, expected at least 1")
    vertices = np.asarray(vertices, dtype=float)
    whole = vertices[:, None, :] if faces is None else vertices[np.asarray(faces)]
    cuts = ANYWHERE, ((2, 0.5),)  # the latter across the longest axis: follows rings and bends
    stages = [stage for each in cuts for stage in _partitions(whole, count, each)]
    covers = [tuple(minimum_volume_ellipsoid(piece.reshape(-1, 3)) for piece in stage) for stage in stages]
    return covers[int(np.argmin(_union_volumes(covers)))]


def _partitions(whole, count, cuts):
    """Partitions of a piece into 2, 3, ... at most `count` pieces, after the trivial one."""
    pieces, volumes = [whole], [_rough_ellipsoid(whole).volume]
    yield tuple(pieces)
    while len(pieces) < count and max(volumes) > 0:
        largest = int(np.argmax(volumes))
        halves = _best_cut(pieces[largest], cuts)
        if halves is None:
            volumes[largest] = 0.0  # too few points to cut: leave this piece alone
            continue
        pieces[largest : largest + 1] = [half for half, _ in halves]
        volumes[largest : largest + 1] = [volume for _, volume in halves]
        yield tuple(pieces)


def _best_cut(piece, cuts):
    """The two halves `(piece, rough volume)` with the smallest sum of volumes, or None if no cut leaves two solid
    halves."""
    corners = piece.reshape(-1, 3)
    best, best_sum = None, np.inf
    axes = _rough_ellipsoid(piece).semi_axes[1].T
    for axis, fraction in cuts:
        normal = axes[axis]
        heights = corners @ normal
        offset = (1 - fraction) * heights.min() + fraction * heights.max()
        halves = []
        for side in (-1.0, 1.0):
            half = _clip(piece, side * normal, side * offset)
            try:
                halves.append((half, _rough_ellipsoid(half).volume))
            except InertiaError:  # a half without volume has no ellipsoid
                break
        if len(halves) == 2 and halves[0][1] + halves[1][1] < best_sum:
            best, best_sum = halves, halves[0][1] + halves[1][1]
    return best


def _rough_ellipsoid(piece):
    """Enclosing ellipsoid of the farthest points of a piece in `SUPPORTS` directions: quick, a few per cent small."""
    corners = piece.reshape(-1, 3)
    if len(corners) > SUPPORTS:
        rank = np.arange(SUPPORTS) + 0.5
        height, turn = (
            1 - 2 * rank / SUPPORTS,
            np.pi * (1 + np.sqrt(5)) * rank,
        )  # a Fibonacci spiral covers the sphere evenly
        ring = np.sqrt(1 - height**2)
        directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), height])
        scale = np.maximum(np.ptp(corners, axis=0), 1e-300)
        corners = corners[np.unique((corners / scale @ directions).argmax(axis=0))]
    return minimum_volume_ellipsoid(corners, tolerance=1e-2)


def _union_volumes(covers):
    """Volume of the union of each cover, relative to one box around all: the share of evenly spread probes inside."""
    from scipy.stats.qmc import Halton  # half a second to import

    reach = [
        (e.center - np.sqrt(np.diag(e.Q)), e.center + np.sqrt(np.diag(e.Q)))
        for ellipsoids in covers
        for e in ellipsoids
    ]
    lower, upper = np.min([low for low, _ in reach], axis=0), np.max([high for _, high in reach], axis=0)
    # points that compare the volumes of unions
    probes = lower + (upper - lower) * Halton(3, scramble=False).random(1 << 12)
    return [np.any([e.contains(probes) for e in ellipsoids], axis=0).mean() for ellipsoids in covers]


def _clip(piece, normal, offset):
    """The part of points (n, 1, 3) or triangles (f, 3, 3) with `normal . x >= offset`; cut triangles are triangulated
    again."""
    height = piece @ normal - offset
    above = height >= 0
    kept = [piece[above.all(axis=1)]]
    if piece.shape[1] == 3:
        for corner in range(3):  # turn the odd corner to the front, then cut the two edges that leave it
            turn = np.roll(np.arange(3), -corner)
            odd, left, right = above[:, turn].T
            lone, pair = odd & ~left & ~right, ~odd & left & right
            a, b, c = (piece[:, k] for k in turn)
            ha, hb, hc = (height[:, k, None] for k in turn)
            with np.errstate(divide="ignore", invalid="ignore"):  # only rows whose corners lie on both sides are used
                ab, ac = a + (b - a) * ha / (ha - hb), a + (c - a) * ha / (ha - hc)
            kept += [np.stack([a, ab, ac], axis=1)[lone]]
            kept += [np.stack([ab, b, c], axis=1)[pair], np.stack([ab, c, ac], axis=1)[pair]]
    return np.concatenate(kept)
