"""Fits to noisy motion, which biases least squares towards zero.

Total least squares (Van Huffel and Vandewalle 1991, chapters 2, 10): with the covariance of the columns' errors, which
`column_noise` reads off two versions of a log, it minimises `||Y x - tau||^2` over what the errors explain of it, `[x;
-1]^T N [x; -1]`: the largest singular value of `N^1/2 R^-1`, with the triangular factor `R` of `[Y tau]`. `compensated`
takes the part that errors added from the Gram matrix, for a fit with constraints.

Instrumental variables (Janot et al. 2014): instruments Z are the same columns at a motion without that noise, such as
the simulated one of the robot. Two-stage least squares regresses Y on Z first, which leaves `G = Y^T Z (Z^T Z)^-1 Z^T
Y` and `b = Y^T Z (Z^T Z)^-1 Z^T tau` of each joint.

Output torque (DIDIM; Gautier, Janot and Vandanjon 2013): the model is simulated in closed loop along the reference that
the robot was given, `Y(simulated) x = tau(measured)`; solved and simulated again until it stays.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.fit.cone_program import consistent
from steelyard.fit.estimate import Estimate
from steelyard.fit.linear import unconstrained
from steelyard.fit.m_estimators import Fit, fit_of, repeatable
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import known_noise, noise_floor, require_enough_samples, weigh_by_noise, whiten
from steelyard.information import Information, accumulate
from steelyard.information.gram import Squares
from steelyard.information.samples import products, require_same_samples
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.numbers import ROUNDING, ROUNDS

KEPT = 0.99  # share of the removable noise that `compensated` removes at most: the rest keeps the problem convex


def column_noise(robot: Robot, log: Log, clean: Log, **columns) -> np.ndarray:
    """Covariance of errors in the base columns of each joint's row, from a cleaner version of the same log.

    Args:
        robot: the robot.
        log: as measured.
        clean: the same samples with less noise, such as the log filtered at half the cutoff, the mean of repeated runs,
            or the simulated motion.
        columns: options of `accumulate`.

    Returns:
        (g, r, r).
    """
    info = accumulate(robot, log, **columns).base
    sums = products(info, log, clean)
    squares = info.gram - sums.ZY - np.swapaxes(sums.ZY, 1, 2) + sums.ZZ
    return squares / info.counts[:, None, None]


def total(info: Information, noise, *, torque_noise=None) -> Estimate:
    """Base parameters by total least squares, without physical constraints.

    Args:
        info: in base columns.
        noise: errors of the base columns, covariances (g, r, r) as of `column_noise` or standard deviations (r,).
        torque_noise: (g,) standard deviation of the measured torques; None takes what residuals leave over.

    Returns:
        The Estimate; its covariance is of first order in the noise, its noise that of the residual, both sources
        together.

    Raises:
        OptionError: noise of other shapes.
        FitError: fewer equations than unknowns.
    """
    info = info.plain.base.as_gram()
    require_enough_samples(info)
    covariances, given = _covariances(info, noise), known_noise(info, torque_noise, "torque_noise")
    weighted, spread = weigh_by_noise(info)
    base = whiten(weighted).solve()
    for _ in range(ROUNDS):
        through = np.einsum("gij,i,j->g", covariances, base, base)
        left = info.residual_energy(base) / np.maximum(info.counts, 1.0) - through
        torque = np.maximum(left, noise_floor(info) ** 2) if given is None else given**2
        spread = np.sqrt(torque + through)
        weighted = info.weighted(info.independence / spread**2)
        base = _solution(weighted, covariances, torque)
    return unconstrained("total least squares", info, whiten(_reduced(weighted, covariances)), base, spread)


def compensated(info: Information, noise) -> Information:
    """The Information without the energy that errors of the columns added to its Gram matrix.

    Its least-squares solution is free of their bias in the mean, and being an ordinary Information it takes physical
    constraints: `fit.consistent(fit.compensated(info, noise))`. No more is removed than the data bears.

    Args:
        info: in base columns.
        noise: as of `total`.

    Returns:
        The Information.
    """
    info = info.plain.base.as_gram()
    covariances, found = _covariances(info, noise), info
    for _ in range(ROUNDS):
        reduced = _reduced(info.weighted(weigh_by_noise(found)[0].weights), covariances)
        base = whiten(reduced).solve()
        energy = info.residual_energy(base) + 2 * info.moment @ base
        found = replace(info, squares=reduced.squares, energy=energy - reduced.squares.forms(base))
    return found


def _covariances(info: Information, noise) -> np.ndarray:
    noise = np.asarray(noise, dtype=float)
    r, groups = info.basis.count, len(info.group_names)
    if noise.shape not in ((r,), (groups, r, r)) or not np.isfinite(noise).all():
        raise OptionError(
            f"noise of the columns is a covariance ({groups}, {r}, {r}), one a joint, or {r} standard deviations, one "
            f"a base column; got shape {noise.shape}."
        )
    return np.broadcast_to(np.diag(noise**2), (groups, r, r)) if noise.ndim == 1 else noise


def _column_part(info: Information, covariances) -> np.ndarray:
    """(r, r) what errors of the columns are expected to have added to the weighted Gram matrix."""
    return np.tensordot(info.weights * info.counts, covariances, axes=1)


def _solution(info: Information, covariances, torque) -> np.ndarray:
    """(r,) total least squares of a weighted Information. torque: (g,) variances of the torque."""
    problem = whiten(info)
    B, r, k = problem.spread, problem.r, problem.rank
    rest = np.sqrt(max(info.c - r @ r, np.finfo(float).eps * info.c))
    inverse = np.eye(k + 1)  # of the triangular factor of [Y tau] in these directions
    inverse[:, k] = np.append(-r, 1.0) / rest
    N = np.zeros((k + 1, k + 1))
    N[:k, :k], N[k, k] = B.T @ _column_part(info, covariances) @ B, (info.weights * info.counts) @ torque
    v = inverse @ np.linalg.eigh(inverse.T @ N @ inverse)[1][:, -1]
    return -B @ v[:k] / v[k]


def _reduced(info: Information, covariances) -> Information:
    """A weighted Information whose Gram matrices lack the errors' part, or as much as leaves their sum positive."""
    B = whiten(info).spread
    largest = np.linalg.eigvalsh(B.T @ _column_part(info, covariances) @ B)[-1]
    share = min(1.0, KEPT / largest) if largest > 0 else 1.0
    return replace(info, squares=Squares.of(info.gram - share * info.counts[:, None, None] * covariances))


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


