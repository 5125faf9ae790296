"""What all sets of bodies can do: cone rows, membership, violation and projection, each from the same rows."""

from abc import ABC, abstractmethod

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import batches, cones, pseudo
from steelyard.inertia.cones import ConeRows
from steelyard.inertia.projection import project_onto

EPS = 1e-8  # default distance from singular bodies: a body is no thinner than sqrt(EPS) of the set's size
ROUNDING = 1e-12  # smallest eigenvalue of a body with volume, relative to its size
TOUCH = 1e-9  # how far outside a linear bound still counts as on it, relative to the body's size
UNITS = np.eye(10)


def _moments() -> np.ndarray:
    """(10, 4, 4) pseudo-inertia of each unit parameter: `pseudo.to_matrix(UNITS)`, without the array API at import."""
    J = np.zeros((10, 4, 4))
    J[0, 3, 3] = 1.0
    for i in range(3):
        J[1 + i, i, 3] = J[1 + i, 3, i] = 1.0
    for k, (i, j) in zip(range(4, 10), ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)), strict=True):
        J[k, :3, :3] = 0.5 * (i == j) * np.eye(3)
        J[k, [i, j], [j, i]] -= 1.0
    return J


MOMENTS = _moments()


class BodySet(ABC):
    """A closed convex set of inertial parameters; see the subclasses. Parameters are NumPy arrays (..., 10)."""

    @property
    @abstractmethod
    def frame(self) -> np.ndarray:
        """Affine map `[x; 1] -> [y; 1]`, (4, 4), to the unit ball that sets the scale."""

    @abstractmethod
    def cone_rows(self, eps=EPS) -> ConeRows:
        """The set as linear cone constraints, kept away from singular bodies: `J >= eps m 1` in the set's frame, eps
        unitless.

        Only the positive-definiteness rows are tightened; with eps = 0 the rows describe the closed set.
        """

    def size(self, theta):
        """Largest entry of the pseudo-inertia in the set's frame, in kg: what violations are relative to. theta: (...,
        10).
        """
        T = self.frame
        return np.abs(T @ pseudo.to_matrix(theta) @ T.T).max(axis=(-1, -2))

    def margin(self, theta):
        """How deep inside the set a body lies, relative to its size: the smallest eigenvalue over all cones; negative
        outside.

        theta: (..., 10). Returns (...), unitless. Sets with auxiliary variables solve one small cone program a body,
        and report no depth: 0 inside, up to about 1e-9.
        """
        theta = _finite(theta)
        return _margin(self.cone_rows(0.0), theta / _nonzero(self.size(theta))[..., None])

    def violation(self, theta):
        """How far outside the set a body lies, unitless: 0 in the closed set, else the missing eigenvalue. theta: (...,
        10).
        """
        return np.maximum(0.0, -self.margin(theta))

    def contains(self, theta):
        """Whether bodies (..., 10) are in the set, bool (...).

        Mass must be positive and definiteness strict (beyond rounding), as charts and divergences need it: a point mass
        or a flat plate has no violation and still is not contained. Bodies on a linear bound (all mass on the surface
        of the ellipsoid) are contained.
        """
        theta = _finite(theta)
        rows = self.cone_rows(0.0)
        scaled = theta / _nonzero(self.size(theta))[..., None]
        own = _without_aux(rows)
        values = (
            cones.smallest_eigenvalues(own.slack(scaled), own.cones) if own.cones else np.zeros((*theta.shape[:-1], 0))
        )
        floor = np.array([ROUNDING if kind == "psd" else -TOUCH for kind, _ in own.cones])
        inside = (values >= floor).all(axis=-1) & (theta[..., 0] > 0)
        return inside & (_margin(rows, scaled) >= -cones.ACCURACY) if rows.aux else inside

    def project(self, theta, *, metric="entropic", eps=EPS):
        """The nearest body of the set, kept `eps` away from singular ones (see `cone_rows`); a body already there is
        returned unchanged.

        theta: (..., 10). metric: "entropic", the least divergence `d(J || J0)` from it (invariant to units and frame),
        or "euclidean", the least sum of squares of the differences of the ten numbers as they are (kg, kg m, kg m^2
        alike; depends on units and frame). The divergence is finite for consistent bodies only, so the entropic result
        is consistent whatever the set. It is undefined from an inconsistent (or singular) theta, which is first
        replaced by the nearest pseudo-inertia, in the set's frame, with eigenvalues of at least 1e-4 of its size: as if
        the body were no thinner than a hundredth of the set. Accurate to about 1e-9 of the body's size, 1e-6 when the
        nearest body is nearly singular. The Euclidean nearest point to a theta of negative mass may be the tip of the
        cone, with no mass worth the name. Raises InertiaError: unknown metric, numbers not finite, an empty set, no
        digits.
        """
        theta = _finite(theta)
        rows, flat = self.cone_rows(eps), theta.reshape(-1, 10)
        if metric == "entropic" and ("psd", 4) not in _without_aux(rows).cones:
            rows = cones.stack([rows, definite_rows(self.frame, eps)])
        sizes = _nonzero(self.size(flat))
        depths = _margin(rows, flat / sizes[:, None]) if not rows.b.any() else _margin(rows, flat)
        projected = [
            body if depth >= -TOUCH else project_onto(rows, self.frame, body, metric)
            for body, depth in zip(flat, depths, strict=True)
        ]
        return np.reshape(projected, theta.shape)


def _finite(theta):
    theta = np.asarray(batches.as_vector(theta, "theta"), dtype=float)
    index = batches.first_false(np.isfinite(theta).all(axis=-1))
    if index is not None:
        where = batches.place(index, theta.shape[:-1])
        raise InertiaError(f"theta of {where} has numbers that are not finite: {theta[index].tolist()}")
    return theta


def _nonzero(size):
    return np.where(size > 0, size, 1.0)


def _margin(rows, theta):
    """Smallest cone eigenvalue of theta (..., 10), best over the auxiliary variables."""
    if not rows.aux:
        return cones.smallest_eigenvalues(rows.slack(theta), rows.cones).min(axis=-1)
    flat = theta.reshape(-1, 10)
    return np.reshape([cones.deepest(rows, body) for body in flat], theta.shape[:-1])


def _without_aux(rows):
    """The cones of a set that no auxiliary variable touches."""
    own = [(kind, n, block) for kind, n, block in rows.blocks() if not rows.A_aux[block].any()]
    index = np.concatenate([np.arange(block.start, block.stop) for _, _, block in own]) if own else np.zeros(0, int)
    return ConeRows(
        rows.A_theta[index], np.zeros((len(index), 0)), rows.b[index], tuple((kind, n) for kind, n, _ in own)
    )


def ball_frame(center, radius):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.eye(3) / radius, -np.asarray(center) / radius
    return T


def definite_rows(T, eps):
    """Rows of `T J T^T >= eps m 1`. T: (4, 4)."""
    J = T @ MOMENTS @ T.T - eps * UNITS[:, 0, None, None] * np.eye(4)
    return cones.rows(cones.triangle(J).T, [("psd", 4)])
