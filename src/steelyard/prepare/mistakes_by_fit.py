"""What takes a fit to all logs to be undone: gains of drives, unknown delays of torques, torques beyond their limit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnose import case_of, delays
from steelyard.errors import OptionError
from steelyard.fit import Load, consistent, drive_gains, gains_by_model
from steelyard.information import accumulate
from steelyard.job import Corrections
from steelyard.log import Log, filters, saturated
from steelyard.model import Robot
from steelyard.prepare.clipped import Clipped, unclipped
from steelyard.prepare.prepared import Prepared
from steelyard.prepare.undo import shifted

ROUNDS = 2  # of delays: the fit that tells them is better once they are undone


def settled(
    robot: Robot,
    logs: Sequence[Prepared],
    *,
    corrections: Corrections,
    currents: bool = False,
    loads: Sequence[tuple[str, float, Log]] = (),
    validation: float,
    smoother: str,
    columns: Mapping,
    weights: Mapping,
) -> tuple[list[Prepared], tuple[str, ...]]:
    """Logs with these mistakes undone, in this order, and notes on what was found.

    Args:
        robot: with motors, as it will be fitted.
        logs: of the same robot.
        corrections: which of delays and clipped torques to undo.
        currents: whether torques are motor currents, whose gains are to be found.
        loads: link, mass in kg and log of the robot with that load, which fix the gains' common scale.
        validation: share at the end of each log that no fit may see.
        smoother: that filtered the logs.
        columns, weights: options of `accumulate`: what is estimated, and how samples count.

    Raises:
        FitError: where the motion does not show what is to be found.
    """
    found, notes = list(logs), []
    if currents:
        gains, said = _gains(robot, [each.log for each in found], loads, columns)
        found = [replace(each, log=each.log.replace(tau=each.log.tau * gains)) for each in found]
        notes += said
    if corrections.automatic_delay:
        late = _delays(robot, [each.log for each in found], columns)
        found = [replace(each, log=shifted(each.log, late)) for each in found]
        text = ", ".join(f"{name} {1000 * x:.2f} ms" for name, x in zip(robot.dof_names, late, strict=True) if x)
        notes.append(f"Delays of torques estimated and undone: {text or 'none that can be told'}.")
    known = not (currents or corrections.automatic_delay or robot.loops)  # all that a fit needs to fill torques in
    clipped = all(each.cutoff for each in found) and any(saturated(each.raw).any() for each in found)
    if corrections.saturation and known and clipped:
        options = {**columns, **weights}
        filled = unclipped(robot, [_clipped(each, smoother) for each in found], validation=validation, options=options)
        found = [replace(each, log=log, unfilled=each.log) for each, log in zip(found, filled, strict=True)]
        notes.append("Clipped torques were filled with what a fit to the others says, for the filter's sake.")
    return found, tuple(notes)


def load_word(word: str) -> tuple[str, float, str]:
    """Link, mass in kg and path of the log of `LINK=KG:LOG`. Raises OptionError."""
    link, equals, rest = word.partition("=")
    mass, colon, path = rest.partition(":")
    try:
        value = float(mass)
    except ValueError:
        value = np.nan
    if not (link and equals and colon and path and value > 0):
        raise OptionError(f"--load {word!r} cannot be read; write it as LINK=KG:LOG, such as hand=2.5:loaded.csv.")
    return link.strip(), value, path


def _gains(robot: Robot, logs: Sequence[Log], loads, columns: Mapping) -> tuple[np.ndarray, list[str]]:
    """(nv,) N m per unit of the drives, and notes. Without loads the nominal model says the common scale."""
    info = accumulate(robot, logs, **columns)
    if loads:
        found = drive_gains(info, loads=[Load(accumulate(robot, log, **columns), link, kg) for link, kg, log in loads])
        source = "the scale is that of the known loads"
    else:
        found = gains_by_model(info)
        source = "their common scale is that of the nominal model's masses; give --load to have it measured"
    text = ", ".join(f"{name} {gain:.4g}" for name, gain in zip(found.joint_names, found.gains, strict=True))
    guessed = [name for name, x in zip(found.joint_names, found.deviation, strict=True) if not np.isfinite(x)]
    notes = [f"Drive gains, N m per unit: {text}; {source}."]
    if guessed:
        notes.append(f"The motion does not show the gains of {', '.join(guessed)}: they are the median of the others.")
    return found.gains, notes


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
