"""`identify`: a wrench log and perhaps a shape in, a `Payload` out."""

from dataclasses import replace

import numpy as np

from steelyard.errors import InertiaError, LogError, OptionError, choices
from steelyard.inertia import Consistent, EllipsoidRealizable, HullRealizable, divergence, is_consistent
from steelyard.payload.constrained_fit import constrained_fit
from steelyard.payload.density import density_fit
from steelyard.payload.entropic import compact_body, entropic_fit
from steelyard.payload.gravity_strength import strength_of
from steelyard.payload.motion_consistency import with_motion
from steelyard.payload.motion_signals import smooth_motion
from steelyard.payload.payload_estimate import Payload, Status, status_of
from steelyard.payload.point_mass import C1, LAMBDA, discretise, solve_point_masses
from steelyard.payload.solid_shape import Solid, solid_of
from steelyard.payload.tool_calibration import Tool, compensate
from steelyard.payload.wrench_faults import examine, misfit
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_problem import Problem, make_problem, ordinary, solve, total

METHODS = ("auto", "density", "pmd", "pmd-squared", "geo", "ellipsoid", "hull", "consistent", "ols", "rtls")
NEEDS_SHAPE = ("density", "pmd", "pmd-squared", "ellipsoid", "hull")
PUBLISHED = ("ols", "rtls", "geo", "pmd", "pmd-squared")  # take the motion as it was measured, as published
FEWEST = 4  # samples: four poses show a mass and a centre
PMD_POINTS = 56
HULL_CORNERS = 40  # of a hull; more cost time and change nothing


def identify(
    log: WrenchLog,
    method: str = "auto",
    *,
    shape=None,
    prior=None,
    tool: Tool | None = None,
    bias: bool = False,
    elsewhere: bool = False,
    noise=None,
    points: int = PMD_POINTS,
    density: float | None = None,
    scale: float = 1.0,
    c1: float = C1,
    weight: float | None = None,
    smooth: bool | None = None,
    seed: int = 0,
) -> Payload:
    """Identify what is held from a wrist force-torque log.

    method: "auto" takes "density" with a shape and "geo" without. With a shape: "density" (random density inside it,
    conditioned on the data), "pmd" and "pmd-squared" (point masses, paper E), "ellipsoid" and "hull" (mass inside its
    smallest ellipsoid or its convex hull). Without: "geo" (entropic distance to a prior), "consistent" (J > 0 only),
    "ols" and "rtls" (no physics).
    shape: what `solid_of` takes, in the sensor frame in metres; scale: metres per unit of its file; density: points per
    cm^3 of it. prior: parameters (10,) or a Payload expected beforehand, in the sensor frame; by default the
    homogeneous shape at the measured mass, or without shape a compact body of the density of water.
    tool: from `calibrate`, taken off first. bias: estimate a constant wrench beside (for a sensor that was not tared).
    elsewhere: the robot is not on the Earth: a gravity of another strength, which the motion cannot check, makes a log
    SUSPECT otherwise. noise: known standard deviations of force [N] and torque [N m]; by default from the residuals.
    points, c1, weight: number of points, c1 and lambda of "pmd"; weight is also the prior's in "geo", "ellipsoid",
    "hull", "consistent".
    seed: of the points. smooth: fuse twist and acceleration first; by default for all but the published methods (ols,
    rtls, geo, pmd) when the acceleration is noisy. Logs without motion signals are static: they show mass and centre of
    mass only.

    Raises OptionError for unknown options, LogError for an unusable log, InertiaError for an unusable shape or prior.
    Data that only looks wrong is reported in `findings`.
    """
    _require_options(method, shape, noise, points)
    if len(log) < FEWEST:
        raise LogError(f"{log.name} has {len(log)} samples; a payload needs at least {FEWEST}, in different poses")
    solid = None if shape is None else solid_of(shape, density=density, scale=scale, seed=seed)
    chosen, why = _choose(method, solid, log)
    log = made_ready(log, method, tool=tool, smooth=smooth)
    expected = None if prior is None else _given_prior(prior)
    problem = make_problem(log, noise=noise, bias=bias, solid=solid, prior=expected)
    strength = strength_of(log, bias=bias, noise=noise)
    findings = examine(log, solid, strength=strength, elsewhere=elsewhere, bias=bias, noise=noise)
    if not problem.mass > 0 and chosen not in ("ols", "rtls"):
        chosen, why = "ols", f"{chosen} needs a positive mass, and the forces give {problem.mass:.4g} kg"
    theta, covariance, notes = _fit(problem, chosen, points, c1, weight, seed)
    constant = problem.information.bias(theta, problem.noise) if bias else None
    findings = (*findings, *misfit(problem, theta, constant))
    if strength is not None and not strength.checked and not any(each.severity == "fatal" for each in findings):
        notes = (*notes, strength.unchecked)
    payload = Payload(
        theta=theta,
        covariance=covariance,
        method=chosen,
        status=Status.OK,
        noise=problem.noise,
        samples=len(log),
        bias=constant,
        why=why,
        findings=tuple(finding.message for finding in findings),
        notes=(*log.notes, *(solid.notes if solid is not None else ()), *notes),
    )
    return replace(payload, status=_status(payload, problem, findings))


