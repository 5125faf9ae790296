"""Corrections that a diagnosis asks for, tried before they are recommended: a posterior of the corrected logs has to
predict held-out torques better."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.corrections import corrections_from
from steelyard.diagnose import Fault
from steelyard.errors import SteelyardError
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.prepare.undo import corrected

COUPLING = "--coupling"
OF_LOGS = ("--delay", "--leave-out")  # corrections of a log that is read already
REAL = 0.05  # share of the held-out torque error that a correction must take off: users notice no less
Judge = Callable[[Sequence[Log], Mapping[str, Any]], float]


def tried(
    robot: Robot, logs: Sequence[Log], columns: Mapping[str, Any], faults: Sequence[Fault], error: float, judge: Judge
) -> tuple[tuple[Fault, ...], tuple[str, ...]]:
    """Faults whose correction is worth making, and notes on those whose is not.

    Args:
        robot: as fitted.
        logs: that were fitted, filtered.
        columns: options of `accumulate` of the fit.
        faults: of the diagnosis.
        error: held-out torque error over torque of the logs as they are.
        judge: the same of other logs and columns.

    Returns:
        The faults, and the notes.
    """
    kept, notes = [], []
    for each in faults:
        option, *words = each.options or ("",)
        if each.severity == "fatal" or option not in (*OF_LOGS, COUPLING):
            kept.append(each)
            continue
        try:
            after = judge(*_with(robot, logs, columns, option, words))
        except SteelyardError:  # no such correction can be made: the figure is none of a mistake
            after = error
        said = f"{' '.join(each.options)} takes the torque error on held-out samples from {error:.2%} to {after:.2%}."
        if after > (1 - REAL) * error:
            notes.append(f"Not recommended: {said}")
        else:
            kept.append(replace(each, message=f"{each.message} Tried: {said}"))
    return tuple(kept), tuple(notes)


def _with(robot: Robot, logs: Sequence[Log], columns: Mapping[str, Any], option: str, words: Sequence[str]):
    """Logs and columns with one correction."""
    if option == COUPLING:
        return logs, {**columns, "coupling": (*columns["coupling"], *words)}
    correction = corrections_from({option.removeprefix("--").replace("-", "_"): words})
    return [corrected(robot, log, correction) for log in logs], columns
