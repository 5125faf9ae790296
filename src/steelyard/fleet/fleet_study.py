"""`study`: the questions a fleet is asked, from its evidences: who differs, what changed, who needs a new motion."""

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np

from steelyard.cards import FEW, Card
from steelyard.errors import OptionError
from steelyard.fleet.accumulation import Accumulation, RunSums
from steelyard.fleet.changes import Alarm, alarms, run_spread
from steelyard.fleet.evidence import Evidence, causes_of, marginal, pseudo_inverse
from steelyard.fleet.population import FEWEST, TOLD_BY, Population, population
from steelyard.numbers import FALSE_ALARM

UNKNOWN = 0.5  # share of what sets robots apart that may stay unknown of one before it needs a new motion
TELLING = 4.0  # variance between robots over that of a usual run, from which such a run tells them apart


@dataclass(frozen=True, eq=False, repr=False)
class FleetMember(Card):
    """A robot of the fleet.

    unknown: of all combinations that a usual run tells and robots differ in, the largest share of the difference that
    its runs leave open, 0 to 1.
    """

    name: str
    runs: tuple[RunSums, ...]  # of it, in order of time
    alarms: tuple[Alarm, ...]  # changes between them
    since: int  # place of the first run since the last change, on from which it is as it is now
    prior: Population  # what the fleet says of it
    base: np.ndarray  # (r,) estimates from its own runs and that
    covariance: np.ndarray  # (r, r)
    unknown: float
    weakest: tuple[str, ...]  # those least known

    @property
    def current(self) -> tuple[RunSums, ...]:
        """Runs since the last change."""
        return self.runs[self.since :]

    @property
    def needs_motion(self) -> bool:
        return self.unknown > UNKNOWN


@dataclass(frozen=True, eq=False, repr=False)
class Study(Card):
    """Answers about a fleet.

    run_spread: (r,) standard deviations by which runs of one robot differ beyond noise, told by `pairs` of runs.
    """

    accumulation: Accumulation
    members: tuple[FleetMember, ...]  # by name
    population: Population  # what its robots have in common, places of outliers are those of members
    run_spread: np.ndarray
    pairs: int
    false_alarm: float  # probability of any false alarm among changes, and of any among outliers
    silent: tuple[str, ...]  # robots without one usable run

    @cached_property
    def base_names(self) -> tuple[str, ...]:
        info = self.accumulation.fitted
        return tuple(info.layout.names[i] for i in info.basis.columns)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before believing."""
        said = []
        if self.pairs < TOLD_BY:
            said.append(
                f"Only {self.pairs} pairs of runs tell how much runs of one robot differ without any change; with "
                f"fewer than {TOLD_BY}, alarms can be false more often than stated."
            )
        if len(self.members) < FEWEST:
            said.append(f"Fewer than {FEWEST} robots are no population: each is estimated from its own runs alone.")
        elif len(self.members) < TOLD_BY:
            said.append(
                f"The spread between {len(self.members)} robots is itself uncertain; with fewer than {TOLD_BY}, only "
                "robots far from the others are called outliers."
            )
        return tuple(said)


def study(accumulation: Accumulation, *, false_alarm: float = FALSE_ALARM) -> Study:
    """Answers about a fleet from its sums. false_alarm: probability of any false alarm in all of it, between 0 and 1.

    Raises OptionError for another probability.
    """
    if not 0 < false_alarm < 1:
        raise OptionError(f"false_alarm={false_alarm}: the probability of any false alarm lies between 0 and 1.")
    info = accumulation.fitted
    causes = causes_of(info.layout, info.basis)
    robots = accumulation.robots
    raw = {name: [run.evidence for run in runs] for name, runs in robots.items()}
    spread, pairs = run_spread(list(raw.values()), info.basis.count)
    with_spread = {name: [each.with_spread(spread) for each in evidences] for name, evidences in raw.items()}
    rate = {"false_alarm": false_alarm, "robots": len(robots)}
    found = {
        name: alarms(raw[name], [r.run.time for r in runs], causes, spread=spread, pairs=pairs, **rate)
        for name, runs in robots.items()
    }
    since = {name: each[-1].first if each else 0 for name, each in found.items()}
    now = {name: reduce(add, evidences[since[name] :]) for name, evidences in with_spread.items()}
    people = population(list(now.values()), causes, false_alarm=false_alarm)
    whole = reduce(add, (each for evidences in raw.values() for each in evidences)).precision
    usual = marginal(Evidence(whole / len(accumulation.runs), np.zeros(len(spread))))[1]
    names = tuple(info.layout.names[i] for i in info.basis.columns)
    apart = {each.robot for each in people.outliers}
    members = tuple(
        _member(name, robots[name], found[name], now[name], people, i in apart, usual, names)
        for i, name in enumerate(robots)
    )
    silent = sorted({failure.robot for failure in accumulation.failures} - set(robots))
    return Study(accumulation, members, people, np.sqrt(spread), pairs, false_alarm, tuple(silent))


def _member(name, runs, found, evidence: Evidence, people: Population, apart: bool, usual, names) -> FleetMember:
    """A robot as it is now. apart: whether it is an outlier; usual: (r,) variances of a usual run's estimates."""
    prior = people.widened(evidence) if apart else people
    if people.robots >= FEWEST:
        base, covariance = prior.individual(evidence)
    else:
        base, covariance = marginal(evidence)[0], pseudo_inverse(evidence.precision)
    unknown = _unknown(np.diag(covariance), people.spread**2, usual)
    weakest = tuple(names[j] for j in np.argsort(-unknown)[:FEW] if unknown[j] > 0)
    since = found[-1].first if found else 0
    return FleetMember(name, runs, found, since, prior, base, covariance, float(unknown.max(initial=0.0)), weakest)


def _unknown(variance, apart, usual) -> np.ndarray:
    """(r,) share of the variance between robots (`apart`) that is open for one; 0 for what no usual run determines."""
    telling = apart > TELLING * usual
    return np.where(telling, np.clip(variance / np.where(telling, apart, 1.0), 0.0, 1.0), 0.0)
