"""How much the prior should count: its weight by cross-validation over blocks of the log, or by the L-curve."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from steelyard.cards import Card
from steelyard.errors import OptionError, choices
from steelyard.fit.cone_program import consistent
from steelyard.fit.estimate import Estimate
from steelyard.fit.prior import consistent_prior
from steelyard.fit.whitening import weigh_by_noise
from steelyard.inertia import divergence
from steelyard.information import Information

METHODS = ("cv", "lcurve")
WEIGHTS = tuple(10.0**k for k in range(-4, 5))


@dataclass(frozen=True, eq=False, repr=False)
class WeightChoice(Card):
    """A weight of the prior and what it was chosen from.

    weights: (k,) tried, ascending. held_out: (f, k) RMS residual of each fold, in units of the joints' noise, by fits
    to the other folds; no rows for the L-curve. residual: (k,) the same of the fit to everything; distance: (k,) of
    that fit from the prior, the sum of all bodies' pullback distances.
    """

    weight: float
    method: str
    weights: np.ndarray
    held_out: np.ndarray
    residual: np.ndarray
    distance: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """(k,) RMS of the held-out residuals over folds."""
        return np.sqrt(np.mean(self.held_out**2, axis=0))

    def table(self) -> str:
        """One line a weight; a star marks the choice."""
        lines = ["weight      held out   residual   distance from prior"]
        scores = self.scores if len(self.held_out) else np.full(len(self.weights), np.nan)
        for weight, score, residual, distance in zip(self.weights, scores, self.residual, self.distance, strict=True):
            mark = "*" if weight == self.weight else " "
            lines.append(f"{weight:<9.3g}{mark} {score:9.4f}  {residual:9.4f}  {distance:9.4g}")
        return "\n".join(lines)


def choose_weight(
    blocks: Iterable[Information],
    *,
    weights: Iterable[float] = WEIGHTS,
    method: str = "cv",
    folds: int = 5,
    **knowledge,
) -> WeightChoice:
    """The weight for `consistent(..., weight=...)` that the data prefers.

    Args:
        blocks: Informations of contiguous blocks of the logs, in order of time, such as `accumulate_blocks` makes.
        weights: candidates.
        method: "cv" fits all folds but one and takes the least held-out residual, joints weighted by their noise;
            "lcurve" fits everything and takes the corner of residual against distance from the prior in logarithms (no
            held-out data is needed; it says nothing about prediction).
        folds: contiguous groups of blocks, at least two.
        knowledge: options of `consistent`.

    Returns:
        A WeightChoice: the weight and what it was chosen from.

    Raises:
        OptionError: unknown methods or too few blocks; and what `consistent` raises.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> rng, beta = np.random.default_rng(0), np.array([2.0, 0.1, 0, 0, 0.3, 0, 0.3, 0, 0, 0.3])
        >>> layout = sy.terms.ParameterLayout(("body",))
        >>> Y = rng.normal(size=(6, 20, 1, 10))
        >>> tau = Y @ beta + 0.1 * rng.normal(size=(6, 20, 1))
        >>> blocks = [sy.Information.from_arrays(*each, layout=layout) for each in zip(Y, tau)]
        >>> choice = sy.fit.choose_weight(blocks, weights=(0.1, 10.0), prior=beta[None])
        >>> choice.weight in choice.weights
        True
    """
    if method not in METHODS:
        raise OptionError(f"Unknown method {method!r}. Choose from {choices(METHODS)}.")
    if "weight" in knowledge:
        raise OptionError("choose_weight tries weights=(...); leave out weight.")
    tried = np.unique(np.asarray(tuple(weights), dtype=float))
    blocks = [each.plain for each in ([blocks] if isinstance(blocks, Information) else blocks)]
    if not blocks:
        raise OptionError("choose_weight needs at least one Information.")
    groups = _groups(blocks, folds) if method == "cv" else []
    whole = reduce(add, blocks)
    precision = 1.0 / weigh_by_noise(whole)[1] ** 2
    fits = [consistent(whole, weight=float(weight), **knowledge) for weight in tried]
    residual = np.array([_residual(whole, each, precision) for each in fits])
    theta0 = consistent_prior(knowledge.get("prior"), whole.robot, len(whole.layout.bodies))[0]
    distance = np.array([_distance(each, theta0) for each in fits])
    held_out = np.zeros((0, len(tried)))
    if method == "cv":
        held_out = np.array([_held_out(groups, i, tried, precision, knowledge) for i in range(len(groups))])
        best = int(np.argmin(np.sum(held_out**2, axis=0)))
    else:
        best = _corner(np.log(residual), np.log(np.maximum(distance, np.finfo(float).tiny)))
    return WeightChoice(float(tried[best]), method, tried, held_out, residual, distance)


def _groups(blocks: Sequence[Information], folds: int) -> list[Information]:
    if len(blocks) < 2 or folds < 2:
        raise OptionError(
            f"Cross-validation needs at least two blocks and folds; got {len(blocks)} and {folds}. Accumulate "
            "contiguous parts of the log one by one, or choose method='lcurve'."
        )
    parts = np.array_split(np.arange(len(blocks)), min(folds, len(blocks)))
    return [reduce(add, [blocks[i] for i in part]) for part in parts]


def _held_out(groups, i: int, tried, precision, knowledge) -> list[float]:
    """(k,) residuals of one group by fits to all others."""
    rest = reduce(add, [each for j, each in enumerate(groups) if j != i])
    fits = (consistent(rest, weight=float(weight), **knowledge) for weight in tried)
    return [_residual(groups[i], each, precision) for each in fits]


def _residual(info: Information, estimate: Estimate, precision) -> float:
    """RMS residual in units of noise."""
    energy = info.base.residual_energy(estimate.base)
    return float(np.sqrt(precision @ energy / info.counts.sum()))


def _distance(estimate: Estimate, theta0) -> float:
    bodies = estimate.parameters[estimate.layout.inertial].reshape(-1, 10)
    return float(np.sum(divergence.pullback(bodies, theta0)))


def _corner(x, y) -> int:
    """Point of a curve (k,), (k,) where three neighbours turn most: Menger's curvature. The middle one of fewer."""
    if len(x) < 3:
        return len(x) // 2
    points = np.column_stack([x, y])
    before, after = points[1:-1] - points[:-2], points[2:] - points[1:-1]
    turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1) * np.linalg.norm(before + after, axis=1)
    return 1 + int(np.argmax(np.abs(turn) / np.maximum(lengths, np.finfo(float).tiny)))