def _stages(robot, logs, instruments, sample_weights, columns) -> tuple[Information, Information]:
    logs = repeatable(logs)
    plain = accumulate(robot, logs, sample_weights=sample_weights, **columns).base.as_gram()
    measured, moved = ([each] if isinstance(each, Log) else list(each) for each in (logs, instruments))
    if len(measured) != len(moved):
        raise OptionError(f"{len(measured)} logs need as many logs of instruments; got {len(moved)}.")
    sums = reduce(add, (products(plain, *pair, sample_weights) for pair in zip(measured, moved, strict=True)))
    halves = [_half(ZZ, np.column_stack([ZY, Zt])) for ZZ, ZY, Zt in zip(sums.ZZ, sums.ZY, sums.Ztau, strict=True)]
    gram = np.stack([half[:, :-1].T @ half[:, :-1] for half in halves])
    moment = np.stack([half[:, :-1].T @ half[:, -1] for half in halves])
    info = replace(plain, squares=Squares.of(gram), moment=moment)
    for _ in range(ROUNDS):
        x = whiten(weigh_by_noise(info)[0]).solve()
        energy = plain.residual_energy(x) + 2 * moment @ x - np.einsum("gij,i,j->g", gram, x, x)
        info = replace(info, energy=energy)
    return plain, info


def _half(ZZ, right):
    """`(Z^T Z)^(-1/2) right`, without directions that no instrument excites."""
    energy = np.diag(ZZ)
    size = np.sqrt(np.where(energy > ROUNDING**2 * energy.max(initial=0.0), energy, np.inf))
    eigenvalues, axes = np.linalg.eigh(ZZ / size[:, None] / size)
    kept = eigenvalues > ROUNDING * max(eigenvalues[-1], ROUNDING)
    return (axes[:, kept] / np.sqrt(eigenvalues[kept])).T @ (right / size[:, None])


def _weak(plain: Information, info: Information):
    weighted = weigh_by_noise(info)[0]
    whole = np.diag(plain.weighted(weighted.weights).G)
    explained = np.diag(weighted.G) / np.where(whole > 0, whole, 1.0)
    names = [plain.layout.names[c] for c in plain.basis.columns[(whole > 0) & (explained < THRESHOLDS.weak_instrument)]]
    if names:
        least = f"{THRESHOLDS.weak_instrument:.0%}"
        yield f"Instruments explain less than {least} of {choices(names)}: their values are uncertain."


TOLERANCE = 0.01  # RMS step in standard deviations at which it has converged


def output_torque(
    robot: Robot,
    logs: Log | Iterable[Log],
    simulated: Callable[[Estimate, Log], Log],
    *,
    fit: str | Fit = "consistent",
    iterations: int = 10,
    **columns,
) -> Estimate:
    """Fit of the measured torque along simulated motion, repeated with the model it gives.

    It starts from a fit of the measured motion.

    Args:
        robot: the robot.
        logs: one or several, with q, v, a and tau.
        simulated: called with a physically consistent Estimate and a measured log, returns q, v and a of the model's
            motion at the log's time stamps, filtered like it (`simulate.follow` and `filters.differentiate`).
        fit: "least_squares", "consistent" or a function of an Information.
        iterations: passes at most.
        columns: options of `accumulate`.

    Returns:
        The Estimate.

    Raises:
        LogError: samples do not match.
    """
    solve, measured = fit_of(fit), [logs] if isinstance(logs, Log) else list(logs)
    if iterations < 1:
        raise OptionError(f"iterations is at least 1; got {iterations!r}.")
    info = accumulate(robot, measured, **columns)
    estimate, passes, converged = solve(info), 0, False
    while passes < iterations and not converged:
        passes += 1
        model = estimate if estimate.physical else consistent(info)  # no other can be simulated
        info = accumulate(robot, (_swapped(simulated(model, log), log) for log in measured), **columns).base
        last, estimate = estimate.base, solve(info)
        step = estimate.base - last
        G = info.weighted(info.independence / estimate.noise**2).G
        converged = bool(np.sqrt(step @ G @ step / len(step)) < TOLERANCE)
    end = f"converged in {passes} simulations" if converged else f"not converged in {passes} simulations: allow more"
    return replace(
        estimate,
        method=f"{estimate.method}, along simulated motion",
        notes=(*estimate.notes, f"Output-torque fit: {end}."),
    )


def _swapped(motion: Log, log: Log) -> Log:
    require_same_samples(log, motion)
    return motion.replace(tau=log.tau)
