"""From Information to a small triangular problem `min ||R x - r||`, weighted by joint noise."""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError, OptionError, choices
from steelyard.fit.homogeneous import ratios
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.identifiable.basis import Basis
from steelyard.information import Information
from steelyard.numbers import ROUNDING, ROUNDS
from steelyard.terms import ParameterLayout

ROUNDED = 1e-13  # of the largest singular value of unit columns, where triangular factors were kept: the same
PIVOT = 1e-4  # smallest of Cholesky's pivots of a unit-diagonal Gram matrix that leaves half the digits


@dataclass(frozen=True, eq=False)
class Whitened:
    """Least-squares problem in base columns.

    r: (k,) with `||R x - r||^2` equal to the weighted residual but for a constant; k is the numerical rank.
    """

    R: np.ndarray  # (k, r)
    r: np.ndarray
    scale: np.ndarray  # (r,) column scales
    eigenvalues: np.ndarray  # (r,) of the unit-diagonal Gram matrix, ascending
    directions: np.ndarray  # (r, r) theirs

    @property
    def rank(self) -> int:
        return len(self.r)

    def solve(self) -> np.ndarray:
        """(r,) least squares of least scaled norm: rows of R are orthogonal in units of the scales. Raises FitError: no
        row says anything."""
        if not self.rank:
            raise FitError("The regression is identically zero: the robot does not move or every row weight is zero.")
        kept = len(self.eigenvalues) - self.rank
        return self.scale * (self.directions[:, kept:] @ (self.r / np.sqrt(self.eigenvalues[kept:])))

    @property
    def spread(self) -> np.ndarray:
        """(r, k) with `R spread = 1`: every direction of the data that is more than rounding, at unit information."""
        kept = len(self.eigenvalues) - self.rank
        return self.scale[:, None] * self.directions[:, kept:] / np.sqrt(self.eigenvalues[kept:])

    def covariance(self) -> np.ndarray:
        """(r, r) covariance for unit-variance rows; infinite variance shows as the pseudo-inverse leaving it out."""
        return self.spread @ self.spread.T


def whiten(info: Information) -> Whitened:
    """Whitened problem of an Information in base columns with its row weights; triangular factors are never squared."""
    if info.factors is None:
        return _whitened_sums(info)
    R, z, scale = _triangle(info.factors, info.weights)
    U, singular, Vt = np.linalg.svd(R * scale, full_matrices=False)
    U, singular, Vt = U[:, ::-1], singular[::-1], Vt[::-1]  # ascending, as eigenvalues are
    keep = singular > ROUNDED * singular[-1]
    return Whitened(singular[keep, None] * Vt[keep] / scale, U[:, keep].T @ z, scale, singular**2, Vt.T)


def _whitened_sums(info: Information) -> Whitened:
    G, b = info.G, info.b
    scale = _column_scale(np.diag(G))
    eigenvalues, directions = np.linalg.eigh(scale[:, None] * G * scale)
    keep = eigenvalues > ROUNDING * eigenvalues[-1]
    root = np.sqrt(eigenvalues[keep])
    R = root[:, None] * directions[:, keep].T / scale
    r = (directions[:, keep].T @ (scale * b)) / root
    return Whitened(R, r, scale, eigenvalues, directions)


def _triangle(factors, weights):
    """Triangular R and z of all groups of rows by their weights, and scales (r,) that make R's columns unit ones."""
    stacked = (np.sqrt(weights)[:, None, None] * factors).reshape(-1, factors.shape[-1])
    triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    return triangle[:, :-1], triangle[:, -1], _column_scale(np.sum(triangle[:, :-1] ** 2, axis=0))


def _column_scale(diagonal) -> np.ndarray:
    """(r,) inverse root of a Gram matrix's diagonal, 1 for columns of zeros."""
    return 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


def joint_noise(info: Information, base, taken=None) -> np.ndarray:
    """(g,) residual standard deviation of each row group at base parameters (r,), floored at rounding level.

    taken: (g,) degrees of freedom that a fit took from each group, by default an equal part of the parameters.
    """
    taken = parameters_per_row(info) if taken is None else np.asarray(taken)
    degrees = np.maximum(info.counts - taken / info.independence, 1.0 / info.independence)
    return np.maximum(np.sqrt(info.residual_energy(base) / degrees), noise_floor(info))


def degrees_taken(info: Information, covariance) -> np.ndarray:
    """(g,) degrees of freedom that a fit took from each group of rows: the trace of its part of the hat matrix.

    covariance: (r, r) of the fit, from data and prior (Hastie, Tibshirani and Friedman 2009, 7.6).
    """
    pairs = zip(info.squares.pattern.places, info.squares.blocks, strict=True)
    return info.weights * np.array([np.sum(G * covariance[np.ix_(at, at)]) for at, G in pairs])


