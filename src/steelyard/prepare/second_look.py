"""What is only known once the logs were fitted for the first time: gains of drives, and delays of torques."""

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.diagnose import case_of, delays
from steelyard.errors import OptionError
from steelyard.fit import Load, consistent, drive_gains, gains_by_model
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.prepare.corrections import shifted

ROUNDS = 2  # of delays: the fit that tells them is better once they are undone


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


def in_torques(
    robot: Robot, logs: Sequence[Log], loads: Sequence[tuple[str, float, Log]], options: Mapping
) -> tuple[list[Log], tuple[str, ...]]:
    """Logs of motor currents in N m, and notes on the gains. loads: link, mass and log of the robot with that load;
    without any, the given model says the common scale. options: of `accumulate`, as the fit will use them.

    Raises FitError when the motion does not show the gains.
    """
    info = accumulate(robot, logs, **options)
    if loads:
        found = drive_gains(info, loads=[Load(accumulate(robot, log, **options), link, kg) for link, kg, log in loads])
        source = "the scale is that of the known loads"
    else:
        found = gains_by_model(info)
        source = "their common scale is that of the given model's masses; give --load to have it measured"
    text = ", ".join(f"{name} {gain:.4g}" for name, gain in zip(found.joint_names, found.gains, strict=True))
    guessed = [name for name, x in zip(found.joint_names, found.deviation, strict=True) if not np.isfinite(x)]
    notes = [f"Drive gains, N m per unit: {text}; {source}."]
    if guessed:
        notes.append(f"The motion does not show the gains of {', '.join(guessed)}: they are the median of the others.")
    return [log.replace(tau=log.tau * found.gains) for log in logs], tuple(notes)


def synchronised(robot: Robot, logs: Sequence[Log], *, options: Mapping) -> tuple[list[Log], str]:
    """Filtered logs with the torques that come late, or early, put back to their time; and a note on the delays."""
    found = np.zeros(robot.nv)
    moved = list(logs)
    for _ in range(ROUNDS):
        estimate = consistent(accumulate(robot, moved, **options))
        late = delays(case_of(estimate, moved)).certain
        found = found + np.nan_to_num(late)
        moved = [shifted(log, found) for log in logs]
    text = ", ".join(f"{name} {1000 * x:.2f} ms" for name, x in zip(robot.dof_names, found, strict=True) if x)
    return moved, f"Delays of torques estimated and undone: {text or 'none that can be told'}."
