"""What every payload method starts from: compressed data, its noise, and the shape."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.payload.rows import memory_of, score_spread
from steelyard.payload.solid_shape import Solid
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_sums import WrenchInformation, accumulate, freed, offsets, wrench_regressor

NOISE_STEPS = 5
MEMORY_SAMPLES = 5000
NOISE_FLOOR = 1e-6  # of the signal: noise-free simulated logs would weigh infinitely
CHANCE = 4.0  # deviations of a standard deviation
NOWHERE = 1e-12  # N: forces smaller than this are no signal


@dataclass(frozen=True, eq=False)
class Problem:
    """A log made ready for fitting.

    log: as used (compensated, smoothed); information: its sums; noise: (2,) standard deviations of force [N] and torque
    [N m]; memory: (2,) samples that one independent sample is worth, from the residuals' autocorrelation (errors of a
    motion filter are not white); bias: whether a constant wrench is estimated beside, or "drift"; solid: the shape,
    None when unknown; prior: (10,) parameters that the user expects, None for none.
    """

    log: WrenchLog
    information: WrenchInformation
    noise: np.ndarray
    memory: np.ndarray
    bias: bool | str = False
    solid: Solid | None = None
    prior: np.ndarray | None = None

    @cached_property
    def whitened(self) -> tuple[np.ndarray, np.ndarray]:
        """A (10, 10), b (10,): `||A theta - b||^2` is the cost in units of the noise's variance."""
        return self.information.whitened(self.noise * np.sqrt(self.memory), bias=self.bias)

    @cached_property
    def mass(self) -> float:
        """Mass from the forces alone, kg: it needs no centre of mass, and no prior."""
        return mass_of(self.log, self.bias)


def make_problem(log, *, noise=None, bias: bool | str = False, solid=None, prior=None) -> Problem:
    """Accumulate a log; noise: (2,) known standard deviations, by default from the residuals of a weighted fit."""
    information = accumulate(log)
    found = residual_noise(information, bias)
    memory = residual_memory(log, information, found, bias)
    if noise is not None:
        stated = np.asarray(noise, dtype=float)
        found = np.where(_contradicts(stated, found, 3 * len(log) / memory), found, stated)
    return Problem(log, information, found, memory, bias, solid, prior)


def _contradicts(stated, found, count) -> np.ndarray:
    """(2,) whether residuals are larger than the stated noise by more than chance. count: (2,) independent ones."""
    return found > stated * np.maximum(THRESHOLDS.misstated, 1 + CHANCE / np.sqrt(2 * np.maximum(count - 6, 1)))


def residual_noise(information: WrenchInformation, bias: bool | str) -> np.ndarray:
    """(2,) standard deviations of force and torque components, from weighted least squares, iterated."""
    signal = information.signal_rms
    floor = NOISE_FLOOR * np.maximum(signal, NOWHERE)
    unknowns = 10 + offsets(bias)
    degrees = max(6 * information.count - unknowns, 1.0) / max(6 * information.count, 1.0)
    noise = np.maximum(0.05 * signal, floor)
    for _ in range(NOISE_STEPS):
        theta = solve(*information.whitened(noise, bias=bias))
        offset = information.bias(theta, noise, bias=bias) if bias else None
        noise = np.maximum(information.residual_rms(theta, offset) / np.sqrt(degrees), floor)
    return noise


def residual_memory(log: WrenchLog, information: WrenchInformation, noise, bias: bool | str) -> np.ndarray:
    """(2,) integrated autocorrelation, in samples, of force and torque residuals; 1 for white noise."""
    part = log[:MEMORY_SAMPLES]
    if len(part) < 50:
        return np.ones(2)
    theta = solve(*information.whitened(noise, bias=bias))
    Y = wrench_regressor(part)
    residual = freed(part.wrench - Y @ theta, part.t, bias)
    memory = memory_of(residual, np.repeat([0, 1], 3))
    deviation = np.repeat(noise * np.sqrt(memory), 3)
    return memory * score_spread(Y, residual, deviation, reach=2 * memory.max())


def plain_fit(log: WrenchLog, bias: bool | str = False) -> tuple[np.ndarray, np.ndarray]:
    """theta (10,) of weighted least squares and a constant wrench (6,), zero unless asked for; (12,) of a drift."""
    information = accumulate(log)
    noise = residual_noise(information, bias)
    theta = solve(*information.whitened(noise, bias=bias))
    return theta, information.bias(theta, noise, bias=bias) if bias else np.zeros(6)


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
