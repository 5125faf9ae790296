"""What takes a fit to all logs to be undone.

Clipped torques filled in with what a fit says they were, so that a filter mixes nothing wrong into their neighbours.

A clipped sample says that the torque was at least the limit: a censored observation (Tobin 1958). It is filled with the
mean of the prediction's normal distribution beyond the limit, the expectation step of EM for such data (Dempster, Laird
and Rubin 1977), and the next fit is to the filtered result. Filled samples themselves do not count: what they would add
is little, and without them a few rounds settle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.corrections import Corrections
from steelyard.decisions.held_out_samples import HeldOut
from steelyard.diagnose import delays
from steelyard.diagnose.case import case_of
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import FitError, OptionError
from steelyard.fit import Estimate, Load, consistent, drive_gains, predict
from steelyard.fit.drive_calibration import gains_by_model
from steelyard.information import accumulate
from steelyard.log import Log, filters
from steelyard.log.masks import clipped_sides, masked, saturated
from steelyard.model import Robot
from steelyard.numbers import to_float
from steelyard.prepare.prepared import Prepared
from steelyard.prepare.undo import shifted
from steelyard.terms import COULOMB_WIDTH

FILLINGS = 6  # rounds of filling clipped torques in, at most
SETTLED = 0.05  # of the noise: RMS change of filled torques, below which another round changes nothing


def unclipped(
    robot: Robot, logs: Sequence[Prepared], *, smoother: str, held_out: HeldOut, options: Mapping
) -> list[Log]:
    """Filtered logs in which torques do not count only where they are clipped themselves.

    logs: without all torques that filters mix with clipped ones. smoother: that filtered them. held_out: what the fits
    which fill are not shown. options: of `accumulate`.
    """
    motions = [filters.differentiate(each.raw, cutoff=each.cutoff, smoother=smoother, drop=0) for each in logs]
    sides = [clipped_sides(each.raw) for each in logs]
    masks = [side != 0 for side in sides]
    result, before = [each.log for each in logs], None
    for _ in range(FILLINGS):
        estimate = consistent(accumulate(robot, held_out.fitted(result), **options))
        filled, noise = _filled(estimate, [each.raw for each in logs], motions, sides)
        result = [
            masked(_refiltered(each, tau), each.raw, mask, 0.0, name="clipped torques")
            for each, mask, tau in zip(logs, masks, filled, strict=True)
        ]
        if before is not None and _change(filled, before, masks, noise) < SETTLED:
            break
        before = filled
    return result


def _refiltered(each: Prepared, tau) -> Log:
    assert each.refilter is not None
    return each.refilter(each.raw.replace(tau=tau))


def _filled(estimate: Estimate, raw: Sequence[Log], motions: Sequence[Log], sides) -> tuple[list[NDArray], NDArray]:
    """Torques (n, nv) of each raw log with clipped ones replaced, and noise (nv,) of those that are not clipped.

    motions: q, v and a filtered at every stamp of raw."""
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


def settled(
    robot: Robot,
    logs: Sequence[Prepared],
    *,
    corrections: Corrections,
    unknown: np.ndarray,
    guess: bool = False,
    loads: Sequence[tuple[str, float, Log]] = (),
    held_out: HeldOut,
    smoother: str,
    columns: Mapping,
    weights: Mapping,
) -> tuple[list[Prepared], tuple[str, ...], np.ndarray]:
    """Logs with these mistakes undone, in this order, notes on what was found, and (nv,) gains of drives, 1 of torques.

    Args:
        robot: with motors, as it will be fitted.
        logs: of the same robot.
        corrections: which of delays and clipped torques to undo.
        unknown: (nv,) whether a joint's torques are in units of its drive, whose gain is to be found.
        guess: whether gains that the motion does not show are guessed, for what refines them.
        loads: link, mass in kg and log of the robot with that load, which fix the gains' common scale.
        held_out: samples that no fit may see.
        smoother: that filtered the logs.
        columns, weights: options of `accumulate`: what is estimated, and how samples count.

    Raises:
        FitError: where the motion does not show what is to be found.
    """
    found, notes, gains = list(logs), [], np.ones(robot.nv)
    if unknown.any():
        gains, said = _gains(robot, [each.log for each in found], loads, columns, unknown, guess)
        found = [_geared(each, gains) for each in found]
        notes += said
    if corrections.automatic_delay:
        late = _delays(robot, [each.log for each in found], columns)
        found = [replace(each, log=shifted(each.log, late)) for each in found]
        text = ", ".join(f"{name} {1000 * x:.2f} ms" for name, x in zip(robot.dof_names, late, strict=True) if x)
        notes.append(f"Delays of torques estimated and undone: {text or 'none that can be told'}.")
    known = not (unknown.any() or corrections.automatic_delay or robot.loops)  # all that a fit needs to fill torques in
    clipped = all(each.cutoff for each in found) and any(saturated(each.raw).any() for each in found)
    if corrections.saturation and known and clipped:
        options = {**columns, **weights}
        filled = unclipped(robot, found, smoother=smoother, held_out=held_out, options=options)
        found = [replace(each, log=log, unfilled=each.log) for each, log in zip(found, filled, strict=True)]
        notes.append("Clipped torques were filled with what a fit to the others says, for the filter's sake.")
    return found, tuple(notes), gains


def load_word(word: str) -> tuple[str, float, str]:
    """Link, mass in kg and path of the log of `LINK=KG:LOG`. Raises OptionError."""
    link, equals, rest = word.partition("=")
    mass, colon, path = rest.partition(":")
    try:
        value = to_float(mass)
    except ValueError:
        value = np.nan
    if not (link and equals and colon and path and value > 0):
        raise OptionError(f"--load {word!r} cannot be read; write it as LINK=KG:LOG, such as hand=2.5:loaded.csv.")
    return link.strip(), value, path


def _geared(each: Prepared, gains: np.ndarray) -> Prepared:
    return replace(each, log=each.log.replace(tau=each.log.tau * gains))


def _gains(
    robot: Robot, logs: Sequence[Log], loads, columns: Mapping, unknown: np.ndarray, guess: bool
) -> tuple[np.ndarray, list[str]]:
    """(nv,) N m per unit of the drives, 1 where torques are known, and notes. Known loads say the common scale, else
    known torques, else the nominal model."""
    info = accumulate(robot, logs, **columns)
    if loads:
        found = drive_gains(info, loads=[Load(accumulate(robot, log, **columns), link, kg) for link, kg, log in loads])
        source = "the scale is that of the known loads"
    else:
        try:
            found = gains_by_model(info)
        except FitError:
            if not guess:
                raise
            gains = np.where(unknown, _guessed(robot, logs), 1.0)
            return gains, ["Torques of the drives show little but friction: gains were guessed, and refined by motion."]
        source = "their common scale is that of the nominal model's masses; give --load to have it measured"
    gains = found.gains
    shown = np.isfinite(found.deviation)
    if guess and (gains <= 0).any():  # no drive pushes away from where it is told to go
        shown &= gains > 0
        gains = np.where(shown, gains, np.median(gains[shown]) if shown.any() else _guessed(robot, logs))
    if not loads and not unknown.all():
        gains, source = gains / np.median(gains[~unknown]), "the scale is that of the known gains"
    gains = np.where(unknown, gains, 1.0)
    names = np.array(found.joint_names)
    text = ", ".join(f"{name} {gain:.4g}" for name, gain in zip(names[unknown], gains[unknown], strict=True))
    guessed = names[unknown & ~shown]
    notes = [f"Drive gains, N m per unit: {text}; {source}."]
    if len(guessed):
        notes.append(f"The motion does not show the gains of {', '.join(guessed)}: they are the median of the others.")
    return gains, notes


def _guessed(robot: Robot, logs: Sequence[Log]) -> float:
    """N m per unit of the drives, one for all joints: how torques of the given model show in what the drives took,
    beside friction. Its inverse is found, since the noise is that of the drives."""
    gains = []
    for log in logs:
        v, a, tau = log.require("v", "a", "tau")
        needed = inverse_dynamics(robot, log.q, v, a)
        for j in range(robot.nv):
            others = np.column_stack([v[:, j], np.tanh(v[:, j] / COULOMB_WIDTH), a[:, j], np.ones(len(v))])
            own, taken = (x - others @ np.linalg.lstsq(others, x)[0] for x in (needed[:, j], tau[:, j]))
            share = float(own @ taken)
            gains += [float(own @ own) / share] if share > 0 else []
    return float(np.median(gains)) if gains else 1.0


def _delays(robot: Robot, logs: Sequence[Log], columns: Mapping) -> np.ndarray:
    """(nv,) s by which torques come late, zero where it cannot be told."""
    found, moved = np.zeros(robot.nv), list(logs)
    for _ in range(DELAY_ROUNDS):
        estimate = consistent(accumulate(robot, moved, **columns))
        found = found + np.nan_to_num(delays(case_of(estimate, moved)).certain)
        moved = [shifted(log, found) for log in logs]
    return found
