"""Least squares with entropic divergence to a prior (Lee, Wensing and Park 2020; "GEO" of paper E), one or thousands.

Minimises `||A theta - b||^2 + weight * d(J || J0)`, `d = tr(J0^-1 J) - log det(J0^-1 J) - 4`: convex, and its barrier
keeps J > 0. In coordinates that make the prior the identity, primal-dual steps with the scaling of Nesterov and Todd
and Mehrotra's predictor and corrector follow the central path to the asked weight (plain Newton steps crawl along the
curved boundary when the data is stiff), and Newton steps give the last digits. `central_path` has the steps for NumPy
and JAX; the compiled core has them entry by entry, for thousands of fits.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard import native
from steelyard.cards import Card
from steelyard.errors import FitError, InertiaError, OptionError, choices
from steelyard.extras import extra
from steelyard.inertia import cones, parameters, pseudo
from steelyard.payload.central_path import (
    ACCEPTED,
    BOUNDARY,
    CENTERED,
    CONVERGED,
    POLISH,
    STEPS,
    advanced,
    newton_step,
    paired,
    start,
)
from steelyard.payload.payload_estimate import DENSITY, FARTHEST

SHORTER, TRIALS = 0.8, 60  # from one trial of a step's length to the next, and how many
NEWTON = (CONVERGED, 40)  # and halvings of a step
PIECE = 256  # problems that a thread takes at a time
CHUNK = 4096  # problems at a time on a device: they wait for the slowest among them


def entropic_fit(A, b, prior, *, weight: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """theta (10,) and its covariance (10, 10), from the curvature of cost and divergence at the optimum.

    A: (k, 10), b: (k,) in units of the noise; prior: (10,), consistent. Raises InertiaError for another prior,
    FitError if the iteration does not converge.
    """
    basis = unit_basis(np.asarray(prior, dtype=float))
    F, right = A @ basis / np.sqrt(weight / 2), b / np.sqrt(weight / 2)  # so that the divergence weighs two
    gram, pull = F.T @ F, F.T @ right - cones.triangle(np.eye(4))
    w, hessian = _polished(gram, pull, _central_point(gram, pull))
    return basis @ w, 2 / weight * basis @ np.linalg.solve(hessian, basis.T)


@dataclass(frozen=True, eq=False, repr=False)
class EntropicFits(Card):
    """theta (N, 10), covariance (N, 10, 10) and which problems converged (N,); NaN where not."""

    theta: np.ndarray
    covariance: np.ndarray
    converged: np.ndarray


def entropic_fits(gram, moment, prior, *, weight=1.0, engine: str = "native") -> EntropicFits:
    """Minimise `theta^T gram theta - 2 moment . theta + weight d(J || J0)` for N problems.

    Such problems are payloads of a fleet, bootstrap samples or sliding windows.

    Args:
        gram: (N, 10, 10) sums `A^T A` in units of the noise.
        moment: (N, 10) sums `A^T b`.
        prior: (10,) or (N, 10), physically consistent.
        weight: number or (N,).
        engine: "native", the compiled core on all processor cores (NumPy, one by one, where that is missing), or "jax",
            on JAX's default device (for a GPU: on a CPU it is far slower).

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
    basis = unit_basis(np.broadcast_to(np.asarray(prior, dtype=float), moment.shape))
    half = (np.broadcast_to(np.asarray(weight, dtype=float), len(moment)) / 2)[:, None, None]
    grams = np.swapaxes(basis, 1, 2) @ gram @ basis / half
    pulls = (moment[:, None] @ basis / half)[:, 0] - cones.triangle(np.eye(4))
    if engine == "jax":
        solutions, spreads, converged = _on_device(grams, pulls)
    elif engine == "native":
        solutions, spreads, converged = _by_core(grams, pulls) if native.core() else _one_by_one(grams, pulls)
    else:
        raise OptionError(f"engine is {choices(('native', 'jax'))}; got {engine!r}.")
    solutions[~converged] = np.nan
    spreads[~converged] = np.nan
    theta = (basis @ solutions[..., None])[..., 0]
    return EntropicFits(theta, basis @ spreads @ np.swapaxes(basis, 1, 2) / half, converged)


def unit_basis(reference) -> np.ndarray:
    """(..., 10, 10) from coordinates w of `J = L W L^T`, W the unit for the reference (..., 10), to theta.

    Raises InertiaError for a reference that is not physically consistent.
    """
    try:
        return cones.relative_basis(np.linalg.cholesky(pseudo.to_matrix(reference)))
    except np.linalg.LinAlgError as error:
        raise InertiaError("the prior is not physically consistent; project it onto Consistent() first") from error


