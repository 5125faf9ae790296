"""What every payload method starts from: the Information of a log, its noise, and what is known of the body."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.information import Information
from steelyard.numbers import SURE
from steelyard.payload.rows import sample_worth
from steelyard.payload.solid_shape import Solid
from steelyard.payload.thresholds import IN_A_ROW, THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_sums import accumulate, bias_of, eliminated, freed, weighed_fit, wrench_regressor


@dataclass(frozen=True, eq=False)
class WrenchProblem:
    """A log made ready for fitting.

    memory: (2,) samples that one independent sample is worth, from the residuals' autocorrelation (errors of a motion
    filter are not white).
    """

    log: WrenchLog  # as used (compensated, smoothed)
    information: Information  # its sums
    noise: np.ndarray  # (2,) standard deviations of force [N] and torque [N m]
    memory: np.ndarray
    bias: bool | str = False  # whether a constant wrench is estimated beside, or "drift"
    solid: Solid | None = None  # the shape, None when unknown
    prior: np.ndarray | None = None  # (10,) parameters that the user expects, None for none

    @cached_property
    def whitened(self) -> tuple[np.ndarray, np.ndarray]:
        """A (10, 10), b (10,): `||A theta - b||^2` is the cost in units of the noise's variance, the bias left free."""
        T = eliminated(self.information, self._deviation)[:10]
        return T[:, :10], T[:, 10]

    @cached_property
    def mass(self) -> float:
        """Mass from the forces alone, kg: it needs no centre of mass, and no prior."""
        return mass_of(self.log, self.bias)

    def bias_beside(self, theta, covariance) -> tuple[np.ndarray, np.ndarray]:
        """Bias (k,) beside a payload theta (10,) of a covariance (10, 10), and its standard deviations."""
        return bias_of(self.information, self._deviation, theta, covariance)

    @property
    def _deviation(self) -> np.ndarray:
        return self.noise * np.sqrt(self.memory)


def make_problem(log, *, noise=None, bias: bool | str = False, solid=None, prior=None) -> WrenchProblem:
    """Accumulate a log; noise: (2,) known standard deviations, by default from the residuals of a weighted fit."""
    information = accumulate(log, bias=bias)
    fitted, _, found = weighed_fit(information)
    memory = residual_memory(log, fitted[:10], found, bias)
    if noise is not None:
        stated = np.asarray(noise, dtype=float)
        chance = 1 + SURE / np.sqrt(2 * np.maximum(3 * len(log) / memory - 6, 1))  # of that many independent residuals
        found = np.where(found > stated * np.maximum(THRESHOLDS.misstated, chance), found, stated)
    return WrenchProblem(log, information, found, memory, bias, solid, prior)


def residual_memory(log: WrenchLog, theta, noise, bias: bool | str) -> np.ndarray:
    """(2,) integrated autocorrelation, in samples, of force and torque residuals; 1 for white noise. theta: (10,)."""
    part = log[:IN_A_ROW]
    if len(part) < 50:
        return np.ones(2)
    Y = wrench_regressor(part)
    residual = freed(part.wrench - Y @ theta, part.t, bias)
    return sample_worth(Y, residual, noise, np.repeat([0, 1], 3))


def solve(A, b) -> np.ndarray:
    """Least squares with columns scaled to unit length, of least scaled norm where the data leaves freedom."""
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0] = 1.0
    return np.linalg.lstsq(A / scale, b, rcond=1e-12)[0] / scale


def without_drift(log: WrenchLog, drift) -> WrenchLog:
    """The log less a wrench that grows by (6,) each second from its start."""
    return log.replace(wrench=log.wrench - np.outer(log.t - log.t[0], drift))


def mass_of(log: WrenchLog, bias: bool | str = False) -> float:
    """Mass whose weight and push along the motion of the sensor explain the forces best, kg."""
    felt = freed(log.origin_acceleration - log.gravity_in_sensor, log.t, bias)
    force = freed(log.wrench[:, :3], log.t, bias)
    energy = float(np.sum(felt * felt))
    return float(np.sum(felt * force)) / energy if energy > 0 else 0.0
