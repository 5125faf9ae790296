"""The estimators of a payload, one record each: what it is, what it needs, what its result is held to.

Command line, errors and the table of `docs/payload.md` come from `METHODS`; a new estimator is a function and a record.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import FitError, OptionError, choices
from steelyard.fit import Status as FitStatus
from steelyard.fit import consistent
from steelyard.inertia import EllipsoidRealizable, HullRealizable, cones, divergence, parameters, pseudo
from steelyard.inertia.body_set import BodySet
from steelyard.inertia.parameters import WATER
from steelyard.numbers import ROUNDING
from steelyard.payload.density import density_fit
from steelyard.payload.entropic import unit_basis
from steelyard.payload.point_mass import C1, DYNAMISM, LAMBDA, discretise, solve_point_masses
from steelyard.payload.solid_shape import Solid
from steelyard.payload.wrench_problem import WrenchProblem, solve
from steelyard.payload.wrench_sums import BODY, eliminated, summed
from steelyard.terms import ParameterLayout

PMD_POINTS = 56
HULL_CORNERS = 40  # of a hull; more cost time and change nothing
FARTHEST_RADII = 10.0  # radii of gyration from the sensor to a centre of mass that is believed
UNIT_BODY = pseudo.to_parameters(np.eye(4))[None]  # (1, 10)
FROM_UNIT = np.linalg.inv(cones.relative_basis(np.eye(4)))  # parameters of W to the triangle of W
WEIGHT = 1e-2  # of the prior of a constrained fit: it decides what the data leaves open and hardly moves the rest


@dataclass(frozen=True)
class Settings:
    """Options of the estimators. points, c1, dynamism: of point masses."""

    points: int = PMD_POINTS
    c1: float = C1
    dynamism: tuple[float, float, float] = DYNAMISM
    weight: float | None = None  # of prior or regularisation, None for the estimator's own
    seed: int = 0  # of random points


Fit = tuple[np.ndarray, np.ndarray, tuple[str, ...]]  # theta (10,), its covariance (10, 10) and notes


@dataclass(frozen=True)
class Method:
    """One estimator."""

    name: str  # as users write it
    fit: Callable[[WrenchProblem, Settings], Fit]  # function of a problem and settings
    summary: str  # what it does, with its source
    held_to: str  # which bodies a result can be
    needs_shape: bool = False  # whether it needs the shape of what is held
    smooths: bool = True  # whether noisy motion is smoothed first; estimators as published take it as it was measured
    needs_mass: bool = True  # whether the forces have to give a positive mass


def _automatic(problem: WrenchProblem, settings: Settings) -> Fit:
    return METHODS["geo" if problem.solid is None else "density"].fit(problem, settings)


def _density(problem: WrenchProblem, settings: Settings) -> Fit:
    fit = density_fit(*problem.whitened, _solid(problem), problem.mass)
    return fit.theta, fit.covariance, ()


def _point_masses(problem: WrenchProblem, settings: Settings) -> Fit:
    weight = LAMBDA if settings.weight is None else settings.weight
    points = _solid(problem).sample(settings.points, seed=settings.seed)
    data = discretise(problem, points, c1=settings.c1, scale=settings.dynamism, weight=weight)
    fit = solve_point_masses(data)
    A, _ = problem.whitened
    spread = np.linalg.inv(A.T @ A + 0.5 * divergence.pullback_metric(_prior(problem)))
    return fit.theta, spread, (f"{len(fit.points)} points, duality gap {fit.gap:.1e}",)


def _entropic(problem: WrenchProblem, settings: Settings) -> Fit:
    weight = 1.0 if settings.weight is None else settings.weight
    return fitted_body(*problem.whitened, _prior(problem), weight=weight, regularizer="entropic")


def _in_ellipsoid(problem: WrenchProblem, settings: Settings) -> Fit:
    return _constrained(problem, settings, EllipsoidRealizable(_solid(problem).ellipsoid))


def _in_hull(problem: WrenchProblem, settings: Settings) -> Fit:
    return _constrained(problem, settings, HullRealizable(_solid(problem).coarse_hull(HULL_CORNERS)))


def _constrained(problem: WrenchProblem, settings: Settings, within: BodySet | None = None) -> Fit:
    weight = WEIGHT if settings.weight is None else settings.weight
    return fitted_body(*problem.whitened, _prior(problem), weight=weight, within=within)


def _ordinary(problem: WrenchProblem, settings: Settings) -> Fit:
    """Force and torque rows weigh alike, in SI units."""
    T = eliminated(problem.information, (1.0, 1.0))[:10]
    return solve(T[:, :10], T[:, 10]), _unconstrained_covariance(problem), ()


def _total(problem: WrenchProblem, settings: Settings) -> Fit:
    """Noise in the regressor as in the wrench: the smallest singular vector of `[A b]`.

    Recursive as published: only the triangular factor of all samples so far enters, and it is updated, not rebuilt.
    Raises FitError where that vector says nothing about theta (the log excites too little).
    """
    v = np.linalg.svd(eliminated(problem.information, (1.0, 1.0)))[2][-1]
    if abs(v[-1]) < ROUNDING:
        raise FitError(
            "Total least squares has no solution: the regressor is rank deficient, so its noise explains everything. "
            "Record a richer motion, or use method='ols'"
        )
    return -v[:10] / v[-1], _unconstrained_covariance(problem), ()


METHODS: dict[str, Method] = {
    each.name: each
    for each in (
        Method("auto", _automatic, "`density` with a shape and `geo` without", "as of that method"),
        Method(
            "density",
            _density,
            "a random density inside the shape, conditioned on the data",
            "any density inside the shape",
            needs_shape=True,
        ),
        Method(
            "pmd",
            _point_masses,
            "point masses, unsquared norms, weights by dynamism (Nadeau 2022), as published",
            "masses at points inside the shape",
            needs_shape=True,
            smooths=False,
        ),
        Method(
            "geo",
            _entropic,
            "least squares with entropic distance to a prior (Lee 2020)",
            "a body that can exist",
            smooths=False,
        ),
        Method(
            "ellipsoid",
            _in_ellipsoid,
            "constrained least squares",
            "all mass inside the smallest ellipsoid around the shape",
            needs_shape=True,
        ),
        Method(
            "hull",
            _in_hull,
            "constrained least squares",
            "all mass inside the convex hull of the shape",
            needs_shape=True,
        ),
        Method("consistent", _constrained, "constrained least squares", "a body that can exist"),
        Method(
            "ols",
            _ordinary,
            "ordinary least squares (Atkeson, An and Hollerbach 1986)",
            "nothing",
            smooths=False,
            needs_mass=False,
        ),
        Method(
            "rtls",
            _total,
            "recursive total least squares (Kubus 2008)",
            "nothing",
            smooths=False,
            needs_mass=False,
        ),
    )
}


def method_named(name: str) -> Method:
    """The record of a method. Raises OptionError for another name."""
    if name not in METHODS:
        raise OptionError(f"Unknown method {name!r}. Choose from {choices(METHODS)}.")
    return METHODS[name]


def fitted_body(A, b, prior, *, weight: float, regularizer: str = "pullback", within: BodySet | None = None) -> Fit:
    """The body nearest to data `||A theta - b||^2` and a prior (10,), by `fit.consistent`, fitted as the W of `J = L W
    L^T` with the prior's `J0 = L L^T`, so that sheets are as well scaled as balls; constraints that bind are left aside
    in its covariance. Raises InertiaError for a prior that is not physically consistent."""
    to_theta = unit_basis(np.asarray(prior, dtype=float)) @ FROM_UNIT
    info = summed((A @ to_theta)[:, None], b[:, None], layout=ParameterLayout((BODY,)))
    held = None if within is None else {BODY: _Relative(within, to_theta)}
    found = consistent(info, prior=UNIT_BODY, within=held, regularizer=regularizer, weight=weight, noise=(1.0,))
    rough = ("the optimum is not proven to the usual accuracy",) if found.status is FitStatus.INACCURATE else ()
    return to_theta @ found.theta[0], to_theta @ found.covariance @ to_theta.T, (*found.notes, *rough)


@dataclass(frozen=True, eq=False)
class _Relative(BodySet):
    """A set of bodies theta as one of the bodies W of `fitted_body`. to_theta: (10, 10)."""

    held: BodySet
    to_theta: np.ndarray

    @property
    def frame(self) -> np.ndarray:
        root = np.linalg.cholesky(pseudo.to_matrix(self.to_theta @ UNIT_BODY[0]))
        return self.held.frame @ root

    def cone_rows(self, eps: float = 0.0):
        rows = self.held.cone_rows(eps)
        return replace(rows, A_theta=rows.A_theta @ self.to_theta)


def compact_body(mass, com) -> np.ndarray:
    """(10,) of a body with radius of gyration `(m / 1000 kg/m^3)^(1/3)`: elongated, and about as dense as water; com
    (3,) pulled in."""
    radius = (mass / WATER) ** (1 / 3)
    com = np.asarray(com, dtype=float)
    com = com * min(1.0, FARTHEST_RADII * radius / max(float(np.linalg.norm(com)), 1e-12))
    return parameters.from_com_inertia(mass, com, mass * radius**2 * 2 / 3 * np.eye(3))


def _solid(problem: WrenchProblem) -> Solid:
    assert problem.solid is not None
    return problem.solid


def _unconstrained_covariance(problem: WrenchProblem) -> np.ndarray:
    A, _ = problem.whitened
    return np.linalg.pinv(A.T @ A, hermitian=True)


def _prior(problem: WrenchProblem) -> np.ndarray:
    """(10,) what the user expects, else the homogeneous shape, else a compact body at the measured mass and centre."""
    if problem.prior is not None:
        return problem.prior
    if problem.solid is not None:
        return problem.mass * problem.solid.homogeneous
    about_center = np.concatenate([np.zeros(4), compact_body(problem.mass, np.zeros(3))[4:]])
    A, b = problem.whitened
    x = solve(A[:, :4], b - A @ about_center)
    return compact_body(problem.mass, x[1:] / x[0] if x[0] > 0 else np.zeros(3))
