"""Convex sets of bodies, and projection onto them: least squares or least entropic divergence over their cone rows.

Least squares is one cone program. The entropic divergence is `tr W - log det W` in coordinates that make the reference
body the identity, which also keeps thin bodies (pseudo-inertias of condition 1e8) well scaled. Its log det is first
bounded by exponential cones, through the factor `Z` in `[[W, Z], [Z^T, diag(z)]] >= 0`, `Z` lower triangular with
diagonal `z`, `log det W = max sum log z_i`; a few Newton steps, each a quadratic model over the same cones, then give
the digits that exponential cones do not.
"""

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

from steelyard.errors import InertiaError, choices
from steelyard.inertia import batches, cones, pseudo
from steelyard.inertia.cones import COARSE, ConeRows, NoDigits, minimise
from steelyard.numbers import NEGLIGIBLE, ROUNDING, SAME, STEPS


def project_onto(rows, frame, theta, metric):
    """The body nearest to theta (10,) in the set `rows`; see `BodySet.project`. frame: (4, 4), metric: name."""
    J = frame @ pseudo.to_matrix(theta) @ frame.T
    size = np.abs(J).max() or 1.0
    if metric == "euclidean":
        return _least_squares(rows, theta, size, np.abs(np.linalg.det(frame[:3, :3])) ** (-1 / 3))
    if metric == "entropic":
        values, vectors = np.linalg.eigh(J)
        if values[0] <= ROUNDING * size:
            values = np.maximum(values, 1e-4 * size)  # such a body is no reference
        return _least_divergence(rows, np.linalg.inv(frame) @ (vectors * np.sqrt(values)), frame)
    raise InertiaError(
        f"unknown metric {metric!r} for a projection; expected one of {choices(['entropic', 'euclidean'])}"
    )


def _program(rows, basis, size):
    """Rows `b - A [z; aux]` with `theta = basis z`, in units of the body's size."""
    aux_scale = 1 / np.maximum(np.linalg.norm(rows.A_aux, axis=0), 1e-300)
    return np.column_stack([rows.A_theta @ basis / size, rows.A_aux * aux_scale]), rows.b / size


def _minimise(rows, basis, size, P, q):
    """The theta (10,) `= basis z` in the set that minimises `1/2 z^T P z + q^T z`."""
    A, b = _program(rows, basis, size)
    padding, pull = (
        (0, rows.aux),
        max(1.0, np.abs(q).max()),
    )  # a far reference pulls hard: keep multipliers of order one
    return basis @ minimise(np.pad(P / pull, (padding, padding)), np.pad(q / pull, padding), A, b, rows.cones)[:10]


def _least_squares(rows, theta, size, length):
    """The body with the least `||theta' - theta||`, in units of the body's size in kg and the set's length in m."""
    units = size * np.array([1.0] + [length] * 3 + [length**2] * 6)
    weight = (units / units.max()) ** 2
    return _minimise(rows, np.diag(units), size, np.diag(weight), -weight * theta / units)


def _least_divergence(rows, reference, frame):
    """The body with the least `tr(J0^{-1} J) - log det J`, `J0 = reference reference^T`, reference: (4, 4)."""
    theta = _exponential_start(rows, reference, _size(frame, reference))
    to_reference = np.linalg.inv(reference)
    for _ in range(STEPS):  # in coordinates that make the current body the identity, so the Hessian is the identity too
        relative = _cholesky(to_reference @ pseudo.to_matrix(theta) @ to_reference.T)
        root = reference @ relative
        identity = cones.triangle(np.eye(4))
        q = cones.triangle(relative.T @ relative) - 2 * identity
        basis = cones.relative_basis(root)
        try:
            target = _minimise(rows, basis, _size(frame, root), np.eye(10), q)
        except NoDigits:  # nearly singular bodies: what the exponential cones gave is as good as it gets
            break
        decrement = np.linalg.norm(np.linalg.solve(basis, target) - identity)
        theta = theta + (target - theta) / (1.0 if decrement < 0.25 else 1.0 + decrement)
        if decrement <= 1e-9:  # Newton decrement that ends them
            break
    return theta


def _cholesky(W):
    try:
        return np.linalg.cholesky(W)
    except np.linalg.LinAlgError as error:
        raise NoDigits(
            "the body of the set nearest to theta is singular to rounding: theta is thin or far from the set. Project "
            "with a larger eps, or with metric='euclidean'"
        ) from error


