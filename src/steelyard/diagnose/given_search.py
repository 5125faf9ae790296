"""Gross mistakes that the links of the given model show, whatever a fit makes of them.

Only mistakes whose correction takes most of the given model's error off, the more the smaller it is, and leaves the fit
no worse: a wrong model seldom does both.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.given_links import POOR, GivenLinks
from steelyard.diagnose.hypotheses import MISTAKES
from steelyard.diagnose.hypothesis import Hypothesis, Trial

POOR_JOINT = 0.6  # share of the torque that the given links leave of the worst joint, as POOR of all
HALF = 0.5  # of that share, at most, a mistake may leave, of all torque or of a joint
WINS = 0.6  # nats a sample that it must win; half of the error of one joint is 0.7
SURE = 2.5  # the same where the given links are fair: figures that fit links as wrong as files' win 1.9 at most
WORSE = 0.02  # nats a sample by which the physically consistent fit may become worse, for each that given links win
MOST_JOINTS = 12  # the worst ones, whose signs, zeros and orders are tried
TIE = 0.1  # share of the best gain within which two hypotheses explain the data equally well
MOST_FITTED = 4  # of these that a fit tells apart
BETTER = 0.05  # nats a sample by which its fit must be better
MOST_NAMED = 3  # of the hypotheses that do


@dataclass(frozen=True, eq=False)
class _Judged:
    trial: Trial
    given: GivenLinks
    after: np.ndarray
    gain: float


def found_by_given_links(case: Case) -> Hypothesis | None:
    """The gross mistake whose correction makes the given links fit best, None where none makes them fit."""
    given = GivenLinks(case)
    error, most = given.relative_error, given.relative.max(initial=0.0)
    if given.fair:
        return None
    fair = error < POOR and most < POOR_JOINT
    worst = sorted(case.dofs, key=lambda dof: -given.relative[dof])[:MOST_JOINTS]
    trials = (trial for kind in MISTAKES for make in kind.by_given_links for trial in make(case, worst))
    judged = [_judged(case, given, trial) for trial in trials]
    left = [
        each
        for each in judged
        if each.gain > (SURE if fair or (error < POOR and each.trial.finer) else WINS) and _explains(given, each.given)
    ]
    while left:
        most = max(each.gain for each in left)
        alike = [each for each in left if each.gain >= (1 - TIE) * most]  # simple ones first
        best, won = None, -WORSE * max(most, 1.0)
        for each in alike[:MOST_FITTED]:
            own = gain(case.physical_energy, _in_units_of(case, each.trial.case, each.trial.case.physical_energy))
            if own > (won if best is None else won + BETTER):
                best, won = each, own
        if best is not None:
            if best.trial.finer is not None:
                best = _judged(case, given, best.trial.finer())
            return _named(case, given, best, [each.trial for each in alike if not _same(each.trial, best.trial)])
        left = [each for each in left if each not in alike]
    return None


def _judged(case: Case, before: GivenLinks, trial: Trial) -> _Judged:
    given = GivenLinks(trial.case)
    after = _in_units_of(case, trial.case, given.energy)
    return _Judged(trial, given, after, gain(before.energy, after))


def _in_units_of(case: Case, changed: Case, energy) -> np.ndarray:
    """(nv,) energies of a case in the units of the log before it."""
    return energy * (case.factor / changed.factor) ** 2


def _explains(before: GivenLinks, after: GivenLinks) -> bool:
    """Whether the given links fit once the mistake is undone: all of them, and the joint that was worst."""
    worst = int(np.argmax(before.relative))
    return after.relative_error < POOR and after.relative[worst] < HALF * before.relative[worst]


def _same(one: Trial, other: Trial) -> bool:
    """Whether two trials undo one mistake, by figures of their own."""
    return one is other or (
        one.joint is not None and (one.joint, one.case.repairs[-1]) == (other.joint, other.case.repairs[-1])
    )


def _named(case: Case, before: GivenLinks, best: _Judged, others: list[Trial]) -> Hypothesis:
    """others: that explain the data as well."""
    trial = best.trial
    told = trial.fault("the links of the given model leave", before.relative_error, best.given.relative_error)
    if others:
        words = " or ".join(" ".join(each.options) for each in others[:MOST_NAMED])
        more = f" or {len(others) - MOST_NAMED} others" if len(others) > MOST_NAMED else ""
        told = replace(told, message=f"{told.message} This motion cannot tell it from: {words}{more}.")
    left = (trial.case.target - best.given.torque).T
    return Hypothesis(told, trial.case, before.energy, best.after, left, given=True)
