"""Our default: a random density inside the shape, conditioned on the data.

The shape is cut into small cells; each has density `rho (1 + delta)` with `delta` a Gaussian field of deviation `sigma`
and correlation length `ell` (in radii of gyration of the shape). Ten numbers follow from it linearly, so the prior on
theta is Gaussian with a covariance that knows the shape: masses far out move the centre and the inertia together, as
they do in real objects. The mass level itself is left to the data. `sigma` and `ell` are unknown; the data weighs every
pair by its evidence (marginal likelihood), and an object whose centre of mass lies off its centroid shows by itself
that it is not homogeneous. Where the conditioned field has negative cells they are held at zero (non-negative least
squares), so that every result is a body of real, positive masses inside the shape: consistent by construction.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError
from steelyard.payload.information import triangle
from steelyard.payload.shape import Solid

CELLS = 96
SIGMAS = (0.1, 0.2, 0.4, 0.8, 1.6)
LENGTHS = (0.25, 0.5, 1.0)
GRAIN = 0.02  # of a cell's mass, independent from cell to cell: keeps the field's covariance invertible
LEVEL = 1.0  # of the mass: how far the overall level may be from what forces alone say
WORTH = 0.02  # evidence share below which a pair is left out


@dataclass(frozen=True, eq=False)
class DensityFit:
    """theta (10,) of the conditioned density, its covariance (10, 10), masses (k,) of the cells, and the evidence-
    weighted deviation of density (0.4: densities differ by 40 % within the object)."""

    theta: np.ndarray
    covariance: np.ndarray
    masses: np.ndarray
    deviation: float


def density_fit(A, b, solid: Solid, mass: float) -> DensityFit:
    """Condition the random density on `A theta ~ b` (k, 10), in units of the noise. mass: kg, from forces.

    Raises FitError for a mass that is not positive.
    """
    if not (np.isfinite(mass) and mass > 0):
        raise FitError(
            f"the forces give a mass of {mass:.4g} kg, so there is nothing to spread over the shape. Nothing is held, "
            "or the sign of wrench or gravity is wrong: sy.payload.diagnose(log) says which"
        )
    P, share, _ = solid.cells(CELLS)
    mean = mass * share
    separation = _separation(P[1:4].T, solid)
    pairs = [(sigma, length) for length in LENGTHS for sigma in SIGMAS]
    fields = [_covariance(separation, mean, *pair) for pair in pairs]
    conditioned = [_condition(A, b, P, mean, K) for K in fields]
    weight = np.array([evidence for *_, evidence in conditioned])
    weight = np.exp(weight - weight.max())
    weight = np.where(weight >= WORTH * weight.max(), weight, 0.0)
    weight /= weight.sum()
    masses, spread = np.zeros_like(mean), np.zeros((10, 10))
    chosen = [i for i, w in enumerate(weight) if w > 0]
    positive = [_positive(A, b, P, mean, fields[i], conditioned[i][0]) for i in chosen]
    for i, m in zip(chosen, positive, strict=True):
        masses += weight[i] * m
        spread += weight[i] * conditioned[i][1]
    theta = P @ masses
    for i, m in zip(chosen, positive, strict=True):
        spread += weight[i] * np.outer(P @ m - theta, P @ m - theta)
    return DensityFit(theta, spread, masses, float(sum(weight[i] * pairs[i][0] for i in chosen)))


def prior_precision(solid: Solid, sigma: float = 0.4, length: float = 0.5) -> np.ndarray:
    """(10, 10) precision of theta of a random density of 1 kg, at one deviation and correlation length."""
    P, share, _ = solid.cells(CELLS)
    prior = P @ _covariance(_separation(P[1:4].T, solid), share, sigma, length) @ P.T
    return np.linalg.inv(prior + 1e-13 * np.diag(np.diag(prior)))


def _separation(centers, solid):
    """(k, k) squared distances of cells, in radii of gyration of the shape."""
    radius = np.trace(np.atleast_2d(np.cov(solid.points.T)))
    return np.sum((centers[:, None] - centers) ** 2, axis=-1) / radius


def _covariance(separation, mean, sigma, length):
    """(k, k) prior covariance of the cells' masses."""
    field = sigma**2 * np.exp(-0.5 * separation / length**2) + LEVEL**2
    return np.outer(mean, mean) * field + np.diag((GRAIN * mean) ** 2)


def _condition(A, b, P, mean, K):
    """Conditioned masses (k,), covariance of theta (10, 10), log evidence."""
    spread = K @ P.T
    prior = P @ spread
    root = np.linalg.cholesky(prior + 1e-13 * np.diag(np.diag(prior)))
    B, r = A @ root, b - A @ (P @ mean)
    H = np.eye(10) + B.T @ B
    z = np.linalg.solve(H, B.T @ r)
    covariance = root @ np.linalg.solve(H, root.T)
    masses = mean + spread @ np.linalg.solve(root.T, z)
    evidence = -0.5 * (r @ r - (B.T @ r) @ z) - 0.5 * np.linalg.slogdet(H)[1]
    return masses, covariance, float(evidence)


def _positive(A, b, P, mean, K, masses):
    """The same with negative cells held at zero."""
    if masses.min() >= 0:
        return masses
    from scipy.optimize import nnls

    scale = float(mean.mean())
    whitening = np.linalg.inv(np.linalg.cholesky(K))
    rows = np.concatenate([A @ P, whitening]) * scale
    factor = triangle(np.column_stack([rows, np.concatenate([b, whitening @ mean])]))
    k = len(mean)
    return scale * nnls(factor[:k, :k], factor[:k, k], maxiter=50 * k)[0]
