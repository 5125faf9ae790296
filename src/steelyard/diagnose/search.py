"""Undo one mistake at a time, the most telling first, until nothing explains the data any better.

A flipped sign makes every other test fire, too: only after it is undone do they mean anything.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from steelyard.diagnose import coupling, delay, gross, scale, tilt, zero
from steelyard.diagnose.case import Case
from steelyard.diagnose.finding import Fault
from steelyard.diagnose.hypothesis import Hypothesis

ROUNDS = 5  # mistakes at most
POOR = 0.1  # share of the torque that the physical fit leaves, above which gross mistakes are looked for
POOR_JOINT = 0.5  # the same of the worst joint
POOR_GAP = 0.2  # nats a sample by which a fit free of physics is better
TRACE = 0.01  # share of the torque that the physical fit leaves in the worst joint, below which no gross mistake hides
# Log-likelihood per independent sample that a mistake must win (docs/diagnosis.md): measured logs without a mistake win
# at most 0.1, 0.04, 0.09 and 0.2 nats.
GROSS, DELAY, SCALE, COUPLING, TILT = 0.5, 0.08, 0.12, 0.3, 0.15
EVIDENCE = 9.0  # nats in all: noise alone wins that much in 2e-5 of all tests of one number (chi-square)
CLEARED = 0.75  # share of the unexplained torque that remains, at most, once a gross mistake is undone
SEVERAL = 1.3  # several offsets must win this many times what any other mistake wins
BOTH = 0.85  # residual of either of two coupled joints, at most, after and before


def find(case: Case) -> tuple[tuple[Fault, ...], Case]:
    """Faults in the order of what they explain, and the case with all of them undone.

    They are faults of joints and their drives: of a body that flies, without any, there are none.
    """
    faults: list[Fault] = []
    if not case.dofs:
        return (), case
    for _ in range(ROUNDS):
        found = _gross(case) or _fine(case)
        if found is None or any((f.code, f.joint) == (found.fault.code, found.fault.joint) for f in faults):
            break
        faults += [found.fault, *found.more]
        case = found.case
    return tuple(faults), case


def _gross(case: Case) -> Hypothesis | None:
    worst = case.relative.max()
    poor = case.relative_error > POOR or worst > POOR_JOINT or (worst > TRACE and case.gap > POOR_GAP)
    if not poor:
        return None
    alike = [each for each in gross.hypotheses(case) if _won(each, GROSS) and _cleared(case, each)]
    if not alike:
        return None
    first = alike[0]
    others = ", ".join(f"{each.fault.code.replace('_', ' ')} of {each.fault.joint}" for each in alike[1:])
    if not others:
        return first
    words = f"{first.fault.message} This motion cannot tell it from: {others}."
    return replace(first, fault=replace(first.fault, message=words))


def _fine(case: Case) -> Hypothesis | None:
    delays = [each for each in delay.hypotheses(case) if each.certain or _won(each, DELAY)]
    pairs = [each for each in coupling.hypotheses(case) if _won(each, COUPLING) and _both(each)]
    scales = [
        each for each in scale.hypotheses(case) if _won(each, SCALE) and each.fault.evidence["residual_ratio"] < 1
    ]
    tilts = [each for each in tilt.hypotheses(case) if _won(each, TILT)]
    others = _best([*delays, *pairs, *scales, *tilts])
    zeros = _best(zero.hypotheses(case))
    if zeros and others and zeros.more and zeros.gain < SEVERAL * others.gain:
        return others  # several offsets take the place of much else
    return _best([each for each in (zeros, others) if each])


def _won(each: Hypothesis, least: float) -> bool:
    return each.gain > least and each.gain * len(each.case) * each.case.independence > EVIDENCE


def _cleared(case: Case, each: Hypothesis) -> bool:
    """Whether a gross mistake, undone, takes away much of the unexplained torque: that of its joint, or all of it.

    All of it in N m, or as shares of each joint's own torque: exchanged wrists hide in the noise of a shoulder.
    """
    if each.fault.joint is None:
        shares = np.linalg.norm(each.case.relative) < CLEARED * np.linalg.norm(case.relative)
        return bool(shares) or each.case.relative_error < CLEARED * case.relative_error
    dof = case.robot.dof_names.index(each.fault.joint)
    return each.case.relative[dof] < CLEARED * case.relative[dof]


def _both(each: Hypothesis) -> bool:
    evidence = each.fault.evidence
    return max(evidence["residual_ratio"], evidence["residual_ratio_other"]) < BOTH


def _best(tried: Iterable[Hypothesis]) -> Hypothesis | None:
    return max(tried, key=lambda each: each.gain, default=None)
