"""A fleet as a population: `x_i ~ N(mean, diag(spread))` for the base parameters of its robots, from their evidences.

Empirical Bayes (Efron and Morris 1973; Carlin and Louis 2000): mean and spread maximise the likelihood of all robots
together, and each robot is estimated from its own data and from what the others show. Both are found without the
outliers, which are looked for with the same tests as changes over time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from steelyard.fleet.evidence import (
    Cause,
    Evidence,
    Explained,
    chance,
    change_along,
    extra_variance,
    marginal,
    probability,
    pseudo_inverse,
    rivals,
    score_test,
)
from steelyard.numbers import ROUNDING, ROUNDS, STEPS, SURE

SETTLED = 1e-3  # relative change at which the fixed point for the spread ends
FEWEST = 4  # robots: fewer have no spread to speak of
TOLD_BY = 30  # robots, or pairs of runs, that tell a spread to an eighth
FIRST = 1e-4  # of the variance of values: the smallest spread to begin with


@dataclass(frozen=True, eq=False)
class Outlier:
    """A robot that the others do not explain."""

    robot: int
    best: Explained  # the cause that does
    rivals: tuple[Cause, ...]  # others that nearly do
    probability: float  # of so clear an outlier anywhere in the fleet by chance, at most


@dataclass(frozen=True, eq=False)
class Population:
    """mean: (r,), precision: (r, r) of it; spread: (r,) standard deviations between robots; outliers: clearest first,
    left out of both; robots: how many there are in all."""

    mean: np.ndarray
    precision: np.ndarray
    spread: np.ndarray
    outliers: tuple[Outlier, ...]
    robots: int

    @property
    def prior(self) -> Evidence:
        """What the population says of a robot it has not seen: its mean, no surer than the spread lets it be."""
        return Evidence(self.precision, self.precision @ self.mean).with_spread(self.spread**2)

    def widened(self, evidence: Evidence) -> "Population":
        """The same for an outlier, which it must not pull back: the spread reaches as far as the robot is away."""
        x, v = marginal(evidence)
        away = np.where(np.isfinite(v), np.abs(x - self.mean), 0.0)
        return replace(self, spread=np.hypot(self.spread, away))

    def individual(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Estimate (r,) and covariance (r, r) of a robot, from its evidence and the population."""
        variance = self.spread**2
        own = evidence.with_spread(variance)
        deviation = variance * (own.moment - own.precision @ self.mean)
        left = np.diag(variance) - variance[:, None] * own.precision * variance
        return self.mean + deviation, (left + left.T) / 2


def population(robots: Sequence[Evidence], causes: Sequence[Cause], *, false_alarm: float) -> Population:
    """Population of robots with evidences (spread of runs in them). With fewer than four, they are taken as alike."""
    told = [marginal(each) for each in robots]
    x, v = np.stack([each for each, _ in told]), np.stack([each for _, each in told])
    known = np.where(np.isfinite(v), x, np.nan)
    middle = np.nanmedian(np.where(np.isfinite(v).any(axis=0), known, 0.0), axis=0)
    variance = extra_variance(x - middle, v) if len(robots) >= FEWEST else np.zeros(len(middle))
    outliers: tuple[Outlier, ...] = ()
    if len(robots) >= TOLD_BY:
        outliers = _together(robots, variance, _suspects(x - middle, v + variance), middle, causes, false_alarm)
    elif len(robots) >= FEWEST:
        outliers = _one_by_one(robots, variance, middle, causes, false_alarm)
    total, mean, variance = _likeliest(_without(robots, {each.robot for each in outliers}), variance, middle)
    return Population(mean, total, np.sqrt(variance), outliers, len(robots))


def _one_by_one(robots, variance, middle, causes, false_alarm: float) -> tuple[Outlier, ...]:
    """Outliers of few robots, the clearest first: each is compared with all others, as outliers widen the spread."""
    found: tuple[Outlier, ...] = ()
    hidden = np.median([marginal(each)[1] for each in robots], axis=0)
    hidden = np.where(np.isfinite(hidden), hidden, 0.0)
    while len(robots) - len(found) >= FEWEST:
        known = {each.robot for each in found}
        tested = []
        for i in set(range(len(robots))) - known:
            out = known | {i}
            _, _, own = _likeliest(_without(robots, out), variance, middle)
            own = own + hidden * np.sqrt(2 / max(len(robots) - len(out) - 1, 1))  # deviation of a spread of zero
            tested += [each for each in _outliers(robots, own, out, causes, false_alarm) if each.robot == i]
        if not tested:
            break
        found += (min(tested, key=lambda each: each.probability),)
    return found


