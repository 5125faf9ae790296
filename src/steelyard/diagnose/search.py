"""Undo one mistake at a time, the most telling first, until nothing explains the data any better.

A flipped sign makes every other test fire, too: only after it is undone do they mean anything. And where even then most
is left that is no noise, something else is wrong that looks like them: then no cause is named.
"""

from dataclasses import dataclass

from steelyard.diagnose.added_columns import lasting
from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault
from steelyard.diagnose.given_links import spoils
from steelyard.diagnose.hypotheses import MISTAKES, passing_force
from steelyard.diagnose.hypothesis import Hypothesis, remaining_share
from steelyard.diagnose.misreadings import misreading
from steelyard.diagnose.thresholds import NEARLY_ALL, NOISE, UNPHYSICAL

ROUNDS = 5  # mistakes at most
LEFT = 0.12  # share of the torque left by the best physical fit, above which the model class is in doubt
MATTERS = 0.03  # share of the torque left, below which the same is no harm


@dataclass(frozen=True, eq=False)
class FaultSearch:
    """faults: in the order of what they explain; case: with all of them undone. doubted: the likeliest of causes that
    leave too much unexplained to be named, None where all were named."""

    faults: tuple[Fault, ...]
    case: Case
    doubted: Fault | None = None


def search_faults(case: Case, *, gross: bool = True) -> FaultSearch:
    """Faults that explain what a fit leaves. They are faults of joints and their drives: of a body that flies, without
    any, there are none. gross: whether there may be gross mistakes, such as units, signs and orders."""
    steps = _steps(case, gross) if case.dofs else []
    cases = [case, *(each.case for each in steps)]
    believed = len(steps)
    if not explained(cases[-1]):
        shares = [
            0.0 if each.given else remaining_share(each.fault, before, cases[-1])
            for each, before in zip(steps, cases, strict=False)
        ]
        believed = next((k for k, share in enumerate(shares) if share > NEARLY_ALL), believed)
    faults = tuple(fault for each in steps[:believed] for fault in (each.fault, *each.more))
    doubted = steps[believed].fault if believed < len(steps) else None
    return FaultSearch(faults, cases[believed], doubted)


def explained(case: Case) -> bool:
    """Whether links that can exist do: what they leave is noise, or little, and not far more than others leave."""
    return lasting(case, case.error.T) < NOISE or (case.relative_error < LEFT and not unphysical(case))


def unphysical(case: Case) -> bool:
    """Whether links that cannot exist, such as those of negative mass, do far better."""
    return case.relative_error > MATTERS and case.gap > UNPHYSICAL


def _steps(case: Case, gross: bool) -> list[Hypothesis]:
    steps: list[Hypothesis] = []
    for _ in range(ROUNDS):
        found = _next(case, gross)
        known = [(each.fault.code, each.fault.joint) for each in steps]
        if found is None or (found.fault.code, found.fault.joint) in known:
            break
        steps.append(found)
        case = found.case
    return steps


def _next(case: Case, gross: bool) -> Hypothesis | None:
    """What a log holds in the place of positions and torques of joints; else what wins most of fine mistakes that do
    not spoil the fit of the given links, and of what passes by: without that stretch anything fits."""
    found = misreading(case) if gross else None
    if found is not None:
        return found
    fine = (each for hypotheses in MISTAKES for each in hypotheses(case) if not spoils(case, each.case))
    return max((*passing_force.hypotheses(case), *fine), key=lambda each: each.gain, default=None)
