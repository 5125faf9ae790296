"""Torque of one joint too large or too small against the others (drive gain, gear ratio, torque constant).

Links are felt by several joints, so one joint's scale shows against the rest; the scale of all together does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnose.added_columns import promise
from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import fault
from steelyard.diagnose.given_links import GivenLinks
from steelyard.diagnose.hypothesis import Hypothesis, Mistake, Trial
from steelyard.diagnose.thresholds import MOST

SMALLEST = 1.1  # factor; less may be friction or flexibility that the columns do not have
LEAST = 0.02  # nats a sample to first order, below which a scale is not pursued
WINS = 0.12  # nats a sample that it must win; measured logs without one win at most 0.09
GRID = np.geomspace(0.1, 10.0, 921)  # half a per cent apart
KNOWN = 0.1  # relative standard deviation of a factor between a joint's torque and gravity of the given links
# Factor by which the masses of a given model may be off, all together or those that one joint moves: 1.8 of published
# masses of a Panda, on a recorded log.
PLAUSIBLE = 2.0
LEFT = 0.2  # of the torque, that a factor a joint may leave: so many explain much of anything, as made-up masses do
ALIKE_GAIN = 0.15  # share of the best gain within which scales of two joints explain the data about as well
ALIKE = 1.5  # factor from the median within which joints agree about a common one
MOST_AGREE = 0.6  # share of the torque whose joints must agree
UNITS = {"mNm": 1e3, "kNm": 1e-3}  # units of torque, in units a N m
NEAR = 2.0  # factor by which torques in such a unit may be off all the same


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """The best scale of each joint alone."""
    predicted = case.regression.predicted(case.free[0])
    for dof in case.dofs:
        if promise(case, [dof], predicted[dof][None, :, None])[1] < LEAST:
            continue
        scale = _scale(case, dof)
        if max(scale, 1 / scale) < SMALLEST or scale in (GRID[0], GRID[-1]):
            continue
        changed = _divided(case, dof, scale)
        scale *= _scale(changed, dof)  # at the noise that is left then
        if not GRID[0] < scale < GRID[-1]:
            continue
        changed = _divided(case, dof, scale)
        after = changed.free_energy.copy()
        after[dof] *= scale**2  # both in the units of the log
        name = case.robot.dof_names[dof]
        ratio = np.sqrt(after[dof] / case.free_energy[dof])
        yield Hypothesis(
            fault(
                "torque_scale",
                f"The torque of {name} is {scale:.3g} times what the other joints say of the links it moves; divided "
                f"by that, its residual falls by {1 - ratio:.0%}.",
                joint=name,
                options=["--scale", f"tau:{name}={1 / scale:.5g}"],
                scale=scale,
                residual_ratio=ratio,
            ),
            changed,
            case.free_energy,
            after,
            changed.free_error,
        )


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


def _scale(case: Case, dof: int) -> float:
    """Scale s of one joint's torque, rows `s Y x = tau`, that least squares likes best at the given noise.

    In coordinates in which the whole Gram matrix is the identity and the joint's is diagonal, every s costs a sum.
    """
    weight = 1 / case.free[1] ** 2
    rows = case.space.reshape(case.robot.nv, len(case), -1)  # weighted rows in orthonormal coordinates
    target = case.target * np.sqrt(weight)[:, None]
    share, axes = np.linalg.eigh(rows[dof].T @ rows[dof])
    own = axes.T @ (rows[dof].T @ target[dof])
    others = axes.T @ np.einsum("jnk,jn->k", rows, target) - own
    s = GRID[:, None]
    explained = (others + s * own) ** 2 / np.maximum(1 + (s**2 - 1) * share, 1e-9)
    return float(GRID[np.argmax(explained.sum(axis=1))])


def _accepts(_: Case, each: Hypothesis) -> bool:
    """Whether it takes most off the residual of a joint: of its own, or of one that feels the same links."""
    return each.wins(WINS) and bool((each.after < MOST * each.before).any())


def _told(case: Case, accepted: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Scales of joints that explain the data about as well, as one: of two joints that feel the same links, either may
    be off. Ahead is the one with which the links of the given model fit best; the others are named in its message."""
    if not accepted:
        return []
    most = max(each.gain for each in accepted)
    alike = [each for each in accepted if each.gain > (1 - ALIKE_GAIN) * most]
    if len(alike) < 2:
        return alike
    given = [GivenLinks(each.case) for each in alike]
    left = [float(np.sum(np.log(_in_log_units(case, each, g)))) for each, g in zip(alike, given, strict=True)]
    first, *others = (alike[k] for k in np.argsort(left))
    words = " or ".join(f"{each.fault.joint} {each.fault.evidence['scale']:.3g}" for each in others)
    message = (
        f"{first.fault.message} Instead, the torque of {words} times may be the cause, which explains the log about as "
        "well: weigh a link, or check both gears, before a factor is applied."
    )
    return [replace(first, fault=replace(first.fault, message=message, options=()))]


def _in_log_units(case: Case, each: Hypothesis, given: GivenLinks) -> np.ndarray:
    return given.energy * (case.factor / each.case.factor) ** 2


MISTAKE = Mistake(by_given_links=(by_given_links,), hypotheses=hypotheses, accepts=_accepts, told=_told)