def made_ready(log: WrenchLog, method: str, *, tool: Tool | None = None, smooth: bool | None = None) -> WrenchLog:
    """The log that is fitted: samples at rest where motion is not known, the tool taken off, the motion smoothed where
    the method asks for it. Raises LogError for a sensor that turns all the time and a motion that is not known."""
    log = with_motion(log, FEWEST)
    log = log if tool is None else compensate(log, tool)
    return smooth_motion(log) if smooth or (smooth is None and method not in PUBLISHED) else log


def _require_options(method, shape, noise, points):
    if method not in METHODS:
        raise OptionError(f"Unknown method {method!r}. Choose from {choices(METHODS)}.")
    if method in NEEDS_SHAPE and shape is None:
        raise OptionError(f"method {method!r} needs shape=: a mesh, point cloud or ellipsoid in the sensor frame")
    if noise is not None and (np.shape(noise) != (2,) or not (np.asarray(noise) > 0).all()):
        raise OptionError(f"noise is two positive standard deviations, force [N] and torque [N m]; got {noise!r}")
    if points < 4:
        raise OptionError(f"points={points}: point masses need at least 4 points")


def _choose(method, solid: Solid | None, log):
    if method != "auto":
        return method, "as asked for"
    motion = "the log has motion" if log.moving else "the log is static"
    if solid is not None:
        return "density", f"the shape is known and {motion}: its random density carries over to what the motion hides"
    return "geo", f"no shape was given and {motion}: entropic distance to a compact body keeps the result physical"


def _given_prior(prior) -> np.ndarray:
    theta = np.asarray(prior.theta if isinstance(prior, Payload) else prior, dtype=float)
    if theta.shape != (10,) or not is_consistent(theta):
        raise InertiaError(
            f"prior: expected the ten parameters of a consistent body in the sensor frame, got shape {theta.shape}"
            + ("" if theta.shape != (10,) else "; project it onto Consistent() first")
        )
    return theta


def _unknown_shape(problem: Problem) -> np.ndarray:
    """(10,) of a compact body at the measured mass and centre."""
    about_center = np.concatenate([np.zeros(4), compact_body(problem.mass, np.zeros(3))[4:]])
    A, b = problem.whitened
    x = solve(A[:, :4], b - A @ about_center)
    return compact_body(problem.mass, x[1:] / x[0] if x[0] > 0 else np.zeros(3))


def _prior(problem):
    if problem.prior is not None:
        return problem.prior
    if problem.solid is not None:
        return problem.mass * problem.solid.homogeneous
    return _unknown_shape(problem)


def _fit(problem: Problem, method, points, c1, weight, seed):
    """theta (10,), covariance (10, 10), notes."""
    A, b = problem.whitened
    solid = problem.solid
    if method in ("ols", "rtls"):
        return (ordinary if method == "ols" else total)(problem), np.linalg.pinv(A.T @ A, hermitian=True), ()
    if method == "density":
        assert solid is not None
        fit = density_fit(A, b, solid, problem.mass)
        return fit.theta, fit.covariance, ()
    prior = _prior(problem)
    if method == "geo":
        return *entropic_fit(A, b, prior, weight=1.0 if weight is None else weight), ()
    if method in ("pmd", "pmd-squared"):
        assert solid is not None
        d = discretise(problem, solid.sample(points, seed=seed), c1=c1, weight=LAMBDA if weight is None else weight)
        fit = solve_point_masses(d, squared=method == "pmd-squared")
        spread = np.linalg.inv(A.T @ A + 0.5 * divergence.pullback_metric(prior))
        return fit.theta, spread, (f"{len(fit.points)} points, duality gap {fit.gap:.1e}",)
    extra = {} if weight is None else {"weight": weight}
    return *constrained_fit(A, b, _body_set(method, solid), prior, **extra), ()


def _body_set(method, solid: Solid | None):
    if method == "consistent" or solid is None:
        return Consistent()
    if method == "ellipsoid":
        return EllipsoidRealizable(solid.ellipsoid)
    return HullRealizable(solid.coarse_hull(HULL_CORNERS))


def _status(payload: Payload, problem: Problem, findings) -> Status:
    fatal = [finding.code for finding in findings if finding.severity == "fatal"]
    if fatal:
        return Status.NOT_EXPLAINED if fatal == ["unexplained"] else Status.SUSPECT
    size = None if problem.solid is None else float(np.linalg.norm(problem.solid.sides)) / 2
    status = status_of(payload, moving=problem.log.moving, size=size)
    return status if payload.consistent or status is Status.FAINT else Status.INCONSISTENT
