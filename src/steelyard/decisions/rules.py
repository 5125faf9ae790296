"""Everything that is decided between prepared logs and the fit, in one order: `IDENTIFIED`.

Each rule takes the `FitPlan` and yields what it decides, and the fields of the plan that become others.

Clipped torques filled in with what a fit says they were, so that a filter mixes nothing wrong into their neighbours.

A clipped sample says that the torque was at least the limit: a censored observation (Tobin 1958). It is filled with the
mean of the prediction's normal distribution beyond the limit, the expectation step of EM for such data (Dempster, Laird
and Rubin 1977), and the next fit is to the filtered result. Filled samples themselves do not count: what they would add
is little, and without them a few rounds settle.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.decisions.fit_plan import Decision, FitPlan, HeldOut, Made
from steelyard.diagnose.case import case_of
from steelyard.diagnose.hypotheses.delay import certain_delays
from steelyard.errors import FitError
from steelyard.fit import Estimate, Load, consistent, drive_gains, predict
from steelyard.fit.drive_calibration import gains_by_model
from steelyard.information import accumulate, reversal_weights
from steelyard.job import FRICTION, Job
from steelyard.log import Log, filters
from steelyard.log.masks import clipped_sides, masked, saturated
from steelyard.model import Robot
from steelyard.numbers import ROUNDS
from steelyard.prepare.prepared import Prepared
from steelyard.prepare.undo import shifted
from steelyard.terms import TERMS
from steelyard.weighed_columns import NUISANCES

RIGHT = 0.2  # what links of files are right to (`posterior.VOUCHED`)
LEAST_NOISE = 1e-3  # of the largest of a row, below which none is taken to be


def cutoffs(plan: FitPlan) -> Made:
    """Cutoffs of the filters are those that the spectra ask for."""
    found = [each for each in plan.read if each.cutoff and each.torque_cutoff]
    if plan.job.cutoff is None and found:
        told = {f"{key}_hz": min(getattr(each, key) for each in found) for key in ("cutoff", "torque_cutoff")}
        hz, of_torques = told.values()
        what = f"Positions were filtered at {hz:.3g} Hz or more, torques at {of_torques:.3g} Hz or more."
        yield Decision("cutoff", what, "The spectra of the positions ask for that.", "--cutoff HZ", told), {}


def constant_torques(plan: FitPlan) -> Made:
    """Joints of legs hardly turn, so constant torques pass for weights: with them, the total mass of simulated walks
    came out 3 % too heavy, and its interval did not say so."""
    if plan.job.friction is None and _in_contact(plan.logs):
        what, reason = "Constant torques are left out of friction.", "Those of legs on the ground pass for weights."
        kept = replace(plan.job, friction=tuple(term for term in FRICTION if term != "offset"))
        yield Decision("constant_torques", what, reason, f"--friction {','.join(FRICTION)}"), {"job": kept}


def standstill(plan: FitPlan) -> Made:
    """Samples near standstill count less, where friction depends on the direction of motion."""
    if weights := weights_of(plan.job, plan.robot):
        what = "Samples where a joint nearly stands still count less."
        yield Decision("standstill", what, "Friction has no one direction there."), {"weights": weights}


def shapes(plan: FitPlan) -> Made:
    """A posterior of a tree without contacts has friction of any shape; on a fixed base mistakes of its logs, too."""
    if plan.robot.loops or _in_contact(plan.logs):
        return
    shape = {"friction": (*plan.job.plain_friction, *plan.job.shaped_friction)}
    shape["nuisances"] = () if plan.robot.floating else NUISANCES
    also = " and small mistakes of the logs" if shape["nuisances"] else ""
    what = f"Friction of any shape over speed and load{also} stand beside the links."
    reason = "Evidence decides how much there is of each."
    yield Decision("shapes", what, reason, f"--friction {','.join(FRICTION)}"), {"shape": shape}


def contact_rows(plan: FitPlan) -> Made:
    """Forces of contacts are those that suit motion and torques best."""
    rows = contact_weights(plan.train, lambda: plan.fit(accumulate(plan.robot, plan.train, **plan.options)))
    if rows:
        what = "Forces of contacts are those that suit motion and torques best, each row weighed by its noise."
        yield Decision("contact_forces", what, "Faults of wiring are not looked for in such logs."), {"rows": rows}


SETTLED = 0.05  # of the noise: RMS change of filled torques, below which another round changes nothing


def unclipped(robot: Robot, logs: Sequence[Prepared], *, held_out: HeldOut, options: Mapping) -> list[Log]:
    """Logs in which torques do not count only where they are clipped, not all that filters mix with those."""
    motions = [filters.differentiate(x.raw, x.cutoff, smoother=x.require_filter().smoother, drop=0) for x in logs]
    sides = [clipped_sides(each.raw) for each in logs]
    masks = [side != 0 for side in sides]
    result, before = [each.log for each in logs], None
    for _ in range(ROUNDS):
        estimate = consistent(accumulate(robot, held_out.fitted(result), **options))
        filled, noise = _filled(estimate, [each.raw for each in logs], motions, sides)
        result = [
            masked(each.require_filter()(each.raw.replace(tau=tau)), each.raw, mask, 0.0, name="clipped torques")
            for each, mask, tau in zip(logs, masks, filled, strict=True)
        ]
        if before is not None and _change(filled, before, masks, noise) < SETTLED:
            break
        before = filled
    return result


def _filled(estimate: Estimate, raw: Sequence[Log], motions: Sequence[Log], sides) -> tuple[list[NDArray], NDArray]:
    """Torques (n, nv) of each raw log with clipped ones replaced, and noise (nv,) of the others."""
    predicted = [predict(estimate, *motion.require("q", "v", "a")) for motion in motions]
    measured = [log.require("tau")[0] for log in raw]
    kept = np.concatenate(sides) == 0
    left = (np.concatenate(measured) - np.concatenate(predicted)) * kept
    noise = np.sqrt(np.sum(left**2, axis=0) / np.maximum(kept.sum(axis=0), 1))
    noise = np.maximum(noise, 1e-12 * max(noise.max(initial=0.0), 1e-300))
    filled = [
        np.where(side != 0, beyond(mean, noise, tau, side), tau)
        for mean, tau, side in zip(predicted, measured, sides, strict=True)
    ]
    return filled, noise


def beyond(mean, deviation, limit, side) -> NDArray[np.float64]:
    """Mean of a normal variable that is known to lie above a limit (side 1), or below it (-1)."""
    from scipy.special import log_ndtr

    x = side * (limit - mean) / deviation
    hazard = np.exp(-0.5 * x**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(-x))
    return mean + side * deviation * hazard


def _change(filled, before, masks, noise) -> float:
    """RMS change of filled torques over the noise, of the joint that changes most."""
    change = np.concatenate([new - old for new, old in zip(filled, before, strict=True)])
    count = np.maximum(np.concatenate(masks).sum(axis=0), 1)
    return float((np.sqrt(np.sum(change**2, axis=0) / count) / noise).max())


DELAY_ROUNDS = 2  # of delays: the fit that tells them is better once they are undone


def gains(plan: FitPlan) -> Made:
    """Torques in units of drives become N m. Gains that the motion does not show are guessed for drives, which refine
    them, and else refused. Raises FitError."""
    if not plan.unknown.any():
        return
    found, notes = _gains(plan, guess=bool(plan.drives))
    read = tuple(replace(each, log=each.log.replace(tau=each.log.tau * found)) for each in plan.read)
    evidence = dict(zip(plan.robot.dof_names, found.tolist(), strict=True))
    for what, reason in notes:
        yield Decision("gains", what, reason, evidence=evidence), {"read": read, "gains": found}


def late_torques(plan: FitPlan) -> Made:
    """Delays of torques are undone where they were asked to be."""
    if not plan.job.corrections.automatic_delay:
        return
    late = _delays(plan.robot, plan.logs, plan.columns)
    read = tuple(replace(each, log=shifted(each.log, late)) for each in plan.read)
    told = {name: x for name, x in zip(plan.robot.dof_names, late.tolist(), strict=True) if x}
    text = ", ".join(f"{name} {1000 * x:.2f} ms" for name, x in told.items())
    what = f"Delays of torques estimated and undone: {text or 'none that can be told'}."
    yield Decision("delay", what, evidence=told), {"read": read}


def clipped_torques(plan: FitPlan) -> Made:
    """Clipped torques are filled where they are left out, and nothing else of the torques is unknown."""
    known = not (plan.unknown.any() or plan.job.corrections.automatic_delay or plan.robot.loops)
    clipped = all(each.cutoff for each in plan.read) and any(saturated(each.raw).any() for each in plan.read)
    if not (plan.job.corrections.saturation and known and clipped):
        return
    options = {**plan.columns, **plan.weights}
    filled = unclipped(plan.robot, plan.read, held_out=plan.held_out, options=options)
    read = tuple(replace(each, log=log, unfilled=each.log) for each, log in zip(plan.read, filled, strict=True))
    what = "Clipped torques were filled with what a fit to the others says."
    reason = "A filter mixes them with their neighbours; they do not count themselves."
    yield Decision("clipped_torques", what, reason), {"read": read}


def _gains(plan: FitPlan, *, guess: bool) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """(nv,) N m per unit of the drives, 1 where torques are known, and what is said of them, with reasons. Known loads
    say the common scale, else known torques, else the nominal model."""
    robot, logs, columns, unknown = plan.robot, plan.logs, plan.columns, plan.unknown
    info = accumulate(robot, logs, **columns)
    if plan.loads:
        loads = [Load(accumulate(robot, log, **columns), link, kg) for link, kg, log in plan.loads]
        found, source = drive_gains(info, loads=loads), "The scale is that of the known loads."
        by_links = gains_by_model(info)
        weak = (found.deviation > RIGHT * np.abs(found.gains)) & np.isfinite(by_links.deviation)
        found = replace(found, gains=np.where(weak, by_links.gains, found.gains))  # the given links say more there
    else:
        found = gains_by_model(info)
        source = "Their common scale is that of the nominal model's masses; give --load to have it measured."
    gains, shown = found.gains, np.isfinite(found.deviation)
    if guess and (gains <= 0).any():  # no drive pushes away from where it is told to go
        shown &= gains > 0
        gains = np.where(shown, gains, np.median(np.abs(gains[shown] if shown.any() else gains)))
    if not (guess or shown.any()):
        raise FitError("No joint shows more than friction, so gains cannot be told. Move the arm more.")
    if not plan.loads and not unknown.all():
        gains, source = gains / np.median(gains[~unknown]), "The scale is that of the known gains."
    names, notes = np.array(found.joint_names), []
    if plan.job.drive_gains and not plan.loads and (mixed := shown & _of_torques(gains)).any():
        text = f"Torques of {', '.join(names[mixed])} are in N m: the given links have them as they are."
        notes.append((text, "Those of other joints are far from it."))
        unknown = unknown & ~mixed
    gains = np.where(unknown, gains, 1.0)
    deviations = (f" ± {each:.2g}" if np.isfinite(each) else "" for each in found.deviation)
    each = [f"{name} {gain:.4g}{more}" for name, gain, more in zip(names, gains, deviations, strict=True)]
    guessed = names[unknown & ~shown]
    notes.append((f"Drive gains, N m per unit: {', '.join(np.array(each)[unknown])}.", source))
    if len(guessed):
        what = f"Gains of {', '.join(guessed)} are the median of the others."
        notes.append((what, "The motion does not show them."))
    return gains, notes


def _of_torques(gains) -> np.ndarray:
    """(nv,) gains of 1 as far as links of files are right, beside others that are far from it."""
    off = np.abs(np.log(np.abs(gains)))
    return (gains > 0) & (off < RIGHT) & bool((off > np.log(2.0)).any())


def _delays(robot: Robot, logs: Sequence[Log], columns: Mapping) -> np.ndarray:
    """(nv,) s by which torques come late, zero where it cannot be told."""
    found, moved = np.zeros(robot.nv), list(logs)
    for _ in range(DELAY_ROUNDS):
        estimate = consistent(accumulate(robot, moved, **columns))
        found = found + certain_delays(case_of(estimate, moved))
        moved = [shifted(log, found) for log in logs]
    return found


TORQUES = (standstill, gains, late_torques, clipped_torques)
IDENTIFIED = (cutoffs, constant_torques, *TORQUES, shapes, contact_rows)


def _in_contact(logs: Iterable[Log]) -> bool:
    return any(log.contacts for log in logs)


def weights_of(job: Job, robot: Robot) -> dict[str, Any]:
    """The option of `accumulate` that says how much samples near standstill count, empty where all count alike."""
    if not any(TERMS[term].directed for term in job.plain_friction):
        return {}
    return {"sample_weights": partial(reversal_weights, robot)}


def contact_weights(logs: Iterable[Log], fitted: Callable[[], Estimate]) -> dict[str, Any]:
    """The option of `accumulate` by which forces of contacts are eliminated, empty without contacts: each row weighed
    by the noise that a first fit, by equal rows, leaves."""
    if not _in_contact(logs):
        return {}
    noise = fitted().noise
    return {"row_weights": 1 / np.maximum(noise, LEAST_NOISE * noise.max()) ** 2}
