"""Corrections that a diagnosis asks for, tried before they are recommended: a posterior of the corrected logs has to
predict held-out torques better."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.corrections import corrections_from
from steelyard.diagnose import Fault
from steelyard.errors import SteelyardError
from steelyard.fit import validate
from steelyard.log import Log, joined, split_blocks
from steelyard.model import Robot
from steelyard.pipeline.posterior_of_logs import Fit, posterior_of
from steelyard.prepare.undo import corrected

COUPLING, DELAY, LEAVE_OUT = "--coupling", "--delay", "--leave-out"  # the latter of a log that is read already
REAL = 0.05  # share of the held-out torque error that a correction must take off: users notice no less
VISIBLE = 0.005  # torque error over torque below which no drive tells: logs of simulations show mistakes below it
Judge = Callable[[Sequence[Log], Mapping[str, Any]], float]


def judge_of(robot: Robot, fit: Fit, *, validation: float, more: Mapping[str, Any]) -> Judge:
    """The held-out torque error over torque of a posterior of logs and columns.

    Args:
        robot: with the links of the file.
        fit: as of `posterior_of`.
        validation: share of each log that is held out.
        more: further options of `accumulate`.

    Returns:
        The function.
    """

    def judged(logs: Sequence[Log], columns: Mapping[str, Any]) -> float:
        train, rest = zip(*(split_blocks(log, validation=validation) for log in logs), strict=True)
        estimate, _ = posterior_of(robot, train, fit, {**columns, **more})
        return validate(estimate, joined(rest, name="held-out samples")).relative_error

    return judged


def tried(
    robot: Robot, logs: Sequence[Log], columns: Mapping[str, Any], faults: Sequence[Fault], judge: Judge
) -> tuple[tuple[Fault, ...], tuple[str, ...]]:
    """Faults whose correction is worth making, and notes on those whose is not.

    Args:
        robot: as fitted.
        logs: that were fitted, filtered.
        columns: options of `accumulate` of the fit.
        faults: of the diagnosis.
        judge: of `judge_of`.

    Returns:
        The faults, and the notes.
    """
    kept, notes, error = [], [], None
    for each in faults:
        option, *words = each.options or ("",)
        if each.severity == "fatal" or option not in (COUPLING, DELAY, LEAVE_OUT):
            kept.append(each)
            continue
        error = judge(logs, columns) if error is None else error
        if error < VISIBLE:
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
