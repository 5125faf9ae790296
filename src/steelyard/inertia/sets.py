"""Convex sets of bodies: which ten numbers can belong to a body (paper B, sections IV and V), whatever holds its mass.

Each set is given once, by its cone rows; membership, violation, projection and every fit use the same rows. All but
`Bounds` are cones: a body is in the set whatever its mass, so "small" is always meant per mass and per length. To that
end a set measures bodies in a frame of its own, the pseudo-inertia `T J T^T`, with `T` the map to a unit ball of the
set's size. Nesting: EllipsoidRealizable within Consistent and ComInEllipsoid; Consistent within SemiConsistent.

Polyhedra are beyond paper B. The moments of a mass distribution on a tetrahedron with vertices `V = [v1 v2 v3 v4; 1 1 1
1]` are `J = V C V^T`, `C` the second moments of barycentric coordinates: a completely positive matrix, and in four
dimensions those are exactly the positive semidefinite matrices with no negative entry. Distributions on a union of
tetrahedra are sums, so this is exact, at ten variables a piece. Point masses at given points are sufficient, at one
variable a point.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import cones, parameters, pseudo
from steelyard.inertia.body_set import EPS, UNITS, BodySet, ball_frame, definite_rows, moments
from steelyard.inertia.ellipsoid import Ellipsoid, box_corners
from steelyard.inertia.hull import hull_of
from steelyard.numbers import NEGLIGIBLE


def _frame_around(points):
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return ball_frame(center, np.linalg.norm(points - center, axis=1).max())


def _places(points, what, least=1):
    points = np.array(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < least or not np.isfinite(points).all():
        raise InertiaError(
            f"{what} of shape {points.shape}: expected (n, 3) finite coordinates in m, n at least {least}"
        )
    return points


def _convex_hull(vertices):
    vertices = _places(vertices, "vertices of a polyhedron")
    hull = hull_of(vertices)
    if hull is None:
        raise InertiaError(
            f"{len(vertices)} vertices span no polyhedron (too few, or all in a plane); give a thickness"
        )
    return vertices, hull


@dataclass(frozen=True, eq=False)
class TetrahedraRealizable(BodySet):
    """Bodies whose mass can lie in a union of tetrahedra, convex or not. Exact. tetrahedra: (k, 4, 3) vertices in m."""

    tetrahedra: np.ndarray

    def __post_init__(self):
        tetrahedra = np.array(self.tetrahedra, dtype=float)
        if (
            tetrahedra.ndim != 3
            or tetrahedra.shape[1:] != (4, 3)
            or len(tetrahedra) == 0
            or not np.isfinite(tetrahedra).all()
        ):
            raise InertiaError(
                f"tetrahedra have shape {tetrahedra.shape}, expected (k, 4, 3) finite vertices in m, k at least 1"
            )
        volumes = np.abs(np.linalg.det(tetrahedra[:, 1:] - tetrahedra[:, :1]))
        if volumes.min() <= NEGLIGIBLE * np.ptp(tetrahedra.reshape(-1, 3), axis=0).max() ** 3:
            raise InertiaError(f"tetrahedron {int(volumes.argmin())} is flat; leave it out of the union")
        object.__setattr__(self, "tetrahedra", tetrahedra)

    @property
    def frame(self):
        return _frame_around(self.tetrahedra.reshape(-1, 3))

    def cone_rows(self, eps=EPS):
        T = self.frame
        vertices = np.concatenate([np.swapaxes(self.tetrahedra, 1, 2), np.ones((len(self.tetrahedra), 1, 4))], axis=1)
        column, row = np.tril_indices(4)
        local = np.concatenate([np.eye(10), np.eye(10)[column != row]])  # C semidefinite, and its off-diagonal entries
        return cones.stack([definite_rows(T, eps), cones.sums(T, vertices, local, [("psd", 4), ("nonnegative", 6)])])


class HullRealizable(TetrahedraRealizable):
    """Bodies whose mass can lie in the convex hull of vertices (n, 3). Exact; about two tetrahedra a hull vertex, so
    simplify large hulls."""

    def __init__(self, vertices):
        vertices, hull = _convex_hull(vertices)
        apex = hull.vertices[0]
        fan = hull.faces[~(hull.faces == apex).any(axis=1)]
        tetrahedra = np.concatenate([np.broadcast_to(vertices[apex], (len(fan), 1, 3)), vertices[fan]], axis=1)
        volumes = np.abs(np.linalg.det(tetrahedra[:, 1:] - tetrahedra[:, :1]))
        super().__init__(
            tetrahedra[volumes > NEGLIGIBLE * np.ptp(vertices, axis=0).max() ** 3]
        )  # faces through the apex span nothing


class Box(TetrahedraRealizable):
    """Bodies whose mass can lie in an axis-aligned box. Exact (five tetrahedra). lower, upper: (3,) corners in m."""

    def __init__(self, lower, upper):
        lower, upper = box_corners(lower, upper)
        # the middle tetrahedron joins four corners that share no edge; the others cut off the remaining corners
        odd = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        corner_cuts = [np.vstack([even, odd[np.abs(odd - even).sum(axis=1) == 1]]) for even in 1 - odd]
        super().__init__(lower + (upper - lower) * np.array([odd, *corner_cuts]))


@dataclass(frozen=True, eq=False)
class PointMasses(BodySet):
    """Bodies made of point masses at given points (n, 3) in m, none negative: sufficient for any shape that contains
    the points.

    `theta = sum m_k [1, p_k, ...]`. The eight corners of a box alone fix the diagonal second moments: add samples of
    the inside.
    """

    points: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "points", _places(self.points, "places of point masses", 4))

    @property
    def frame(self):
        return _frame_around(self.points)

    @property
    def matrix(self):
        """`P` (10, n): parameters of a unit mass at each point, `theta = P masses`."""
        lifted = np.column_stack([self.points, np.ones(len(self.points))])
        return pseudo.to_parameters(lifted[:, :, None] * lifted[:, None, :]).T

    def cone_rows(self, eps=EPS):
        n = len(self.points)
        # equality in the ball's frame, where all ten moments are of order one
        T = self.frame
        to_ball = cones.triangle(T @ moments() @ T.T).T
        A_theta = np.vstack([to_ball, np.zeros((n, 10))])
        A_aux = np.vstack([-to_ball @ self.matrix, -np.eye(n)])
        masses = cones.ConeRows(A_theta, A_aux, np.zeros(10 + n), (("zero", 10), ("nonnegative", n)))
        return cones.stack([definite_rows(T, eps), masses])


@dataclass(frozen=True, eq=False)
class _OfLength(BodySet):
    """A set of bodies anywhere, of a typical size length in m."""

    length: float = 0.1

    def __post_init__(self):
        if not (np.isfinite(self.length) and self.length > 0):
            raise InertiaError(
                f"length is {self.length!r}, expected a positive number of metres: the typical size of the bodies meant"
            )

    @property
    def frame(self):
        return ball_frame(np.zeros(3), self.length)


@dataclass(frozen=True, eq=False)
class SemiConsistent(_OfLength):
    """Bodies of positive kinetic energy: spatial inertia `M > 0` (B, definition of semi-consistency); triangle
    inequalities may fail.

    length: typical size of a body in m, the scale of violations and of eps (linear velocity against length times
    angular).
    """

    def cone_rows(self, eps=EPS):
        D = np.diag([1.0] * 3 + [1 / self.length] * 3)
        M = D @ parameters.to_spatial_inertia(UNITS) @ D - eps * UNITS[:, 0, None, None] * np.eye(6)
        return cones.rows(cones.triangle(M).T, [("psd", 6)])


@dataclass(frozen=True, eq=False)
class Consistent(_OfLength):
    """Bodies that some positive mass distribution has: pseudo-inertia `J > 0` (B, Theorem 3). Exact.

    length: typical size of a body in m; with eps, the root-mean-square thickness about the centre of mass is at least
    `sqrt(eps) length`.
    """

    def cone_rows(self, eps=EPS):
        return definite_rows(self.frame, eps)


@dataclass(frozen=True, eq=False)
class ComInEllipsoid(BodySet):
    """Bodies with their centre of mass in an ellipsoid (B, 22, as one second-order cone). Says nothing about the
    inertia.

    Necessary, far from sufficient, for all mass to be inside; `EllipsoidRealizable` is exact and cheaper.
    """

    ellipsoid: Ellipsoid

    @property
    def frame(self):
        return self.ellipsoid.to_ball

    def cone_rows(self, eps=EPS):
        moved = (self.frame @ moments())[:, :3, 3]  # first moment in the ball's frame
        return cones.rows(np.column_stack([UNITS[:, 0], moved]).T, [("soc", 4)])


@dataclass(frozen=True, eq=False)
class EllipsoidRealizable(BodySet):
    """Bodies whose mass can lie inside an ellipsoid: `J > 0` and `tr(J Q) >= 0` (B, Theorem 4). Exact."""

    ellipsoid: Ellipsoid

    @property
    def frame(self):
        return self.ellipsoid.to_ball

    def cone_rows(self, eps=EPS):
        inside = np.trace(moments() @ self.ellipsoid.quadric, axis1=1, axis2=2)
        return cones.stack([definite_rows(self.frame, eps), cones.rows(inside[None], [("nonnegative", 1)])])


@dataclass(frozen=True, eq=False)
class UnionRealizable(BodySet):
    """Bodies whose mass can lie in a union of ellipsoids: sums of bodies realizable on each (B, Corollary 2). Exact.

    ellipsoids: one or more, overlapping or not. Ten auxiliary variables an ellipsoid.
    """

    ellipsoids: tuple[Ellipsoid, ...]

    def __post_init__(self):
        object.__setattr__(self, "ellipsoids", tuple(self.ellipsoids))
        if not self.ellipsoids:
            raise InertiaError("a union of no ellipsoids holds no body; give at least one")

    @property
    def frame(self):
        center = np.mean([e.center for e in self.ellipsoids], axis=0)
        return ball_frame(center, max(np.linalg.norm(e.center - center) + e.semi_axes[0][-1] for e in self.ellipsoids))

    def cone_rows(self, eps=EPS):
        from_balls = np.linalg.inv([e.to_ball for e in self.ellipsoids])
        inside = cones.triangle(np.diag([-1.0, -1.0, -1.0, 1.0]))  # tr(J Q) in the ball's frame
        local = np.concatenate([np.eye(10), inside[None]])
        T = self.frame
        return cones.stack([definite_rows(T, eps), cones.sums(T, from_balls, local, [("psd", 4), ("nonnegative", 1)])])


@dataclass(frozen=True, eq=False)
class Bounds(BodySet):
    """Bodies with parameters between bounds, for example a known mass: `lower <= theta <= upper`, each (10,), infinite
    where free.

    Equal bounds fix a parameter. The one set that is not a cone; combine it with others in an `Intersection`.
    """

    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self):
        for name in ("lower", "upper"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=float))
        if self.lower.shape != (10,) or self.upper.shape != (10,) or not (self.lower <= self.upper).all():
            raise InertiaError(
                f"bounds are {self.lower.tolist()} and {self.upper.tolist()}, expected (10,) each and lower <= upper"
            )

    @property
    def frame(self):
        return np.eye(4)

    def size(self, theta):
        return np.ones(theta.shape[:-1])

    def cone_rows(self, eps=EPS):
        fixed = self.lower == self.upper
        above, below = np.isfinite(self.lower) & ~fixed, np.isfinite(self.upper) & ~fixed
        scale = np.where(np.isfinite(self.lower), np.abs(self.lower), 0.0)
        scale = np.maximum(scale, np.where(np.isfinite(self.upper), np.abs(self.upper), 0.0))
        scale = 1 / np.where(scale > 0, scale, 1.0)
        groups = (
            (fixed, 1.0, self.lower, "zero"),
            (above, 1.0, self.lower, "nonnegative"),
            (below, -1.0, self.upper, "nonnegative"),
        )
        parts = [
            cones.rows(
                (sign * UNITS * scale[:, None])[some],
                [(kind, int(some.sum()))],
                (-sign * scale * np.where(some, bound, 0.0))[some],
            )
            for some, sign, bound, kind in groups
            if some.any()
        ]
        return cones.stack(parts) if parts else cones.rows(np.zeros((0, 10)), [])


@dataclass(frozen=True, eq=False)
class Intersection(BodySet):
    """Bodies in every one of several sets. Measured in the frame of the first set."""

    sets: tuple[BodySet, ...]

    def __post_init__(self):
        object.__setattr__(self, "sets", tuple(self.sets))
        if not self.sets:
            raise InertiaError("an intersection of no sets was asked for; give at least one set")

    @property
    def frame(self):
        return self.sets[0].frame

    def cone_rows(self, eps=EPS):
        return cones.stack([part.cone_rows(eps) for part in self.sets])

    def margin(self, theta):
        return np.min([part.margin(theta) for part in self.sets], axis=0)

    def contains(self, theta):
        return np.all([part.contains(theta) for part in self.sets], axis=0)
