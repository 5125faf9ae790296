"""Weighted least squares on base parameters: unbiased for clean regressors, no physical constraints."""

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
from steelyard.numbers import ROUNDING, ROUNDS


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


def nonnegative_least_squares(A, b) -> tuple[np.ndarray, float]:
    """Minimise `||A x - b||` with x >= 0 by active sets (Lawson and Hanson 1974, chapter 23); the import of SciPy's
    takes longer than all uses in a job.

    A: (m, k), of any rank. Returns x (k,) and the sum of squared residuals.
    """
    size = np.linalg.norm(A, axis=0)
    usable = size > 0
    scale = np.where(usable, size, 1.0)
    A = A / scale
    x, passive = np.zeros(A.shape[1]), np.zeros(A.shape[1], dtype=bool)
    least = ROUNDING * max(float(np.linalg.norm(b)), 1e-300)
    for _ in range(ROUNDS * A.shape[1]):
        slope = np.where(passive | ~usable, -np.inf, A.T @ (b - A @ x))
        best = int(np.argmax(slope)) if len(slope) else 0
        if not len(slope) or slope[best] <= least:
            break
        passive[best] = True
        while True:
            trial = np.zeros_like(x)
            trial[passive] = np.linalg.lstsq(A[:, passive], b)[0]
            below = passive & (trial <= 0)
            if not below.any():
                break
            step = np.min(x[below] / np.maximum(x[below] - trial[below], 1e-300))
            x = x + step * (trial - x)
            passive &= x > least
        x = trial
    left = b - A @ x
    return x / scale, float(left @ left)
