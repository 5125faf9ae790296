"""Torques many times too large or too small against gravity of the given links, of one joint or of all: another unit, a
wrong gear ratio or torque constant. Gains nearer to one are nuisances of the posterior."""

from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.given_links import GivenLinks
from steelyard.diagnose.hypothesis import Mistake, Trial

KNOWN = 0.1  # relative standard deviation of a factor between a joint's torque and gravity of the given links
# Factor by which the masses of a given model may be off, all together or those that one joint moves: 1.8 of published
# masses of a Panda, on a recorded log.
PLAUSIBLE = 2.0
LEFT = 0.2  # of the torque, that a factor a joint may leave: so many explain much of anything, as made-up masses do
ALIKE = 1.5  # factor from the median within which joints agree about a common one
MOST_AGREE = 0.6  # share of the torque whose joints must agree
UNITS = {"mNm": 1e3, "kNm": 1e-3}  # units of torque, in units a N m
NEAR = 2.0  # factor by which torques in such a unit may be off all the same


def by_given_links(case: Case, _: Sequence[int] = ()) -> Iterator[Trial]:
    """One factor between the log's torques and gravity of the given links, of all joints or of single ones."""
    if case.robot.floating:  # in flight gravity and acceleration of the base cancel, and noise of the latter is left
        return
    given = GivenLinks(case)
    factor, deviation = given.factors()
    known = np.flatnonzero(deviation < KNOWN * np.abs(factor))
    if not len(known):
        return
    common = _median(factor[known], np.sqrt(np.sum(given.gravity[known] ** 2, axis=1)) * np.abs(factor[known]))
    agree = known[_ratio(factor[known], common) < ALIKE]
    weight, enough = np.sqrt(case.energy), len(agree) > 1 or len(known) == 1
    if (
        enough
        and common > 0
        and _ratio(common, 1.0) > PLAUSIBLE
        and weight[agree].sum() > MOST_AGREE * weight[known].sum()
    ):
        yield Trial(
            case.undone("torque_unit", factor=case.factor / common),
            f"Torques are {common:.3g} times those of gravity on the links of the given model, in "
            f"{'every joint' if len(agree) == len(known) else f'{len(agree)} of {len(known)} joints'} that gravity "
            "loads",
            *unit_remedy(common),
        )
    far = known[(_ratio(factor[known], 1.0) > PLAUSIBLE) & (factor[known] > 0)]
    if len(far) > 1 and far.size > len(known) / 2 and _ratio(factor[far].max(), factor[far].min()) > PLAUSIBLE:
        own = np.full(case.robot.nv, common)
        own[known] = factor[known]
        listed = ", ".join(f"{case.robot.dof_names[dof]} {factor[dof]:.3g}" for dof in far)
        undone = case.undone("motor_current", factor=case.factor / np.abs(own))
        if GivenLinks(undone).relative_error < LEFT:
            yield Trial(
                undone,
                "Each joint's torque is in a unit of its own, as motor currents or shares of rated torques are: times "
                f"those of gravity on the links of the given model, {listed}",
                options=("--drive-gains",),
            )
    alone = 1.0 if _ratio(common, 1.0) > PLAUSIBLE else common
    for dof in known[(_ratio(factor[known], alone) > PLAUSIBLE) & (factor[known] > 0)] if len(agree) > 1 else ():
        name = case.robot.dof_names[dof]
        yield Trial(
            _divided(case, dof, float(factor[dof])),
            f"The torque of {name} is {factor[dof]:.3g} times that of gravity on the links of the given model, whose "
            "other joints agree with it",
            options=("--scale", f"tau:{name}={1 / factor[dof]:.5g}"),
            joint=name,
        )


def unit_remedy(factor: float) -> tuple[str, tuple[str, ...]]:
    """Remedy and option for torques so many times too large: the unit that it is about. No other factor is that of all
    joints for sure (drives of an arm differ by tens of per cent), and links would take what is left of each."""
    near = [name for name, size in UNITS.items() if _ratio(factor, size) < NEAR]
    if near:
        return "", ("--unit", f"tau={near[0]}")
    return (
        "No unit of torque has this factor. Are they motor currents, per cent of rated torque, or of the motor's side? "
        f"Have a gain found for each joint; or, where one factor is known for all, give it (--scale tau:all=FACTOR, "
        f"about {1 / factor:.3g}).",
        ("--drive-gains",),
    )


def _ratio(one, other):
    """Factor between two numbers, above 1; infinite where their signs differ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.asarray(one, dtype=float) / other
        return np.where(quotient > 0, np.maximum(quotient, 1 / quotient), np.inf)


def _median(values, weights) -> float:
    """Weighted median."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])


def _divided(case: Case, dof: int, scale: float) -> Case:
    factor = case.factor.copy()
    factor[dof] /= scale
    return case.undone("torque_scale", factor=factor)


MISTAKE = Mistake(by_given_links=(by_given_links,))
