"""Intervals of parameters, and where each number comes from."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from steelyard.cards import Card
from steelyard.fit.block_scores import Sandwich
from steelyard.fit.model_discrepancy import ModelDiscrepancy
from steelyard.fit.posterior import Posterior
from steelyard.fit.thresholds import THRESHOLDS


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


OUTSIDE = 1e-9  # share of the prior's variance that lies outside what any motion shows, taken as rounding


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
    seen = scores.sees(lifted) & (hidden <= OUTSIDE * before)
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
