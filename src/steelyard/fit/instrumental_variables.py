"""Instrumental variables: free of the bias that measured noise in the regressor causes (Janot et al. 2014).

The noise of encoders is in every column of Y, most of all through accelerations, and least squares shrinks what it
multiplies. Instruments Z are the same columns at a motion without that noise, such as the simulated one of the robot
(`simulate.follow`): two-stage least squares regresses Y on Z first. What it leaves, `G = Y^T Z (Z^T Z)^-1 Z^T Y` and
`b = Y^T Z (Z^T Z)^-1 Z^T tau` of each joint, is an ordinary Information, for any fit.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.fit.estimate import Estimate
from steelyard.fit.estimators import Fit, as_list, fit_of, repeatable
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import SINGULAR, weigh_by_noise, whiten
from steelyard.information import Information, Squares, accumulate, products
from steelyard.log import Log
from steelyard.model import Robot

ITERATIONS = 4  # of noise levels
ROUNDING = 1e-24  # energy of a column relative to the largest, below which it is zero but for rounding


def instrumental(
    robot: Robot,
    logs: Log | Iterable[Log],
    instruments: Log | Iterable[Log],
    *,
    fit: str | Fit = "consistent",
    sample_weights=None,
    **columns,
) -> Estimate:
    """Fit of the part of the regression that noise-free motion explains.

    Args:
        robot: the robot.
        logs: one or several, with q, v, a and tau.
        instruments: of each log one with the same time stamps and q, v, a of a motion whose noise has nothing to do
            with the measured one's.
        fit: "least_squares" (two-stage least squares), "consistent" or a function of an Information.
        sample_weights: as of `accumulate`.
        columns: options of `accumulate`.

    Returns:
        The Estimate; its noise is that of the measured torque at the measured motion, and notes name columns that the
        instruments barely explain.

    Raises:
        LogError: samples do not match.
    """
    solve = fit_of(fit)
    plain, info = _stages(robot, logs, instruments, sample_weights, columns)
    estimate = solve(info)
    notes = (*estimate.notes, *_weak(plain, info))
    return replace(estimate, method=f"{estimate.method}, instrumental variables", notes=notes)


def projected(
    robot: Robot,
    logs: Log | Iterable[Log],
    instruments: Log | Iterable[Log],
    *,
    sample_weights=None,
    **columns,
) -> Information:
    """Information of two-stage least squares, arguments as of `instrumental`.

    Its energies make the residual at the solution the structural one, `tau - Y x` and not its projection.
    """
    return _stages(robot, logs, instruments, sample_weights, columns)[1]


def _stages(robot, logs, instruments, sample_weights, columns) -> tuple[Information, Information]:
    """The plain Information and its projection."""
    logs = repeatable(logs)
    plain = accumulate(robot, logs, sample_weights=sample_weights, **columns).base.as_gram()
    measured, moved = as_list(logs), as_list(instruments)
    if len(measured) != len(moved):
        raise OptionError(f"{len(measured)} logs need as many logs of instruments; got {len(moved)}.")
    sums = reduce(add, (products(plain, *pair, sample_weights) for pair in zip(measured, moved, strict=True)))
    halves = [_half(ZZ, np.column_stack([ZY, Zt])) for ZZ, ZY, Zt in zip(sums.ZZ, sums.ZY, sums.Ztau, strict=True)]
    gram = np.stack([half[:, :-1].T @ half[:, :-1] for half in halves])
    moment = np.stack([half[:, :-1].T @ half[:, -1] for half in halves])
    info = replace(plain, squares=Squares.of(gram), moment=moment)
    for _ in range(ITERATIONS):
        x = whiten(weigh_by_noise(info)[0]).solve()
        energy = plain.residual_energy(x) + 2 * moment @ x - np.einsum("gij,i,j->g", gram, x, x)
        info = replace(info, energy=energy)
    return plain, info


def _half(ZZ, right):
    """`(Z^T Z)^(-1/2) right`, without directions that no instrument excites."""
    energy = np.diag(ZZ)
    size = np.sqrt(np.where(energy > ROUNDING * energy.max(initial=0.0), energy, np.inf))
    eigenvalues, axes = np.linalg.eigh(ZZ / size[:, None] / size)
    kept = eigenvalues > SINGULAR * max(eigenvalues[-1], SINGULAR)
    return (axes[:, kept] / np.sqrt(eigenvalues[kept])).T @ (right / size[:, None])


def _weak(plain: Information, info: Information):
    """A line on columns that the instruments barely explain."""
    weighted = weigh_by_noise(info)[0]
    whole = np.diag(plain.weighted(weighted.weights).G)
    explained = np.diag(weighted.G) / np.where(whole > 0, whole, 1.0)
    names = [plain.layout.names[c] for c in plain.basis.columns[(whole > 0) & (explained < THRESHOLDS.weak_instrument)]]
    if names:
        least = f"{THRESHOLDS.weak_instrument:.0%}"
        yield f"Instruments explain less than {least} of {choices(names)}: their values are uncertain."
