"""Undo one mistake at a time, the most telling first, until nothing explains the data any better.

A flipped sign makes every other test fire, too: only after it is undone do they mean anything. And where even then most
is left that is no noise, something else is wrong that looks like them: then no cause is named.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.diagnose import coupling, delay, gross, scale, spring, tilt, zero
from steelyard.diagnose.case import Case
from steelyard.diagnose.finding import Fault
from steelyard.diagnose.hypothesis import Hypothesis, lasting, persistence

ROUNDS = 5  # mistakes at most
POOR = 0.1  # share of the torque that the physical fit leaves, above which gross mistakes are looked for
POOR_JOINT = 0.5  # the same of the worst joint
POOR_GAP = 0.2  # nats a sample by which a fit free of physics is better
TRACE = 0.01  # share of the torque that the physical fit leaves in the worst joint, below which no gross mistake hides
# Log-likelihood per independent sample that a mistake must win (docs/diagnosis.md): measured logs without a mistake win
# at most 0.1, 0.04, 0.09, 0.2 and nothing of the last two.
GROSS, DELAY, SCALE, COUPLING, TILT, SPRING = 0.5, 0.08, 0.12, 0.3, 0.15, 0.15
EVIDENCE = 9.0  # nats in all: noise alone wins that much in 2e-5 of all tests of one number (chi-square)
MOST = 0.5  # share of the unexplained energy that a cause leaves, at most, to be one
NEARLY_ALL = 0.1  # the same where much of the torque stays unexplained
LEFT = 0.12  # share of the torque left by the best physical fit, above which the model class is in doubt
UNPHYSICAL = 1.0  # nats a sample by which a fit free of physics is better, above which something is wrong
MATTERS = 0.03  # share of the torque left, below which the same is no harm
NOISE = 1.5  # times as long as noise that a residual may stay alike to be called noise
SEVERAL = 1.3  # several offsets must win this many times what any other mistake wins


@dataclass(frozen=True, eq=False)
class Search:
    """faults: in the order of what they explain; case: with all of them undone. doubted: the likeliest of causes that
    leave too much unexplained to be named, None where all were named."""

    faults: tuple[Fault, ...]
    case: Case
    doubted: Fault | None = None


def find(case: Case) -> Search:
    """Faults that explain what a fit leaves. They are faults of joints and their drives: of a body that flies, without
    any, there are none."""
    steps = _steps(case) if case.dofs else []
    cases = [case, *(each.case for each in steps)]
    believed = len(steps)
    if not explained(cases[-1]):
        shares = [_share(each.fault, before, cases[-1]) for each, before in zip(steps, cases, strict=False)]
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


def _steps(case: Case) -> list[Hypothesis]:
    steps: list[Hypothesis] = []
    for _ in range(ROUNDS):
        found = _next(case)
        known = [(each.fault.code, each.fault.joint) for each in steps]
        if found is None or (found.fault.code, found.fault.joint) in known:
            break
        steps.append(found)
        case = found.case
    return steps


def _next(case: Case) -> Hypothesis | None:
    """The gross mistake that wins most; or a fine one that wins even more, where the gross one leaves no mere noise."""
    found = _gross(case)
    if found is not None and lasting(case, found.left.T) < NOISE:
        return found
    return _best(each for each in (found, _fine(case)) if each is not None)


def _gross(case: Case) -> Hypothesis | None:
    worst = case.relative.max()
    poor = case.relative_error > POOR or worst > POOR_JOINT or (worst > TRACE and case.gap > POOR_GAP)
    if not poor:
        return None
    tried = [each for each in gross.hypotheses(case) if _won(each, GROSS)]
    alike = [each for each in tried if _share(each.fault, case, each.case) < MOST and _settled(each)]
    if not alike:
        return None
    first = alike[0]
    others = ", ".join(f"{each.fault.code.replace('_', ' ')} of {each.fault.joint}" for each in alike[1:])
    if not others:
        return first
    words = f"{first.fault.message} This motion cannot tell it from: {others}."
    return replace(first, fault=replace(first.fault, message=words))


def _fine(case: Case) -> Hypothesis | None:
    delays = [each for each in delay.hypotheses(case) if each.certain or _won(each, DELAY) or _mostly_late(each)]
    pairs = [each for each in coupling.hypotheses(case) if _won(each, COUPLING) and _both(each)]
    scales = [each for each in scale.hypotheses(case) if _won(each, SCALE) and _own_share(each) < MOST]
    springs = [each for each in spring.hypotheses(case) if _won(each, SPRING) and _settled(each)]
    tilts = [each for each in tilt.hypotheses(case) if _won(each, TILT) and _share(each.fault, case, each.case) < MOST]
    others = _best([*delays, *pairs, *scales, *springs, *tilts])
    zeros = _best(each for each in zero.hypotheses(case) if each.evidence > EVIDENCE)
    if zeros and others and zeros.more and zeros.gain < SEVERAL * others.gain:
        return others  # several offsets take the place of much else
    return _best([each for each in (zeros, others) if each])


def _won(each: Hypothesis, least: float) -> bool:
    return each.gain > least and each.evidence > EVIDENCE


def _settled(each: Hypothesis) -> bool:
    """Whether a spring, which looks like much else that goes with a position, leaves noise in its joint, or nearly
    nothing; other causes need not."""
    if each.fault.code != spring.CODE or _own_share(each) < NEARLY_ALL:
        return True
    dof = each.case.robot.dof_names.index(each.fault.joint)
    return bool(_own_share(each) < MOST and persistence(each.case, each.left.T)[dof] < NOISE)


def _mostly_late(each: Hypothesis) -> bool:
    """Whether a delay explains most of its joint's residual, though the log is too short for what is left of it."""
    return each.fault.joint is not None and each.gain > DELAY and _own_share(each) < MOST and each.surprise < EVIDENCE


def _share(cause: Fault, case: Case, undone: Case) -> float:
    """Share of what physical links leave unexplained that is left once a cause is undone: of its joint, or of all.

    Of all in N m, or as shares of each joint's own torque: exchanged wrists hide in the noise of a shoulder.
    """
    if cause.joint is not None:
        dof = case.robot.dof_names.index(cause.joint)
        return float((undone.relative[dof] / case.relative[dof]) ** 2)
    shares = np.linalg.norm(undone.relative) / np.linalg.norm(case.relative)
    return float(min(shares, undone.relative_error / case.relative_error) ** 2)


def _own_share(each: Hypothesis) -> float:
    """The same of a joint, by the fits that judge its cause."""
    dof = each.case.robot.dof_names.index(each.fault.joint)
    return float(each.after[dof] / each.before[dof])


def _both(each: Hypothesis) -> bool:
    evidence = each.fault.evidence
    return max(evidence["residual_ratio"], evidence["residual_ratio_other"]) < np.sqrt(MOST)


def _best(tried: Iterable[Hypothesis]) -> Hypothesis | None:
    return max(tried, key=lambda each: each.gain, default=None)
