"""Physically consistent least squares by descent in a chart of consistent bodies: what convex programs spare users.

The cost is that of `consistent` with its pullback prior. A chart makes every body consistent and every unknown free,
so that Levenberg and Marquardt's method applies; in exchange the cost is no longer convex, an optimum on the boundary
lies at infinity, and where a descent ends depends on where it starts.
The problem lies on a manifold, which no method for cones solves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.fit.homogeneous import ratios_about
from steelyard.fit.knowledge import Knowledge, effect_bounds
from steelyard.fit.prior import REGULARIZERS, prior_parameters
from steelyard.fit.program import Program, assembled
from steelyard.inertia import exponential, log_cholesky, principal
from steelyard.information import Information
from steelyard.terms import ParameterLayout

LOGARITHMS = [0, 7, 8, 9]  # mass and principal second moments of the principal chart, which must be positive
SMALLEST = 1e-6  # of a non-negative column's scale, where a descent starts: at zero its derivative vanishes
DIGITS = 1e-12  # relative change of cost or unknowns that ends a descent


@dataclass(frozen=True)
class Chart:
    """Ten free numbers of a body: to and from its parameters (..., 10), and the derivative (..., 10, 10)."""

    to_parameters: Callable
    from_parameters: Callable
    jacobian: Callable


def _principal_from(theta):
    psi = principal.from_parameters(theta).copy()
    psi[..., LOGARITHMS] = np.log(psi[..., LOGARITHMS])
    return psi


def _principal_point(phi):
    psi = phi.copy()
    psi[..., LOGARITHMS] = np.exp(np.clip(phi[..., LOGARITHMS], -300, 300))
    return psi


def _principal_jacobian(phi):
    psi = _principal_point(phi)
    J = principal.jacobian(psi)
    J[..., LOGARITHMS] *= psi[..., None, LOGARITHMS]
    return J


CHARTS = {
    "log_cholesky": Chart(log_cholesky.to_parameters, log_cholesky.from_parameters, log_cholesky.jacobian),
    "principal": Chart(
        lambda phi: principal.to_parameters(_principal_point(phi)), _principal_from, _principal_jacobian
    ),
    "exponential": Chart(exponential.to_parameters, exponential.from_parameters, exponential.jacobian),
}
SIGNS = ("squares", "exponentials")


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent ended: parameters (p,), cost (that of `consistent`), evaluations, and whether it converged."""

    parameters: np.ndarray
    cost: float
    evaluations: int
    converged: bool


def unconstrained_program(info: Information, theta0, weight: float, noise=None) -> Program:
    """The program of `consistent` with its pullback prior theta0 (nb, 10) and no constraints. noise: (g,)."""
    found = ratios_about(info, info.basis.regroup(prior_parameters(info, theta0)))
    return assembled(info, Knowledge(theta0, (), (), REGULARIZERS["pullback"], weight, noise), ratios=found)


def descent(
    info: Information, chart: str, theta0, noise, *, start=None, weight=1.0, signs="squares", evaluations=500
) -> Descent:
    """A local minimum of the cost of `consistent(info, prior=theta0, weight=weight)` over consistent bodies.

    chart, signs: of CHARTS and SIGNS; theta0: (nb, 10) consistent; noise: (g,); start: (nb, 10), theta0 by default.
    """
    from scipy.optimize import least_squares

    program = unconstrained_program(info, theta0, weight, noise)
    inverse = np.linalg.inv(program.directions)
    free = Unknowns(info.layout, CHARTS[chart], signs, np.diag(program.directions))
    R, z = program.residual.triangle

    def coordinates(phi):
        return inverse @ (free.parameters(phi) - program.start)

    def derivative(phi):
        return R @ inverse @ free.jacobian(phi)

    slopes: Any = derivative  # SciPy declares a string here

    bodies = theta0 if start is None else np.asarray(start, dtype=float).reshape(theta0.shape)
    with np.errstate(over="ignore", invalid="ignore"):  # a step that goes too far is taken back
        found = least_squares(
            lambda phi: R @ coordinates(phi) - z,
            free.start(bodies, program.start),
            jac=slopes,
            method="trf",
            x_scale="jac",
            ftol=DIGITS,
            xtol=DIGITS,
            gtol=DIGITS,
            max_nfev=evaluations,
        )
    cost = program.cost(coordinates(found.x))
    return Descent(free.parameters(found.x), cost, found.nfev, found.status > 0)


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Free unknowns phi (p,): chart points of the bodies, then friction and armature, the signed ones transformed.

    scales: (p,) typical sizes of the columns.
    """

    layout: ParameterLayout
    chart: Chart
    signs: str
    scales: np.ndarray

    @property
    def signed(self) -> np.ndarray:
        """Columns that are not negative."""
        return np.flatnonzero(effect_bounds(self.layout, {})[0] == 0.0)

    def start(self, theta, effects) -> np.ndarray:
        """Unknowns of bodies theta (nb, 10) with effects as in parameters (p,)."""
        phi = effects.copy()
        phi[self.layout.inertial] = self.chart.from_parameters(theta).ravel()
        positive = np.maximum(effects[self.signed], SMALLEST * self.scales[self.signed])
        phi[self.signed] = np.sqrt(positive) if self.signs == "squares" else np.log(positive)
        return phi

    def parameters(self, phi) -> np.ndarray:
        """(p,) in SI units."""
        x = phi.copy()
        x[self.layout.inertial] = self.chart.to_parameters(phi[self.layout.inertial].reshape(-1, 10)).ravel()
        free = phi[self.signed]
        x[self.signed] = free**2 if self.signs == "squares" else np.exp(free)
        return x

    def jacobian(self, phi) -> np.ndarray:
        """(p, p) derivative of the parameters."""
        free = phi[self.signed]
        slopes = np.ones(len(phi))
        slopes[self.signed] = 2 * free if self.signs == "squares" else np.exp(free)
        D = np.diag(slopes)
        for i, block in enumerate(self.chart.jacobian(phi[self.layout.inertial].reshape(-1, 10))):
            D[self.layout.body(i), self.layout.body(i)] = block
        return D