def _together(robots, variance, left_out: set[int], middle, causes, false_alarm: float) -> tuple[Outlier, ...]:
    """Outliers of many robots. left_out: before the first look, so that they do not hide each other."""
    outliers: tuple[Outlier, ...] = ()
    for _ in range(ROUNDS):
        _, _, variance = _likeliest(_without(robots, left_out), variance, middle)
        outliers = _outliers(robots, variance, left_out, causes, false_alarm)
        found = {each.robot for each in outliers}
        if found == left_out or len(found) > len(robots) - FEWEST:
            break
        left_out = found
    return outliers


def _without(robots: Sequence[Evidence], left_out: set[int]) -> list[Evidence]:
    return [each for i, each in enumerate(robots) if i not in left_out]


def _suspects(distance, variance) -> set[int]:
    """Robots far from the median in any parameter, at most half: left out before the first look."""
    far = np.max(np.abs(distance) / np.sqrt(variance), axis=1)
    return set(np.flatnonzero(far > max(SURE, float(np.median(far)))).tolist())


def _likeliest(robots: Sequence[Evidence], variance, scale):
    """Precision of the mean, mean and variances (r,) between robots by REML (fixed point of MacKay 1992)."""
    several = len(robots) >= FEWEST - 1
    size = _size(robots, scale)
    variance = np.maximum(variance, FIRST * size) if several else variance
    own, total, mean = _pooled(robots, variance)
    for _ in range(STEPS if several else 0):
        deviation = np.stack([variance * (each.moment - each.precision @ mean) for each in own])
        precision = np.stack([each.precision for each in own])
        mean_taken = np.einsum("kij,jl,kli->i", precision, pseudo_inverse(total), precision, optimize=True)
        learned = variance * (np.diag(total) - mean_taken)
        now = np.sum(deviation**2, axis=0) / np.maximum(learned, 1e-9)
        now = np.maximum(np.minimum(now, 10 * variance), np.maximum(ROUNDING * size, variance / 10))
        settled = np.all(np.abs(now - variance) <= SETTLED * variance)
        variance = now
        own, total, mean = _pooled(robots, variance)
        if settled:
            break
    return (total + total.T) / 2, mean, variance


def _pooled(robots: Sequence[Evidence], variance) -> tuple[list[Evidence], np.ndarray, np.ndarray]:
    """Evidences with the spread between robots in them, precision of their mean, and the mean."""
    own = [each.with_spread(variance) for each in robots]
    whole = reduce(add, own)
    return own, whole.precision, pseudo_inverse(whole.precision) @ whole.moment


def _size(robots: Sequence[Evidence], scale) -> np.ndarray:
    """(r,) squares of typical sizes: of the value, or of what the data resolves where that is larger."""
    precision = np.mean([np.diag(each.precision) for each in robots], axis=0)
    return np.maximum(scale**2, 1.0 / np.maximum(precision, np.finfo(float).tiny))


def _outliers(robots, variance, left_out: set[int], causes, false_alarm: float) -> tuple[Outlier, ...]:
    """Robots that differ from all others that are not left out, by more than noise and spread."""
    own = [each.with_spread(variance) for each in robots]
    total = reduce(add, (each for i, each in enumerate(own) if i not in left_out))
    spread_degrees = max(len(robots) - len(left_out) - 1, 1)
    found = []
    for i, each in enumerate(own):
        others = total if i in left_out else Evidence(total.precision - each.precision, total.moment - each.moment)
        change, noise = (change_along((others, one), (0.0, 1.0)) for one in (each, robots[i]))
        results = [score_test(change, cause, noise=noise, spread_degrees=spread_degrees) for cause in causes]
        log_p = chance(results, len(robots))
        if log_p <= np.log(false_alarm):
            best = min(results, key=lambda result: result.log_fit)
            found.append((log_p, Outlier(i, best, rivals(best, results), probability(log_p))))
    return tuple(outlier for _, outlier in sorted(found, key=lambda pair: pair[0]))
