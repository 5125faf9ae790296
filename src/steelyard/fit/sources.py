"""What determines a combination of parameters: the data alone, the model of friction, the prior, or only the prior."""

from dataclasses import dataclass

import numpy as np

from steelyard.fit.discrepancy import Doubt
from steelyard.fit.intervals import Source
from steelyard.fit.posterior import Posterior
from steelyard.fit.sandwich import Sandwich

# Largest share of a data-determined combination's variance that stems from the prior. A model that is wrong by as much
# as the prior allows for (140 % of a second moment) then moves the estimate by a fifth of its deviation.
PRIOR_SHARE = 0.05
# Largest square of what a discrepancy of the model shifts, over the variance: intervals of 95 % then hold 94 %.
MODEL_SHARE = 0.09
# Largest share of a variance that is gone once the model has what it lacks: intervals of 95 % hold 98 % then.
GONE_SHARE = 0.3
UNMOVED = 0.98  # share of the prior's variance that is left when data says nothing
ALONE = 1e-9  # share of the prior's variance that lies outside what any motion shows, taken as rounding


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


def sources_of(scores: Sandwich, model: Posterior, contrasts, doubted: Doubt | None) -> Sources:
    """Sources of the combinations `contrasts @ parameters`. contrasts: (c, p); doubted: what the model lacks."""
    shift = np.zeros(len(scores.solution)) if doubted is None else doubted.shift
    basis = scores.weighted.basis
    lifted = contrasts[:, basis.columns]  # regrouping is the identity there
    before = model.prior_variance(contrasts)
    hidden = model.prior_variance(contrasts - lifted @ basis.regrouping)
    seen = scores.sees(lifted) & (hidden <= ALONE * before)
    noise, pull = model.spread(contrasts, np.vstack([scores.adjusted, shift]))
    from_prior, from_noise, from_model = np.sum(pull**2, axis=1), np.sum(noise[:, :-1] ** 2, axis=1), noise[:, -1] ** 2
    alone = seen & (from_prior <= PRIOR_SHARE * (from_noise + from_model + from_prior))
    shifted = from_model > MODEL_SHARE * from_noise
    if doubted is not None:
        left = np.sum(model.spread(contrasts, doubted.spread.T)[0] ** 2, axis=1)
        shifted |= from_noise - left > GONE_SHARE * from_noise
        shifted |= contrasts[:, doubted.friction(scores.weighted.layout)].any(axis=1)
    left = np.sum(pull * (contrasts @ model.directions / model.pull), axis=1)  # variance after the data, noise white
    kind = np.select([alone & shifted, alone, left > UNMOVED * before], [0, 1, 2], 3)
    kinds = (Source.MODEL, Source.DATA, Source.NOTHING, Source.PRIOR)
    return Sources(lifted, seen, np.hstack([noise, pull]), tuple(kinds[k] for k in kind))
