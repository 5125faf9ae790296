"""Covariance of base parameters whose residuals are correlated in time, from block Informations alone.

The least-squares error is `G^-1 sum s_k` with one score `s_k = b_k - G_k x` a block: residuals may be correlated in any
way inside a block and between joints, as long as blocks are independent. Fitted residuals are too small, so scores are
adjusted by `(1 - G_k G^-1)^(-1/2)`, and t quantiles take Satterthwaite degrees of freedom (Bell and McCaffrey 2002,
"CR2"; Pustejovsky and Tipton 2018). In terms of residuals both need every sample; written for scores they need blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.homogeneous import ratios_about
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import require_enough_samples, weigh_by_noise, whiten
from steelyard.information import Information
from steelyard.numbers import SAME

ALONE = 1e-8  # share of a direction's information that all but one block hold; below, its residual says nothing


@dataclass(frozen=True, eq=False)
class Sandwich:
    """Scores of K blocks in whitened coordinates `z`, in which the data's information is the identity.

    to_base: (r, k), `x = to_base @ z`; solution: (k,) least squares; gram: (K, k, k), adding up to 1; score: (K, k),
    adding up to 0. weighted: the total Information with row weights 1 / noise^2; noise: (g,). scale: (r,) of base
    parameters; shown: (r, k) directions that the data reveals at all, orthonormal when scaled. first: (K,) the first of
    the given blocks in each.
    """

    to_base: np.ndarray
    solution: np.ndarray
    gram: np.ndarray
    score: np.ndarray
    weighted: Information
    noise: np.ndarray
    scale: np.ndarray
    shown: np.ndarray
    first: np.ndarray

    def merged(self, size: int) -> "Sandwich":
        """The same data in blocks of `size` neighbours, the last of them with the rest."""
        start = np.arange(0, max(len(self.score) // size, 1)) * size
        gram, score = np.add.reduceat(self.gram, start), np.add.reduceat(self.score, start)
        return replace(self, gram=gram, score=score, first=self.first[start])

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.score)

    @property
    def from_base(self) -> np.ndarray:
        """(k, r) `z = from_base @ x`, whatever x has along directions that the data does not show."""
        axes = self.to_base / self.scale[:, None]  # orthogonal; pinv(to_base) would mix in what is not shown
        return (axes / np.sum(axes**2, axis=0)).T / self.scale

    @property
    def base(self) -> np.ndarray:
        """(r,) least-squares base parameters."""
        return self.to_base @ self.solution

    @cached_property
    def correction(self) -> np.ndarray:
        """(K, k, k) `(1 - G_k G^-1)^(-1/2)`, zero along directions that one block alone shows."""
        values, axes = np.linalg.eigh(self.gram)
        left = 1.0 - values
        root = np.where(left > ALONE, np.maximum(left, ALONE) ** -0.5, 0.0)
        return (axes * root[:, None, :]) @ np.swapaxes(axes, 1, 2)

    @cached_property
    def adjusted(self) -> np.ndarray:
        """(K, k) scores as large as those of true residuals."""
        return (self.correction @ self.score[..., None])[..., 0]

    @cached_property
    def covariance(self) -> np.ndarray:
        """(r, r) covariance of the least-squares base parameters."""
        spread = self.to_base @ self.adjusted.T
        return spread @ spread.T

    def variance(self, contrasts) -> np.ndarray:
        """(c,) variance of `contrasts @ z`. contrasts: (c, k)."""
        return np.sum((contrasts @ self.adjusted.T) ** 2, axis=1)

    def sees(self, contrasts) -> np.ndarray:
        """(c,) whether the data shows `contrasts @ x` at all. contrasts: (c, r) of base parameters."""
        unit = contrasts * self.scale
        left = unit - unit @ self.shown @ self.shown.T
        return np.linalg.norm(left, axis=1) <= SAME * np.linalg.norm(unit, axis=1)

    def degrees(self, contrasts) -> np.ndarray:
        """(c,) degrees of freedom of `variance`: those of the chi-square with its mean and variance for white noise."""
        probe = self.correction @ contrasts.T  # (K, k, c)
        seen = self.gram @ probe
        own = np.einsum("kic,kic->kc", probe, seen)
        cross = np.einsum("kic,lic->klc", seen, seen, optimize=True)
        trace = own.sum(axis=0) - np.einsum("kkc->c", cross)
        square = np.sum(own**2, axis=0) - 2 * np.einsum("kc,kkc->c", own, cross) + np.sum(cross**2, axis=(0, 1))
        return np.where(square > 0, trace**2 / np.where(square > 0, square, 1.0), 1.0)


def sandwich(blocks: Sequence[Information], *, noise=None, about=None) -> Sandwich:
    """Scores of contiguous blocks at their common least-squares solution.

    Args:
        blocks: see `information.accumulate_blocks`.
        noise: (g,) by which row groups are weighted; by default what least squares leaves.
        about: (r,) base parameters about which rows without torque tell ratios (`fit.homogeneous`); by default those of
            least squares.

    Returns:
        The Sandwich.

    Raises:
        FitError: fewer than four blocks or too few samples.
    """
    if len(blocks) < THRESHOLDS.fewest_blocks:
        raise FitError(
            f"{len(blocks)} blocks cannot tell how large the errors are; give at least {THRESHOLDS.fewest_blocks}."
        )
    total = reduce(add, blocks).plain
    require_enough_samples(total)
    if noise is None or about is None:
        least, left = weigh_by_noise(total)
        noise, about = left if noise is None else noise, whiten(least).solve() if about is None else about
    found = ratios_about(total, about)
    blocks = [found.of(block.plain) for block in blocks]
    weighted = found.of(total)
    weighted = weighted.weighted(weighted.independence / np.square(noise))
    problem = whiten(weighted)
    kept = problem.directions[:, -problem.rank :]
    to_base = problem.scale[:, None] * kept / np.sqrt(problem.eigenvalues[-problem.rank :])
    gram = np.stack([to_base.T @ b.squares.weighted(weighted.weights) @ to_base for b in blocks])
    moment = np.stack([(weighted.weights @ b.moment) @ to_base for b in blocks])
    solution = moment.sum(axis=0)
    score = moment - gram @ solution
    return Sandwich(to_base, solution, gram, score, weighted, noise, problem.scale, kept, np.arange(len(score)))


def independent_blocks(fine: Sandwich) -> Sandwich:
    """The finest merging by 1, 2, 4, ... neighbours whose scores are uncorrelated, or the coarsest one allowed.

    Args:
        fine: of the blocks as they are.

    Returns:
        The Sandwich of the merged blocks.
    """
    blocks = fine
    while blocks.count >= 2 * THRESHOLDS.blocks_left and neighbour_correlation(blocks) > THRESHOLDS.correlated:
        blocks = blocks.merged(2)
    return blocks


def neighbour_correlation(blocks: Sandwich) -> float:
    """Correlation of the scores of neighbouring blocks, over all directions together.

    Scores add up to zero, which alone makes neighbours differ; what independent residuals would show is taken off.
    """
    gram, score = blocks.gram, blocks.score
    power = np.sum(score**2)
    level = power / (np.einsum("kii->", gram) - np.sum(gram**2))
    expected = -level * np.sum(gram[:-1] * gram[1:])
    return float((np.sum(score[:-1] * score[1:]) - expected) / power) if power > 0 else 0.0
