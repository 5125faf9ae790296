"""Least squares with entropic divergence to a prior (Lee, Wensing and Park 2020; "GEO" of paper E).

Minimises `||A theta - b||^2 + weight * d(J || J0)`, `d = tr(J0^-1 J) - log det(J0^-1 J) - 4`: convex, and its barrier
keeps J > 0. In coordinates that make the prior the identity, primal-dual steps with the scaling of Nesterov and Todd
and Mehrotra's predictor and corrector follow the central path to the asked weight (plain Newton steps crawl along the
curved boundary when the data is stiff), and Newton steps give the last digits. `entropic_kernel` takes the same.
"""

import numpy as np

from steelyard.errors import FitError, InertiaError
from steelyard.inertia import cones, parameters, pseudo
from steelyard.payload.payload_estimate import DENSITY, FARTHEST

STEPS = 100
BOUNDARY = 0.9  # of the way to a singular body that one step may go
SHORTER = 0.8  # from one trial of a step's length to the next
TRIALS = 60
CENTERED = 1e-4  # relative distance from the central path at which Newton steps take over
ACCEPTED = 0.5  # the same after the last step
CONVERGED = 1e-20  # decrement that ends them, relative to the data
POLISH = 8
IDENTITY = np.eye(4)
UNITS = cones.from_triangle(np.eye(10), 4)


def entropic_fit(A, b, prior, *, weight: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """theta (10,) and its covariance (10, 10), from the curvature of cost and divergence at the optimum.

    A: (k, 10), b: (k,) in units of the noise; prior: (10,), consistent. Raises InertiaError for another prior,
    FitError if the iteration does not converge.
    """
    try:
        root = np.linalg.cholesky(pseudo.to_matrix(np.asarray(prior, dtype=float)))
    except np.linalg.LinAlgError as error:
        raise InertiaError("the prior is not physically consistent; project it onto Consistent() first") from error
    basis = pseudo.to_parameters(root @ UNITS @ root.T).T  # theta of triangle(W)
    F, right = A @ basis / np.sqrt(weight / 2), b / np.sqrt(weight / 2)  # so that the divergence weighs two
    gram, pull = F.T @ F, F.T @ right - cones.triangle(IDENTITY)
    w, hessian = _polished(gram, pull, _central_point(gram, pull))
    return basis @ w, 2 / weight * basis @ np.linalg.solve(hessian, basis.T)


def _central_point(gram, pull):
    """w (10,) near the minimum of `1/2 w^T gram w - pull . w - log det W`: its dual is `S = W^-1`."""
    W: np.ndarray = IDENTITY
    S: np.ndarray = max(1.0, float(np.linalg.norm(gram @ cones.triangle(IDENTITY) - pull))) * IDENTITY
    distance = np.inf
    for _ in range(STEPS):
        w, L = cones.triangle(W), np.linalg.cholesky(W)
        values, axes = np.linalg.eigh(L.T @ S @ L)
        distance = float(np.abs(values - 1).max())
        if distance < CENTERED:
            return w
        point, gap = np.sqrt(values), float(values.mean())
        scaling = axes.T @ np.linalg.inv(L) * np.sqrt(point)[:, None]  # takes W, and S the other way, to diag(point)
        curvature = scaling.T @ scaling
        hessian = gram + cones.triangle(curvature @ UNITS @ curvature)
        system = hessian, pull - gram @ w, scaling, point
        dW, dS = _step_to(np.diag(1 / point), *system)
        length = _length(point, dW, dS, 1.0)
        after = float(np.sum((np.diag(point) + length * dW) * (np.diag(point) + length * dS))) / 4
        shrink = min(1.0, max(0.0, after - 1) / (gap - 1)) ** 3 if gap > 1 else 0.0
        bend = (dW @ dS + dS @ dW) / (point[:, None] + point)
        dW, dS = _step_to(np.diag(max(1.0, shrink * gap) / point) - bend, *system)
        length = _length(point, dW, dS, BOUNDARY)
        back = np.linalg.inv(scaling)
        W = W + length * back @ dW @ back.T
        S = S + length * scaling.T @ dS @ scaling
    if distance < ACCEPTED:  # stiff data leaves no more digits
        return cones.triangle(W)
    raise FitError("The entropic fit did not converge. Check the units of the log and the prior, or raise the weight")


def _step_to(target, hessian, residual, scaling, point) -> tuple[np.ndarray, np.ndarray]:
    """Scaled steps of W and S after which their product is `target`, to first order."""
    step = np.linalg.solve(hessian, residual + cones.triangle(scaling.T @ target @ scaling))
    dW = scaling @ cones.from_triangle(step, 4) @ scaling.T
    return dW, target - np.diag(point) - dW


def _length(point, dW, dS, boundary: float) -> float:
    """Part of a step from diag(point) that keeps both matrices positive, with room: 1 where the whole step does."""
    length = 1.0
    for _ in range(TRIALS):
        try:
            np.linalg.cholesky(np.diag(point) + length / boundary * np.stack([dW, dS]))
        except np.linalg.LinAlgError:
            length *= SHORTER
        else:
            return length
    return 0.0


def _polished(gram, pull, w):
    """The minimiser and the Hessian there, by Newton steps from close by."""
    for _ in range(POLISH):
        inverse = np.linalg.inv(cones.from_triangle(w, 4))
        hessian = gram + cones.triangle(inverse @ UNITS @ inverse)
        step = np.linalg.solve(hessian, pull - gram @ w + cones.triangle(inverse))
        if np.linalg.eigvalsh(cones.from_triangle(w + step, 4))[0] <= 0:
            break
        w = w + step
        if step @ hessian @ step < CONVERGED * max(1.0, float(w @ gram @ w)):
            break
    inverse = np.linalg.inv(cones.from_triangle(w, 4))
    return w, gram + cones.triangle(inverse @ UNITS @ inverse)


def compact_body(mass, com) -> np.ndarray:
    """(10,) of a body with radius of gyration `(m / 1000 kg/m^3)^(1/3)`: elongated, and about as dense as water.

    mass: kg, positive; com: (3,) in m, pulled in where it is farther than such a body can be held.
    """
    radius = (mass / DENSITY) ** (1 / 3)
    com = np.asarray(com, dtype=float)
    com = com * min(1.0, FARTHEST * radius / max(float(np.linalg.norm(com)), 1e-12))
    return parameters.from_com_inertia(mass, com, mass * radius**2 * 2 / 3 * np.eye(3))
