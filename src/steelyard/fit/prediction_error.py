"""How far a fit reaches beyond its own samples: parts of the data predicted from the rest, and motion never recorded.

A fit to some blocks predicts the torques of others with an error that its noise and covariance foretell,
`E ||e||^2 = n sigma^2 + tr(G cov)` with the Gram matrix G of the predicted samples. More than that means that robot or
recording were not the same in both. With the Gram matrix of other motion the formula says what the fit promises there,
before anyone has moved so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError
from steelyard.fit.block_scores import independent_blocks, sandwich
from steelyard.fit.estimate import Estimate
from steelyard.fit.posterior import posterior
from steelyard.fit.prior import consistent_prior
from steelyard.information import Information, accumulate
from steelyard.log import Log
from steelyard.log.checks import STILL
from steelyard.model import Robot

PARTS = 4  # of a single log, each predicted from the others


@dataclass(frozen=True)
class Prediction:
    """Torque error of samples that a fit has not seen, over their torque. name: of the part of the data; expected: from
    the noise and the covariance of the fit."""

    name: str
    met: float
    expected: float

    @property
    def ratio(self) -> float:
        """Error met over that expected."""
        return self.met / self.expected


@dataclass(frozen=True, repr=False)
class Generalization(Card):
    """fitted: error of the estimate on its own samples, over their torque. held_out: the samples held out, predicted by
    the fit to the others. parts: each log from the other logs, or each stretch of a single one from its rest.
    other_motion: expected error of motion of all joints in their range. None, and no parts, where there are too few
    samples to tell."""

    fitted: float
    held_out: Prediction | None
    parts: tuple[Prediction, ...]
    other_motion: float | None


def generalization(
    estimate: Estimate,
    blocks: Mapping[str, Sequence[Information]],
    held_out: Information,
    *,
    weight: float,
    other_motion: Information | None,
) -> Generalization:
    """Prediction error that a fit promises, and the one that it has on held-out samples.

    Args:
        estimate: of the fit.
        blocks: of the samples that were fitted, in order of time, by log (see `accumulate_blocks`).
        held_out: Information of the samples that were not fitted.
        weight: of the prior.
        other_motion: as of `ordinary_use`, or None.

    Returns:
        The Generalization.
    """
    everything = [block for each in blocks.values() for block in each]
    whole = _fit(estimate, everything, weight)
    parts = _parts(blocks)
    predicted = []
    for name, part in parts.items():
        rest = [block for other, each in parts.items() if other != name for block in each]
        fit = _fit(estimate, rest, weight) if len(parts) > 1 else None
        if fit is not None:
            predicted.append(fit.predict(name, reduce(add, part)))
    own = reduce(add, everything)
    return Generalization(
        fitted=_share(own, own.base.residual_energy(estimate.base)),
        held_out=None if whole is None else whole.predict("held-out samples", held_out),
        parts=tuple(predicted),
        other_motion=None if whole is None or other_motion is None else whole.promise(other_motion),
    )


def _parts(blocks: Mapping[str, Sequence[Information]]) -> dict[str, list[Information]]:
    """Blocks by log, or those of a single log by stretches."""
    if len(blocks) > 1:
        return {name: list(each) for name, each in blocks.items()}
    name, own = next(iter(blocks.items()))
    edges = np.linspace(0, len(own), PARTS + 1).astype(int)
    return {f"quarter {k + 1} of {name}": list(own[edges[k] : edges[k + 1]]) for k in range(PARTS)}


@dataclass(frozen=True, eq=False)
class _Fit:
    """base: (r,) parameters, spread: (r, s) of them in standard deviations, noise: (g,) of each row group."""

    base: np.ndarray
    spread: np.ndarray
    noise: np.ndarray

    def predict(self, name: str, info: Information) -> Prediction:
        """Met and expected error of recorded samples."""
        info = info.base
        return Prediction(name, _share(info, info.residual_energy(self.base)), _share(info, self._expected(info)))

    def promise(self, info: Information) -> float:
        """Expected error of motion whose torques are not known; they are taken from the fit."""
        energy = info.residual_energy(self.base).sum()
        return float(np.sqrt(self._expected(info).sum() / energy))

    def _expected(self, info: Information) -> np.ndarray:
        """(g,) expected energy of the error."""
        return info.counts * self.noise**2 + info.squares.traces(self.spread @ self.spread.T)


def _share(info: Information, error) -> float:
    """Error over torque of all row groups that measure any. error: (g,) energies."""
    measures = info.energy > 0
    return float(np.sqrt(error[measures].sum() / info.energy.sum()))


def _fit(estimate: Estimate, blocks: Sequence[Information], weight: float) -> _Fit | None:
    """Fit to some blocks with the prior, constraints left aside; None for too few of them."""
    try:
        scores = independent_blocks(sandwich(blocks, about=estimate.base))
    except FitError:
        return None
    count = estimate.layout.inertial.stop // 10
    theta0 = consistent_prior(None, estimate.prior, count)[0] if count else np.zeros((0, 10))
    model = posterior(scores, theta0, weight=weight)
    regrouping = estimate.basis.regrouping
    best = model.parameters(model.optimum(model.target, np.zeros(len(model.pull))))
    return _Fit(regrouping @ best, np.hstack(model.spread(regrouping, scores.adjusted)), scores.noise)


SAMPLES = 400
SWEEP = 1.0  # rad/s: a joint that sweeps its range in 2 pi seconds is in ordinary use
SPEED_SHARE = 0.7  # of a joint's velocity limit that ordinary use stays within, as in `simulate.rich_motion`
RANGE_SHARE = 0.8  # of a joint's range, likewise
TURN, STROKE = 1.2, 0.15  # rad, m: half of the range of a joint without limits, at least; likewise


def ordinary_use(robot: Robot, logs: Sequence[Log], *, resting: bool = False, **columns) -> Information | None:
    """Information of motion in which all joints use their range at ordinary speed, none a copy of the others.

    Positions are spread evenly over the limits, or over twice what the logs show where there are none; speeds and
    accelerations are normal, those of a joint that sweeps its range in 2 pi seconds, or those of the liveliest joint of
    its kind in the logs where that is more. A free base and other composite joints move as they did in the logs.

    Args:
        robot: the robot.
        logs: recorded, with q, v and a.
        resting: whether joints that stood still in all logs stand still in other poses, too.
        columns: options of `accumulate`.

    Returns:
        The Information without torque; None for robots with closed loops, whose joints cannot move alone.
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
        speed, pull = (max(rms[key][alike].max(), half * SWEEP**n / np.sqrt(2)) for n, key in enumerate("va", start=1))
        most = SPEED_SHARE * robot.velocity_limits[dof]
        q[:, at] = middle + half * rng.uniform(-1, 1, SAMPLES)
        moves = not resting or np.ptp(whole["q"][:, at]) >= STILL
        v[:, dof] = moves * np.clip(speed * rng.normal(size=SAMPLES), -most, most)
        a[:, dof] = moves * pull * rng.normal(size=SAMPLES)
    log = Log(t=np.arange(SAMPLES) / 1.0, q=q, v=v, a=a, tau=np.zeros_like(v), joint_names=logs[0].joint_names)
    return accumulate(robot, log, engine="numpy", **columns).base


def _range(lower: float, upper: float, q, least: float) -> tuple[float, float]:
    """Middle and half width of the range that a joint uses."""
    if np.isfinite(lower) and np.isfinite(upper) and upper > lower:
        return (lower + upper) / 2, min(RANGE_SHARE * (upper - lower) / 2, np.pi)
    return float(q.min() + q.max()) / 2, max(float(np.ptp(q)), least)
