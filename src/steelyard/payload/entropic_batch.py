"""Thousands of small entropic fits at once: payloads of a fleet, bootstrap samples, sliding windows."""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import InertiaError, OptionError, choices
from steelyard.inertia import cones, pseudo
from steelyard.payload.entropic import UNITS


@dataclass(frozen=True, eq=False)
class EntropicFits:
    """theta (N, 10), covariance (N, 10, 10) and which problems converged (N,); NaN where not."""

    theta: np.ndarray
    covariance: np.ndarray
    converged: np.ndarray


def entropic_fits(gram, moment, prior, *, weight=1.0, engine: str = "numba") -> EntropicFits:
    """Minimise `theta^T gram theta - 2 moment . theta + weight d(J || J0)` for N problems.

    Args:
        gram: (N, 10, 10) sums `A^T A` in units of the noise.
        moment: (N, 10) sums `A^T b`.
        prior: (10,) or (N, 10), physically consistent.
        weight: number or (N,).
        engine: "numba", on all cores, or "jax", on JAX's default device (for a GPU: on a CPU it is far slower).

    Returns:
        Parameters, covariances as of `entropic_fit`, and whether each problem converged.

    Raises:
        InertiaError: a prior that is not physically consistent.
        OptionError: shapes that do not match, and another engine.

    Source: paper E, "GEO".
    """
    gram, moment = np.asarray(gram, dtype=float), np.asarray(moment, dtype=float)
    if moment.ndim != 2 or moment.shape[1] != 10 or gram.shape != (*moment.shape, 10):
        raise OptionError(f"Sums of shapes (N, 10, 10) and (N, 10) are expected; got {gram.shape} and {moment.shape}.")
    basis = _coordinates(np.broadcast_to(np.asarray(prior, dtype=float), moment.shape))
    half = (np.broadcast_to(np.asarray(weight, dtype=float), len(moment)) / 2)[:, None, None]
    grams = np.swapaxes(basis, 1, 2) @ gram @ basis / half
    pulls = (moment[:, None] @ basis / half)[:, 0] - cones.triangle(np.eye(4))
    if engine == "jax":
        from steelyard.payload.entropic_jax import solve_all
    elif engine == "numba":
        from steelyard.payload.entropic_kernel import solve_all
    else:
        raise OptionError(f"engine is {choices(('numba', 'jax'))}; got {engine!r}.")
    solutions, spreads, converged = solve_all(grams, pulls)
    solutions[~converged] = np.nan
    spreads[~converged] = np.nan
    theta = (basis @ solutions[..., None])[..., 0]
    return EntropicFits(theta, basis @ spreads @ np.swapaxes(basis, 1, 2) / half, converged)


def _coordinates(prior):
    """(N, 10, 10) whose product with `triangle(W)` is the theta of `L W L^T`; `L L^T` is the prior's pseudo-inertia."""
    try:
        root = np.linalg.cholesky(pseudo.to_matrix(prior))
    except np.linalg.LinAlgError as error:
        raise InertiaError("a prior is not physically consistent; project it onto Consistent() first") from error
    basis = pseudo.to_parameters(root[:, None] @ UNITS @ np.swapaxes(root, 1, 2)[:, None])
    return np.swapaxes(basis, 1, 2)
