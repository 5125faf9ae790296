"""The whole diagnosis of a run: faults by name, and the residuals."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.cards import Card
from steelyard.diagnose.case import Case, case_of, thinned, thinning
from steelyard.diagnose.faults import Fault
from steelyard.diagnose.given_links import spoils
from steelyard.diagnose.hypotheses import (
    gravity_compensated,
    gravity_law,
    model_torque,
    motor_current,
    nominal_model,
    passing_force,
)
from steelyard.diagnose.joint_residuals import JointResidual, analyse
from steelyard.diagnose.model_class import model_class_faults
from steelyard.diagnose.search import search_faults
from steelyard.diagnose.torque_contributions import Contributions, contributions
from steelyard.fit import Estimate, validate
from steelyard.log import Log


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Card):
    """faults: by name, in the order of what they explain. residuals: of each degree, once these are undone.

    contributions: to the torque that the estimate predicts. Both are those of up to 1500 samples, spread over all logs.
    """

    faults: tuple[Fault, ...]
    residuals: tuple[JointResidual, ...]
    contributions: Contributions

    def _title(self) -> str:
        return f"Diagnosis({len(self.faults)} faults)" if self.faults else "Diagnosis(no faults found)"

    def _rows(self):
        return {fault.code: fault.message for fault in self.faults} | {"hints": self.hints or None}

    @property
    def hints(self) -> tuple[str, ...]:
        """What residuals depend on, in words, the worst joint first."""
        return tuple(hint for each in sorted(self.residuals, key=lambda r: -r.relative) for hint in each.hints)


def diagnose(estimate: Estimate, logs: Log | Sequence[Log], *, case: Case | None = None) -> Diagnosis:
    """Name what is wrong with a model or with logs.

    logs: with q, v, a and tau, filtered alike (`filters.differentiate`); those that were fitted, held-out parts
    included; how many samples are looked at follows from their `effective_samples`. case: of just these, where it was
    made already. Of robots with closed loops, and of logs with contacts or wrenches from outside, only contributions
    are found; faults are not looked for. Raises FitError for an estimate without a robot, LogError for missing
    channels.
    """
    logs = (logs,) if isinstance(logs, Log) else tuple(logs)
    if estimate.require_robot().loops or any(log.contacts or log.external for log in logs):
        few = thinned(logs, thinning(estimate, logs))
        return Diagnosis((), (), contributions(estimate, few))
    case = case_of(estimate, logs) if case is None else case
    few = thinned(logs, thinning(estimate, logs))
    named, undone, doubted = _named(case)
    left, error = _left(estimate, few, undone)
    driven = not any(each.code == gravity_law.CODE for each in named)
    lacking = model_class_faults(undone, left, error, doubted) if driven else ()
    return Diagnosis((*named, *lacking), left, contributions(estimate, few))


def _left(estimate: Estimate, few: Log, undone: Case) -> tuple[tuple[JointResidual, ...], float]:
    """Residuals and their share of the torque: of the estimate, or of a fit with mistakes undone, where there are."""
    if undone.repairs or estimate.weighed is None:
        motion = undone.regression.q, undone.regression.v, undone.regression.a
        return analyse(undone.robot, motion, undone.tau, undone.error, undone.interval), undone.relative_error
    found = validate(estimate, few)
    motion = few.require("q", "v", "a")
    return analyse(estimate.require_robot(), motion, found.measured, found.error, undone.interval), found.relative_error


def _named(case: Case) -> tuple[tuple[Fault, ...], Case, Fault | None]:
    """Faults that have a name, the case with all but loads undone, and a cause that explains too little to be named.

    Torques that are too large are looked for first; too small ones may be angles in degrees, which the search finds.
    """
    if (law := gravity_law.find(case)) is not None:
        return (law,), case, None
    found, undone = [], case
    for look in (_too_large, motor_current.find):
        fault = look(undone)
        passing = passing_force.MISTAKE.accepted(undone) if fault is not None and look is motor_current.find else ()
        if fault is not None and not spoils(undone, fault[1]) and all(look(each.case) is not None for each in passing):
            found.append(fault[0])
            undone = fault[1]
    before, searched = undone, search_faults(undone)
    named, undone = gravity_compensated.explained(before, searched.faults, searched.case)
    scaled = any(each.code == "motor_current" for each in found)  # some drives may still have a gain that was no more
    found += [each for each in named if not (scaled and each.code == "torque_scale")]  # than a guess
    if not any(each.code in ("torque_unit", "motor_current") for each in found) and (
        fault := nominal_model.torque_unit(undone)
    ):
        found.append(fault[0])
        undone = fault[1]
    return (*found, *nominal_model.load(undone), *model_torque.found(undone)), undone, searched.doubted


def _too_large(case: Case) -> tuple[Fault, Case] | None:
    unit = nominal_model.torque_unit(case)
    return unit if unit and unit[0].evidence["factor"] > 1 else None
