"""What a calibration returns."""

from dataclasses import dataclass

import numpy as np

from steelyard.calibration.directions import AxisDirections
from steelyard.calibration.visibility import AxisVisibility
from steelyard.fit import Estimate
from steelyard.model import Robot

MEASURED = 0.5  # of its prior deviation: below it a direction was decided by the log


@dataclass(frozen=True, eq=False)
class Calibration:
    """Joint axes and inertial parameters fitted together.

    robot: the model with corrected axes and identified values. estimate: the fit of inertial parameters and friction
    at these axes. eta: (nj, 6) correction of each joint's twist, `Ad_exp(eta)` in its child's frame, m and rad.
    covariance: (d, d) of the directions, in their prior standard deviations. rms_before, rms: (nv,) of the torque
    residual with the model's own axes and with these, inertial parameters fitted in both. converged: whether the last
    step was small beside its standard deviation. visibility: what any log could show.
    """

    robot: Robot
    estimate: Estimate
    eta: np.ndarray
    z: np.ndarray
    covariance: np.ndarray
    directions: AxisDirections
    visibility: AxisVisibility
    rms_before: np.ndarray
    rms: np.ndarray
    iterations: int
    converged: bool

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
            lines.append(f"  {name}: {value * factor:+.3f} +- {deviation * factor:.3f} {unit}{told}")
        return "\n".join([*lines, self.visibility.words()])
