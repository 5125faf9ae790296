"""Weighted least squares on base parameters: unbiased for clean regressors, no physical constraints."""

from itertools import product

import numpy as np

from steelyard.arguments import require_type
from steelyard.fit.estimate import Estimate, Status, estimate_of
from steelyard.fit.prior import model_parameters
from steelyard.fit.whitening import (
    Whitened,
    known_noise,
    require_enough_samples,
    weak_directions,
    weigh_by_noise,
    whiten,
)
from steelyard.information import Information

RANK = 1e-6  # of columns at unit length, below which one adds nothing to others


def least_squares(info: Information, *, noise=None) -> Estimate:
    """Base parameters by least squares, rows weighted by the noise of their joint.

    Args:
        info: Information of a robot or of a raw regression.
        noise: (g,) standard deviations of the row groups where they are known [N m or N]; iterated by default.

    Returns:
        An Estimate. Its full parameters are the ones nearest to the model's that have these base parameters (of least
        norm without a model); they predict torques but need not be physical. The covariance (r, r) takes residuals as
        independent between samples.

    Raises:
        FitError: fewer equations than unknowns.
        OptionError: a noise of another shape.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> rng, beta = np.random.default_rng(0), np.array([2.0, 0.1, 0, 0, 0.3, 0, 0.3, 0, 0, 0.3])
        >>> Y = rng.normal(size=(100, 1, 10))
        >>> estimate = sy.fit.least_squares(sy.Information.from_arrays(Y, Y @ beta))
        >>> bool(np.allclose(estimate.base, beta)), estimate.physical
        (True, False)
    """
    require_type(Information, info=info)
    info = info.plain
    require_enough_samples(info)
    weighted, noise = weigh_by_noise(info, known_noise(info, noise))
    problem = whiten(weighted)
    return unconstrained("least squares", info, problem, problem.solve(), noise)


def unconstrained(method: str, info: Information, problem: Whitened, base, noise) -> Estimate:
    """The Estimate of base parameters (r,) that whitened data alone decided, at a noise (g,) of the row groups."""
    prior = None if info.robot is None else model_parameters(info.robot, info.layout)
    weakest = weak_directions(problem, info.layout, info.basis)
    return estimate_of(
        info,
        method,
        info.basis.lift(base, prior),
        problem.covariance(),
        noise=noise,
        status=Status.WEAK_EXCITATION if weakest else Status.OK,
        weakest=weakest,
        notes=("Full parameters are base parameters lifted to the nearest model; they need not be physical.",),
    )


def nonnegative_least_squares(A, b) -> tuple[np.ndarray, np.ndarray]:
    """Minimise `||A x - b||` with x >= 0 of several problems at once, each of few columns: the optimum is that of least
    squares of one of their subsets.

    A: (..., n, k), of any rank. b: (..., n). Returns x (..., k) and sums of squared residuals (...).
    """
    A, b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    size, k = np.linalg.norm(A, axis=-2), A.shape[-1]
    scale = np.where(size > 0, size, 1.0)
    both = np.concatenate([A / scale[..., None, :], b[..., None]], axis=-1)
    gram = both.swapaxes(-1, -2) @ both
    whole = gram[..., k, k]
    chosen = np.array(list(product([False, True], repeat=k)), dtype=bool).reshape(2**k, *[1] * whole.ndim, k)
    own = np.where(chosen[..., None] & chosen[..., None, :], gram[..., :k, :k], np.eye(k))
    apart = np.linalg.det(own) > RANK**2  # else fewer do as well
    moment = np.where(chosen, gram[..., :k, k], 0.0)
    found = np.linalg.solve(np.where(apart[..., None, None], own, np.eye(k)), moment[..., None])[..., 0]
    left = np.maximum(whole - np.sum(found * moment, axis=-1), 0.0)
    left = np.where(apart & (found >= 0).all(axis=-1), left, np.inf)
    best = np.argmin(left, axis=0)[None]
    x = np.take_along_axis(found, best[..., None], axis=0)[0]
    return x / scale, np.take_along_axis(left, best, axis=0)[0]
