"""Which reading of a log its torques tell: the posterior of few samples says by evidence, against the log as it is.

Wrong links cannot imitate another reading, as their prior pays for it. Of all readings those are judged that make the
given links fit best, beside free friction; they are so many that only the likeliest are worth a posterior. Where one
alone leaves the log unexplained, several at once are judged alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, reduce

import numpy as np

from steelyard.diagnose.case import FEWEST, Case, gain
from steelyard.diagnose.figures_of_readings import factors, order_of_torques, zeros
from steelyard.diagnose.given_links import GivenLinks
from steelyard.diagnose.hypothesis import Hypothesis, free_hypothesis
from steelyard.diagnose.reading import Reading
from steelyard.diagnose.readings import readings_of_motion, replayed, replays, signs_of_torques
from steelyard.diagnose.thresholds import EVIDENCE, MOST, OTHER, POOR
from steelyard.errors import SteelyardError
from steelyard.fit.evidence import TIGHTNESS
from steelyard.fit.posterior import optimum
from steelyard.terms import layout_of

JUDGED = 8  # readings that a posterior judges
MOST_JOINTS = 8  # the worst ones, whose signs, zeros and orders are tried
MOST_NAMED = 3  # of readings that explain as much
CLOSER = 1.0  # by which the logarithm of lambda rises where links become those of the file
STEP, NEAR = 1.03, 7  # factor between paces of a replay that are compared, and how many to either side
SCREENED, BEAM = 24, 4  # readings of motion that others are put on top of, and that are followed

Readings = tuple[Reading, ...]  # one after the other


@dataclass(frozen=True, eq=False)
class _Judged:
    """evidence: nats, of the log's own torques; shares: (nv,) squared, of the torque of each degree that is left, and
    of all; tightness: of the links, logarithms (nb,)."""

    evidence: float
    shares: np.ndarray
    left: float
    tightness: np.ndarray

    def explains(self, before: "_Judged") -> bool:
        """Whether it does what was not: takes most off the residual of a joint, or makes links those of the file."""
        return self.closer(before) or bool((self.shares < MOST * before.shares).any())

    def closer(self, before: "_Judged") -> bool:
        """Whether it makes links those of the file that were others."""
        return bool(self.tightness.mean() > max(before.tightness.mean() + CLOSER, np.log(OTHER)))

    @property
    def clear(self) -> bool:
        """Whether it leaves little, by links that are those of the file, more or less."""
        return bool(self.left < POOR and self.own)

    @property
    def own(self) -> bool:
        """Whether links are those of the file, more or less."""
        return bool(self.tightness.mean() > np.log(OTHER))


def likely(case: Case) -> bool:
    """Whether links that are likely beside those of the file explain a case, in every joint."""
    found = _judge(_few(case))
    return found.left < POOR and found.shares.max() < MOST and bool(found.tightness.min() > TIGHTNESS)


def misreading(case: Case) -> Hypothesis | None:
    """The reading that explains most of a case, if one explains far more than that of joints; None without.

    Others that explain as much are named beside it, the simplest being the one that is taken. Where that leaves the
    case unexplained, several readings that together do not.
    """
    few = _few(case)
    before = _judge(few)
    worst = sorted(few.dofs, key=lambda dof: -before.shares[dof])[:MOST_JOINTS]
    single = [*readings_of_motion(few, worst), *order_of_torques(few), *factors(case), *zeros(few, worst)]
    alone = {each: GivenLinks(each.of(few)) for each in single if not _brings_unbelieved(few, each)}
    after: dict[Reading, _Judged] = {}
    likeliest = [each for (each,) in _likeliest(few, {(each,): left for each, left in alone.items()})]
    if not before.own:  # else the motion is slow, and friction would have it faster
        likeliest += _replay(few)
    for each in likeliest:
        found = _judged(few, (each,))
        closer = found.closer(before) and found.clear if each.of_links else found.explains(before)
        if each.code == "torque_unit":
            explains = each.options[:1] == ("--unit",) or found.left < MOST  # by a factor that is no unit's
        else:
            explains = closer and (found.own or found.left < POOR)
        if explains and found.evidence > before.evidence + EVIDENCE and not _as_motor(few, each, found):
            after[each] = found
    most = max((each.evidence for each in after.values()), default=before.evidence)
    alike = [each for each, found in after.items() if found.evidence > most - EVIDENCE]
    unclear = not (after[alike[0]] if alike else before).clear
    if unclear and (together := _together(few, alone, most)):
        return _told(case, few, together, _judged(few, together), before)
    if not alike:
        return None
    best = alike[0]
    others = list(dict.fromkeys(each.words for each in alike if _other(each, best)))
    also = f" This motion cannot tell it from: {'; '.join(others[:MOST_NAMED])}." if others else ""
    return _told(case, few, (best,), after[best], before, also)


def _replay(few: Case) -> list[Reading]:
    """The pace near a common one at which most links are those of the file: friction has others fit better. The common
    one itself, if that explains hardly less. Common ones are the likeliest, and that of most such links."""
    if len(few.dofs) < few.robot.nv:
        return []
    judged = cache(lambda pace: _judged(few, (replayed(pace),)))
    orders = (lambda pace: judged(pace).tightness.mean(), lambda pace: judged(pace).evidence)
    common = [max((each.pace for each in replays()), key=order) for order in orders]
    paces = {each * factor: each for each in common for factor in STEP ** np.arange(-NEAR, NEAR + 1)}
    near = max(paces, key=orders[0])
    far = judged(near).evidence > judged(paces[near]).evidence + EVIDENCE
    return [replayed(1 / float(f"{1 / near:.2g}") if far else paces[near])]


def _brings_unbelieved(few: Case, reading: Reading) -> bool:
    """Whether a joint gets torque of one whose own are not believed."""
    silent = few.energy == 0
    return reading.torque is not None and bool(reading.torque[np.ix_(~silent, silent)].any())


def _told(case: Case, few: Case, found: Readings, after: _Judged, before: _Judged, also: str = "") -> Hypothesis:
    figures = GivenLinks(few).relative_error, GivenLinks(_read(few, found)).relative_error
    nats = after.evidence - before.evidence
    told = [each.fault(*figures, nats, [other for other in found if other is not each], also) for each in found]
    return free_hypothesis(case, _read(case, found), told[0], more=tuple(told[1:]), given=after.own)


def _together(few: Case, alone: dict[Reading, GivenLinks], most: float) -> Readings:
    """Several readings that explain the case together, where none does alone; none without. alone: each, and what the
    given links then leave. most: evidence, nats, that these have."""
    judged = {each: _judged(few, each) for each in _likeliest(few, dict.fromkeys(_chains(few, alone)))}
    best = max(judged, key=lambda each: judged[each].evidence - EVIDENCE * len(each), default=())
    for each in best:  # one that wins nothing on top of the others is none
        rest = tuple(other for other in best if other is not each)
        if (found := _judged(few, rest)).evidence > judged[best].evidence - EVIDENCE:
            best, judged[rest] = rest, found
    wins = len(best) > 1 and judged[best].clear and judged[best].evidence > most + EVIDENCE * (len(best) - 1)
    return best if wins else ()


def _chains(few: Case, alone: dict[Reading, GivenLinks]) -> Iterator[Readings]:
    """Readings of motion whatever factors torques have, and then signs and factors that the given links ask for."""

    def left(given: GivenLinks) -> float:
        return float(np.log(np.maximum(given.any_factor[1], np.finfo(float).tiny)).sum())

    moving = sorted((each for each in alone if each.moves), key=lambda each: left(alone[each]))[:SCREENED]
    first = [(each,) for each in moving[:BEAM]]
    second = ((*chain, each) for chain in first for each in (*moving, *order_of_torques(_read(few, chain))))
    for chain in [(), *first, *sorted(second, key=lambda each: left(GivenLinks(_read(few, each))))[:BEAM]]:
        negative = GivenLinks(_read(few, chain)).any_factor[0] < 0
        signed = (*chain, *signs_of_torques(few, np.flatnonzero(negative).tolist()))
        yield from (signed, *((*signed, each) for each in factors(_read(few, signed))))


def _read(case: Case, readings: Readings) -> Case:
    return reduce(lambda read, each: each.of(read), readings, case)


def _likeliest(few: Case, readings: dict[Readings, GivenLinks | None]) -> list[Readings]:
    """Those that make the given links fit best, simple ones first. readings: and what the given links then leave."""

    def fit(readings: Readings, given: GivenLinks | None) -> float:
        left = (given or GivenLinks(_read(few, readings))).energy
        return gain(few.energy, left) + sum(each.volume for each in readings)

    likeliest = set(np.argsort([fit(*each) for each in readings.items()])[-JUDGED:].tolist())
    return [each for place, each in enumerate(readings) if place in likeliest]


def _few(case: Case) -> Case:
    """Few samples, with directions of motion that were not filtered, as of all readings."""
    few = case.every(len(case) // FEWEST)
    direction = few.regression.direction.copy()
    direction[:, : few.robot.nv] = np.tanh(few.regression.v / few.regression.coulomb_width)
    return replace(few, regression=replace(few.regression, direction=direction))


def _judged(few: Case, readings: Readings) -> _Judged:
    """By the evidence of the torques that the log has, less what its figures cost."""
    found, samples = _judge(_read(few, readings)), few.independence * len(few)
    more = sum(samples * (each.volume - each.least * few.robot.nv) - each.price for each in readings)
    return replace(found, evidence=found.evidence + more)


def _judge(case: Case) -> _Judged:
    """By a posterior; where no bodies move so, or it leaves more than there is, as one that explains nothing."""
    try:
        found, *_ = optimum(case.information.base, share=case.independence)
    except SteelyardError:
        return _nothing(case)
    left = np.exp(2 * found.scales.noise) * case.information.counts
    judged = _Judged(found.evidence, case.shares(left) ** 2, case.share(left), found.scales.links)
    return judged if judged.left <= 1 else _nothing(case)


def _nothing(case: Case) -> _Judged:
    felt = case.energy[case.energy > 0]
    evidence = -0.5 * case.independence * len(case) * float(np.sum(np.log(felt / len(case)) + 1))
    return _Judged(evidence, np.sign(case.energy), 1.0, np.full(case.robot.nb, -np.inf))


def _as_motor(case: Case, reading: Reading, after: _Judged) -> bool:
    """Whether a motor wins more which the joints share that a reading mixes: it explains as much on healthy logs."""
    won = []
    for ratio in (1.0, -1.0) if reading.mixed else ():
        one, other = reading.mixed
        extras = layout_of(case.robot, coupling=({one: 1.0, other: ratio},)).extras
        layout = replace(case.layout, extras=(*case.layout.extras, *extras))
        won.append(_judge(case.undone("coupled_joints", layout=layout)).evidence)
    return max(won, default=-np.inf) >= after.evidence


def _other(reading: Reading, best: Reading) -> bool:
    """Whether a reading says something else than the best, and holds it not in it beside further figures."""
    return (
        not reading.price
        and reading.words != best.words
        and (reading.joint is None or reading.joint != best.joint or reading.code != best.code)
    )
