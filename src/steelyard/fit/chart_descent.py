"""Physically consistent least squares by descent in a chart of consistent bodies: a comparator, not a method to use.

The cost is that of `consistent` with its pullback prior. A chart makes every body consistent and every unknown free,
so that Levenberg and Marquardt's method applies; in exchange the cost is no longer convex, an optimum on the boundary
lies at infinity, and where a descent ends depends on where it starts.
The problem lies on a manifold, which no method for cones solves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.fit.estimate import Estimate, Status, estimate_of
from steelyard.fit.knowledge import effect_bounds
from steelyard.fit.prior import consistent_prior
from steelyard.fit.program import unconstrained_program
from steelyard.fit.whitening import weak_directions
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
    """Where a descent ended: parameters (p,), cost (that of `consistent`), evaluations, and whether it converged.
    weakest: what the data hardly shows, in words."""

    parameters: np.ndarray
    cost: float
    evaluations: int
    converged: bool
    weakest: tuple[str, ...]


def nonconvex(
    info: Information,
    *,
    chart: str = "log_cholesky",
    prior=None,
    start=None,
    weight: float = 1.0,
    signs: str = "squares",
    noise=None,
    evaluations: int = 500,
) -> Estimate:
    """A local minimum of the cost of `consistent(info, prior=prior, weight=weight)` over consistent bodies.

    There is no certificate: nothing tells whether the minimum is global.

    Args:
        info: as of `consistent`.
        chart: "log_cholesky" (Rucker and Wensing 2022), "principal" (mass, centre of mass, axes and second moments;
            Traversaro et al. 2016) or "exponential".
        prior: as of `consistent`.
        start: (nb, 10) consistent parameters, the prior by default.
        weight: as of `consistent`.
        signs: how viscous and Coulomb friction and armature are kept from being negative, "squares" or "exponentials"
            of free unknowns.
        noise: (g,) of the row groups.
        evaluations: at most.

    Returns:
        The Estimate.

    Raises:
        OptionError: another chart.
        InertiaError: a start that is not consistent.
    """
    info = info.plain
    theta0, notes = consistent_prior(prior, info.robot, len(info.layout.bodies))
    found, noise = descent(info, chart, theta0, start, weight, signs, noise, evaluations)
    status = Status.WEAK_EXCITATION if found.weakest else Status.OK
    return estimate_of(
        info,
        f"descent in the {chart} chart (weight {weight:g})",
        found.parameters,
        np.full((info.basis.count, info.basis.count), np.nan),
        noise=noise,
        status=status if found.converged else Status.INACCURATE,
        weakest=found.weakest,
        notes=(*notes, f"{found.evaluations} evaluations, cost {found.cost:.9g}; a local minimum."),
    )


def descent(
    info: Information, chart: str, theta0, start, weight: float, signs: str, noise, evaluations: int
) -> tuple[Descent, np.ndarray]:
    """The descent behind `nonconvex` from a consistent prior theta0 (nb, 10), and the noise (g,) it assumed."""
    from scipy.optimize import least_squares

    if chart not in CHARTS:
        raise OptionError(f"Unknown chart {chart!r}. Choose from {choices(CHARTS)}.")
    if signs not in SIGNS:
        raise OptionError(f"Unknown signs {signs!r}. Choose from {choices(SIGNS)}.")
    program = unconstrained_program(info, theta0, weight, noise)
    inverse = np.linalg.inv(program.directions)
    free = _Unknowns(info.layout, CHARTS[chart], signs, np.diag(program.directions))
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
    weakest = weak_directions(program.problem, info.layout, info.basis)
    return Descent(free.parameters(found.x), cost, found.nfev, found.status > 0, weakest), program.noise


@dataclass(frozen=True, eq=False)
class _Unknowns:
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
