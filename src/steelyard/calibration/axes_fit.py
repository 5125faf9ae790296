"""Joint axes and inertial parameters from one torque log (paper D, section 2, used for calibration).

For given axes the rest is a convex fit, so only the axes are iterated: Gauss-Newton on eta with the physically
consistent fit inside (variable projection). A step solves

    min_dz || W (r - J dz - Y dtheta) ||^2 + prior(dtheta) + ||z + dz||^2

with dtheta eliminated: what the inertial parameters can take up does not count as evidence for an axis error.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from steelyard.arguments import require_each, require_type
from steelyard.calibration.axis_errors import SHIFT, TILT, AxisDirections, axis_directions, axis_sums
from steelyard.calibration.visibility import AxisVisibility, axis_visibility
from steelyard.cards import Card
from steelyard.dynamics.closed_loop.projection import with_motors
from steelyard.errors import LoopError, OptionError, SteelyardError
from steelyard.fit import Estimate, Status, consistent
from steelyard.fit.prior import prior_precision
from steelyard.fit.whitening import weak_directions, whiten
from steelyard.identifiable.basis import from_null_space
from steelyard.information import Information, accumulate
from steelyard.job import FRICTION
from steelyard.log import Log
from steelyard.model import Robot, with_moved_axes
from steelyard.numbers import ROUNDING, ROUNDS

SMALL = 0.03  # standard deviations: a step below it changes nothing that matters
STALLED = 0.5  # the same where no step improves the fit any more: the inertial prior, a constraint or rounding decides
MEASURED = 0.5  # of its prior deviation: below it a direction was decided by the log


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Card):
    """Joint axes and inertial parameters fitted together.

    eta: (nj, 6) correction of each joint's twist, `Ad_exp(eta)` in its child's frame, m and rad; of a robot with loops
    (nj + L, 6), joints that were cut behind the others, in the frames of their closures. rms_before, rms: (nv,) of the
    torque residual with the model's own axes and with these, inertial parameters fitted in both.
    """

    robot: Robot  # the model with corrected axes and identified values
    estimate: Estimate  # the fit of inertial parameters and friction at these axes
    eta: np.ndarray
    z: np.ndarray
    covariance: np.ndarray  # (d, d) of the directions, in their prior standard deviations
    directions: AxisDirections
    visibility: AxisVisibility  # what any log could show
    rms_before: np.ndarray
    rms: np.ndarray
    iterations: int
    converged: bool  # whether the last step was small beside its standard deviation

    def _rows(self):
        before, after = (float((x**2).mean() ** 0.5) for x in (self.rms_before, self.rms))
        return {
            "torque residual": f"{after:.4g} (with the model's axes {before:.4g})",
            "largest correction": f"{abs(self.eta).max():.3g} rad or m",
            "converged": self.converged,
            "estimate": self.estimate,
        }

    @property
    def values(self) -> np.ndarray:
        """(d,) correction along each direction, rad or m."""
        return self.z * self.directions.deviation

    @property
    def deviation(self) -> np.ndarray:
        """(d,) standard deviation of each correction, rad or m: the prior's where the log shows nothing."""
        return np.sqrt(np.diag(self.covariance)) * self.directions.deviation

    @property
    def eta_deviation(self) -> np.ndarray:
        """(nj, 6) standard deviation of each entry of eta, m and rad; zero for joints that were not corrected."""
        basis = self.directions.basis
        return np.sqrt(np.maximum(np.einsum("jid,de,jie->ji", basis, self.covariance, basis), 0.0))

    @property
    def measured(self) -> np.ndarray:
        """(d,) whether the log, and not the prior, decided a direction."""
        return self.deviation < MEASURED * self.directions.deviation

    def summary(self) -> str:
        """A few readable lines: residuals, corrections with standard deviations, what cannot be seen."""
        state = "converged" if self.converged else "stopped before convergence: give more iterations or check the log"
        lines = [f"Calibration of joint axes: {state} after {self.iterations} steps"]
        lines += [
            f"  {name}: residual {before:.4g} -> {after:.4g}"
            for name, before, after in zip(self.estimate.group_names, self.rms_before, self.rms, strict=True)
        ]
        rows = zip(self.directions.names, self.values, self.deviation, self.measured, strict=True)
        for name, value, deviation, measured in rows:
            unit, factor = ("deg", np.degrees(1)) if " tilt " in name else ("mm", 1e3)
            told = "" if measured else "  (not decided by this log)"
            lines.append(f"  {name}: {value * factor:+.3f} ± {deviation * factor:.3f} {unit}{told}")
        if self.directions.held:
            lines.append(f"  Kept as they are, or the loops would not close: {', '.join(self.directions.held)}")
        return "\n".join([*lines, self.visibility.summary()])


