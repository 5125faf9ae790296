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

from steelyard.calibration.directions import SHIFT, TILT, axis_directions
from steelyard.calibration.result import Calibration
from steelyard.calibration.sums import axis_sums
from steelyard.calibration.visibility import axis_visibility
from steelyard.defaults import FRICTION
from steelyard.errors import OptionError
from steelyard.fit import Estimate, Status, consistent, prior_precision, weak_directions, whiten
from steelyard.identifiable import from_null_space
from steelyard.information import Information, accumulate
from steelyard.log import Log
from steelyard.model import Robot, with_moved_axes

SMALL = 0.03  # standard deviations: a step below it changes nothing that matters
STALLED = 0.5  # the same where no step improves the fit any more: the inertial prior, a constraint or rounding decides
FLOOR = 1e-12  # of the energy of the torques: residuals below it are rounding
HALVINGS = 8


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
    """Correct a robot's joint axes and identify its inertial parameters from the same torques.

    log: one or several, with q, v, a and tau, rich enough for both. joints: whose axes to correct, all joints of one
    degree by default. tilt [rad], shift [m]: how wrong axes may be, one standard deviation; 0 keeps them. prior,
    weight: of the inertial parameters, as in `fit.consistent`; friction, armature, sample_weights (a
    function of a log): as in `accumulate`. iterations: steps at most.

    Raises OptionError for unknown joints, FitError and LogError as the fit inside does.
    """
    if iterations < 1:
        raise OptionError(f"iterations is a positive number of steps; got {iterations!r}.")
    logs = (log,) if isinstance(log, Log) else tuple(log)
    directions = axis_directions(robot, joints, tilt=tilt, shift=shift)
    options = {"friction": friction, "armature": armature, "sample_weights": sample_weights}

    def fitted(z) -> _Point:
        info = accumulate(with_moved_axes(robot, directions.eta(z)), logs, columns="all", **options)
        estimate = consistent(_ungrouped(info), prior=prior, weight=weight)
        return _Point(z, info, estimate, info.residual_energy(estimate.parameters))

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
class _Point:
    """Axes z (d,), the fit at them, and the residual energy (nv,) it leaves."""

    z: np.ndarray
    info: Information
    estimate: Estimate
    energy: np.ndarray

    @property
    def cost(self) -> float:
        """Negative log posterior of the axes, the noise of each joint profiled out."""
        counts = self.info.counts * self.info.independence
        energy = np.maximum(self.energy, np.maximum(FLOOR * self.info.energy, np.finfo(float).tiny))
        return float(counts @ np.log(energy / self.info.counts) / 2 + self.z @ self.z / 2)


def _ungrouped(info: Information) -> Information:
    """The same sums with every column its own base column, whatever it depends on.

    While axes move, base columns come and go: where two axes are nearly parallel their regrouping grows without
    bound, and the residual would drown in rounding.
    """
    return replace(info, basis=from_null_space(np.zeros((info.layout.size, 0))))


def _regrouped(point: _Point) -> Estimate:
    """The fit in terms of the base parameters of its own axes."""
    estimate, basis = point.estimate, point.info.basis
    weights = point.info.independence / estimate.noise**2
    weakest = weak_directions(whiten(point.info.base.weighted(weights)), estimate.layout, basis)
    status = estimate.status if not estimate.status.usable else Status.WEAK_EXCITATION if weakest else Status.OK
    covariance = basis.regrouping @ estimate.covariance @ basis.regrouping.T
    return replace(estimate, basis=basis, covariance=covariance, weakest=weakest, status=status)


def _improved(point: _Point, step, fitted) -> _Point:
    """The fit at the longest of the halved steps that costs less; the point itself when none does."""
    for k in range(HALVINGS):
        trial = fitted(point.z + step / 2**k)
        if trial.cost < point.cost:
            return trial
    return point


def _step(point: _Point, logs, directions, prior, weight: float, sample_weights):
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
