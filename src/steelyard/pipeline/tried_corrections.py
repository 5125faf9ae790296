"""Corrections that a diagnosis asks for, tried before they are recommended: a posterior of the corrected logs has to
predict held-out torques better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from steelyard.corrections import corrections_from
from steelyard.decisions.held_out_samples import HeldOut
from steelyard.diagnose import Fault
from steelyard.errors import SteelyardError
from steelyard.fit import Estimate
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.pipeline.posterior_of_logs import Fit, posterior_of
from steelyard.prepare.undo import corrected

COUPLING, DELAY, LEAVE_OUT = "--coupling", "--delay", "--leave-out"  # the latter of a log that is read already
REAL = 0.05  # share of the held-out torque error that a correction must take off: users notice no less
VISIBLE = 0.005  # torque error over torque below which no drive tells: logs of simulations show mistakes below it


@dataclass(frozen=True, eq=False)
class Judge:
    """Held-out torque errors over torque of posteriors of logs.

    robot: with the links of the file. logs: filtered. fit: as of `posterior_of`. columns: options of `accumulate` that
    corrections may change; more: those that stay. held_out: which samples judge. found: the posterior of the others,
    where it is known.
    """

    robot: Robot
    logs: Sequence[Log]
    fit: Fit
    columns: Mapping[str, Any]
    more: Mapping[str, Any]
    held_out: HeldOut
    found: Estimate | None = None

    @cached_property
    def estimate(self) -> Estimate:
        """The posterior as logs are."""
        return self._fitted(self.logs, self.columns) if self.found is None else self.found

    def errors(self, option: str, words: Sequence[str]) -> tuple[float, float]:
        """Those of the logs as they are and after a correction, of the same samples."""
        logs, columns, near = self.logs, self.columns, self.estimate
        if option == COUPLING:
            columns, near = {**columns, "coupling": (*columns["coupling"], *words)}, None
        else:
            correction = corrections_from({option.removeprefix("--").replace("-", "_"): words})
            logs = [corrected(self.robot, log, correction) for log in logs]
        judged = logs if option == LEAVE_OUT else self.logs
        error = self.held_out.error
        return error(self.estimate, judged), error(self._fitted(logs, columns, near), logs)

    def _fitted(self, logs: Sequence[Log], columns: Mapping[str, Any], near: Estimate | None = None) -> Estimate:
        train = self.held_out.fitted(logs)
        return posterior_of(self.robot, train, self.fit, {**columns, **self.more}, near)[0]


def tried(faults: Sequence[Fault], judge: Judge) -> tuple[tuple[Fault, ...], tuple[str, ...]]:
    """Faults whose correction is worth making, and notes on those whose is not, the first of each option.

    Args:
        faults: of the diagnosis.
        judge: of the logs.

    Returns:
        The faults, and the notes.
    """
    kept, notes, vain = [], [], set()
    for each in faults:
        option, *words = each.options or ("",)
        if option in vain:  # they come in the order of what they explain
            continue
        if each.severity == "fatal" or option not in (COUPLING, DELAY, LEAVE_OUT):
            kept.append(each)
            continue
        try:
            error, after = judge.errors(option, words)
        except SteelyardError:  # the figure is none of a mistake
            notes.append(f"Not recommended: {' '.join(each.options)}, which cannot be made.")
            continue
        if error < VISIBLE:
            continue
        said = f"{' '.join(each.options)} takes the torque error on held-out samples from {error:.2%} to {after:.2%}."
        if after > (1 - REAL) * error:
            notes.append(f"Not recommended: {said}")
            vain.add(option)
        else:
            kept.append(replace(each, message=f"{each.message} Tried: {said}"))
    return tuple(kept), tuple(notes)
