"""Intervals for base parameters and for every parameter of a fit, from the posterior or from Informations of blocks.

What motion and log show on their own (base parameters, and parameters outside every null space): least squares with
block-robust variance and t quantiles (`fit.block_scores`), free of the prior and cut off where no body can be. The
rest: data and prior together, constraints left aside but for signs. An interval always contains the estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.errors import FitError, OptionError
from steelyard.fit.block_scores import ModelDiscrepancy, Sandwich, find_discrepancy, independent_blocks, sandwich
from steelyard.fit.draws import Draws, drawn
from steelyard.fit.estimate import Estimate
from steelyard.fit.joint_normal import JointNormal
from steelyard.fit.posterior import VOUCHED
from steelyard.fit.prior import consistent_prior
from steelyard.fit.pullback_form import Posterior, posterior
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.information import Information
from steelyard.numbers import NEGLIGIBLE

NONNEGATIVE = (0, 4, 6, 9)  # mass and moments of inertia among the ten of a body


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
    (`find_discrepancy`); another model might move them further. Those of others say what data and prior leave open, and
    hold as far as the prior does. What was given as known has no width.
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


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(Card):
    """How sure an Estimate is.

    parameters, base: Intervals of all p parameters and of the r base parameters. covariance: (r, r) of the base
    parameters, from data and prior. noise: (g,) residual deviation of each row group. blocks: how many were told apart,
    degrees: (r,) of freedom they leave.
    inflation: deviations over those that samples as independent as the Information says (`independence`) would have.
    lacking: what the torques of joints show that the model does not have, (joint, what).
    centers: (nb, 3, 3) m^2, covariance of each body's centre of mass in its frame, from data and prior, constraints
    left aside; NaN where the mass is not positive. joint: what data, whatever its residuals have in common, and prior
    say of all parameters together.
    """

    estimate: Estimate
    parameters: Intervals
    base: Intervals
    covariance: np.ndarray
    noise: np.ndarray
    blocks: int
    degrees: np.ndarray
    inflation: float
    lacking: tuple[tuple[str, str], ...]
    centers: np.ndarray
    joint: JointNormal

    def sample(self, count: int | None = None, *, seed: int = 0) -> Draws:
        """Samples of the posterior, of bodies that can exist, with friction and armature within their bounds.

        Known masses, what is kept and tied, and ellipsoids that hold a body's mass count as in the fit; unions of them
        and other sets are left aside.

        Args:
            count: of samples; by default 256, of robots of more than 250 parameters 64.
            seed: of random numbers.

        Returns:
            The Draws.
        """
        own = self.estimate
        return drawn(self.joint, own.layout, own.prior, own.lower_bounds, count=count, seed=seed)

    def _rows(self):
        return {
            "parameters": self.parameters,
            "base parameters": self.base,
            "blocks": self.blocks or None,
            "wider than independent samples": f"{self.inflation:.3g} times",
            "model lacks": [f"{joint}: {what}" for joint, what in self.lacking] or None,
        }

    def explain(self) -> tuple[str, ...]:
        """What the torques show beyond the model, in a sentence; nothing where they show nothing."""
        if not self.lacking:
            return ()
        joints: dict[str, list[str]] = {}
        for joint, what in self.lacking:
            joints.setdefault(joint, []).append(what)
        told = "; ".join(f"{joint} ({', '.join(words)})" for joint, words in joints.items())
        return (
            f"The torques show more than the model has: {told}. Parameters that this may have shifted are labelled "
            f"{Source.MODEL.value}, and their intervals allow for it.",
        )


def posterior_uncertainty(estimate: Estimate, *, level: float = 0.95) -> Uncertainty:
    """Intervals and labels of `fit.posterior`, whose covariance has data, prior and the correlation of its residuals.
    level: of the two-sided intervals. Raises FitError for an estimate that is no posterior."""
    from scipy.special import ndtri

    found, layout, root = estimate.require_weighed().promised(VOUCHED), estimate.layout, estimate.root
    contrasts = np.concatenate([np.eye(layout.size), estimate.basis.regrouping])
    spread = contrasts @ root
    deviation = np.linalg.norm(spread, axis=1)
    prior_root = found.prior_root
    before = np.linalg.norm(contrasts @ prior_root, axis=1)
    of_data = found.root @ (contrasts @ found.root).T
    of_file = np.linalg.solve(prior_root, of_data)[layout.in_plain]  # what of the variance is the file's
    pulled = np.linalg.norm(of_file, axis=0)
    value = np.concatenate([estimate.parameters, estimate.base])
    given = deviation <= NEGLIGIBLE * before
    kinds = np.select(
        [given, deviation**2 > THRESHOLDS.unmoved * before**2, pulled**2 <= THRESHOLDS.prior_share * deviation**2],
        [0, 1, 2],
        3,
    )
    labels = tuple((Source.GIVEN, Source.NOTHING, Source.DATA, Source.PRIOR)[k] for k in kinds)
    return Uncertainty(
        estimate=estimate,
        **_intervals(estimate, value, value, ndtri(1 - (1 - level) / 2) * deviation, deviation, labels, level),
        covariance=estimate.covariance,
        noise=estimate.noise,
        blocks=0,
        degrees=np.full(estimate.basis.count, np.inf),
        inflation=float(1 / np.sqrt(found.problem.share)),
        lacking=(),
        centers=_centers(estimate, root),
        joint=JointNormal(estimate.parameters, root, found.problem.theta0, estimate.within),
    )


def uncertainty(
    estimate: Estimate,
    blocks: Sequence[Information],
    *,
    prior=None,
    weight: float = 1.0,
    level: float = 0.95,
) -> Uncertainty:
    """Intervals and labels for the parameters of a fit.

    Args:
        estimate: the fit.
        blocks: contiguous pieces of the Information that was fitted, see `accumulate_blocks`; neighbours are merged
            until they are independent.
        prior, weight: as they were given to the fit.
        level: probability of the two-sided intervals.

    Returns:
        An Uncertainty with intervals of all parameters and of the base parameters.

    Raises:
        OptionError: a level outside (0, 1).
        FitError: the blocks belong to another regression, or are fewer than four.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> rng, beta = np.random.default_rng(0), np.array([2.0, 0.1, 0, 0, 0.3, 0, 0.3, 0, 0, 0.3])
        >>> layout = sy.terms.ParameterLayout(("body",))
        >>> Y = rng.normal(size=(20, 50, 1, 10))
        >>> tau = Y @ beta + 0.1 * rng.normal(size=(20, 50, 1))
        >>> blocks = [sy.Information.from_arrays(*each, layout=layout) for each in zip(Y, tau)]
        >>> estimate = sy.fit.consistent(sum(blocks), prior=beta[None])
        >>> found = sy.fit.uncertainty(estimate, blocks, prior=beta[None])
        >>> found.base.labels[0], bool(found.base.lower[0] < 2.0 < found.base.upper[0])
        ('data-determined', True)
    """
    from scipy.special import stdtrit

    _check(estimate, blocks, level)
    blocks = [block.plain for block in blocks]
    scores = independent_blocks(sandwich(blocks, noise=estimate.noise, about=estimate.base))
    count = estimate.layout.inertial.stop // 10
    theta0 = consistent_prior(prior, estimate.prior, count)[0] if count else np.zeros((0, 10))
    model = posterior(scores, theta0, weight=weight)
    contrasts = np.concatenate([np.eye(estimate.layout.size), estimate.basis.regrouping])
    discrepancy = find_discrepancy(blocks, scores)
    shift = np.zeros(len(scores.solution)) if discrepancy is None else discrepancy.shift
    seen, spread, labels = _sources(scores, model, contrasts, shift, discrepancy)
    degrees = _degrees(estimate, scores)
    value = np.concatenate([estimate.parameters, estimate.base])
    whitened = contrasts[:, estimate.basis.columns] @ scores.to_base
    own = scores.variance(whitened) + (whitened @ shift) ** 2
    deviation = np.sqrt(np.where(seen, own, np.sum(spread**2, axis=1)))
    middle = np.where(seen, whitened @ scores.solution, value)
    reach = stdtrit(np.where(seen, degrees, np.median(degrees)), 1 - (1 - level) / 2) * deviation
    labels = [Source.GIVEN if i in estimate.fixed else each for i, each in enumerate(labels)]
    p = estimate.layout.size
    return Uncertainty(
        estimate=estimate,
        **_intervals(estimate, value, middle, reach, deviation, labels, level),
        covariance=spread[p:] @ spread[p:].T,
        noise=scores.noise,
        blocks=scores.count,
        degrees=degrees[p:],
        inflation=float(np.sqrt(np.mean(np.sum(scores.adjusted**2, axis=0)))),
        lacking=() if discrepancy is None else discrepancy.lacking,
        centers=_centers(estimate, spread[:p]),
        joint=_joint(scores, shift, model, theta0, float(np.median(degrees)), estimate.within),
    )


def _sources(scores: Sandwich, model: Posterior, contrasts, shift, discrepancy: ModelDiscrepancy | None):
    """Of the combinations `contrasts @ parameters`: (c,) whether motion and log show them without a prior; (c, s) in
    standard deviations, what each source of data and prior adds, constraints left aside; and one Source each."""
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
    kinds = np.select([alone & shifted, alone, left > THRESHOLDS.unmoved * before], [0, 1, 2], 3)
    labels = tuple((Source.MODEL, Source.DATA, Source.NOTHING, Source.PRIOR)[k] for k in kinds)
    return seen, np.hstack([noise, pull]), labels


def _joint(scores: Sandwich, shift, model: Posterior, theta0, degrees: float, within) -> JointNormal:
    """Optimum and spread of data and prior. Few blocks do not tell a whole covariance matrix: what they say is shrunk
    towards noise alike in all whitened directions (Ledoit and Wolf 2004), and as wide as Student's t."""
    Q, S = model.factors
    k = len(model.target)
    spread = _shrunk(scores.adjusted) * degrees / max(degrees - 2, 1.0)
    spread = Q[:k].T @ (spread + np.outer(shift, shift)) @ Q[:k] + Q[k:].T @ Q[k:]
    values, axes = np.linalg.eigh(spread)
    mean = model.parameters(model.optimum(model.target, np.zeros(len(model.pull))))
    return JointNormal(mean, model.directions @ S @ (axes * np.sqrt(np.maximum(values, 0.0))), theta0, within)