def calibrate(
    robot: Robot,
    log,
    *,
    joints=None,
    tilt: float = TILT,
    shift: float = SHIFT,
    friction=FRICTION,
    armature: bool = False,
    prior=None,
    weight: float = 1.0,
    sample_weights: Callable[[Log], ArrayLike] | None = None,
    iterations: int = 20,
) -> Calibration:
    """Correct a robot's joint axes and identify its inertial parameters from the same torques (paper D, section 2).

    Args:
        robot: the model whose axes, inertias and friction are the nominal values.
        log: one Log or several, with q, v, a and tau, rich enough for both.
        joints: names of the joints whose axes to correct, all joints of one degree by default; of a robot with loops,
            also names of its loops.
        tilt: standard deviation of an axis's direction before the log, rad; 0 keeps directions.
        shift: standard deviation of a revolute axis's place before the log, m; 0 keeps places.
        friction: names of the friction terms, as in `accumulate`.
        armature: whether armature is identified, as in `accumulate`.
        prior: nominal inertial parameters, as in `fit.consistent`.
        weight: of that prior, as in `fit.consistent`.
        sample_weights: function of a log that returns weights of its samples, as in `accumulate`.
        iterations: number of Gauss-Newton steps at most.

    Returns:
        A Calibration: the corrected robot, the fit at its axes, corrections and their covariance.

    Raises:
        OptionError: unknown joints, no positive number of iterations, or loops that can close after none of the
            corrections.
        FitError, LogError: as the fit inside does.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> t = np.linspace(0, 5, 400)
        >>> phase, rate = np.array([0.1, 0.7, 1.9, 0.4]), np.array([5.0, 7.0, 4.0, 9.0])
        >>> q = 0.1 * np.sin(rate * t[:, None] + phase)
        >>> v, a = 0.1 * rate * np.cos(rate * t[:, None] + phase), -(rate**2) * q
        >>> tau = sy.inverse_dynamics(robot, q, v, a) + 1e-3 * np.random.default_rng(0).normal(size=q.shape)
        >>> log = sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
        >>> found = sy.calibrate(robot, log, joints=["joint2"], tilt=0.01, shift=0.0, friction=())
        >>> bool(np.degrees(np.abs(found.values)).max() < 0.5)
        True
    """
    require_type(Robot, robot=robot)
    require_each(Log, log=log)
    if iterations < 1:
        raise OptionError(f"iterations is a positive number of steps; got {iterations!r}.")
    logs, robot = (log,) if isinstance(log, Log) else tuple(log), with_motors(robot)
    directions = axis_directions(robot, joints, tilt=tilt, shift=shift)
    options = {"friction": friction, "armature": armature, "sample_weights": sample_weights}

    def fitted(z) -> _AxesFit:
        info = accumulate(with_moved_axes(robot, directions.eta(z)), logs, columns="all", **options)
        estimate = consistent(_ungrouped(info), prior=prior, weight=weight)
        return _AxesFit(z, info, estimate, info.residual_energy(estimate.parameters))

    point = start = fitted(np.zeros(directions.count))
    converged, steps = False, 0
    while not converged and steps < iterations:
        step, covariance = _step(point, logs, directions, prior, weight, sample_weights)
        steps += 1
        moved = _improved(point, step, fitted)
        stalled, point = moved is point, moved
        converged = bool(np.all(np.abs(step) < (STALLED if stalled else SMALL) * np.sqrt(np.diag(covariance))))
        if stalled:
            break
    _, covariance = _step(point, logs, directions, prior, weight, sample_weights)
    estimate = _regrouped(point)
    return Calibration(
        robot=estimate.require_robot(),
        estimate=estimate,
        eta=directions.eta(point.z),
        z=point.z,
        covariance=covariance,
        directions=directions,
        visibility=axis_visibility(robot.with_inertias(estimate.theta), point.info.layout, directions),
        rms_before=np.sqrt(start.energy / start.info.counts),
        rms=np.sqrt(point.energy / point.info.counts),
        iterations=steps,
        converged=converged,
    )


