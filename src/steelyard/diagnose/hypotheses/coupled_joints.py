"""Two joints that share a motor or a gear: speed and acceleration of one show in the torque of the other."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from steelyard.diagnose.added_columns import promise
from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import fault
from steelyard.diagnose.hypothesis import Hypothesis, free_hypothesis
from steelyard.diagnose.thresholds import MOST
from steelyard.terms import layout_of

LEAST = 0.05  # nats a sample to first order, below which a pair is not pursued
WINS = 0.3  # nats a sample that it must win; measured logs without a coupling win at most 0.2
MOST_PAIRS = 60  # neighbours first: wrists and parallelograms couple joints next to each other


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """The pair of joints that a common motor explains best, if it takes enough off the residuals of both."""
    best, most = None, LEAST
    names = case.robot.dof_names
    taken = {extra.dofs for extra in case.layout.extras if len(extra.dofs) > 1}
    pairs = sorted(combinations(case.dofs, 2), key=lambda pair: pair[1] - pair[0])
    for one, other in pairs[:MOST_PAIRS]:
        if (one, other) in taken:
            continue
        for ratio in (1.0, -1.0):
            extras = layout_of(case.robot, coupling=({names[one]: 1.0, names[other]: ratio},)).extras
            columns = np.stack([case.regression.extra(extra) for extra in extras], axis=-1)
            won = promise(case, (one, other), columns)[1]
            if won > most:
                best, most = (one, other, ratio, extras), won
    if best is None:
        return
    one, other, ratio, extras = best
    layout = replace(case.layout, extras=(*case.layout.extras, *extras))
    changed = case.undone("coupled_joints", layout=layout)
    left = np.sqrt(changed.free_energy / case.free_energy)[[one, other]]
    sign = "" if ratio > 0 else " (with opposite signs)"
    found = free_hypothesis(
        case,
        changed,
        fault(
            "coupled_joints",
            f"{names[one]} and {names[other]} feel each other's speed{sign}, as joints that share a motor or a gear "
            f"do: friction and inertia of a common motor take {1 - left[0]:.0%} and {1 - left[1]:.0%} off their "
            "residuals.",
            options=["--coupling", f"{names[one]}{'+' if ratio > 0 else '-'}{names[other]}"],
            joint=names[one],
            other_dof=other,
            ratio=ratio,
            residual_ratio=left[0],
            residual_ratio_other=left[1],
        ),
    )
    if found.wins(WINS) and left.max() < np.sqrt(MOST):
        yield found
