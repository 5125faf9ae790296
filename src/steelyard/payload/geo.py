"""Least squares with entropic divergence to a prior (Lee, Wensing and Park 2020; "GEO" of paper E).

Minimises `||A theta - b||^2 + weight * d(J || J0)`, `d = tr(J0^-1 J) - log det(J0^-1 J) - 4`: convex, and its barrier
keeps J > 0. Damped Newton steps in coordinates that make the prior the identity, from heavy weights down to the asked
one: a light barrier met far from its optimum costs hundreds of steps.
"""

import numpy as np

from steelyard.errors import FitError, InertiaError
from steelyard.inertia import cones, pseudo

DIGITS = 1e-10  # of the data, below which its cost has none
STEPS = 60
ROUNDING = 1e-6  # decrement at which a step that no longer lowers the cost is the end of its digits
ROUGH = 1e-3  # decrement that ends the stages on the way
CONVERGED = 1e-11  # Newton decrement squared, relative to the cost
IDENTITY = np.eye(4)


def entropic_fit(A, b, prior, *, weight: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """theta (10,) and its covariance (10, 10), from the curvature of cost and divergence at the optimum.

    A: (k, 10), b: (k,) in units of the noise; prior: (10,), consistent. Raises InertiaError for another prior,
    FitError if the iteration does not converge.
    """
    try:
        root = np.linalg.cholesky(pseudo.to_matrix(np.asarray(prior, dtype=float)))
    except np.linalg.LinAlgError as error:
        raise InertiaError("the prior is not physically consistent; project it onto Consistent() first") from error
    A, b = A / np.sqrt(weight), b / np.sqrt(weight)  # so that the divergence weighs one
    basis = pseudo.to_parameters(root @ cones.from_triangle(np.eye(10), 4) @ root.T).T  # theta of triangle(W)
    F = A @ basis
    w = cones.triangle(IDENTITY)
    gram, right = 2 * F.T @ F, 2 * F.T @ b
    units = cones.from_triangle(np.eye(10), 4)
    hessian = gram
    start = max(1.0, np.sum((F @ w - b) ** 2))
    for stage in np.geomspace(start, 1.0, 1 + int(np.ceil(np.log10(start)))):  # heavy prior first
        w, hessian = _minimise(F, b, w, gram, right, stage, units, last=stage == 1.0)
    return basis @ w, 2 / weight * basis @ np.linalg.solve(hessian, basis.T)


def _minimise(F, b, w, gram, right, weight, units, *, last):
    """Newton's method at one weight: the minimiser and the Hessian there."""
    for _ in range(STEPS):
        inverse = np.linalg.inv(cones.from_triangle(w, 4))
        gradient = gram @ w - right + weight * cones.triangle(IDENTITY - inverse)
        hessian = gram + weight * cones.triangle(inverse @ units @ inverse)
        step = -np.linalg.solve(hessian, gradient)
        decrement = -gradient @ step
        size = max(1.0, weight, _cost(F, b, w, weight), DIGITS * (b @ b))
        if decrement < (CONVERGED if last else ROUGH) * size:
            return w, hessian
        moved = _line_search(F, b, w, weight, step, decrement)
        if moved is None and decrement < ROUNDING * size:
            return w, hessian
        if moved is None:
            break
        w = moved
    raise FitError("The entropic fit did not converge. Check the units of the log and the prior, or raise the weight")


def _cost(F, b, w, weight):
    eigenvalues = np.linalg.eigvalsh(cones.from_triangle(w, 4))
    if eigenvalues[0] <= 0:
        return np.inf
    return np.sum((F @ w - b) ** 2) + weight * (np.sum(eigenvalues - np.log(eigenvalues)) - 4)


def _line_search(F, b, w, weight, step, decrement):
    """The point after a damped step, or None when no step lowers the cost."""
    before, length = _cost(F, b, w, weight), _to_boundary(w, step)
    while length > 1e-10:
        if _cost(F, b, w + length * step, weight) <= before - 1e-4 * length * decrement:
            return w + length * step
        length *= 0.5
    return None


def _to_boundary(w, step):
    """The longest step up to 1 that goes no more than nine tenths of the way to a singular body."""
    inverse = np.linalg.inv(np.linalg.cholesky(cones.from_triangle(w, 4)))
    shrink = -np.linalg.eigvalsh(inverse @ cones.from_triangle(step, 4) @ inverse.T)[0]
    return min(1.0, 0.9 / shrink) if shrink > 0 else 1.0