@dataclass(frozen=True, eq=False)
class _AxesFit:
    """Axes z (d,), the fit at them, and the residual energy (nv,) it leaves."""

    z: np.ndarray
    info: Information
    estimate: Estimate
    energy: np.ndarray

    @property
    def cost(self) -> float:
        """Negative log posterior of the axes, the noise of each joint profiled out."""
        counts = self.info.counts * self.info.independence
        energy = np.maximum(self.energy, np.maximum(ROUNDING * self.info.energy, np.finfo(float).tiny))
        return float(counts @ np.log(energy / self.info.counts) / 2 + self.z @ self.z / 2)


def _ungrouped(info: Information) -> Information:
    """The same sums with every column its own base column: regrouping diverges where two axes are nearly parallel."""
    return replace(info, basis=from_null_space(np.zeros((info.layout.size, 0))))


def _regrouped(point: _AxesFit) -> Estimate:
    estimate, basis = point.estimate, point.info.basis
    weights = point.info.independence / estimate.noise**2
    weakest = weak_directions(whiten(point.info.base.weighted(weights)), estimate.layout, basis)
    status = estimate.status if not estimate.status.usable else Status.WEAK_EXCITATION if weakest else Status.OK
    covariance = basis.regrouping @ estimate.covariance @ basis.regrouping.T
    return replace(estimate, basis=basis, covariance=covariance, weakest=weakest, status=status)


def _improved(point: _AxesFit, step, fitted) -> _AxesFit:
    """The fit at the longest of the halved steps that costs less; the point itself when none does."""
    for k in range(ROUNDS):
        try:
            trial = fitted(point.z + step / 2**k)
        except SteelyardError as error:
            if not _opens(error):
                raise
            continue  # too long a step: with such axes the linkage cannot make the recorded motion
        if trial.cost < point.cost:
            return trial
    return point


def _opens(error: BaseException | None) -> bool:
    """Whether loops that cannot close are behind an error."""
    return error is not None and (isinstance(error, LoopError) or _opens(error.__cause__))


def _step(point: _AxesFit, logs, directions, prior, weight: float, sample_weights):
    """Gauss-Newton step (d,) and posterior covariance (d, d) of the axes."""
    estimate, info = point.estimate, point.info
    weights = info.independence / estimate.noise**2
    robot, width = estimate.require_robot(), info.coulomb_width
    sums = axis_sums(
        robot, info.layout, logs, directions, point.z, weights=weights, width=width, sample_weights=sample_weights
    )
    inertial, cross = sums.inertial + prior_precision(info, prior=prior, weight=weight), sums.cross
    scale = 1 / np.sqrt(np.diag(inertial))
    taken = cross.T @ (scale[:, None] * np.linalg.solve(scale[:, None] * inertial * scale, scale[:, None] * cross))
    covariance = np.linalg.inv(sums.axes - taken + np.eye(directions.count))
    slope = sums.moment - cross.T @ estimate.parameters
    return covariance @ (slope - point.z), covariance
