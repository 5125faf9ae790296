"""The kernel `constrained_fits` in NumPy: the same steps along the central path, all rows at once."""

import numpy as np

from steelyard.fit.prior import TRIANGLES
from steelyard.fit.pullback_form import CLOSE, HALVINGS, LONGEST, REACH, SHRINK, Posterior
from steelyard.numbers import STEPS

ENTRIES = 500_000  # of the matrices that a batch solves together: some megabytes


def followed(model: Posterior, free, start, first: float, last: float) -> np.ndarray:
    """As `posterior._followed`."""
    together = max(1, ENTRIES // free.shape[1] ** 2)
    parts = [slice(i, i + together) for i in range(0, len(free), together)]
    return np.concatenate([_descend(model, free[part], start[part], first, last) for part in parts])


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
        hessian = _hessian(S, m, inverse, gap, basis, bounded)
        newton, tangent = np.moveaxis(np.linalg.solve(hessian, np.stack([gradient, rise], axis=-1)), -1, 0)
        close = np.sum(newton * gradient, axis=1) < CLOSE**2 * m
        aim = np.where(close, np.maximum(m * SHRINK, last), m)
        move = (aim - m)[:, None] * tangent - newton  # on along the central path, where it is reached
        change = move @ S.T
        relative = _relative(inverse, _matrices(change[:, :cut], basis), change[:, bounded], gap)
        length = _length(np.sum(move * (x - free[active]), axis=1), np.sum(move**2, axis=1), aim, relative)
        z[active] = x + length[:, None] * move
        mu[active] = aim
        active = active[~(close & (m <= last))]
        if not len(active):
            break
    z[active] = np.nan
    return z


def _hessian(S, mu, inverse, gap, basis, bounded) -> np.ndarray:
    """(n, p, p)."""
    cut = 10 * inverse.shape[1]
    rotated = inverse[:, :, None] @ basis
    curvature = np.einsum("nbkij,nblji->nbkl", rotated, rotated, optimize=True)
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