def _shrunk(scores) -> np.ndarray:
    """(k, k) covariance of the sum of scores (K, k) of independent blocks."""
    count, size = scores.shape
    found = scores.T @ scores
    mean = np.trace(found) / max(size, 1)
    away = found - mean * np.eye(size)
    distance = np.sum(away**2)
    noise = np.sum(np.sum(scores**2, axis=1) ** 2) - np.sum(found**2) / count
    share = min(max(noise, 0.0) / distance, 1.0) if distance > 0 else 1.0
    return found - share * away


def _check(estimate: Estimate, blocks: Sequence[Information], level: float):
    require_type(Estimate, estimate=estimate)
    require_type(Sequence, blocks=blocks)
    if not 0 < level < 1:
        raise OptionError(f"level={level}: the probability of an interval lies between 0 and 1.")
    if not blocks or blocks[0].layout.plain != estimate.layout:
        raise FitError("These blocks have other columns than the estimate; accumulate them with the same options.")


def _degrees(estimate: Estimate, scores: Sandwich) -> np.ndarray:
    """(p + r,) degrees of freedom of parameters and base parameters."""
    own = scores.degrees(scores.to_base)  # of other columns than the base's the data shows nothing
    degrees = np.append(np.ones(estimate.layout.size), own)
    degrees[estimate.basis.columns] = own
    return degrees


