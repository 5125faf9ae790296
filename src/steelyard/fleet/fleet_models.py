"""Physically consistent models of a fleet: one of what its robots have in common, and one of each.

The population is a prior, and a prior on base parameters is Information: its precision is added to a robot's own sums,
and the consistent fit does the rest, with the common model as prior for what no motion shows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError
from steelyard.fit import Estimate, consistent, weigh_by_noise
from steelyard.fit.prior import model_parameters
from steelyard.fleet.fleet_study import FleetMember, Study
from steelyard.fleet.partitions import total_of
from steelyard.fleet.population import FEWEST, Population
from steelyard.information import Information
from steelyard.information.gram import Squares
from steelyard.pipeline import Progress
from steelyard.pipeline.job_run import knowledge_of


@dataclass(frozen=True, eq=False)
class RobotFit:
    """A robot's model."""

    estimate: Estimate | None  # None where the fit was refused, and refusal says why
    errors: dict[str, float]  # held-out torque error over torque with the "given" model, the "fleet"'s and its "own"
    refusal: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Fits(Card):
    """common: of the fleet without outliers; members: of each robot, as it is now, by name."""

    common: Estimate
    members: dict[str, RobotFit]


def fits(study: Study, *, progress: Progress | None = None) -> Fits:
    """Fit the fleet and each robot of a study. progress: called with a stage and the share done.

    Raises FitError when the fleet as a whole cannot be fitted.
    """
    report = progress or (lambda stage, share: None)
    sums = study.accumulation
    known, _ = knowledge_of(sums.job, sums.robot)
    out = {each.robot for each in study.population.outliers}
    inside = (m for i, m in enumerate(study.members) if i not in out)
    report("fitting the fleet", 0.0)
    common = consistent(total_of([run.fitted for member in inside for run in member.current]), **known)
    found = {}
    for k, member in enumerate(study.members):
        report(f"fitting {member.name}", (k + 1) / len(study.members))
        found[member.name] = _fit(member, study, common, known)
    return Fits(common, found)


def _fit(member: FleetMember, study: Study, common: Estimate, options: dict[str, Any]) -> RobotFit:
    parts = [part for run in member.current for part in run.load()]
    info, held = total_of([part.fitted for part in parts]), total_of([part.held for part in parts])
    several = len(study.members) >= FEWEST
    try:
        whole = with_population(info, member.prior) if several else info
        prior = common.require_robot() if several else None
        estimate = consistent(whole, prior=prior, **options)
    except FitError as error:
        estimate, refusal = None, str(error)
    else:
        refusal = ""
    given = info.basis.regroup(model_parameters(study.accumulation.robot, info.layout))
    errors = {"given": _error(held, given), "fleet": _error(held, common.base)}
    return RobotFit(estimate, errors | ({"own": _error(held, estimate.base)} if estimate else {}), refusal)


def _error(held: Information, base) -> float:
    held = held.base
    return float(np.sqrt(held.residual_energy(base).sum() / max(held.energy.sum(), np.finfo(float).tiny)))


def with_population(info: Information, people: Population) -> Information:
    """A robot's Information and the population's as rows of its own, times the noise of each row group, that a fit
    divides by."""
    noise = weigh_by_noise(info)[1]
    info = info.base
    share = noise**2 / (info.independence * len(noise))
    prior = people.prior
    return replace(
        info,
        squares=Squares.of(info.gram + share[:, None, None] * prior.precision),
        moment=info.moment + share[:, None] * prior.moment,
        energy=info.energy + share * (people.mean @ prior.moment),
        factors=None,
    )
