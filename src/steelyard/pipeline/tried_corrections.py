"""Corrections that a diagnosis asks for, tried before they are recommended: a posterior of the corrected logs has to
predict held-out torques better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from steelyard.corrections import corrections_from
from steelyard.decisions.state import State
from steelyard.diagnose import Fault
from steelyard.errors import SteelyardError
from steelyard.fit import Estimate
from steelyard.log import Log
from steelyard.pipeline.posterior_of_logs import posterior_of
from steelyard.prepare.undo import corrected

COUPLING, DELAY, LEAVE_OUT = "--coupling", "--delay", "--leave-out"  # the latter of a log that is read already
REAL = 0.05  # share of the held-out torque error that a correction must take off: users notice no less
VISIBLE = 0.005  # torque error over torque below which no drive tells: logs of simulations show mistakes below it


@dataclass(frozen=True, eq=False)
class Judge:
    """Held-out torque errors over torque of posteriors of logs.

    state: how they are fitted. found: the posterior of the samples that do not judge, where it is known.
    """

    state: State
    found: Estimate | None = None

    @cached_property
    def estimate(self) -> Estimate:
        """The posterior as logs are."""
        return self._fitted(self.state.logs, self.state.columns) if self.found is None else self.found

    def errors(self, option: str, words: Sequence[str]) -> tuple[float, float]:
        """Those of the logs as they are and after a correction, of the same samples."""
        state, near = self.state, self.estimate
        logs, columns = state.logs, state.columns
        if option == COUPLING:
            columns, near = {**columns, "coupling": (*columns["coupling"], *words)}, None
        else:
            correction = corrections_from({option.removeprefix("--").replace("-", "_"): words})
            logs = [corrected(state.robot, log, correction) for log in logs]
        judged, error = logs if option == LEAVE_OUT else state.logs, state.held_out.error
        return error(self.estimate, judged), error(self._fitted(logs, columns, near), logs)

    def _fitted(self, logs: Sequence[Log], columns: Mapping[str, Any], near: Estimate | None = None) -> Estimate:
        state = self.state
        return posterior_of(state.robot, state.held_out.fitted(logs), state.fit, {**columns, **state.more}, near)[0]


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
