"""Intervals for base parameters and for every parameter of a constrained fit, from Informations of blocks.

What motion and log show on their own (base parameters, and parameters outside every null space): least squares with
block-robust variance and t quantiles (`fit.sandwich`), free of the prior and cut off where no body can be. The rest: a
multiplier bootstrap, in which scores of blocks and prior are perturbed together and every perturbed problem is solved
inside the constraints (`fit.barrier`). Percentiles of constrained fits cover too little next to a constraint (Andrews
2000; docs/uncertainty.md has figures), which is why they are left to parameters for which there is nothing better.
An interval always contains the estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.errors import FitError, OptionError
from steelyard.fit.block_scores import Sandwich, independent_blocks, sandwich
from steelyard.fit.draws import Draws, drawn
from steelyard.fit.estimate import Estimate
from steelyard.fit.intervals import Intervals, Source, Sources, find_discrepancy, sources_of
from steelyard.fit.joint_normal import JointNormal
from steelyard.fit.posterior import VOUCHED
from steelyard.fit.prior import consistent_prior
from steelyard.fit.pullback_form import Posterior, constrained, posterior
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.information import Information

NONNEGATIVE = (0, 4, 6, 9)  # mass and moments of inertia among the ten of a body
ROUNDING = 1e-8  # of a prior's deviation, that is none
CONTRADICTED = 4.0  # standard deviations that constraints must move an estimate: noise seldom wants more
LEAST_DEGREES, WIDEST = 1.0, 2.0  # of freedom beyond two, and times the variance that Student's t adds at most
DRAWS, FEWEST_DRAWS, LARGE = 200, 30, 100  # bootstrapped fits, and parameters from which there are fewer of them


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(Card):
    """How sure an Estimate is.

    parameters, base: Intervals of all p parameters and of the r base parameters. covariance: (r, r) of the base
    parameters, from data and prior; from_noise: (r, s) a root of the part that noise and a lacking model make. noise:
    (g,) residual deviation of each row group. draws: (n, p) bootstrapped parameters, each inside the constraints.
    blocks: how many were told apart, degrees: (r,) of freedom they leave.
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
    from_noise: np.ndarray
    noise: np.ndarray
    draws: np.ndarray
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
            "bootstrap": f"{len(self.draws)} fits over {self.blocks} blocks",
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
    """Intervals and labels of a posterior, whose covariance has data, prior and the correlation of its residuals.

    Args:
        estimate: of `fit.posterior`.
        level: probability of the two-sided intervals.

    Returns:
        The Uncertainty.

    Raises:
        FitError: an estimate that is no posterior.
    """
    from scipy.special import ndtri

    found, layout, root = estimate.require_weighed().promised(VOUCHED), estimate.layout, estimate.root
    contrasts = np.concatenate([np.eye(layout.size), estimate.basis.regrouping])
    spread = contrasts @ root
    deviation = np.linalg.norm(spread, axis=1)
    prior_root = found.prior_root
    before = np.linalg.norm(contrasts @ prior_root, axis=1)
    of_file = np.linalg.solve(prior_root, root @ spread.T)[layout.in_plain]  # what of the variance is the file's
    pulled = np.linalg.norm(of_file, axis=0)
    value = np.concatenate([estimate.parameters, estimate.base])
    given = deviation <= ROUNDING * before
    kinds = np.select(
        [given, deviation**2 > THRESHOLDS.unmoved * before**2, pulled**2 <= THRESHOLDS.prior_share * deviation**2],
        [0, 1, 2],
        3,
    )
    labels = tuple((Source.GIVEN, Source.NOTHING, Source.DATA, Source.PRIOR)[k] for k in kinds)
    reach, least = ndtri(1 - (1 - level) / 2) * deviation, _least(estimate)
    lower, upper = np.minimum(np.maximum(value - reach, least), value), value + reach
    p, names = layout.size, (layout.names, estimate.base_names)
    parts = [
        Intervals(each, value[cut], lower[cut], upper[cut], deviation[cut], labels[cut], level)
        for each, cut in zip(names, (slice(0, p), slice(p, None)), strict=True)
    ]
    return Uncertainty(
        estimate=estimate,
        parameters=parts[0],
        base=parts[1],
        covariance=estimate.covariance,
        from_noise=np.zeros((estimate.basis.count, 0)),
        noise=estimate.noise,
        draws=np.zeros((0, p)),
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
    draws: int | None = None,
    seed: int = 0,
) -> Uncertainty:
    """Intervals and labels for the parameters of a fit.

    Args:
        estimate: the fit.
        blocks: contiguous pieces of the Information that was fitted, see `accumulate_blocks`; neighbours are merged
            until they are independent.
        prior, weight: as they were given to the fit.
        level: probability of the two-sided intervals.
        draws: bootstrapped fits, 200 by default, fewer for robots of more than a hundred parameters and none from 190;
            intervals that lean on the prior then leave constraints aside, but for signs.
        seed: of random numbers.

    Returns:
        An Uncertainty with intervals of all parameters and of the base parameters.

    Raises:
        OptionError: a level outside (0, 1), or a single draw.
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
    draws = _checked(estimate, blocks, level, draws)
    blocks = [block.plain for block in blocks]
    scores = independent_blocks(sandwich(blocks, noise=estimate.noise, about=estimate.base))
    count = estimate.layout.inertial.stop // 10
    theta0 = consistent_prior(prior, estimate.prior, count)[0] if count else np.zeros((0, 10))
    model = posterior(scores, theta0, weight=weight)
    contrasts = np.concatenate([np.eye(estimate.layout.size), estimate.basis.regrouping])
    discrepancy = find_discrepancy(blocks, scores)
    shift = np.zeros(len(scores.solution)) if discrepancy is None else discrepancy.shift
    sources = sources_of(scores, model, contrasts, discrepancy)
    degrees = _degrees(estimate, scores)
    typical = float(np.median(degrees))
    found = np.zeros((0, estimate.layout.size))
    if draws:
        found = _bootstrap(scores, shift, model, estimate.physical, draws, typical, seed)
    leaning = _leaning(estimate, found, contrasts, sources, typical, level)
    value = np.concatenate([estimate.parameters, estimate.base])
    wrong = _contradiction(estimate, model, contrasts, value, sources.variance)
    lower, upper, deviation = _limits(estimate, scores, sources, shift, degrees, level, leaning, wrong)
    labels = [Source.GIVEN if i in estimate.fixed else each for i, each in enumerate(sources.labels)]

    def part(names, cut: slice) -> Intervals:
        return Intervals(names, value[cut], lower[cut], upper[cut], deviation[cut], tuple(labels[cut]), level)

    p = estimate.layout.size
    return Uncertainty(
        estimate=estimate,
        parameters=part(estimate.layout.names, slice(0, p)),
        base=part(estimate.base_names, slice(p, None)),
        covariance=sources.spread[p:] @ sources.spread[p:].T,
        from_noise=sources.spread[p:, : scores.count + 1],
        noise=scores.noise,
        draws=found,
        blocks=scores.count,
        degrees=degrees[p:],
        inflation=float(np.sqrt(np.mean(np.sum(scores.adjusted**2, axis=0)))),
        lacking=() if discrepancy is None else discrepancy.lacking,
        centers=_centers(estimate, sources.spread[:p]),
        joint=_joint(scores, shift, model, theta0, typical, estimate.within),
    )


def _joint(scores: Sandwich, shift, model: Posterior, theta0, degrees: float, within) -> JointNormal:
    """Optimum and spread of data and prior. Few blocks do not tell a whole covariance matrix: what they say is shrunk
    towards noise alike in all whitened directions (Ledoit and Wolf 2004), and as wide as Student's t."""
    Q, S = model.factors
    k = len(model.target)
    spread = _shrunk(scores.adjusted) * min(degrees / max(degrees - 2, LEAST_DEGREES), WIDEST)
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


