"""Robust regression by M-estimators, and how estimators that reweigh data name the fit that solves what they made.

Fits that outliers cannot pull: Huber's M-estimator and Student's t by iteratively reweighted least squares.

Each iteration is one pass over the logs, in which every residual is compared with its joint's scale and weighed; what
stays is an ordinary Information, so that any fit can solve it, with physical constraints or without (Huber and
Ronchetti, Robust Statistics, 2009, sections 7.6 to 7.8; Lange, Little and Taylor 1989 for the t distribution).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import erf, exp, pi, sqrt

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.fit.cone_program import consistent
from steelyard.fit.estimate import Estimate
from steelyard.fit.linear import least_squares
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import noise_floor, parameters_per_row
from steelyard.information import Information, accumulate
from steelyard.information.regression_rows import weights_of
from steelyard.information.samples import residuals
from steelyard.log import Log
from steelyard.model import Robot

Fit = Callable[[Information], Estimate]
FITS: dict[str, Fit] = {"least_squares": least_squares, "consistent": consistent}


def fit_of(fit: str | Fit) -> Fit:
    """A fit by name, or the given function of an Information to an Estimate, such as
    `functools.partial(sy.fit.consistent, weight=0.1)`. Raises OptionError."""
    if callable(fit):
        return fit
    if fit not in FITS:
        raise OptionError(f"fit is one of {choices(FITS)}, or a function of an Information; got {fit!r}.")
    return FITS[fit]


def repeatable(logs: Log | Iterable[Log]) -> Log | Iterable[Log]:
    """Logs that can be gone through again. Raises OptionError for an iterator, which is empty after one pass."""
    if isinstance(logs, Iterator):
        raise OptionError(
            "This estimator passes over the logs several times; give a list of logs, or an object whose __iter__ "
            "reads them anew, instead of a generator."
        )
    return logs


TOLERANCE = 1e-3  # RMS step in standard deviations, and relative change of a scale, at which it has converged


@dataclass(frozen=True)
class Huber:
    """Squared up to `threshold` scales, linear beyond: convex. Scale by Huber's Proposal 2: the standard deviation of
    the noise where it is Gaussian. The default threshold is 95 % efficient there."""

    threshold: float = 1.345

    def __post_init__(self):
        if not self.threshold > 0:
            raise OptionError(f"Huber's threshold is a positive number of scales; got {self.threshold!r}.")

    def weights(self, z):
        """Weights of residuals z (in scales), any shape."""
        return self.threshold / np.maximum(np.abs(z), self.threshold)

    def slope(self, z):
        """Derivative of the influence `weights(z) z`."""
        return (np.abs(z) < self.threshold).astype(float)

    def squares(self, z):
        """Terms whose mean is one at the right scale."""
        k = self.threshold
        inside = erf(k / sqrt(2))
        expected = inside - 2 * k * exp(-(k**2) / 2) / sqrt(2 * pi) + k**2 * (1 - inside)
        return np.minimum(z**2, k**2) / expected


@dataclass(frozen=True)
class Student:
    """Student's t with `degrees` of freedom: gross outliers lose all influence. Scale by maximum likelihood."""

    degrees: float = 4.0

    def __post_init__(self):
        if not self.degrees > 0:
            raise OptionError(f"Degrees of freedom of Student's t are a positive number; got {self.degrees!r}.")

    def weights(self, z):
        return (self.degrees + 1) / (self.degrees + z**2)

    def slope(self, z):
        return (self.degrees + 1) * (self.degrees - z**2) / (self.degrees + z**2) ** 2

    def squares(self, z):
        return self.weights(z) * z**2


LOSSES: dict[str, type[Huber] | type[Student]] = {"huber": Huber, "student": Student}


