"""How far a fit reaches beyond its own samples: parts of the data predicted from the rest, and motion never recorded.

A fit to some blocks predicts the torques of others with an error that its noise and covariance foretell,
`E ||e||^2 = n sigma^2 + tr(G cov)` with the Gram matrix G of the predicted samples. More than that means that robot or
recording were not the same in both. `ordinary_use` is motion unlike the logs, for `Estimate.expected_error`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from steelyard.cards import Card
from steelyard.fit.estimate import Estimate
from steelyard.fit.evidence import PosteriorForm
from steelyard.fit.posterior import VOUCHED
from steelyard.information import Information, accumulate
from steelyard.log import Log
from steelyard.model import Robot

PARTS = 4  # of a single log, each predicted from the others


@dataclass(frozen=True)
class Prediction:
    """Torque error of samples that a fit has not seen, over their torque."""

    name: str  # of the part of the data
    met: float
    expected: float  # from the noise and the covariance of the fit

    @property
    def ratio(self) -> float:
        """Error met over that expected."""
        return self.met / self.expected


@dataclass(frozen=True, repr=False)
class Generalization(Card):
    """fitted: error of the estimate on its own samples, over their torque. held_out: the samples held out, predicted by
    the fit to the others. parts: each log from the other logs, or each stretch of a single one from its rest; none
    where there are too few samples to tell."""

    fitted: float
    held_out: Prediction
    parts: tuple[Prediction, ...]


def generalization(
    estimate: Estimate, blocks: Mapping[str, Sequence[Information]], held_out: Information
) -> Generalization:
    """How well a posterior predicts samples that it has not seen, of `held_out`. blocks: of the samples that were
    fitted, in order of time, by log (see `accumulate_blocks`)."""
    form = estimate.require_weighed().promised(VOUCHED)
    parts = {name: reduce(add, part).base for name, part in _parts(blocks).items()}
    parts = {name: part for name, part in parts.items() if part.counts.any()}  # where all was left out is nothing
    own = reduce(add, parts.values())
    return Generalization(
        fitted=_share(own, own.residual_energy(estimate.base)),
        held_out=_predicted("held-out samples", held_out.base, estimate.base, estimate.covariance, estimate.noise),
        parts=tuple(_from_rest(estimate, form, own, name, part) for name, part in parts.items() if len(parts) > 1),
    )


def _from_rest(estimate: Estimate, form: PosteriorForm, own: Information, name: str, part: Information) -> Prediction:
    """A part of the samples predicted from the others, at the scales of all: `A - G` is their precision. The noise is
    that of the others, as a part that disagrees adds to that of all."""
    spread, weight = part.basis.regroup(form.root.T), form.weight
    C, G = spread.T @ spread, part.squares.weighted(weight)
    left = np.eye(len(C)) - C @ G
    rest = np.linalg.lstsq(left, np.column_stack([C, C @ (weight @ part.moment - G @ estimate.base)]))[0]
    base = estimate.base - rest[:, -1]
    others = (own.residual_energy(base) - part.residual_energy(base)) / np.maximum(own.counts - part.counts, 1)
    every = own.residual_energy(estimate.base) / np.maximum(own.counts, 1)
    noise = estimate.noise * np.sqrt(np.maximum(others, 0.0) / np.maximum(every, np.finfo(float).tiny))
    return _predicted(name, part, base, rest[:, :-1], noise)


def _predicted(name: str, info: Information, base, covariance, noise) -> Prediction:
    expected = info.counts * noise**2 + np.maximum(info.squares.traces(covariance), 0.0)
    return Prediction(name, _share(info, info.residual_energy(base)), _share(info, expected))


def _parts(blocks: Mapping[str, Sequence[Information]]) -> dict[str, list[Information]]:
    if len(blocks) > 1:
        return {name: list(each) for name, each in blocks.items()}
    ((name, own),) = blocks.items()
    if len(own) < 2 * PARTS:
        return {name: list(own)}
    edges = np.linspace(0, len(own), PARTS + 1).astype(int)
    return {f"quarter {k + 1} of {name}": list(own[edges[k] : edges[k + 1]]) for k in range(PARTS)}


def _share(info: Information, error) -> float:
    """Error over torque of all row groups that measure any. error: (g,) energies."""
    measures = info.energy > 0
    return float(np.sqrt(error[measures].sum() / max(info.energy.sum(), 1e-300)))


SAMPLES = 400
SPEED_SHARE = 0.7  # of a joint's velocity limit that ordinary use stays within, as in `simulate.rich_motion`
RANGE_SHARE = 0.8  # of a joint's range, likewise
TURN, STROKE = 1.2, 0.15  # rad, m: half of the range of a joint without limits, at least; likewise


def ordinary_use(robot: Robot, logs: Sequence[Log]) -> Information | None:
    """Information of motion in which all joints use their range at ordinary speed, none a copy of the others; None for
    robots with closed loops, whose joints cannot move alone.

    Positions are spread evenly over the limits, or over twice what the logs show where there are none; speeds and
    accelerations are normal, those of a joint that sweeps its range in 2 pi seconds, or those of the liveliest joint of
    its kind in the logs where that is more. A free base and other composite joints move as they did in the logs.
    """
    if robot.loops:
        return None
    rng = np.random.default_rng(0)
    whole = {key: np.concatenate([log.require(key)[0] for log in logs]) for key in ("q", "v", "a")}
    picked = rng.integers(len(whole["q"]), size=SAMPLES)
    q, v, a = (whole[key][picked] for key in ("q", "v", "a"))
    places = robot.scalar_positions
    slides = [not joint.turns for joint in robot.free_joints for _ in range(joint.nv)]
    rms = {key: np.sqrt(np.mean(whole[key] ** 2, axis=0)) for key in ("v", "a")}
    for dof, at in places.items():
        alike = [other for other in places if slides[other] == slides[dof]]
        middle, half = _range(robot.lower[at], robot.upper[at], whole["q"][:, at], STROKE if slides[dof] else TURN)
        speed, pull = (max(rms[key][alike].max(), half / np.sqrt(2)) for key in "va")
        most = SPEED_SHARE * robot.velocity_limits[dof]
        q[:, at] = middle + half * rng.uniform(-1, 1, SAMPLES)
        v[:, dof] = np.clip(speed * rng.normal(size=SAMPLES), -most, most)
        a[:, dof] = pull * rng.normal(size=SAMPLES)
    log = Log(t=np.arange(SAMPLES) / 1.0, q=q, v=v, a=a, tau=np.zeros_like(v), joint_names=logs[0].joint_names)
    return accumulate(robot, log, friction=()).base


def _range(lower: float, upper: float, q, least: float) -> tuple[float, float]:
    """Middle and half width of the range that a joint uses."""
    if np.isfinite(lower) and np.isfinite(upper) and upper > lower:
        return (lower + upper) / 2, min(RANGE_SHARE * (upper - lower) / 2, np.pi)
    return float(q.min() + q.max()) / 2, max(float(np.ptp(q)), least)
