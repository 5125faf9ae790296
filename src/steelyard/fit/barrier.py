"""Many fits with the same data matrix and other right-hand sides, all inside the constraints, in one batch.

Each minimises `1/2 ||z - free||^2 - mu sum log det(1 + Y_i) - mu sum log(y_e - lower_e)`, `y = S z`, by Newton's
method while mu falls: the last mu puts it within `sqrt(2 nu mu)` standard deviations of the constrained optimum, all
directions together, where nu is four a body and one a bound (Boyd and Vandenberghe, 11.2).
"""

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.posterior import Posterior
from steelyard.fit.program import TRIANGLES

LAST = 1e-3  # mu: a few hundredths of a standard deviation from the constrained optimum
SHRINK = 0.03  # of mu, once Newton's method is close
FIRST = 10.0  # mu where the paths of a batch part: above what the noise of right-hand sides can upset
CLOSE = 1.0  # Newton decrement over sqrt(mu) below which mu falls
REACH, LONGEST = 0.9, 10.0  # share of the way to the border, and Newton steps, that a step may go
HALVINGS = 12
STEPS = 100
ENTRIES = 500_000  # of the matrices that a batch solves together: some megabytes


def constrained(model: Posterior, free) -> np.ndarray:
    """(m, p) constrained optima z nearest to the unconstrained ones free (n, p), see `Posterior.factors`.

    Rows for which Newton's method does not get there are left out; raises FitError when half of them are.
    """
    inside = np.zeros(free.shape[1])
    bounded = _bounded(model)
    inside[bounded] = np.maximum(model.lower[bounded - 10 * model.bodies] + 1.0, 0.0)
    start = np.linalg.solve(model.factors[1], inside)[None]
    middle = np.mean(free, axis=0, keepdims=True)
    start = _descend(model, middle, start, max(float(np.sum((start - middle) ** 2)), FIRST), FIRST)
    together = max(1, ENTRIES // free.shape[1] ** 2)
    parts = [free[i : i + together] for i in range(0, len(free), together)]
    found = np.concatenate([_descend(model, part, np.repeat(start, len(part), axis=0), FIRST, LAST) for part in parts])
    arrived = found[np.isfinite(found[:, 0])]
    if 2 * len(arrived) <= len(free):
        raise FitError(
            f"Only {len(arrived)} of {len(free)} constrained fits converged; check the units of the log and the prior."
        )
    return arrived


def _bounded(model: Posterior) -> np.ndarray:
    return 10 * model.bodies + np.flatnonzero(np.isfinite(model.lower))


def _descend(model: Posterior, free, start, first: float, last: float) -> np.ndarray:
    """Follow the central path from mu = first to last, each row at its own pace; NaN for rows that do not arrive."""
    S, basis, cut, bounded = model.factors[1], TRIANGLES, 10 * model.bodies, _bounded(model)
    z, mu, active = start.copy(), np.full(len(start), first), np.arange(len(start))
    for _ in range(STEPS):
        x, m = z[active], mu[active]
        y = x @ S.T
        inverse = np.linalg.inv(np.eye(4) + _matrices(y[:, :cut], basis))
        gap = y[:, bounded] - model.lower[bounded - cut]
        rise = np.einsum("nbij,kij->nbk", inverse, basis).reshape(len(x), cut) @ S[:cut] + (1 / gap) @ S[bounded]
        gradient = x - free[active] - m[:, None] * rise
        move = -np.linalg.solve(_hessian(S, m, inverse, gap, basis, bounded), gradient[..., None])[..., 0]
        decrement = np.sqrt(np.maximum(-np.sum(move * gradient, axis=1), 0.0) / m)
        change = move @ S.T
        relative = _relative(inverse, _matrices(change[:, :cut], basis), change[:, bounded], gap)
        length = _length(np.sum(move * (x - free[active]), axis=1), np.sum(move**2, axis=1), m, relative)
        z[active] = x + length[:, None] * move
        close = decrement < CLOSE
        mu[active] = np.where(close, np.maximum(m * SHRINK, last), m)
        active = active[~(close & (m <= last))]
        if not len(active):
            break
    z[active] = np.nan
    return z


def _hessian(S, mu, inverse, gap, basis, bounded) -> np.ndarray:
    """(n, p, p)."""
    cut = 10 * inverse.shape[1]
    turned = inverse[:, :, None] @ basis
    curvature = np.einsum("nbkij,nblji->nbkl", turned, turned, optimize=True)
    shares = [curvature[:, i].reshape(-1, 10) @ S[10 * i : 10 * i + 10] for i in range(inverse.shape[1])]
    bodies = [share.reshape(len(mu), 10, -1) for share in shares]
    pulled = mu[:, None, None] * np.concatenate([*bodies, S[bounded] / gap[..., None] ** 2], axis=1)
    return np.eye(len(S)) + np.tensordot(pulled, np.concatenate([S[:cut], S[bounded]]), axes=(1, 0))


def _matrices(coordinates, basis) -> np.ndarray:
    """(n, bodies, 4, 4) of coordinates (n, 10 bodies)."""
    return np.tensordot(coordinates.reshape(len(coordinates), -1, 10), basis, axes=1)


def _length(slope, bend, mu, relative) -> np.ndarray:
    """(n,) step that minimises `slope t + bend t^2 / 2 - mu sum log(1 + t relative)`, by bisection of its derivative.

    slope, bend, mu: (n,); relative: (n, nu) change of every slack, over the slack, in a unit step.
    """
    low, high = np.zeros(len(mu)), np.minimum(LONGEST, REACH / np.maximum(-relative.min(axis=1), 1e-300))
    for _ in range(HALVINGS):
        t = (low + high) / 2
        rising = slope + bend * t > mu * np.sum(relative / (1 + t[:, None] * relative), axis=1)
        low, high = np.where(rising, low, t), np.where(rising, t, high)
    return high


def _relative(inverse, change, move, gap) -> np.ndarray:
    """(n, nu) change of slacks in a unit step, over the slacks: eigenvalues of pseudo-inertias, distances to bounds."""
    root = np.linalg.cholesky(inverse)
    spectrum = np.linalg.eigvalsh(np.swapaxes(root, -1, -2) @ change @ root)
    return np.concatenate([spectrum.reshape(len(move), -1), move / gap, np.zeros((len(move), 1))], axis=1)
