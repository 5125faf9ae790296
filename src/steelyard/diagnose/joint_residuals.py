"""Residual of each joint's torque: how long it stays correlated, and which quantities it correlates with.

A dependence is the share of the residual's variance that the means over bins of a quantity explain (the correlation
ratio), so that it need not be a straight line. Neighbouring samples are correlated; significance counts the
effective samples by the autocorrelations of both (Bartlett 1946).
"""

from dataclasses import dataclass

import numpy as np

from steelyard.cards import Card
from steelyard.fit import Estimate, validate
from steelyard.log import Log
from steelyard.log.decimate import autocorrelation, memory
from steelyard.model import Robot

BINS = 12  # at most; fewer for few independent samples
PER_BIN = 5  # independent samples
CERTAIN = 1e-4  # p-value below which a dependence is believed
MATTERS = 0.02  # residual over torque, from which on a joint is reported
ENOUGH = 20  # independent samples, below which nothing is said
VISIBLE = 0.1  # share of the residual's variance from which on it is reported
REVERSAL = 0.1  # of the RMS speed, below which a joint is near a reversal
ROUGH = 1.5  # RMS of the residual near reversals over that elsewhere, from which on it is reported
HINTS = {
    "speed": "friction that is not viscous plus Coulomb (Stribeck effect, lubricant, temperature)",
    "position": "a spring, cables, a gravity compensator, torque ripple of the gear or a wrong joint zero",
    "acceleration": "inertia that no column has (a coupled motor, an elastic gear) or a delay",
    "load": "friction that grows with the load, or a torque scale",
}


@dataclass(frozen=True)
class Dependence:
    """share: of the residual's variance explained, less what independence would explain; p_value: of independence."""

    share: float
    p_value: float

    @property
    def certain(self) -> bool:
        return self.share > VISIBLE and self.p_value < CERTAIN


@dataclass(frozen=True, repr=False)
class JointResidual(Card):
    """Residual of one degree of freedom.

    rms: N m or N; relative: over the RMS torque. time_constant: its integrated autocorrelation, s.
    independent: its effective sample size. depends: on speed, position, acceleration, load (torque
    predicted). reversal: RMS where the joint hardly moves over that elsewhere, None where it is not significant.
    """

    joint: str
    rms: float
    relative: float
    time_constant: float
    independent: float
    depends: dict[str, Dependence]
    reversal: float | None
    hints: tuple[str, ...]


def residuals(model: Estimate | Robot, log: Log) -> tuple[JointResidual, ...]:
    """Analyse the torque error of a model on a log with q, v, a and tau, one entry a degree of freedom.

    Held-out samples tell more than those of the fit. Raises LogError when a channel is missing.
    """
    found = validate(model, log)
    robot = model.require_robot() if isinstance(model, Estimate) else model
    return analyse(robot, log.require("q", "v", "a"), found.measured, found.error, 1 / log.rate)


def analyse(robot: Robot, motion, torque, error, interval: float) -> tuple[JointResidual, ...]:
    """The same from arrays: motion q (n, nq), v, a (n, nv), torque and error (n, nv), s between samples."""
    q, v, a = motion
    columns = robot.scalar_positions
    result = []
    for dof, name in enumerate(robot.dof_names):
        quantities = {"speed": v[:, dof], "acceleration": a[:, dof], "load": torque[:, dof] - error[:, dof]}
        if dof in columns:
            quantities["position"] = q[:, columns[dof]]
        result.append(_joint(name, error[:, dof], torque[:, dof], quantities, interval))
    return tuple(result)


def _joint(name: str, error, torque, quantities, step: float) -> JointResidual:
    correlation = autocorrelation(error)
    lags = memory(correlation)
    rms, signal = np.sqrt(np.mean(error**2)), np.sqrt(np.mean(torque**2))
    depends = {key: dependence(error, x, correlation) for key, x in quantities.items()}
    reversal = _near_reversals(error, quantities["speed"], lags)
    hints = [
        f"{each.share:.0%} of the residual variance of {name} correlates with its {key}: {HINTS[key]}?"
        for key, each in sorted(depends.items(), key=lambda item: -item[1].share)
        if each.certain
    ]
    if reversal is not None and reversal > ROUGH:
        hints.append(
            f"The residual of {name} is {reversal:.1f} times larger at standstill and reversals than elsewhere: "
            "stiction, backlash or a Coulomb width that does not suit it?"
        )
    return JointResidual(
        joint=name,
        rms=float(rms),
        relative=float(rms / signal) if signal > 0 else 0.0,
        time_constant=float(lags * step / 2),
        independent=float(len(error) / lags),
        depends=depends,
        reversal=reversal,
        hints=tuple(hints) if rms > MATTERS * signal else (),
    )


def _near_reversals(error, speed, lags: float) -> float | None:
    """RMS error where the joint hardly moves over that elsewhere; None where it is not significant."""
    from scipy.special import fdtrc

    near = np.abs(speed) < REVERSAL * np.sqrt(np.mean(speed**2))
    counts = near.sum() / lags, (~near).sum() / lags
    if min(counts) < 1 or not np.any(error[~near]):
        return None
    ratio = np.mean(error[near] ** 2) / np.mean(error[~near] ** 2)
    return float(np.sqrt(ratio)) if fdtrc(*counts, ratio) < CERTAIN else None


def dependence(error, x, correlation=None) -> Dependence:
    """Dependence of a residual on a quantity, both (n,). correlation: autocorrelation of the residual, if known."""
    from scipy.special import fdtrc

    correlation = autocorrelation(error) if correlation is None else correlation
    effective = len(error) / memory(correlation * autocorrelation(x))
    most = int(np.clip(effective / PER_BIN, 2, BINS))
    edges = np.unique(np.quantile(x, np.linspace(0, 1, most + 1)[1:-1]))
    bins, count = np.searchsorted(edges, x), len(edges) + 1
    total = np.mean((error - error.mean()) ** 2)
    if effective < ENOUGH or total <= 0 or count < 2:
        return Dependence(0.0, 1.0)
    counts = np.bincount(bins, minlength=count)
    means = np.bincount(bins, weights=error - error.mean(), minlength=count) / np.maximum(counts, 1)
    share = float(counts @ means**2 / len(error) / total)
    ratio = (share / (count - 1)) / (max(1 - share, 1e-12) / (effective - count))
    expected = (count - 1) / (effective - 1)
    return Dependence(max(0.0, (share - expected) / (1 - expected)), float(fdtrc(count - 1, effective - count, ratio)))