def _central_point(gram, pull):
    """w (10,) near the minimum of `1/2 w^T gram w - pull . w - log det W`: its dual is `S = W^-1`."""
    (W, S), distance = start(np, gram, pull), np.inf
    for _ in range(STEPS):
        pair = paired(np, W, S)
        distance = float(np.abs(pair[1] - 1).max())
        if distance < CENTERED:
            return cones.triangle(W)
        W, S = advanced(np, gram, pull, W, S, *pair)
    if distance < ACCEPTED:  # stiff data leaves no more digits
        return cones.triangle(W)
    raise FitError("The entropic fit did not converge. Check the units of the log and the prior, or raise the weight")


def _polished(gram, pull, w):
    """The minimiser and the Hessian there, by Newton steps from close by."""
    for _ in range(POLISH):
        step, hessian = newton_step(np, gram, pull, w)
        if np.linalg.eigvalsh(cones.from_triangle(w + step, 4))[0] <= 0:
            return w, hessian
        w = w + step
        if step @ hessian @ step < CONVERGED * max(1.0, float(w @ gram @ w)):
            break
    return w, gram + cones.congruence_matrix(np.linalg.inv(cones.from_triangle(w, 4)))


def _by_core(grams, pulls) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solutions (N, 10), inverse Hessians (N, 10, 10) and which converged (N,), pieces over threads."""
    core, rules = (
        native.require_core(),
        np.array([STEPS, POLISH, TRIALS, CENTERED, ACCEPTED, BOUNDARY, SHORTER, *NEWTON]),
    )
    solutions, spreads, converged = np.empty_like(pulls), np.empty_like(grams), np.empty(len(pulls), dtype=bool)

    def fit(start: int):
        part = slice(start, start + PIECE)
        core.entropic(grams[part], pulls[part], rules, solutions[part], spreads[part], converged[part])

    native.for_each(fit, range(0, len(pulls), PIECE))
    return solutions, spreads, converged


def _one_by_one(grams, pulls) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by NumPy."""
    solutions, spreads, converged = np.empty_like(pulls), np.empty_like(grams), np.zeros(len(pulls), dtype=bool)
    for k, (gram, pull) in enumerate(zip(grams, pulls, strict=True)):
        try:
            w, hessian = _polished(gram, pull, _central_point(gram, pull))
        except (FitError, np.linalg.LinAlgError):
            continue
        solutions[k], spreads[k], converged[k] = w, np.linalg.inv(hessian), True
    return solutions, spreads, converged


def _on_device(grams, pulls) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solutions (N, 10), inverse Hessians (N, 10, 10) and which converged (N,), by JAX."""
    with extra("Engine 'jax'"):
        import jax

    with jax.enable_x64(True):
        parts = [_compiled()(grams[k : k + CHUNK], pulls[k : k + CHUNK]) for k in range(0, len(pulls), CHUNK)]
        w, spread, converged = (np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(3))
    return w, spread, converged


@lru_cache(maxsize=1)
def _compiled():
    """Many fits at once under `vmap`: `_central_point` and `_polished` with loops that JAX can trace."""
    import jax
    import jax.numpy as jnp

    def fit(gram, pull):
        def advance(state):
            W, S, _, turn = state
            pair = paired(jnp, W, S)
            return *advanced(jnp, gram, pull, W, S, *pair), jnp.abs(pair[1] - 1).max(), turn + 1

        going = lambda state: (state[2] >= CENTERED) & (state[3] < STEPS)  # noqa: E731
        state = (*start(jnp, gram, pull), jnp.asarray(jnp.inf), jnp.asarray(0))
        w = cones.triangle(jax.lax.while_loop(going, advance, state)[0])
        for _ in range(POLISH):
            trial = w + newton_step(jnp, gram, pull, w)[0]
            w = jnp.where(jnp.linalg.eigvalsh(cones.from_triangle(trial, 4))[0] > 0, trial, w)
        step, hessian = newton_step(jnp, gram, pull, w)
        small = step @ hessian @ step < 1e-9 * jnp.maximum(1.0, w @ gram @ w)
        return w, jnp.linalg.inv(hessian), small & (jnp.linalg.eigvalsh(cones.from_triangle(w, 4))[0] > 0)

    return jax.jit(jax.vmap(fit))


def compact_body(mass, com) -> np.ndarray:
    """(10,) of a body with radius of gyration `(m / 1000 kg/m^3)^(1/3)`: elongated, and about as dense as water.

    mass: kg, positive; com: (3,) in m, pulled in where it is farther than such a body can be held.
    """
    radius = (mass / DENSITY) ** (1 / 3)
    com = np.asarray(com, dtype=float)
    com = com * min(1.0, FARTHEST * radius / max(float(np.linalg.norm(com)), 1e-12))
    return parameters.from_com_inertia(mass, com, mass * radius**2 * 2 / 3 * np.eye(3))
