"""Covariance of base parameters whose residuals are correlated in time, from block Informations alone.

The least-squares error is `G^-1 sum s_k` with one score `s_k = b_k - G_k x` a block: residuals may be correlated in any
way inside a block and between joints, as long as blocks are independent. Fitted residuals are too small, so scores are
adjusted by `(1 - G_k G^-1)^(-1/2)`, and t quantiles take Satterthwaite degrees of freedom (Bell and McCaffrey 2002,
"CR2"; Pustejovsky and Tipton 2018). In terms of residuals both need every sample; written for scores they need blocks.

Columns that the model lacks (`information.model_discrepancy`) are taken up one by one, the clearest first, while a Wald
test with block-robust variance finds one: forward selection at the false discovery rate of Benjamini and Hochberg
(1995), which doubts a model that lacks nothing as seldom as Bonferroni's level, and sees more where there is more to
see. The fit with these columns and the fit without differ by what friction of another shape does to each parameter.
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
from steelyard.information.model_discrepancy import DRIFT, NAMES
from steelyard.numbers import NEGLIGIBLE, SAME
from steelyard.terms import TERMS, ParameterLayout


@dataclass(frozen=True, eq=False)
class Sandwich:
    """Scores of K blocks in whitened coordinates `z`, in which the data's information is the identity."""

    to_base: np.ndarray  # (r, k), `x = to_base @ z`
    solution: np.ndarray  # (k,) least squares
    gram: np.ndarray  # (K, k, k), adding up to 1
    score: np.ndarray  # (K, k), adding up to 0
    weighted: Information  # the total Information with row weights 1 / noise^2
    noise: np.ndarray  # (g,)
    scale: np.ndarray  # (r,) of base parameters
    shown: np.ndarray  # (r, k) directions that the data reveals at all, orthonormal when scaled
    first: np.ndarray  # (K,) the first of the given blocks in each

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
        root = np.where(left > NEGLIGIBLE, np.maximum(left, NEGLIGIBLE) ** -0.5, 0.0)
        return (axes * root[:, None, :]) @ np.swapaxes(axes, 1, 2)

    @cached_property
    def adjusted(self) -> np.ndarray:
        """(K, k) scores as large as those of true residuals."""
        return (self.correction @ self.score[..., None])[..., 0]

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
    """Scores of contiguous blocks at their common least-squares solution, row groups weighted by noise (g,), ratios of
    rows without torque about base parameters (r,). Raises FitError for fewer than four blocks or too few samples."""
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
    to_base, kept = problem.spread, problem.directions[:, -problem.rank :]
    gram = np.stack([to_base.T @ b.squares.weighted(weighted.weights) @ to_base for b in blocks])
    moment = np.stack([(weighted.weights @ b.moment) @ to_base for b in blocks])
    solution = moment.sum(axis=0)
    score = moment - gram @ solution
    return Sandwich(to_base, solution, gram, score, weighted, noise, problem.scale, kept, np.arange(len(score)))


def independent_blocks(fine: Sandwich) -> Sandwich:
    """The finest merging by 1, 2, 4, ... neighbours whose scores are uncorrelated, or the coarsest one allowed."""
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


@dataclass(frozen=True, eq=False)
class ModelDiscrepancy:
    """What a fit with further columns finds."""

    lacking: tuple[tuple[str, str], ...]  # the columns (joint, name)
    shift: np.ndarray  # (k,) what the fit without them has too much, in whitened coordinates
    spread: np.ndarray  # (k, K) what each block's noise adds to the fit with them

    def friction(self, layout: ParameterLayout) -> list[int]:
        """Columns of friction that depend on the model whatever shifts: of every joint where one has another shape, as
        joints are alike and some only too slow or too loud to show it; of the joint whose torque drifts."""
        every = any(what != DRIFT for _, what in self.lacking)
        joints = layout.dof_names if every else dict(self.lacking)
        places = [layout.dof_names.index(joint) for joint in joints]
        return [
            layout.term(term).start + place for term in layout.terms if not TERMS[term].inertial for place in places
        ]


