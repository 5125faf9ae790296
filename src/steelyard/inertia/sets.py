"""Convex sets of bodies: which ten numbers can belong to a body (paper B, sections IV and V).

Each set is given once, by its cone rows; membership, violation, projection and every fit use the same rows. All but
`Bounds` are cones: a body is in the set whatever its mass, so "small" is always meant per mass and per length. To that
end a set measures bodies in a frame of its own, the pseudo-inertia `T J T^T`, with `T` the map to a unit ball of the
set's size.

Nesting: EllipsoidRealizable within Consistent and ComInEllipsoid; Consistent within SemiConsistent.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import cones, parameters
from steelyard.inertia.body_set import EPS, MOMENTS, UNITS, BodySet, ball_frame, definite_rows
from steelyard.inertia.ellipsoid import Ellipsoid


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
        moved = (self.frame @ MOMENTS)[:, :3, 3]  # first moment in the ball's frame
        return cones.rows(np.column_stack([UNITS[:, 0], moved]).T, [("soc", 4)])


@dataclass(frozen=True, eq=False)
class EllipsoidRealizable(BodySet):
    """Bodies whose mass can lie inside an ellipsoid: `J > 0` and `tr(J Q) >= 0` (B, Theorem 4). Exact."""

    ellipsoid: Ellipsoid

    @property
    def frame(self):
        return self.ellipsoid.to_ball

    def cone_rows(self, eps=EPS):
        inside = np.trace(MOMENTS @ self.ellipsoid.quadric, axis1=1, axis2=2)
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
