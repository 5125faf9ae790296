"""Many entropic fits at once on JAX's default device: the iteration of `geo.py` under `vmap`. Importing imports JAX."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from steelyard.inertia import cones
from steelyard.payload.entropic import BOUNDARY, CENTERED, POLISH, STEPS, UNITS

PLACES = np.tril_indices(4)[::-1]
SCALE = np.where(PLACES[0] == PLACES[1], 1.0, np.sqrt(2.0))
IDENTITY = np.eye(4)
CHUNK = 4096  # problems at a time: they wait for the slowest among them


def solve_all(grams, pulls) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solutions (N, 10), inverse Hessians (N, 10, 10) and which converged (N,) of what `batch_kernel` solves."""
    with jax.enable_x64(True):
        parts = [_compiled()(grams[k : k + CHUNK], pulls[k : k + CHUNK]) for k in range(0, len(pulls), CHUNK)]
        w, spread, converged = (np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(3))
    return w, spread, converged


@lru_cache(maxsize=1)
def _compiled():
    return jax.jit(jax.vmap(_fit))


def _fit(gram, pull):
    start = jnp.maximum(1.0, jnp.linalg.norm(gram @ cones.triangle(IDENTITY) - pull))
    state = (jnp.asarray(IDENTITY), start * IDENTITY, jnp.asarray(jnp.inf), jnp.asarray(0))
    going = lambda state: (state[2] >= CENTERED) & (state[3] < STEPS)  # noqa: E731
    W, _, _, _ = jax.lax.while_loop(going, lambda state: _advance(gram, pull, *state), state)
    w = _triangle(W)
    for _ in range(POLISH):
        w = _newton(gram, pull, w)
    X = jnp.linalg.inv(_square(w))
    hessian = gram + _curvature(X)
    gradient = gram @ w - pull - _triangle(X)
    decrement = gradient @ jnp.linalg.solve(hessian, gradient)
    converged = (decrement < 1e-9 * jnp.maximum(1.0, w @ gram @ w)) & (jnp.linalg.eigvalsh(_square(w))[0] > 0)
    return w, jnp.linalg.inv(hessian), converged


def _advance(gram, pull, W, S, _, turn):
    """One predictor and corrector step of `geo._central_point`."""
    w, L = _triangle(W), jnp.linalg.cholesky(W)
    values, axes = jnp.linalg.eigh(L.T @ S @ L)
    distance = jnp.abs(values - 1).max()
    point, gap = jnp.sqrt(values), values.mean()
    scaling = axes.T @ jnp.linalg.inv(L) * jnp.sqrt(point)[:, None]
    factor = jnp.linalg.cholesky(gram + _curvature(scaling.T @ scaling))
    residual = pull - gram @ w

    def step_to(target):
        step = jax.scipy.linalg.cho_solve((factor, True), residual + _triangle(scaling.T @ target @ scaling))
        dW = scaling @ _square(step) @ scaling.T
        return dW, target - jnp.diag(point) - dW

    dW, dS = step_to(jnp.diag(1 / point))
    length = jnp.minimum(1.0, _reach(point, dW, dS))
    after = jnp.sum((jnp.diag(point) + length * dW) * (jnp.diag(point) + length * dS)) / 4
    shrink = jnp.where(gap > 1, jnp.clip((after - 1) / jnp.where(gap > 1, gap - 1, 1.0), 0.0, 1.0) ** 3, 0.0)
    bend = (dW @ dS + dS @ dW) / (point[:, None] + point)
    dW, dS = step_to(jnp.diag(jnp.maximum(1.0, shrink * gap) / point) - bend)
    length = jnp.minimum(1.0, BOUNDARY * _reach(point, dW, dS))
    back = jnp.linalg.inv(scaling)
    moved = W + length * back @ dW @ back.T, S + length * scaling.T @ dS @ scaling
    done = distance < CENTERED
    return jnp.where(done, W, moved[0]), jnp.where(done, S, moved[1]), distance, turn + 1


def _reach(point, dW, dS):
    """How many steps lead to the first singular matrix."""
    root = 1 / jnp.sqrt(point)
    least = jnp.linalg.eigvalsh(jnp.stack([dW, dS]) * root[:, None] * root).min()
    return jnp.where(least < 0, -1 / jnp.minimum(least, -1e-300), jnp.inf)


def _newton(gram, pull, w):
    X = jnp.linalg.inv(_square(w))
    step = jnp.linalg.solve(gram + _curvature(X), pull - gram @ w + _triangle(X))
    return jnp.where(jnp.linalg.eigvalsh(_square(w + step))[0] > 0, w + step, w)


def _triangle(W):
    return W[PLACES] * SCALE


def _square(w):
    upper = jnp.zeros((4, 4)).at[PLACES].set(w / SCALE)
    return upper + upper.T - jnp.diag(jnp.diag(upper))


def _curvature(X):
    """Matrix of `w -> triangle(X W X)`."""
    moved = X @ UNITS @ X
    return moved[:, PLACES[0], PLACES[1]] * SCALE