def find_discrepancy(blocks: Sequence[Information], scores: Sandwich) -> ModelDiscrepancy | None:
    """What the blocks hold that their fit does not; None where nothing is found, or they were summed without columns to
    find it by. scores: of these blocks, merged as may be."""
    found = _partial(blocks, scores)
    if found is None:
        return None
    chosen = _selected(found)
    if not chosen:
        return None
    names = [(blocks[0].group_names[i // len(NAMES)], NAMES[i % len(NAMES)]) for i in chosen]
    gain = np.linalg.solve(found.total[np.ix_(chosen, chosen)], found.cross.sum(axis=0)[chosen])  # (s, k)
    size = found.sizes(chosen)
    shift = found.cross.sum(axis=0)[chosen].T @ size
    own = scores.score - found.cross[:, chosen].transpose(0, 2, 1) @ size + scores.gram @ shift
    spread = own - found.left(chosen)[:, chosen] @ gain
    inflated = np.linalg.norm(scores.adjusted) / max(np.linalg.norm(scores.score), np.finfo(float).tiny)
    return ModelDiscrepancy(tuple(dict.fromkeys(names)), shift, inflated * spread.T)


@dataclass(frozen=True, eq=False)
class _Partial:
    """Candidates beside the whitened columns, block by block."""

    cross: np.ndarray  # (K, M, k) with them
    squares: np.ndarray  # (K, M, M) and moment: (K, M) once what the fitted columns explain is taken off
    moment: np.ndarray
    telling: np.ndarray  # (M,) whether enough is left to tell

    @property
    def total(self) -> np.ndarray:
        return self.squares.sum(axis=0)

    def sizes(self, chosen) -> np.ndarray:
        """(s,) parameters of chosen columns."""
        return np.linalg.solve(self.total[np.ix_(chosen, chosen)], self.moment.sum(axis=0)[chosen])

    def left(self, chosen) -> np.ndarray:
        """(K, M) moments once chosen columns are fitted, too."""
        return self.moment - self.squares[:, :, chosen] @ self.sizes(chosen) if chosen else self.moment


def _partial(blocks: Sequence[Information], scores: Sandwich) -> _Partial | None:
    parts = [part for block in blocks if (part := block.base.discrepancy) is not None]
    if len(parts) < len(blocks):
        return None
    weights, m = scores.weighted.weights, len(NAMES)
    concerned = np.isin(scores.weighted.group_names, scores.weighted.layout.dof_names)  # not those of a free base
    cross = np.stack([np.einsum("g,gmk->gmk", weights, part.cross) @ scores.to_base for part in parts])
    cross = cross.reshape(len(parts), -1, cross.shape[-1])
    moment = np.stack([(weights[:, None] * part.moment).ravel() for part in parts])
    squares = np.zeros((len(parts), len(weights) * m, len(weights) * m))
    for j, weight in enumerate(weights):
        own = slice(j * m, (j + 1) * m)
        squares[:, own, own] = [weight * part.squares[j] for part in parts]
    cross, moment, squares = (np.add.reduceat(each, scores.first) for each in (cross, moment, squares))
    total, before = cross.sum(axis=0), np.einsum("kii->i", squares)
    moment = moment - cross @ scores.solution - scores.score @ total.T
    mixed = cross @ total.T
    squares = squares - mixed - mixed.transpose(0, 2, 1) + total @ scores.gram @ total.T
    left = np.einsum("kii->i", squares)
    return _Partial(cross, squares, moment, (left > THRESHOLDS.alike * before) & np.repeat(concerned, m))


def _selected(found: _Partial) -> list[int]:
    limit = THRESHOLDS.by_chance / max(int(found.telling.sum()), 1)
    chosen: list[int] = []
    while len(chosen) < len(found.moment) // 2:
        chance, clear = _tests(found, chosen)
        best = int(np.lexsort((-clear, chance))[0])
        if chance[best] > limit * (len(chosen) + 1):
            break
        chosen.append(best)
    return chosen


def _tests(found: _Partial, chosen: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(M,) probability by chance of what the data shows of each further column, and its size in deviations.

    The variance is that of block scores about the fit with the column, adjusted by the share h of its information that
    a block has, with `1 / sum h^2 - 1` degrees of freedom (the CR2 of `sandwich`, for one parameter).
    """
    from scipy.special import stdtr

    total, moment = found.total, found.left(chosen)
    own = np.einsum("kii->ki", found.squares)
    if chosen:
        gain = np.linalg.solve(total[np.ix_(chosen, chosen)], total[chosen])  # (s, M)
        moment = moment - moment[:, chosen] @ gain
        inner = np.einsum("si,kst,ti->ki", gain, found.squares[:, chosen][:, :, chosen], gain, optimize=True)
        own = own - 2 * np.einsum("kis,si->ki", found.squares[:, :, chosen], gain) + inner
    left, own = own.sum(axis=0), np.maximum(own, 0.0)
    usable = found.telling & (left > THRESHOLDS.alike * np.diag(total))
    usable[chosen] = False
    left = np.where(usable, left, 1.0)
    share = np.minimum(own / left, 1.0)
    degrees = 1 / np.maximum(np.sum(share**2, axis=0), np.finfo(float).tiny) - 1
    usable &= degrees >= 1
    size = moment.sum(axis=0) / left
    scatter = np.sum((moment - own * size) ** 2 / np.maximum(1 - share, THRESHOLDS.alike), axis=0)
    clear = np.where(usable, np.abs(size) * left / np.sqrt(np.maximum(scatter, np.finfo(float).tiny)), 0.0)
    return np.where(usable, 2 * stdtr(np.where(usable, degrees, 1.0), -clear), 1.0), clear
