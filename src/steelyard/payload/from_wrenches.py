"""`identify`: a wrench log and perhaps a shape in, a `Payload` out."""

from dataclasses import replace

import numpy as np

from steelyard.arguments import require_type
from steelyard.errors import InertiaError, LogError, OptionError
from steelyard.inertia import is_consistent
from steelyard.payload.gravity_strength import Strength, strength_of
from steelyard.payload.methods import METHODS, Fit, Method, Settings, method_named
from steelyard.payload.motion_consistency import with_motion
from steelyard.payload.motion_signals import smooth_motion
from steelyard.payload.payload_estimate import Payload, Status, status_of
from steelyard.payload.solid_shape import Solid, solid_of
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.tool_calibration import Tool, compensate, tool_spread
from steelyard.payload.wrench_faults import examine, implausibility, misfit, misstated
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_problem import WrenchProblem, make_problem, without_drift
from steelyard.payload.wrench_sums import DRIFT, weighed_fit
from steelyard.payload_request import Request


def identify(
    log: WrenchLog,
    method: str = Request.method,
    *,
    shape=None,
    prior=None,
    tool: Tool | None = None,
    bias: bool | str = Request.bias,
    elsewhere: bool = Request.elsewhere,
    noise=Request.noise,
    points: int = Settings.points,
    density: float | None = None,
    scale: float = Request.scale,
    c1: float = Settings.c1,
    dynamism: tuple[float, float, float] = Settings.dynamism,
    weight: float | None = Settings.weight,
    smooth: bool | None = None,
    seed: int = Settings.seed,
) -> Payload:
    """Identify what is held from a wrist force-torque log.

    Args:
        log: with motion, or static: poses at rest show mass and centre of mass only.
        method: a name of `METHODS`; "auto" takes "density" with a shape and "geo" without.
        shape: what `solid_of` takes, in the sensor frame in metres.
        prior: parameters (10,) or a `Payload` expected beforehand, in the sensor frame; by default the homogeneous
            shape at the measured mass, or without shape a compact body of the density of water.
        tool: from `calibrate`, taken off first.
        bias: whether a constant wrench is estimated beside, for a sensor that was not tared; "drift" for one that also
            changes steadily with time.
        elsewhere: the robot is not on the Earth. Otherwise a gravity of another strength, which the motion cannot
            check, makes a log SUSPECT.
        noise: (2,) known standard deviations of force [N] and torque [N m]; by default from the residuals.
        points, c1: number of points and dynamism of full trust of "pmd".
        dynamism: n1 [m/s^2], n2 [rad/s^2] and n3 [rad/s] of "pmd": what counts as fast, of paper E, 4.
        density: points per cm^3 of the shape.
        scale: metres per unit of the shape's file.
        weight: lambda of "pmd", weight of the prior in "geo", "ellipsoid", "hull" and "consistent".
        smooth: whether twist and acceleration are fused first; by default for all methods but the published ones, when
            the acceleration is noisy.
        seed: of random points.

    Returns:
        The payload with its covariance and status; data that only looks wrong is reported in `findings`.

    Raises:
        OptionError: an unknown method, or options that it cannot use.
        LogError: fewer than four samples, or a motion that is not known.
        InertiaError: an unusable shape or prior.

    Source: paper E, with the methods of `METHODS`.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> from scipy.spatial.transform import Rotation
        >>> turned = Rotation.random(20, random_state=0).as_matrix()
        >>> still = sy.WrenchLog(t=np.arange(20.0), wrench=np.zeros((20, 6)), rotation=turned)
        >>> held = sy.inertia.from_com_inertia(0.7, np.array([0.0, 0.02, 0.05]), 1e-3 * np.eye(3))
        >>> log = still.replace(wrench=sy.payload.predicted_wrench(held, still))
        >>> found = sy.payload.identify(log)
        >>> round(found.mass, 3), found.method, found.status.name
        (0.7, 'geo', 'STATIC')
    """
    require_type(WrenchLog, log=log)
    settings = Settings(points, c1, dynamism, weight, seed)
    wanted = method_named(method)
    _require_options(wanted, shape, noise, points)
    if len(log) < THRESHOLDS.fewest_poses:
        fewest = THRESHOLDS.fewest_poses
        raise LogError(f"{log.name} has {len(log)} samples; a payload needs at least {fewest}, in different poses")
    solid = None if shape is None else solid_of(shape, density=density, scale=scale, seed=seed)
    chosen, why = _choose(wanted, solid, log)
    log = prepared_log(log, method, tool=tool, smooth=smooth)
    expected = None if prior is None else _consistent_prior(prior)
    problem = make_problem(log, noise=noise, bias=bias, solid=solid, prior=expected)
    strength, findings = _examined(problem, elsewhere=elsewhere, noise=noise)
    if not problem.mass > 0 and chosen.needs_mass:
        why = f"{chosen.name} needs a positive mass, and the forces give {problem.mass:.4g} kg"
        chosen = METHODS["ols"]
    theta, covariance, notes = chosen.fit(problem, settings)
    if tool is not None:
        covariance = covariance + tool_spread(problem, theta, covariance, tool)
    if solid is not None and solid.uncertain and chosen.name != "density":
        notes = (*notes, f"method {chosen.name} takes the shape as exact; density accounts for its deviations")
    return _judged(problem, (theta, covariance, notes), chosen, why, strength, findings, noise)


