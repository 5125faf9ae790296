"""The nearest body of a convex set: least squares or least entropic divergence over its cone rows.

Least squares is one cone program. The entropic divergence is `tr W - log det W` in coordinates that make the reference
body the identity, which also keeps thin bodies (pseudo-inertias of condition 1e8) well scaled. Its log det is first
bounded by exponential cones, through the factor `Z` in `[[W, Z], [Z^T, diag(z)]] >= 0`, `Z` lower triangular with
diagonal `z`, `log det W = max sum log z_i`; a few Newton steps, each a quadratic model over the same cones, then give
the digits that exponential cones do not.
"""

import numpy as np

from steelyard.errors import InertiaError, choices
from steelyard.inertia import cones, pseudo
from steelyard.inertia.cones import COARSE, NoDigits, minimise

NEWTON_STEPS = 30  # after the exponential cones; three are typical
CONVERGED = 1e-9  # Newton decrement that ends them
SINGULAR = 1e-12  # eigenvalue relative to the size at which the divergence from a body ceases to exist
THINNEST = 1e-4  # least eigenvalue given to such a body before it serves as a reference


def project_onto(rows, frame, theta, metric):
    """The body nearest to theta (10,) in the set `rows`; see `BodySet.project`. frame: (4, 4), metric: name."""
    J = frame @ pseudo.to_matrix(theta) @ frame.T
    size = np.abs(J).max() or 1.0
    if metric == "euclidean":
        return _least_squares(rows, theta, size, np.abs(np.linalg.det(frame[:3, :3])) ** (-1 / 3))
    if metric == "entropic":
        values, vectors = np.linalg.eigh(J)
        if values[0] <= SINGULAR * size:
            values = np.maximum(values, THINNEST * size)
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
    for _ in range(
        NEWTON_STEPS
    ):  # in coordinates that make the current body the identity, so the Hessian is the identity too
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
        if decrement <= CONVERGED:
            break
    return theta


def _cholesky(W):
    try:
        return np.linalg.cholesky(W)
    except np.linalg.LinAlgError as error:
        raise NoDigits(
            "the body of the set nearest to theta is singular to rounding: theta is thin or far from the set. "
            "Project with a larger eps, or "
            "with metric='euclidean'"
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
