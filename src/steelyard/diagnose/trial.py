"""A hypothesis about a gross mistake before its physical fit, which costs most."""

from dataclasses import dataclass, replace

from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.finding import fault
from steelyard.diagnose.hypothesis import Hypothesis, physical_hypothesis


@dataclass(frozen=True, eq=False)
class Trial:
    """found, remedy, options: words of the fault. most: gain if the fit were free of physics, which costs little."""

    case: Case
    found: str
    remedy: str
    options: tuple[str, ...]
    joint: str | None
    most: float


def trial(case: Case, changed: Case, found: str, remedy: str, options=(), joint: str | None = None) -> Trial:
    """changed: the case with the mistake undone, whose last repair is the mistake's code."""
    most = gain(case.physical_energy, changed.free_energy)
    own = changed.regression is not case.regression
    light = replace(changed, regression=replace(changed.regression)) if own else changed  # without its large arrays
    return Trial(light, found, remedy, tuple(options), joint, most)


def fitted(case: Case, each: Trial) -> Hypothesis:
    """What a trial wins by the physically consistent fit."""
    changed = each.case
    told = fault(
        changed.repairs[-1],
        f"{each.found}: the physically consistent fit then leaves {changed.relative_error:.1%} of the torque "
        f"unexplained instead of {case.relative_error:.1%}.",
        each.remedy,
        joint=each.joint,
        options=each.options,
        relative_error=case.relative_error,
        relative_error_undone=changed.relative_error,
    )
    return physical_hypothesis(case, changed, told)