def noise_floor(info: Information) -> np.ndarray:
    """(g,) residual standard deviation below which lies rounding."""
    return THRESHOLDS.noise_floor * np.maximum(info.rms, THRESHOLDS.noise_floor * info.rms.max(initial=1.0))


def parameters_per_row(info: Information) -> float:
    """Degrees of freedom that the parameters take from each row group."""
    return max(info.basis.count / max(len(info.counts), 1), 1.0)


def weigh_by_noise(info: Information, noise=None) -> tuple[Information, np.ndarray]:
    """Row weights 1 / variance from a noise that is known, or from the residuals of a weighted fit, repeated.

    Args:
        info: the Information.
        noise: (g,) standard deviations, N m or N, or None.

    Returns:
        The weighted Information, with rows that measure no torque as ratios (`fit.homogeneous`), and noise (g,).
    """
    info = info.plain.base
    found = ratios(info)
    weighted, deviation = weigh_rows(found.of(info), noise)
    if not found.groups.any():
        return weighted, deviation
    for _ in range(ROUNDS):
        following = found.after(info, _solved(weighted))
        if following is None:
            break
        found = following
        weighted, deviation = weigh_rows(found.of(info), noise)
    return weighted, deviation


def weigh_rows(info: Information, noise=None, *, iterations: int = 4) -> tuple[Information, np.ndarray]:
    """`weigh_by_noise` of rows whose zeros are measurements. iterations: weighted fits by which the noise is found."""
    info = info.base
    if noise is not None:
        return info.weighted(info.independence / noise**2), noise
    weighted, noise = info, np.ones(len(info.weights))
    for _ in range(iterations):
        noise = joint_noise(info, _solved(weighted))
        weighted = info.weighted(info.independence / noise**2)
    return weighted, noise


def _solved(info: Information) -> np.ndarray:
    """(r,) least-squares solution in base columns, by a triangle if its sums are far from singular."""
    from scipy.linalg import LinAlgError, cholesky, solve_triangular

    if info.factors is None:
        scale = _column_scale(np.diag(G := info.G))
        try:
            R = cholesky(scale[:, None] * G * scale, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return whiten(info).solve()
        z = solve_triangular(R, scale * info.b, trans=1, check_finite=False)
    else:
        R, z, scale = _triangle(info.factors, info.weights)
        R, z = (R * scale)[: len(scale)], z[: len(scale)]
    if len(R) < len(scale) or not np.abs(np.diag(R)).min() >= PIVOT:  # nor where they are no numbers
        return whiten(info).solve()
    return scale * solve_triangular(R, z, check_finite=False)


def known_noise(info: Information, noise, name: str = "noise") -> np.ndarray | None:
    """Noise (g,) that is given, checked; None where none is. Raises OptionError."""
    if noise is None:
        return None
    noise = np.asarray(noise, dtype=float)
    if noise.shape != info.counts.shape or not (np.isfinite(noise).all() and (noise > 0).all()):
        raise OptionError(
            f"{name} is {len(info.counts)} positive standard deviations, one a row group "
            f"({choices(info.group_names)}); got {noise}."
        )
    return noise


def require_enough_samples(info: Information):
    """Raise FitError when there are fewer equations than identifiable combinations."""
    if info.counts.sum() < info.basis.count:
        raise FitError(
            f"{info.n} samples give {int(info.counts.sum())} equations for {info.basis.count} identifiable "
            "combinations. Record a longer log, or estimate fewer terms."
        )


def weak_directions(problem: Whitened, layout: ParameterLayout, basis: Basis) -> tuple[str, ...]:
    """The base parameters that carry each weak direction: one line a direction, strongest parameters first."""
    names = [layout.names[i] for i in basis.columns]
    lines = []
    for k in np.flatnonzero(problem.eigenvalues <= THRESHOLDS.weak * problem.eigenvalues[-1]):
        direction = problem.directions[:, k]
        order = np.argsort(-np.abs(direction))[:4]
        lines.append(" ".join(f"{direction[i]:+.2f} {names[i]}" for i in order if abs(direction[i]) > 0.1))
    return tuple(lines)


def first_noise(info: Information) -> np.ndarray:
    """(g,) noise that unconstrained least squares leaves; a share of the torque where that would fit noise."""
    if info.counts.sum() * info.independence > THRESHOLDS.few_equations * info.basis.count and info.G.any():
        return weigh_rows(info)[1]
    return np.maximum(THRESHOLDS.untold_noise * info.rms, noise_floor(info))