def robust(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    loss: str | Huber | Student = "student",
    fit: str | Fit = "consistent",
    iterations: int = 50,
    sample_weights=None,
    **columns,
) -> Estimate:
    """Fit that weights residuals by how far they lie out, in scales of their joint; scales converge with it.

    Args:
        robot: the robot.
        logs: one or several, passed over once an iteration (so no generator).
        loss: "huber", "student", or either with its constant.
        fit: "least_squares", "consistent" or a function of an Information.
        iterations: at most.
        sample_weights: as of `accumulate`; they multiply the robust ones.
        columns: options of `accumulate`.

    Returns:
        The Estimate of the last fit: noise holds the scales, samples the effective number, notes the share of outliers;
        the covariance is the M-estimator's sandwich.

    Raises:
        OptionError: unknown options; and what `accumulate` and the fit raise.

    Source: Huber and Ronchetti, (7.81).
    """
    solve, logs, loss = fit_of(fit), repeatable(logs), _loss(loss)
    info = accumulate(robot, logs, sample_weights=sample_weights, **columns).base
    floor, estimate = noise_floor(info), solve(info)
    scale, passes = estimate.noise, 0
    while True:
        passes += 1
        now = _Pass(info, estimate.base, scale, loss, sample_weights)
        info = accumulate(robot, logs, sample_weights=now.weigh, **columns).base
        last, change = estimate.base, np.maximum(scale * now.growth(info), floor) / scale
        scale = scale * change
        estimate = solve(_with_noise(info, last, scale))
        step = estimate.base - last
        moved = np.sqrt(step @ info.weighted(info.independence / scale**2).G @ step / len(step))
        converged = bool(moved < TOLERANCE and np.abs(change - 1).max() < TOLERANCE)
        if converged or passes >= iterations:
            break
    end = "" if converged else f" It had not converged after {iterations} passes: allow more."
    return replace(
        estimate,
        method=f"{estimate.method}, {type(loss).__name__} weights",
        covariance=now.inflation() * estimate.covariance,
        notes=(*estimate.notes, f"Robust weights: {now.outliers(info.group_names)}.{end}"),
    )


def _loss(loss) -> Huber | Student:
    if isinstance(loss, Huber | Student):
        return loss
    if loss not in LOSSES:
        raise OptionError(f"loss is one of {choices(LOSSES)}, or Huber(threshold), Student(degrees); got {loss!r}.")
    return LOSSES[loss]()


def _with_noise(info: Information, base, scale) -> Information:
    """The same sums, with as many samples as leave this residual energy at this scale: a fit finds the scale again."""
    counts = info.residual_energy(base) / scale**2 + parameters_per_row(info)
    return replace(info, counts=counts)


class _Pass:
    """One pass over the logs: weighs samples by their residuals and keeps sums (g,) over them."""

    def __init__(self, info: Information, base, scale, loss, given):
        self.info, self.base, self.scale, self.loss, self.given = info, base, scale, loss, given
        self.count, self.squares, self.weight, self.influence, self.slope, self.out = np.zeros((6, len(scale)))

    def weigh(self, log: Log) -> np.ndarray:
        """Weights (n, g) of a log."""
        z = residuals(self.info, log, self.base) / self.scale
        robust, given = self.loss.weights(z), weights_of(self.given, log)
        given = np.ones_like(z) if given is None else given
        self.count += given.sum(axis=0)
        self.squares += (given * self.loss.squares(z)).sum(axis=0)
        self.weight += (given * robust).sum(axis=0)
        self.influence += (given * (robust * z) ** 2).sum(axis=0)
        self.slope += (given * self.loss.slope(z)).sum(axis=0)
        self.out += (given * (robust < THRESHOLDS.outlier)).sum(axis=0)
        return given * robust

    def growth(self, info: Information) -> np.ndarray:
        """(g,) new scale over the old one."""
        return np.sqrt(self.squares / np.maximum(self.count - parameters_per_row(info), 1.0))

    def inflation(self) -> float:
        """Variance of the estimate over what weighted least squares with these weights states."""
        used = self.slope > 0
        ratio = self.influence[used] * self.weight[used] / self.slope[used] ** 2
        return float(ratio.mean()) if used.any() else 1.0

    def outliers(self, names) -> str:
        shares = self.out / np.maximum(self.count, 1.0)
        found = [f"{name} {share:.1%}" for name, share in zip(names, shares, strict=True) if share >= 5e-4]
        return (
            f"outliers (weight below {THRESHOLDS.outlier}) are {', '.join(found)} of the samples"
            if found
            else "no outliers"
        )
