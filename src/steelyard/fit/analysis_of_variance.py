"""Do several runs tell the same story: estimates of each run, their spread, and the spread their deviations predict.

Every base parameter is compared by Welch's analysis of variance (Welch 1951), which allows for other deviations and
degrees of freedom in each run; Holm's rule keeps the chance of naming any parameter without cause at 5 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError, OptionError, choices
from steelyard.fit.block_scores import Sandwich, independent_blocks, sandwich
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.information import Information
from steelyard.numbers import NEGLIGIBLE


@dataclass(frozen=True, eq=False, repr=False)
class Repeatability(Card):
    """Base parameters run by run.

    runs (l,), names (r,). estimates, deviations: (l, r), NaN where a run does not show a parameter. pooled: (r,) mean
    of the runs, weighted by 1 / deviation^2. spread: (r,) deviation of the estimates around it; predicted: (r,) what
    their own deviations lead to expect. p: (r,) probability of differing so much by chance; outlier: (r,) index of the
    run that is farthest from the others, in its deviations. differs: (r,) whether chance is ruled out.
    """

    runs: tuple[str, ...]
    names: tuple[str, ...]
    estimates: np.ndarray
    deviations: np.ndarray
    pooled: np.ndarray
    spread: np.ndarray
    predicted: np.ndarray
    p: np.ndarray
    outlier: np.ndarray
    differs: np.ndarray

    @property
    def consistent(self) -> bool:
        """Whether chance explains every difference."""
        return not self.differs.any()

    @property
    def ratio(self) -> float:
        """Spread over predicted spread, RMS over all parameters: about 1 when runs repeat."""
        known = np.isfinite(self.spread) & (self.predicted > 0)
        return float(np.sqrt(np.mean((self.spread[known] / self.predicted[known]) ** 2)))

    def explain(self) -> tuple[str, ...]:
        """One sentence for each parameter that differs, clearest first."""
        order = sorted(np.flatnonzero(self.differs), key=lambda i: self.p[i])
        return tuple(
            f"{self.names[i]} differs between runs, most in {self.runs[self.outlier[i]]}: spread {self.spread[i]:.3g}, "
            f"expected {self.predicted[i]:.3g}."
            for i in order
        )

    def table(self) -> str:
        """One line a parameter: estimates of every run, spread, predicted spread, and whether they differ."""
        width = max(map(len, self.names), default=0)
        head = " ".join([" " * width, *(f"{run[-12:]:>12}" for run in self.runs), f"{'spread':>10} {'expected':>10}"])
        lines = [
            " ".join(
                [
                    f"{name:{width}}",
                    *(f"{value:12.5g}" for value in self.estimates[:, i]),
                    f"{self.spread[i]:10.2g} {self.predicted[i]:10.2g}",
                    f"differs ({self.runs[self.outlier[i]]})" if self.differs[i] else "",
                ]
            ).rstrip()
            for i, name in enumerate(self.names)
        ]
        return "\n".join([head, *lines])


def repeatability(runs: Mapping[str, Sequence[Information]]) -> Repeatability:
    """Compare least-squares base parameters of several runs.

    Args:
        runs: blocks of each run by name, see `accumulate_blocks`.

    Returns:
        The Repeatability.

    Raises:
        OptionError: fewer than two runs.
        FitError: regressions of different robots or options.
    """
    if len(runs) < 2:
        raise OptionError(f"{choices(runs) or 'no run'}: repeatability compares two runs or more.")
    ahead = {name: blocks[0].plain for name, blocks in runs.items()}
    first = next(iter(ahead.values()))
    for name, other in ahead.items():
        if other.layout != first.layout or other.basis.count != first.basis.count:
            raise FitError(f"Run '{name}' has other columns than the first; accumulate all runs with the same options.")
    scored = [independent_blocks(sandwich(blocks)) for blocks in runs.values()]
    found = [_run(scores) for scores in scored]
    estimates, deviations, degrees = (np.stack(rows) for rows in zip(*found, strict=True))
    names = tuple(first.layout.names[i] for i in first.basis.columns)
    return compare_runs(tuple(runs), names, estimates, deviations, degrees)


def compare_runs(runs: Sequence[str], names: Sequence[str], estimates, deviations, degrees) -> Repeatability:
    """Compare independent estimates of the same parameters.

    Args:
        runs: names of the l runs.
        names: of the r parameters.
        estimates: (l, r), NaN where a run does not show a parameter.
        deviations: (l, r) standard deviations.
        degrees: (l, r) degrees of freedom of the deviations.

    Returns:
        The Repeatability.
    """
    estimates, deviations, degrees = (np.asarray(each, dtype=float) for each in (estimates, deviations, degrees))
    weight = np.where(np.isfinite(deviations), 1.0 / deviations**2, 0.0)
    total = weight.sum(axis=0)
    count = np.count_nonzero(weight, axis=0)
    mean = np.divide(
        np.sum(weight * np.nan_to_num(estimates), axis=0), total, where=total > 0, out=np.full(len(total), np.nan)
    )
    p = _welch(estimates - mean, weight, degrees, count)
    known = np.maximum(count - 1, 1)
    share = weight / np.maximum(total, np.finfo(float).tiny)  # by which a run itself has pulled the mean
    away = deviations * np.sqrt(np.maximum(1 - share, np.finfo(float).eps))
    return Repeatability(
        runs=tuple(runs),
        names=tuple(names),
        estimates=estimates,
        deviations=deviations,
        pooled=mean,
        spread=np.where(count > 1, np.sqrt(np.nansum((estimates - mean) ** 2, axis=0) / known), np.nan),
        predicted=np.sqrt(np.nanmean(np.where(count > 0, deviations, 0.0) ** 2, axis=0)),
        p=p,
        outlier=np.nanargmax(np.where(weight > 0, np.abs(estimates - mean) / away, 0.0), axis=0),
        differs=_holm(p),
    )


def _run(scores: Sandwich):
    """Estimates, deviations, degrees of freedom (r,) of one run, NaN where it does not show a parameter."""
    seen = scores.sees(np.eye(len(scores.to_base)))
    base = np.where(seen, scores.base, np.nan)
    deviation = np.sqrt(scores.variance(scores.to_base))
    deviation = np.maximum(deviation, NEGLIGIBLE * np.abs(scores.base) + np.finfo(float).tiny)
    return base, np.where(seen, deviation, np.nan), scores.degrees(scores.to_base)


def _welch(distance, weight, degrees, count) -> np.ndarray:
    """(r,) probability of distances from the weighted mean this large by chance; 1 where fewer than two runs know."""
    from scipy.special import fdtrc

    pairs = np.maximum(count, 2)
    share = np.where(
        weight > 0, (1 - weight / np.maximum(weight.sum(axis=0), np.finfo(float).tiny)) ** 2 / degrees, 0.0
    )
    doubt = np.maximum(share.sum(axis=0), np.finfo(float).eps)
    between = np.nansum(weight * np.nan_to_num(distance) ** 2, axis=0) / (pairs - 1)
    ratio = between / (1 + 2 * (pairs - 2) / (pairs**2 - 1) * doubt)
    return np.where(count > 1, fdtrc(pairs - 1, (pairs**2 - 1) / (3 * doubt), ratio), 1.0)


def _holm(p) -> np.ndarray:
    """(r,) whether each of r probabilities rules out chance, the smallest first (Holm 1979)."""
    order = np.argsort(p)
    passed = p[order] <= THRESHOLDS.by_chance / np.arange(len(p), 0, -1)
    differs = np.zeros(len(p), dtype=bool)
    differs[order] = np.cumprod(passed).astype(bool)
    return differs