def _checked(estimate: Estimate, blocks: Sequence[Information], level: float, draws: int | None) -> int:
    """How many fits are bootstrapped. Raises as `uncertainty`."""
    require_type(Estimate, estimate=estimate)
    require_type(Sequence, blocks=blocks)
    if not 0 < level < 1:
        raise OptionError(f"level={level}: the probability of an interval lies between 0 and 1.")
    draws = affordable(estimate.layout.size) if draws is None else draws
    if draws < 2 and draws != 0:
        raise OptionError(f"draws={draws}: a spread needs at least 2 bootstrapped fits; 0 does without.")
    if not blocks or blocks[0].layout.plain != estimate.layout:
        raise FitError("These blocks have other columns than the estimate; accumulate them with the same options.")
    return draws


def _degrees(estimate: Estimate, scores: Sandwich) -> np.ndarray:
    """(p + r,) degrees of freedom of parameters and base parameters."""
    own = scores.degrees(scores.to_base)  # of other columns than the base's the data shows nothing
    degrees = np.append(np.ones(estimate.layout.size), own)
    degrees[estimate.basis.columns] = own
    return degrees


def _leaning(estimate: Estimate, found, contrasts, sources: Sources, degrees: float, level: float):
    """Deviations (c,) and limits (2, c) of estimates that lean on the prior, from bootstrapped parameters (n, p), or
    with none of these from the spread alone."""
    from scipy.special import stdtrit

    outside = (1 - level) / 2
    if len(found):
        spread = found @ contrasts.T
        return spread.std(axis=0, ddof=1), np.quantile(spread, [outside, 1 - outside], axis=0)
    deviation = np.sqrt(sources.variance)
    value = np.concatenate([estimate.parameters, estimate.base])
    return deviation, value + np.outer([-1, 1], stdtrit(degrees, 1 - outside) * deviation)


