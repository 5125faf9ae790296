"""A joint that a spring pulls to a rest position: a compensator, a torsion bar, a stiff cable.

What a spring does near its rest, gravity does near the vertical, so links that cannot exist may take its place; the
physically consistent fit tells them apart. Of joints whose gravity looks otherwise least squares tells it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnose.added_columns import add_columns, certain, persistence, scatter
from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.hypothesis import Hypothesis, Mistake, Trial, free_hypothesis
from steelyard.diagnose.thresholds import CERTAIN, MOST, NEARLY_ALL, NOISE
from steelyard.terms import Extra, layout_of

CODE = "joint_spring"
WINS = 0.15  # nats a sample that it must win; measured logs without a spring win nothing
NOTICEABLE = 0.02  # RMS torque of a spring over that of its joint, below which it is left to friction and links


def trials(case: Case, dofs: Sequence[int]) -> Iterator[Trial]:
    """A spring at one of some joints, for a fit whose links would have to be impossible without."""
    for dof in _open(case, dofs):
        name = case.robot.dof_names[dof]
        yield Trial(
            _with_springs(case, [dof]),
            f"A spring pulls {name} to a rest position",
            joint=name,
            options=("--spring", name),
        )


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """Springs at all joints where they are certain beside each other, by least squares."""
    dofs = _open(case, case.dofs)
    if not dofs:
        return
    columns = np.zeros((case.robot.nv, len(case), len(dofs)))
    for place, (dof, extra) in enumerate(zip(dofs, _extras(case, dofs), strict=True)):
        columns[dof, :, place] = case.regression.extra(extra)[0]
    added = add_columns(case, columns)
    covariance = added.covariance * scatter(case, added) ** 2
    known = np.isfinite(np.diag(covariance))
    stiffness = np.where(known, added.coefficients, np.nan)
    places, values = certain(stiffness, np.where(np.outer(known, known), covariance, np.nan), CERTAIN)
    kept = [
        (dofs[place], float(value))
        for place, value in zip(places, values, strict=True)
        if value * np.std(columns[dofs[place], :, place]) > NOTICEABLE * np.sqrt(np.mean(case.tau[:, dofs[place]] ** 2))
    ]
    if not kept:
        return
    changed = _with_springs(case, [dof for dof, _ in kept])
    left = np.sqrt(changed.free_energy / case.free_energy)
    named = [_named(case, dof, value, float(left[dof])) for dof, value in sorted(kept, key=lambda pair: left[pair[0]])]
    yield free_hypothesis(case, changed, named[0], more=tuple(named[1:]))


def _named(case: Case, dof: int, stiffness: float, ratio: float) -> Fault:
    name = case.robot.dof_names[dof]
    return fault(
        CODE,
        f"A spring of {stiffness:.3g} N m/rad (or N/m) pulls {name} to a rest position: with it, the residual of "
        f"{name} falls by {1 - ratio:.0%}.",
        joint=name,
        options=["--spring", name],
        stiffness=stiffness,
        residual_ratio=ratio,
    )


def _open(case: Case, dofs: Sequence[int]) -> list[int]:
    """Those of some degrees that are simple joints with a drive and have no spring yet."""
    taken = {extra.dofs[0] for extra in case.layout.extras if extra.kind == "spring"}
    places, names = case.robot.scalar_positions, set(case.robot.joint_names)
    return [d for d in dofs if d in places and case.robot.dof_names[d] in names and d not in taken]


def _extras(case: Case, dofs: Sequence[int]) -> tuple[Extra, ...]:
    springs = layout_of(case.robot, springs=[case.robot.dof_names[dof] for dof in dofs]).extras
    return tuple(replace(each, nonnegative=True) for each in springs)


def _with_springs(case: Case, dofs: Sequence[int]) -> Case:
    layout = replace(case.layout, extras=(*case.layout.extras, *_extras(case, dofs)))
    return case.undone(CODE, layout=layout)


def leaves_noise(each: Hypothesis) -> bool:
    """Whether a spring, which looks like much else that correlates with a position, leaves noise in its joint, or
    nearly nothing."""
    share = each.own_share
    return bool(share < NEARLY_ALL or (share < MOST and persistence(each.case, each.left.T)[each.dof] < NOISE))


def _accepts(_: Case, each: Hypothesis) -> bool:
    return each.wins(WINS) and leaves_noise(each)


MISTAKE = Mistake(trials=(trials,), hypotheses=hypotheses, accepts=_accepts)
