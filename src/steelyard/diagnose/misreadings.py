"""Which reading of a log its torques tell: the posterior of few samples says by evidence, against the log as it is.

Wrong links cannot imitate another reading, as their prior pays for it. Of all readings those are judged that make the
given links fit best, beside free friction; they are so many that only the likeliest are worth a posterior.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.diagnose.case import FEWEST, Case, gain
from steelyard.diagnose.figures_of_readings import factors, order_of_torques, zeros
from steelyard.diagnose.given_links import GivenLinks
from steelyard.diagnose.hypothesis import Hypothesis
from steelyard.diagnose.reading import Reading
from steelyard.diagnose.readings import readings_of_motion
from steelyard.diagnose.thresholds import EVIDENCE, MOST, OTHER, POOR
from steelyard.errors import SteelyardError
from steelyard.fit.evidence import TIGHTNESS
from steelyard.fit.posterior import posterior
from steelyard.terms import layout_of

JUDGED = 8  # readings that a posterior judges
MOST_JOINTS = 8  # the worst ones, whose signs, zeros and orders are tried
MOST_NAMED = 3  # of readings that explain as much
CLOSER = 1.0  # by which the logarithm of lambda rises where links become those of the file


@dataclass(frozen=True, eq=False)
class _Judged:
    """evidence: nats; shares: (nv,) squared, of the torque of each degree that is left, and of all; tightness: of the
    links, logarithms (nb,)."""

    evidence: float
    shares: np.ndarray
    left: float
    tightness: np.ndarray

    def explains(self, before: "_Judged") -> bool:
        """Whether it does what was not: takes most off the residual of a joint, or makes links those of the file."""
        closer = self.tightness.mean() > max(before.tightness.mean() + CLOSER, np.log(OTHER))
        return bool(closer or (self.shares < MOST * before.shares).any())


def likely(case: Case) -> bool:
    """Whether links that are likely beside those of the file explain a case, in every joint."""
    found = _judge(_few(case))
    return found.left < POOR and found.shares.max() < MOST and bool(found.tightness.min() > TIGHTNESS)


def misreading(case: Case) -> Hypothesis | None:
    """The reading that explains most of a case, if one explains far more than that of joints; None without.

    Others that explain as much are named beside it, the simplest being the one that is taken.
    """
    few = _few(case)
    before = _judge(few)
    given = GivenLinks(few)
    worst = sorted(few.dofs, key=lambda dof: -before.shares[dof])[:MOST_JOINTS]
    readings = [*readings_of_motion(few, worst), *order_of_torques(few), *factors(case), *zeros(few, worst)]
    promised = [gain(given.energy, GivenLinks(each.of(few)).energy) + each.volume for each in readings]
    likeliest = sorted(np.argsort(promised)[-JUDGED:])
    won: dict[Reading, float] = {}
    after: dict[Reading, _Judged] = {}
    for each in (readings[place] for place in likeliest):
        found = _judge(each.of(few))
        if not (each.code == "torque_unit" or found.explains(before)):
            continue
        more = found.evidence - before.evidence + _samples(few) * (each.volume - each.least * few.robot.nv)
        if more > EVIDENCE + each.price and not (each.mixed and _as_motor(few, each, before) > more):
            won[each], after[each] = more - each.price, found
    if not won:
        return None
    alike = [each for each, more in won.items() if more > max(won.values()) - EVIDENCE]
    best = alike[0]
    others = list(dict.fromkeys(_words(each) for each in alike if _other(each, best)))
    also = f" This motion cannot tell it from: {'; '.join(others[:MOST_NAMED])}." if others else ""
    told = best.fault(given.relative_error, GivenLinks(best.of(few)).relative_error, won[best], also)
    changed = best.of(case)
    own = bool(after[best].tightness.mean() > np.log(OTHER))
    return Hypothesis(told, changed, case.free_energy, changed.free_energy, changed.free_error, given=own)


def _few(case: Case) -> Case:
    """Few samples, with directions of motion that were not filtered, as of all readings."""
    few = case.every(len(case) // FEWEST)
    direction = few.regression.direction.copy()
    direction[:, : few.robot.nv] = np.tanh(few.regression.v / few.regression.coulomb_width)
    return replace(few, regression=replace(few.regression, direction=direction))


def _samples(case: Case) -> float:
    return case.independence * len(case)


def _judge(case: Case) -> _Judged:
    """By a posterior; where no bodies move so, or it leaves more than there is, as one that explains nothing."""
    try:
        found = posterior(case.information, share=case.independence)
        left = found.noise**2 * case.information.counts
    except SteelyardError:
        return _nothing(case)
    if case.share(left) > 1:
        return _nothing(case)
    tightness = np.log([found.scales[name] for name in case.robot.body_names])
    return _Judged(found.evidence, case.shares(left) ** 2, case.share(left), tightness)


def _nothing(case: Case) -> _Judged:
    felt = case.energy[case.energy > 0]
    evidence = -0.5 * _samples(case) * float(np.sum(np.log(felt / len(case)) + 1))
    return _Judged(evidence, np.sign(case.energy), 1.0, np.full(case.robot.nb, -np.inf))


def _as_motor(case: Case, reading: Reading, before: _Judged) -> float:
    """Nats that a motor wins which the joints share that a reading mixes: it explains as much on healthy logs."""
    one, other = reading.mixed
    won = [0.0]
    for ratio in (1.0, -1.0):
        extras = layout_of(case.robot, coupling=({one: 1.0, other: ratio},)).extras
        layout = replace(case.layout, extras=(*case.layout.extras, *extras))
        won.append(_judge(case.undone("coupled_joints", layout=layout)).evidence - before.evidence)
    return max(won)


def _other(reading: Reading, best: Reading) -> bool:
    """Whether a reading says something else than the best, and holds it not in it beside further figures."""
    return (
        not reading.price
        and _words(reading) != _words(best)
        and (reading.joint is None or reading.joint != best.joint or reading.code != best.code)
    )


def _words(reading: Reading) -> str:
    return f"{reading.code.replace('_', ' ')} ({' '.join(reading.options) or reading.said})"
