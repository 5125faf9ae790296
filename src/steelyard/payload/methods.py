"""The estimators of a payload, one record each: what it is, what it needs, what its result is held to.

Command line, errors and the table of `docs/payload.md` come from `METHODS`; a new estimator is a function and a record.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError, OptionError, choices
from steelyard.inertia import (
    COARSE,
    BodySet,
    Consistent,
    EllipsoidRealizable,
    HullRealizable,
    divergence,
    minimise,
)
from steelyard.payload.density import density_fit
from steelyard.payload.entropic import compact_body, entropic_fit
from steelyard.payload.point_mass import C1, DYNAMISM, LAMBDA, discretise, solve_point_masses
from steelyard.payload.solid_shape import Solid
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_problem import Problem, solve
from steelyard.payload.wrench_sums import triangle

PMD_POINTS = 56
HULL_CORNERS = 40  # of a hull; more cost time and change nothing
WEIGHT = 1e-2  # of the prior of a constrained fit: it decides what the data leaves open and hardly moves the rest
INTERIOR = 1e-6  # eigenvalue that keeps off singular bodies, relative to the set's size


@dataclass(frozen=True)
class Settings:
    """Options of the estimators. points, c1, dynamism: of point masses; weight: of prior or regularisation, None for
    the estimator's own; seed: of random points."""

    points: int = PMD_POINTS
    c1: float = C1
    dynamism: tuple[float, float, float] = DYNAMISM
    weight: float | None = None
    seed: int = 0


Fit = tuple[np.ndarray, np.ndarray, tuple[str, ...]]
"""theta (10,), its covariance (10, 10) and notes."""


@dataclass(frozen=True)
class Method:
    """One estimator.

    name: as users write it.
    fit: function of a problem and settings.
    summary: what it does, with its source.
    held_to: which bodies a result can be.
    needs_shape: whether it needs the shape of what is held.
    smooths: whether noisy motion is smoothed first; estimators as published take it as it was measured.
    needs_mass: whether the forces have to give a positive mass.
    """

    name: str
    fit: Callable[[Problem, Settings], Fit]
    summary: str
    held_to: str
    needs_shape: bool = False
    smooths: bool = True
    needs_mass: bool = True


def _automatic(problem: Problem, settings: Settings) -> Fit:
    return METHODS["geo" if problem.solid is None else "density"].fit(problem, settings)


def _density(problem: Problem, settings: Settings) -> Fit:
    fit = density_fit(*problem.whitened, _solid(problem), problem.mass)
    return fit.theta, fit.covariance, ()


def _point_masses(problem: Problem, settings: Settings, squared: bool = False) -> Fit:
    weight = LAMBDA if settings.weight is None else settings.weight
    points = _solid(problem).sample(settings.points, seed=settings.seed)
    data = discretise(problem, points, c1=settings.c1, scale=settings.dynamism, weight=weight)
    fit = solve_point_masses(data, squared=squared)
    A, _ = problem.whitened
    spread = np.linalg.inv(A.T @ A + 0.5 * divergence.pullback_metric(_prior(problem)))
    return fit.theta, spread, (f"{len(fit.points)} points, duality gap {fit.gap:.1e}",)


def _squared_point_masses(problem: Problem, settings: Settings) -> Fit:
    return _point_masses(problem, settings, squared=True)


def _entropic(problem: Problem, settings: Settings) -> Fit:
    weight = 1.0 if settings.weight is None else settings.weight
    return *entropic_fit(*problem.whitened, _prior(problem), weight=weight), ()


def _in_ellipsoid(problem: Problem, settings: Settings) -> Fit:
    return _in_set(problem, settings, EllipsoidRealizable(_solid(problem).ellipsoid))


def _in_hull(problem: Problem, settings: Settings) -> Fit:
    return _in_set(problem, settings, HullRealizable(_solid(problem).coarse_hull(HULL_CORNERS)))


def _consistent(problem: Problem, settings: Settings) -> Fit:
    return _in_set(problem, settings, Consistent())


def _in_set(problem: Problem, settings: Settings, body_set: BodySet) -> Fit:
    weight = WEIGHT if settings.weight is None else settings.weight
    return *constrained_fit(*problem.whitened, body_set, _prior(problem), weight=weight), ()


def _ordinary(problem: Problem, settings: Settings) -> Fit:
    """Force and torque rows weigh alike, in SI units."""
    theta = solve(*problem.information.whitened((1.0, 1.0), bias=problem.bias))
    return theta, _unconstrained_covariance(problem), ()


def _total(problem: Problem, settings: Settings) -> Fit:
    """Noise in the regressor as in the wrench: the smallest singular vector of `[A b]`.

    Recursive as published: only the triangular factor of all samples so far enters, and it is updated, not rebuilt.
    Raises FitError where that vector says nothing about theta (the log excites too little).
    """
    v = np.linalg.svd(problem.information.triangle((1.0, 1.0), bias=problem.bias))[2][-1]
    if abs(v[-1]) < THRESHOLDS.no_component:
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
            "pmd-squared",
            _squared_point_masses,
            "the same with squared norms, about twice as fast",
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
        Method("consistent", _consistent, "constrained least squares", "a body that can exist"),
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


def constrained_fit(A, b, body_set: BodySet, prior, *, weight: float = WEIGHT) -> tuple[np.ndarray, np.ndarray]:
    """theta (10,) in the set that minimises `||A theta - b||^2 + weight * pullback(theta, prior)`, and its covariance
    (10, 10) with the constraints left aside (paper B).

    A: (k, 10), b: (k,) in units of the noise; prior: (10,), consistent. Raises InertiaError where no body of the set
    exists or the solver cannot reach one.
    """
    metric = 0.5 * weight * divergence.pullback_metric(np.asarray(prior, dtype=float))
    root = np.linalg.cholesky(metric).T
    factor = triangle(np.column_stack([np.concatenate([A, root]), np.concatenate([b, root @ prior])]))
    R, r = factor[:10, :10], factor[:10, 10]
    inverse = np.linalg.inv(R)
    free = inverse @ r
    covariance = inverse @ inverse.T
    rows = body_set.cone_rows(INTERIOR)
    if not rows.aux and body_set.contains(free):
        return free, covariance
    size = max(1.0, float(np.linalg.norm(R @ (prior - free))))
    scale = np.linalg.norm(rows.A_aux, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    M = np.column_stack([rows.A_theta @ inverse * size, rows.A_aux / scale])
    h = rows.b - rows.A_theta @ free
    unit = float(np.abs(h).max()) or 1.0
    P = np.zeros((M.shape[1], M.shape[1]))
    P[:10, :10] = np.eye(10)
    step = minimise(P, np.zeros(len(P)), M / unit, h / unit, rows.cones, tolerances=COARSE)[:10]
    return free + inverse @ (size * step), covariance


def _solid(problem: Problem) -> Solid:
    assert problem.solid is not None
    return problem.solid


def _unconstrained_covariance(problem: Problem) -> np.ndarray:
    A, _ = problem.whitened
    return np.linalg.pinv(A.T @ A, hermitian=True)


def _prior(problem: Problem) -> np.ndarray:
    """(10,) what the user expects, else the homogeneous shape, else a compact body at the measured mass and centre."""
    if problem.prior is not None:
        return problem.prior
    if problem.solid is not None:
        return problem.mass * problem.solid.homogeneous
    about_center = np.concatenate([np.zeros(4), compact_body(problem.mass, np.zeros(3))[4:]])
    A, b = problem.whitened
    x = solve(A[:, :4], b - A @ about_center)
    return compact_body(problem.mass, x[1:] / x[0] if x[0] > 0 else np.zeros(3))
