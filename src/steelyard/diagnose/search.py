"""Undo one mistake at a time, the most telling first, until nothing explains the data any better.

A flipped sign makes every other test fire, too: only after it is undone do they mean anything. And where even then most
is left that is no noise, something else is wrong that looks like them: then no cause is named.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from steelyard.diagnose.added_columns import lasting
from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.faults import Fault
from steelyard.diagnose.given_links import spoils
from steelyard.diagnose.given_search import found_by_given_links
from steelyard.diagnose.hypotheses import MISTAKES, passing_force
from steelyard.diagnose.hypothesis import Hypothesis, fitted, remaining_share
from steelyard.diagnose.thresholds import MOST, NEARLY_ALL, NOISE, UNPHYSICAL

ROUNDS = 5  # mistakes at most
POOR = 0.1  # share of the torque that the physical fit leaves, above which gross mistakes are looked for
POOR_JOINT = 0.5  # the same of the worst joint
POOR_GAP = 0.2  # nats a sample by which a fit free of physics is better
TRACE = 0.01  # share of the torque that the physical fit leaves in the worst joint, below which no gross mistake hides
WINS = 0.5  # nats a sample that a gross mistake must win; measured logs without one win at most 0.1
LEFT = 0.12  # share of the torque left by the best physical fit, above which the model class is in doubt
MATTERS = 0.03  # share of the torque left, below which the same is no harm
MOST_JOINTS = 8  # the worst ones, whose signs and orders are tried
LEAST = 0.3  # nats a sample; less is no gross mistake
TIE = 0.1  # share of the best gain within which two hypotheses explain the data equally well
VAIN = 12  # physical fits in a row that win too little, after which no more are made: true ones are among the first 9


@dataclass(frozen=True, eq=False)
class Search:
    """faults: in the order of what they explain; case: with all of them undone. doubted: the likeliest of causes that
    leave too much unexplained to be named, None where all were named."""

    faults: tuple[Fault, ...]
    case: Case
    doubted: Fault | None = None


def search_faults(case: Case, *, gross: bool = True) -> Search:
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
    return Search(faults, cases[believed], doubted)


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
    """The gross mistake that the given links show; else the one that wins most by a fit, or a fine one that wins even
    more, where the gross one leaves no mere noise."""
    found = found_by_given_links(case) if gross else None
    if found is not None:
        return found
    found = _gross(case) if gross else None
    if found is not None and lasting(case, found.left.T) < NOISE:
        return found
    others = (
        [found] if found is not None else passing_force.MISTAKE.accepted(case)
    )  # without that stretch anything fits
    return _best(each for each in (*others, _fine(case)) if each is not None)


def _gross(case: Case) -> Hypothesis | None:
    worst = case.relative.max()
    poor = case.relative_error > POOR or worst > POOR_JOINT or (worst > TRACE and case.gap > POOR_GAP)
    if not poor:
        return None
    alike = [each for each in _gross_hypotheses(case) if _believed(each, case)]
    if not alike:
        return None
    first = alike[0]
    others = ", ".join(f"{each.fault.code.replace('_', ' ')} of {each.fault.joint}" for each in alike[1:])
    if not others:
        return first
    message = f"{first.fault.message} This motion cannot tell it from: {others}."
    return replace(first, fault=replace(first.fault, message=message))


def _gross_hypotheses(case: Case) -> list[Hypothesis]:
    """Gross mistakes that win most, simple ones first.

    Physical fits are made in the order of what each can win, until none that is left could come near the best, or many
    have won nothing: where nothing explains the data, each could win much.
    """
    worst = sorted(case.dofs, key=lambda dof: -case.relative[dof])[:MOST_JOINTS]
    trials, most = [], []
    for each in (trial for kind in MISTAKES for trials in kind.trials for trial in trials(case, worst)):
        most.append(gain(case.physical_energy, each.case.free_energy))  # free of physics, which costs little
        trials.append(each if each.case.regression is case.regression else each.light)
    best, tried, vain = LEAST, {}, 0
    for place in sorted(range(len(trials)), key=lambda place: -most[place]):
        if most[place] < (1 - TIE) * best or vain == VAIN:
            break
        tried[place] = fitted(case, trials[place])
        vain = 0 if tried[place].gain > (1 - TIE) * best else vain + 1
        best = max(best, tried[place].gain)
    return [tried[place] for place in sorted(tried) if tried[place].gain > (1 - TIE) * best]


def _believed(each: Hypothesis, case: Case) -> bool:
    """Whether a gross mistake explains what it is to explain."""
    return each.wins(WINS) and each.remaining_share(case) < MOST and not spoils(case, each.case)


def _fine(case: Case) -> Hypothesis | None:
    """The one that wins most, of those that do not spoil the fit of the given links."""
    found = [each for kind in MISTAKES for each in kind.accepted(case) if not spoils(case, each.case)]
    best = _best(found)
    others = [each for each in found if best is not None and each.fault.code != best.fault.code]
    if best is None or all(best.gain >= best.ahead * each.gain for each in others):
        return best
    return _best(others)


def _best(tried: Iterable[Hypothesis]) -> Hypothesis | None:
    return max(tried, key=lambda each: each.gain, default=None)
