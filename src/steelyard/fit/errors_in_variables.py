"""Total least squares: noise in the columns as well as in the torque (Van Huffel and Vandewalle 1991, chapters 2, 10).

Where motion is noisy, least squares is biased towards zero. With the covariance of the columns' errors, which
`column_noise` reads off two versions of a log, the total least-squares solution minimises `||Y x - tau||^2` over what
the errors explain of it, `[x; -1]^T N [x; -1]`: the largest singular value of `N^1/2 R^-1`, with the triangular factor
`R` of `[Y tau]` from an Information.

It has no form with constraints. `compensated` is what does: the Gram matrix without the part that errors added, as an
ordinary Information for `fit.consistent`.
"""

from dataclasses import replace

import numpy as np

from steelyard.errors import OptionError
from steelyard.fit.estimate import Estimate
from steelyard.fit.linear import unconstrained
from steelyard.fit.whitening import Whitened, noise_floor, require_enough_samples, weigh_by_noise, whiten
from steelyard.information import Information, Squares, accumulate, products
from steelyard.log import Log
from steelyard.model import Robot

ITERATIONS = 10  # of noise levels
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
    require_enough_samples(info)
    info = info.base.as_gram()
    covariances, given = _covariances(info, noise), _torque_noise(info, torque_noise)
    weighted, spread = weigh_by_noise(info)
    base = whiten(weighted).solve()
    for _ in range(ITERATIONS):
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
    info = info.base.as_gram()
    covariances, found = _covariances(info, noise), info
    for _ in range(ITERATIONS):
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


def _torque_noise(info: Information, given) -> np.ndarray | None:
    if given is None:
        return None
    given = np.asarray(given, dtype=float)
    if given.shape != info.counts.shape or not (np.isfinite(given).all() and (given > 0).all()):
        raise OptionError(f"torque_noise has {len(info.counts)} positive numbers, one a row group; got {given}.")
    return given


def _unit_directions(problem: Whitened) -> np.ndarray:
    """(r, k) with `R B = 1`: every direction of the data that is more than rounding, at unit information."""
    k = problem.rank
    return problem.scale[:, None] * problem.directions[:, -k:] / np.sqrt(problem.eigenvalues[-k:])


def _column_part(info: Information, covariances) -> np.ndarray:
    """(r, r) what errors of the columns are expected to have added to the weighted Gram matrix."""
    return np.tensordot(info.weights * info.counts, covariances, axes=1)


def _solution(info: Information, covariances, torque) -> np.ndarray:
    """(r,) total least squares of a weighted Information. torque: (g,) variances of the torque."""
    problem = whiten(info)
    B, r, k = _unit_directions(problem), problem.r, problem.rank
    rest = np.sqrt(max(info.c - r @ r, np.finfo(float).eps * info.c))
    inverse = np.eye(k + 1)  # of the triangular factor of [Y tau] in these directions
    inverse[:, k] = np.append(-r, 1.0) / rest
    N = np.zeros((k + 1, k + 1))
    N[:k, :k], N[k, k] = B.T @ _column_part(info, covariances) @ B, (info.weights * info.counts) @ torque
    v = inverse @ np.linalg.eigh(inverse.T @ N @ inverse)[1][:, -1]
    return -B @ v[:k] / v[k]


def _reduced(info: Information, covariances) -> Information:
    """A weighted Information whose Gram matrices lack the errors' part, or as much as leaves their sum positive."""
    B = _unit_directions(whiten(info))
    largest = np.linalg.eigvalsh(B.T @ _column_part(info, covariances) @ B)[-1]
    share = min(1.0, KEPT / largest) if largest > 0 else 1.0
    return replace(info, squares=Squares.of(info.gram - share * info.counts[:, None, None] * covariances))
