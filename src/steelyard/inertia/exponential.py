"""Exponential chart of the consistent inertias: `gamma = vech(log J)` (paper A, section "Pseudo Inertia").

Smooth, global and one-to-one, with no singular locus. It depends on units and frame more than the other charts, since
`log` mixes the entries of `J`. Half-vectorisation takes the upper triangle column by column, as paper A does for the
inertia matrix: `[xx, xy, yy, xz, yz, zz, x1, y1, z1, 11]` with the pseudo-inertia's index order `[x, y, z, 1]`.
"""

import numpy as np

from steelyard.inertia import batches, pseudo
from steelyard.inertia.batches import in_blocks
from steelyard.namespaces import array_namespace

_PAIRS = tuple((row, column) for column in range(4) for row in range(column + 1))


def to_parameters(gamma):
    """Inertial parameters of a chart point. gamma: (..., 10). Returns theta: (..., 10), `J = exp(invvech(gamma))`."""
    gamma = batches.as_vector(gamma, "gamma")
    xp = array_namespace(gamma)
    w, V = xp.linalg.eigh(_symmetric(gamma))
    return pseudo.to_parameters((V * xp.exp(w)[..., None, :]) @ xp.matrix_transpose(V))


def from_parameters(theta):
    """Chart point of a consistent body. theta: (..., 10). Returns gamma: (..., 10).

    Raises InertiaError if any pseudo-inertia is not positive definite.
    """
    theta = batches.as_vector(theta, "theta")
    xp = array_namespace(theta)
    clean, ok = batches.finite_bodies(theta)
    w, V = xp.linalg.eigh(pseudo.to_matrix(clean))
    ok = ok & (w[..., 0] > 0)
    batches.require_consistent(theta, ok)
    log_w = xp.log(xp.where(ok[..., None], w, xp.nan))
    log_J = (V * log_w[..., None, :]) @ xp.matrix_transpose(V)
    return xp.stack([log_J[..., i, j] for i, j in _PAIRS], axis=-1)


def jacobian(gamma):
    """Analytic derivative `d theta / d gamma`. gamma: (..., 10). Returns (..., 10, 10).

    Daleckii-Krein: in the eigenbasis of `log J` the derivative of `exp` multiplies entry (i, j) by the divided
    difference `(e^wi - e^wj) / (wi - wj)`, written so that equal and nearly equal eigenvalues lose nothing.
    """
    return _jacobian(batches.as_vector(gamma, "gamma"))


@in_blocks
def _jacobian(gamma):
    xp = array_namespace(gamma)
    w, V = xp.linalg.eigh(_symmetric(gamma))
    wi, wj = w[..., :, None], w[..., None, :]
    half = (wi - wj) / 2
    equal = half == 0
    divided = xp.exp((wi + wj) / 2) * xp.where(equal, 1.0, xp.sinh(half) / xp.where(equal, 1.0, half))
    V, Vt = V[..., None, :, :], xp.matrix_transpose(V)[..., None, :, :]
    units = xp.asarray(_symmetric(np.eye(10)), dtype=w.dtype)  # its derivatives, (10, 4, 4)
    dJ = V @ (divided[..., None, :, :] * (Vt @ units @ V)) @ Vt
    return xp.matrix_transpose(pseudo.to_parameters(dJ))


def _symmetric(gamma):
    xp = array_namespace(gamma)
    rows = [[gamma[..., _PAIRS.index((min(i, j), max(i, j)))] for j in range(4)] for i in range(4)]
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