def _size(frame, root):
    """Largest entry of `root root^T` in the frame, kg."""
    return np.abs(frame @ root @ root.T @ frame.T).max()


def _exponential_start(rows, reference, size):
    """The minimiser theta (10,) of the divergence to the accuracy of exponential cones."""
    basis = cones.relative_basis(reference)
    A, b = _program(rows, basis, size)
    n = A.shape[1]
    column, row = np.tril_indices(4)  # of the upper triangle of W; of the lower triangle of Z as (column, row)
    count = n + len(row) + 4  # variables: x, lower triangle of Z, t_i <= log Z_ii
    lifted = np.zeros((count, 8, 8))
    lifted[:10, :4, :4] = cones.units(4)
    for k, (i, j) in enumerate(zip(column, row, strict=True)):
        lifted[n + k, i, 4 + j] = lifted[n + k, 4 + j, i] = 1.0
        if i == j:
            lifted[n + k, 4 + i, 4 + i] = 1.0
    exponential = np.zeros((12, count))
    for i in range(4):
        exponential[3 * i, n + len(row) + i] = -1.0  # (t, 1, z) with exp(t) <= z
        exponential[3 * i + 2, n + int(np.flatnonzero((column == i) & (row == i))[0])] = -1.0
    A = np.concatenate([np.pad(A, ((0, 0), (0, count - n))), -cones.triangle(lifted).T, exponential])
    offsets = np.concatenate([b, np.zeros(36), np.tile([0.0, 1.0, 0.0], 4)])
    cost = np.concatenate([cones.triangle(np.eye(4)), np.zeros(count - 14), -np.ones(4)])
    kinds = [*rows.cones, ("psd", 8), *[("exponential", 3)] * 4]
    return basis @ minimise(np.zeros((count, count)), cost, A, offsets, kinds, tolerances=COARSE)[:10]


EPS = 1e-8  # default distance from singular bodies: a body is no thinner than sqrt(EPS) of the set's size
UNITS = np.eye(10)


@lru_cache
def moments() -> np.ndarray:
    """(10, 4, 4) pseudo-inertia of each unit parameter."""
    return pseudo.to_matrix(UNITS)


class BodySet(ABC):
    """A closed convex set of inertial parameters; see the subclasses. Parameters are NumPy arrays (..., 10)."""

    @property
    @abstractmethod
    def frame(self) -> np.ndarray:
        """Affine map `[x; 1] -> [y; 1]`, (4, 4), to the unit ball that sets the scale."""

    @abstractmethod
    def cone_rows(self, eps=EPS) -> ConeRows:
        """The set as linear cone constraints, kept away from singular bodies: `J >= eps m 1` in its frame; eps = 0: the
        closed set."""

    def size(self, theta):
        """Largest entry of the pseudo-inertia in the set's frame, in kg: what violations are relative to. theta: (...,
        10)."""
        T = self.frame
        return np.abs(T @ pseudo.to_matrix(theta) @ T.T).max(axis=(-1, -2))

    def margin(self, theta):
        """(...) how deep inside the set bodies (..., 10) lie, over their size: the smallest eigenvalue of all cones,
        negative outside; with auxiliary variables one small cone program a body, and no depth: 0 inside, up to about
        1e-9."""
        theta = _finite(theta)
        return _margin(self.cone_rows(0.0), theta / _nonzero(self.size(theta))[..., None])

    def violation(self, theta):
        """How far outside the set a body lies, unitless: 0 in the closed set, else the missing eigenvalue. theta: (...,
        10)."""
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
        floor = np.array([ROUNDING if kind == "psd" else -NEGLIGIBLE for kind, _ in own.cones])
        inside = (values >= floor).all(axis=-1) & (theta[..., 0] > 0)
        return inside & (_margin(rows, scaled) >= -SAME) if rows.aux else inside

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
            body if depth >= -NEGLIGIBLE else project_onto(rows, self.frame, body, metric)
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
    return rows.only([each for each in rows.blocks() if not rows.A_aux[each[2]].any()])


def ball_frame(center, radius):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.eye(3) / radius, -np.asarray(center) / radius
    return T


def definite_rows(T, eps):
    """Rows of `T J T^T >= eps m 1`. T: (4, 4)."""
    J = T @ moments() @ T.T - eps * UNITS[:, 0, None, None] * np.eye(4)
    return cones.rows(cones.triangle(J).T, [("psd", 4)])
