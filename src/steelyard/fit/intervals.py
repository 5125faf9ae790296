"""Intervals of parameters, where each number comes from, and what columns that the model lacks add to them.

Whether the torques of a log hold more than the model that was fitted, and how far that moves the parameters.

Columns that the model lacks (`information.discrepancy`) are taken up one by one, the clearest first, while a Wald test
with block-robust variance finds one: forward selection at the false discovery rate of Benjamini and Hochberg (1995),
which doubts a model that lacks nothing as seldom as Bonferroni's level, and sees more where there is more to see. The
fit with these columns and the fit without differ by what friction of another shape does to each parameter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from steelyard.cards import Card
from steelyard.fit.block_scores import Sandwich
from steelyard.fit.pullback_form import Posterior
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.information import Information
from steelyard.information.model_discrepancy import DRIFT, NAMES
from steelyard.numbers import NEGLIGIBLE
from steelyard.terms import TERMS, ParameterLayout


@dataclass(frozen=True, eq=False)
class ModelDiscrepancy:
    """What a fit with further columns finds. lacking: the columns (joint, name). shift: (k,) what the fit without them
    has too much, in whitened coordinates; spread: (k, K) what each block's noise adds to the fit with them."""

    lacking: tuple[tuple[str, str], ...]
    shift: np.ndarray
    spread: np.ndarray

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
    """Candidates beside the whitened columns, block by block.

    cross: (K, M, k) with them; squares: (K, M, M) and moment: (K, M) once what the fitted columns explain is taken off;
    telling: (M,) whether enough is left to tell."""

    cross: np.ndarray
    squares: np.ndarray
    moment: np.ndarray
    telling: np.ndarray

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
    """Columns that the data asks for, the clearest first."""
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


class Source(Enum):
    """What determines a parameter; the text is what reports say."""

    DATA = "data-determined"
    MODEL = "model-dependent"
    PRIOR = "prior-determined"
    NOTHING = "unidentifiable"
    GIVEN = "given"


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Card):
    """Two-sided intervals of c named parameters, and what determines each.

    Attributes:
        names: of the parameters.
        estimate: (c,) values of the fit, SI units.
        lower, upper: (c,) ends of the intervals; they always contain the estimate.
        deviation: (c,) standard deviations; 0 for what was fixed.
        sources: what determines each, see `Source`.
        level: probability of the intervals.

    Intervals of data-determined parameters cover the truth with probability `level` whatever the prior. Those of
    model-dependent ones hold with and without what the torques show beyond the model, such as friction of another shape
    (`fit.discrepancy`); another model might move them further. Those of others say what data, prior and physical
    consistency leave open, and hold as far as the prior does. What was given as known has no width.
    """

    names: tuple[str, ...]
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    deviation: np.ndarray
    sources: tuple[Source, ...]
    level: float

    def __len__(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """`data-determined`, `prior-determined`, `unidentifiable` or `given`, one a parameter."""
        return tuple(source.value for source in self.sources)

    def by(self, source: Source) -> np.ndarray:
        """(c,) whether a parameter is determined by this source."""
        return np.array([each is source for each in self.sources], dtype=bool)

    def covers(self, truth) -> np.ndarray:
        """(c,) whether true values (c,) lie in their intervals."""
        return (self.lower <= truth) & (truth <= self.upper)

    def table(self) -> str:
        """One line a parameter: name, estimate, interval, label."""
        width = max(map(len, self.names), default=0)
        rows = zip(self.names, self.estimate, self.lower, self.upper, self.labels, strict=True)
        return "\n".join(f"{n:{width}}  {e:>12.5g}  [{a:>12.5g}, {b:>12.5g}]  {label}" for n, e, a, b, label in rows)


@dataclass(frozen=True, eq=False)
class Sources:
    """lifted: (c, r) the combinations in base parameters; seen: (c,) whether motion and log show them without a prior;
    spread: (c, s) in standard deviations, what each source of data and prior adds, constraints left aside; labels: one
    Source each."""

    lifted: np.ndarray
    seen: np.ndarray
    spread: np.ndarray
    labels: tuple[Source, ...]

    @property
    def variance(self) -> np.ndarray:
        """(c,) of data and prior together."""
        return np.sum(self.spread**2, axis=1)


def sources_of(scores: Sandwich, model: Posterior, contrasts, discrepancy: ModelDiscrepancy | None) -> Sources:
    """Sources of the combinations `contrasts @ parameters`. contrasts: (c, p); discrepancy: what the model lacks."""
    shift = np.zeros(len(scores.solution)) if discrepancy is None else discrepancy.shift
    basis = scores.weighted.basis
    lifted = contrasts[:, basis.columns]  # regrouping is the identity there
    before = model.prior_variance(contrasts)
    hidden = model.prior_variance(contrasts - lifted @ basis.regrouping)
    seen = scores.sees(lifted) & (hidden <= NEGLIGIBLE * before)
    noise, pull = model.spread(contrasts, np.vstack([scores.adjusted, shift]))
    from_prior, from_noise, from_model = np.sum(pull**2, axis=1), np.sum(noise[:, :-1] ** 2, axis=1), noise[:, -1] ** 2
    alone = seen & (from_prior <= THRESHOLDS.prior_share * (from_noise + from_model + from_prior))
    shifted = from_model > THRESHOLDS.model_share * from_noise
    if discrepancy is not None:
        left = np.sum(model.spread(contrasts, discrepancy.spread.T)[0] ** 2, axis=1)
        shifted |= from_noise - left > THRESHOLDS.gone_share * from_noise
        shifted |= contrasts[:, discrepancy.friction(scores.weighted.layout)].any(axis=1)
    left = np.sum(pull * (contrasts @ model.directions / model.pull), axis=1)  # variance after the data, noise white
    kind = np.select([alone & shifted, alone, left > THRESHOLDS.unmoved * before], [0, 1, 2], 3)
    kinds = (Source.MODEL, Source.DATA, Source.NOTHING, Source.PRIOR)
    return Sources(lifted, seen, np.hstack([noise, pull]), tuple(kinds[k] for k in kind))
