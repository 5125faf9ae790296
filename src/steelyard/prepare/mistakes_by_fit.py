"""What takes a fit to all logs to be undone: gains of drives, unknown delays of torques, torques beyond their limit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.corrections import Corrections
from steelyard.diagnose import case_of, delays
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import FitError, OptionError
from steelyard.fit import Load, consistent, drive_gains, gains_by_model
from steelyard.information import accumulate
from steelyard.log import Log, filters, saturated
from steelyard.model import Robot
from steelyard.numbers import to_float
from steelyard.prepare.clipped import Clipped, unclipped
from steelyard.prepare.prepared import Prepared
from steelyard.prepare.undo import shifted
from steelyard.terms import COULOMB_WIDTH

ROUNDS = 2  # of delays: the fit that tells them is better once they are undone


def settled(
    robot: Robot,
    logs: Sequence[Prepared],
    *,
    corrections: Corrections,
    unknown: np.ndarray,
    guess: bool = False,
    loads: Sequence[tuple[str, float, Log]] = (),
    validation: float,
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
        validation: share at the end of each log that no fit may see.
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
        filled = unclipped(robot, [_clipped(each, smoother) for each in found], validation=validation, options=options)
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
    if not loads and not unknown.all():
        gains, source = gains / np.median(gains[~unknown]), "the scale is that of the known gains"
    gains = np.where(unknown, gains, 1.0)
    names = np.array(found.joint_names)
    text = ", ".join(f"{name} {gain:.4g}" for name, gain in zip(names[unknown], gains[unknown], strict=True))
    guessed = names[unknown & ~np.isfinite(found.deviation)]
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
    for _ in range(ROUNDS):
        estimate = consistent(accumulate(robot, moved, **columns))
        found = found + np.nan_to_num(delays(case_of(estimate, moved)).certain)
        moved = [shifted(log, found) for log in logs]
    return found


def _clipped(each: Prepared, smoother: str) -> Clipped:
    assert each.refilter is not None
    motion = filters.differentiate(each.raw, cutoff=each.cutoff, smoother=smoother, drop=0)
    return Clipped(each.raw, each.log, motion, each.refilter)