def _limits(estimate: Estimate, scores: Sandwich, sources: Sources, shift, degrees, level: float, leaning, wrong):
    """(c,) lower and upper limits and deviations of parameters and base parameters.

    shift: of the scores, by what the model lacks. leaning: of `_leaning`. wrong: of `_contradiction`.
    """
    from scipy.special import stdtrit

    whitened = sources.lifted @ scores.to_base
    own = np.hypot(np.sqrt(scores.variance(whitened)), whitened @ shift)
    deviation = np.where(sources.seen, own, leaning[0])
    value, least = np.concatenate([estimate.parameters, estimate.base]), _least(estimate)
    middle, reach = whitened @ scores.solution, stdtrit(degrees, 1 - (1 - level) / 2) * deviation
    lower, upper = np.maximum(np.where(sources.seen, [middle - reach, middle + reach], leaning[1]), least)
    lower, upper = np.minimum(lower, value), np.maximum(upper, value)
    lower, upper = np.minimum(lower, np.maximum(value - wrong, least)), np.maximum(upper, value + wrong)
    given = list(estimate.fixed)
    lower[given] = upper[given] = value[given]
    deviation[given] = 0.0
    return lower, upper, deviation


def affordable(parameters: int) -> int:
    """Bootstrapped fits that take about a second (the cost grows with the cube of parameters); 0 rather than few."""
    count = int(DRAWS * min(1.0, LARGE / max(parameters, 1)) ** 3)
    return count if count >= FEWEST_DRAWS else 0


def _bootstrap(
    scores: Sandwich, shift, model: Posterior, physical: bool, draws: int, degrees: float, seed: int
) -> np.ndarray:
    """(draws, p) parameters of fits with perturbed scores and priors; multivariate t for few blocks."""
    rng = np.random.default_rng(seed)
    heavy = np.sqrt(degrees / rng.chisquare(degrees, size=(draws, 1)))
    noise = rng.normal(size=(draws, scores.count)) @ scores.adjusted + rng.normal(size=(draws, 1)) * shift
    target = model.target + heavy * noise
    free = model.optimum(target, rng.normal(size=(draws, len(model.pull))))
    return model.parameters(constrained(model, free) if physical else free)


def _contradiction(estimate: Estimate, model: Posterior, contrasts, value, variance) -> np.ndarray:
    """(c,) by how much constraints move each estimate, where that is more than noise: the data says what cannot be, so
    its errors are systematic and at least as large. 0 elsewhere."""
    if not estimate.physical:
        return np.zeros(len(value))
    free = model.parameters(model.optimum(model.target, np.zeros(len(model.pull))))
    moved = np.abs(value - contrasts @ free)
    return np.where(moved > CONTRADICTED * np.sqrt(variance), moved, 0.0)


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

    spread: (p, s) of the parameters, see `Sources`.
    """
    mass = np.where(estimate.theta[:, 0] > 0, estimate.theta[:, 0], np.nan)
    spread = spread.copy()
    spread[list(estimate.fixed)] = 0.0
    own = spread[estimate.layout.links].reshape(len(mass), 10, spread.shape[1])
    centers = (own[:, 1:4] - (estimate.theta[:, 1:4] / mass[:, None])[:, :, None] * own[:, :1]) / mass[:, None, None]
    return centers @ np.swapaxes(centers, 1, 2)