def _intervals(estimate: Estimate, value, middle, reach, deviation, labels, level: float) -> dict[str, Intervals]:
    """Of parameters and base parameters, one after the other (c,), which hold their values."""
    least, given, p = _least(estimate), list(estimate.fixed), estimate.layout.size
    lower = np.minimum(np.maximum(middle - reach, least), value)
    upper = np.maximum(np.maximum(middle + reach, least), value)
    lower[given] = upper[given] = value[given]
    deviation[given] = 0.0
    return {
        name: Intervals(names, value[cut], lower[cut], upper[cut], deviation[cut], tuple(labels[cut]), level)
        for name, names, cut in (
            ("parameters", estimate.layout.names, slice(0, p)),
            ("base", estimate.base_names, slice(p, None)),
        )
    }


def _least(estimate: Estimate) -> np.ndarray:
    """(p + r,) least values that a physical estimate can have; base parameters can have either sign."""
    layout = estimate.layout
    least = np.full(layout.size + estimate.basis.count, -np.inf)
    if estimate.lower_bounds is not None:
        least[: layout.size] = estimate.lower_bounds
    if not estimate.physical:
        return least
    for i in range(layout.inertial.stop // 10):
        least[[layout.body(i).start + k for k in NONNEGATIVE]] = 0.0
    return least


def _centers(estimate: Estimate, spread) -> np.ndarray:
    """(nb, 3, 3) covariance of `c = h / m`, to first order: `dc = (dh - c dm) / m`. What is given does not vary.

    spread: (p, s) of the parameters, see `_sources`.
    """
    mass = np.where(estimate.theta[:, 0] > 0, estimate.theta[:, 0], np.nan)
    spread = spread.copy()
    spread[list(estimate.fixed)] = 0.0
    own = spread[estimate.layout.links].reshape(len(mass), 10, spread.shape[1])
    centers = (own[:, 1:4] - (estimate.theta[:, 1:4] / mass[:, None])[:, :, None] * own[:, :1]) / mass[:, None, None]
    return centers @ np.swapaxes(centers, 1, 2)
