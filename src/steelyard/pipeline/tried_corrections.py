"""Corrections that a diagnosis asks for, tried before they are recommended.

Each is made, the model is fitted again to the training part of the logs, and its torque error on the held-out part is
compared with that of the logs as they are. A correction that takes little off it is no advice, however certain its
figure: residuals of simulations show delays of half a time step.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.diagnose import Fault
from steelyard.errors import SteelyardError
from steelyard.fit import Validation
from steelyard.job import Corrections
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.prepare import corrected, corrections_from

TRIED = ("delay", "offset", "scale")  # corrections of a log that is read already; others change robot or columns
VISIBLE = 0.005  # torque error over torque below which no drive tells: logs of simulations show mistakes below it
REAL = 0.05  # share of the held-out torque error, of the joint or of all, that a correction must take off
Judge = Callable[[Sequence[Log]], Validation]


def noticeable(faults: Sequence[Fault], left: float) -> tuple[Fault, ...]:
    """Faults whose undoing a user would notice: options that mend a log take no more off than it leaves. left: torque
    error over torque. The others are in the diagnosis."""
    return tuple(fault for fault in faults if left > VISIBLE or fault.severity == "fatal" or not fault.options)


def tried(
    robot: Robot, logs: Sequence[Log], faults: Sequence[Fault], judge: Judge
) -> tuple[tuple[Fault, ...], tuple[str, ...]]:
    """Faults whose correction is worth making, and notes on those whose is not.

    robot: as fitted. logs: that were fitted, filtered. judge: fits to the training part of such logs and validates on
    the rest. Corrections that are worth making stay for the next to be tried.
    """
    kept, notes, before, now = [], [], None, list(logs)
    for fault in faults:
        correction = _correction(fault)
        if correction is None:
            kept.append(fault)
            continue
        before = judge(now) if before is None else before
        try:
            mended = [corrected(robot, log, correction) for log in now]
            after = judge(mended)
        except SteelyardError:  # no such correction can be made: the figure is none of a mistake
            notes.append(f"Not recommended: {' '.join(fault.options)}, which cannot be tried on this log.")
            continue
        old, new = _errors(before, after, fault)
        said = f"{' '.join(fault.options)} takes the torque error on held-out samples from {old:.2%} to {new:.2%}."
        if new > (1 - REAL) * old:
            notes.append(f"Not recommended: {said}")
            continue
        kept.append(replace(fault, message=f"{fault.message} Tried: {said}"))
        before, now = after, mended
    return tuple(kept), tuple(notes)


def _correction(fault: Fault) -> Corrections | None:
    """What the options of a fault undo, None for what is not tried here."""
    option, *words = fault.options or ("",)
    name = option.removeprefix("--")
    return corrections_from({name: words}) if name in TRIED and fault.severity != "fatal" else None


def _errors(before: Validation, after: Validation, fault: Fault) -> tuple[float, float]:
    """Relative torque errors before and after, of all joints or of the fault's, whichever fell more."""
    pairs = [(before.relative_error, after.relative_error)]
    if fault.joint in before.joint_names:
        own = before.joint_names.index(fault.joint)
        pairs.append((float(before.relative[own]), float(after.relative[own])))
    return min(pairs, key=lambda pair: pair[1] / pair[0])
