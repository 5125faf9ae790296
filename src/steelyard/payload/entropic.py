"""Thousands of least-squares fits with entropic divergence to a prior, in one call into the compiled core.

Each minimises `||A theta - b||^2 + weight * d(J || J0)`, `d = tr(J0^-1 J) - log det(J0^-1 J) - 4` (Lee, Wensing and
Park 2020; "GEO" of paper E): convex, and its barrier keeps J > 0. In coordinates that make the prior the identity,
primal-dual steps with the scaling of Nesterov and Todd and Mehrotra's predictor and corrector follow the central path
to the asked weight, and Newton steps give the last digits. One such fit is `fit.consistent` with this regularizer.
"""

from dataclasses import dataclass

import numpy as np

from steelyard import native
from steelyard.cards import Card
from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import cones, pseudo
from steelyard.native import CHUNK
from steelyard.numbers import ROUNDS, STEPS

BOUNDARY = 0.9  # of the way to a singular body that one step may go
SHORTER, TRIALS = 0.8, 60  # from one trial of a step's length to the next, and how many
CENTERED = 1e-4  # relative distance from the central path at which Newton steps take over
ACCEPTED = 0.5  # the same after the last step
CONVERGED, HALVINGS = 1e-20, 40  # decrement that ends them, relative to the data, and halvings of one


@dataclass(frozen=True, eq=False, repr=False)
class EntropicFits(Card):
    """theta (N, 10), covariance (N, 10, 10) and which problems converged (N,); NaN where not."""

    theta: np.ndarray
    covariance: np.ndarray
    converged: np.ndarray


def entropic_fits(gram, moment, prior, *, weight=1.0) -> EntropicFits:
    """Minimise `theta^T gram theta - 2 moment . theta + weight d(J || J0)` for N problems.

    Such problems are payloads of a fleet, bootstrap samples or sliding windows.

    Args:
        gram: (N, 10, 10) sums `A^T A` in units of the noise.
        moment: (N, 10) sums `A^T b`.
        prior: (10,) or (N, 10), physically consistent.
        weight: number or (N,).

    Returns:
        Parameters, covariances from the curvature at the optimum, and whether each problem converged.

    Raises:
        InertiaError: a prior that is not physically consistent.
        OptionError: shapes that do not match.
        ImportError: there is no compiled core.

    Source: paper E, "GEO".
    """
    gram, moment = np.asarray(gram, dtype=float), np.asarray(moment, dtype=float)
    if moment.ndim != 2 or moment.shape[1] != 10 or gram.shape != (*moment.shape, 10):
        raise OptionError(f"Sums of shapes (N, 10, 10) and (N, 10) are expected; got {gram.shape} and {moment.shape}.")
    basis = unit_basis(np.broadcast_to(np.asarray(prior, dtype=float), moment.shape))
    half = (np.broadcast_to(np.asarray(weight, dtype=float), len(moment)) / 2)[:, None, None]
    grams = np.swapaxes(basis, 1, 2) @ gram @ basis / half
    pulls = (moment[:, None] @ basis / half)[:, 0] - cones.triangle(np.eye(4))
    solutions, spreads, converged = _by_core(grams, pulls)
    solutions[~converged] = np.nan
    spreads[~converged] = np.nan
    theta = (basis @ solutions[..., None])[..., 0]
    return EntropicFits(theta, basis @ spreads @ np.swapaxes(basis, 1, 2) / half, converged)


def unit_basis(reference) -> np.ndarray:
    """(..., 10, 10) from coordinates w of `J = L W L^T` to theta, W 1 for the reference. Raises InertiaError: none of a
    body."""
    try:
        return cones.relative_basis(np.linalg.cholesky(pseudo.to_matrix(reference)))
    except np.linalg.LinAlgError as error:
        raise InertiaError("the prior is not physically consistent; project it onto Consistent() first") from error


def _by_core(grams, pulls) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solutions (N, 10), inverse Hessians (N, 10, 10) and which converged (N,), pieces over threads."""
    core = native.require_core()
    rules = np.array([STEPS, ROUNDS, TRIALS, CENTERED, ACCEPTED, BOUNDARY, SHORTER, CONVERGED, HALVINGS])
    solutions, spreads, converged = np.empty_like(pulls), np.empty_like(grams), np.empty(len(pulls), dtype=bool)

    def fit(start: int):
        part = slice(start, start + CHUNK)
        core.entropic(grams[part], pulls[part], rules, solutions[part], spreads[part], converged[part])

    native.for_each(fit, range(0, len(pulls), CHUNK))
    return solutions, spreads, converged
