"""Torque of one joint too large or too small against the others (drive gain, gear ratio, torque constant).

Links are felt by several joints, so one joint's scale shows against the rest; the scale of all together does not.
"""

from collections.abc import Iterator

import numpy as np

from steelyard.diagnose.added_columns import promise
from steelyard.diagnose.case import Case
from steelyard.diagnose.hypothesis import Hypothesis, Test
from steelyard.diagnose.named_fault import fault
from steelyard.diagnose.thresholds import MOST

SMALLEST = 1.1  # factor; less may be friction or flexibility that the columns do not have
LEAST = 0.02  # nats a sample to first order, below which a scale is not pursued
WINS = 0.12  # nats a sample that it must win; measured logs without one win at most 0.09
GRID = np.geomspace(0.1, 10.0, 921)  # half a per cent apart


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """The best scale of each joint alone."""
    predicted = case.regression.predicted(case.free[0])
    for dof in case.dofs:
        if promise(case, [dof], predicted[dof][None, :, None])[1] < LEAST:
            continue
        scale = _scale(case, dof)
        if max(scale, 1 / scale) < SMALLEST or scale in (GRID[0], GRID[-1]):
            continue
        changed = _divided(case, dof, scale)
        scale *= _scale(changed, dof)  # at the noise that is left then
        if not GRID[0] < scale < GRID[-1]:
            continue
        changed = _divided(case, dof, scale)
        after = changed.free_energy.copy()
        after[dof] *= scale**2  # both in the units of the log
        name = case.robot.dof_names[dof]
        ratio = np.sqrt(after[dof] / case.free_energy[dof])
        yield Hypothesis(
            fault(
                "torque_scale",
                f"The torque of {name} is {scale:.3g} times what the other joints say of the links it moves; divided "
                f"by that, its residual falls by {1 - ratio:.0%}.",
                joint=name,
                options=["--scale", f"tau:{name}={1 / scale:.5g}"],
                scale=scale,
                residual_ratio=ratio,
            ),
            changed,
            case.free_energy,
            after,
            changed.free_error,
        )


def _divided(case: Case, dof: int, scale: float) -> Case:
    factor = case.factor.copy()
    factor[dof] /= scale
    return case.undone("torque_scale", factor=factor)


def _scale(case: Case, dof: int) -> float:
    """Scale s of one joint's torque, rows `s Y x = tau`, that least squares likes best at the given noise.

    In coordinates in which the whole Gram matrix is the identity and the joint's is diagonal, every s costs a sum.
    """
    weight = 1 / case.free[1] ** 2
    rows = case.space.reshape(case.robot.nv, len(case), -1)  # weighted rows in orthonormal coordinates
    target = case.target * np.sqrt(weight)[:, None]
    share, axes = np.linalg.eigh(rows[dof].T @ rows[dof])
    own = axes.T @ (rows[dof].T @ target[dof])
    others = axes.T @ np.einsum("jnk,jn->k", rows, target) - own
    s = GRID[:, None]
    explained = (others + s * own) ** 2 / np.maximum(1 + (s**2 - 1) * share, 1e-9)
    return float(GRID[np.argmax(explained.sum(axis=1))])


def _accepts(_: Case, each: Hypothesis) -> bool:
    return each.wins(WINS) and each.own_share < MOST


TEST = Test(hypotheses, _accepts)