def _examined(problem: WrenchProblem, *, elsewhere: bool, noise) -> tuple[Strength | None, tuple]:
    """The strength of gravity in a log, and findings before anything is fitted."""
    log, biased = problem.log, bool(problem.bias)
    if problem.bias == DRIFT:  # the mistakes are others
        log = without_drift(log, weighed_fit(problem.information)[0][16:])
    strength = strength_of(log, bias=biased, noise=noise)
    return strength, tuple(
        examine(log, problem.solid, strength=strength, elsewhere=elsewhere, bias=biased, noise=noise)
    )


def _judged(problem: WrenchProblem, fit: Fit, method: Method, why: str, strength, findings, noise) -> Payload:
    """The payload of a fit, with the bias beside it, and its status by all findings. noise: as it was stated."""
    theta, covariance, notes = fit
    log, bias, solid = problem.log, problem.bias, problem.solid
    offset, spread = problem.bias_beside(theta, covariance)
    findings = (*findings, *misfit(problem, theta, offset), *implausibility(theta), *misstated(problem, noise))
    if strength is not None and not strength.checked and not any(each.severity == "fatal" for each in findings):
        notes = (*notes, strength.unchecked)
    payload = Payload(
        theta=theta,
        covariance=covariance,
        method=method.name,
        status=Status.OK,
        noise=problem.noise,
        samples=len(log),
        bias=offset[:6] if bias else None,
        drift=offset[6:] if bias == DRIFT else None,
        drift_deviation=spread[6:] if bias == DRIFT else None,
        why=why,
        findings=tuple(finding.message for finding in findings),
        notes=(*log.notes, *(solid.notes if solid is not None else ()), *notes),
    )
    return replace(payload, status=_status(payload, problem, findings))


def prepared_log(log: WrenchLog, method: str, *, tool: Tool | None = None, smooth: bool | None = None) -> WrenchLog:
    """The log that is fitted: samples at rest where motion is not known, the tool taken off, the motion smoothed where
    the method asks for it. Raises LogError for a sensor that turns all the time and a motion that is not known."""
    smooth = method_named(method).smooths if smooth is None else smooth
    log = with_motion(log, THRESHOLDS.fewest_poses)
    log = log if tool is None else compensate(log, tool)
    return smooth_motion(log) if smooth else log


def _require_options(method: Method, shape, noise, points):
    if method.needs_shape and shape is None:
        raise OptionError(f"method {method.name!r} needs shape=: a mesh, point cloud or ellipsoid in the sensor frame")
    if noise is not None and (np.shape(noise) != (2,) or not (np.asarray(noise) > 0).all()):
        raise OptionError(f"noise is two positive standard deviations, force [N] and torque [N m]; got {noise!r}")
    if points < 4:
        raise OptionError(f"points={points}: point masses need at least 4 points")


def _choose(method: Method, solid: Solid | None, log) -> tuple[Method, str]:
    if method.name != "auto":
        return method, "as asked for"
    motion = "the log has motion" if log.moving else "the log is static"
    if solid is None:
        why = f"no shape was given and {motion}: entropic distance to a compact body keeps the result physical"
        return METHODS["geo"], why
    why = f"the shape is known and {motion}: its random density carries over to what the motion hides"
    return METHODS["density"], why


def _consistent_prior(prior) -> np.ndarray:
    theta = np.asarray(prior.theta if isinstance(prior, Payload) else prior, dtype=float)
    if theta.shape != (10,) or not is_consistent(theta):
        raise InertiaError(
            f"prior: expected the ten parameters of a consistent body in the sensor frame, got shape {theta.shape}"
            + ("" if theta.shape != (10,) else "; project it onto Consistent() first")
        )
    return theta


def _status(payload: Payload, problem: WrenchProblem, findings) -> Status:
    fatal = [finding.code for finding in findings if finding.severity == "fatal"]
    if fatal:
        return Status.NOT_EXPLAINED if fatal == ["unexplained"] else Status.SUSPECT
    size = None if problem.solid is None else float(np.linalg.norm(problem.solid.sides)) / 2
    A, _ = problem.whitened
    status = status_of(payload, moving=problem.log.moving, gram=A.T @ A, size=size)
    return status if payload.consistent or status is Status.FAINT else Status.INCONSISTENT
