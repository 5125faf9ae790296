"""Zeros of encoders elsewhere than in the model: offsets of positions, estimated beside all parameters and friction.

To first order an offset adds the torque's rate of change with that position. What is left of it beside all that
parameters explain says how well torques show the offset; what it shares with another offset is not known of either.
What an offset of the last joint does, a turned last link does as well, and an offset about a vertical first axis does
nothing at all: those are not seen, and harm no torque that the identified model predicts for positions read alike.
"""

from collections.abc import Sequence

import numpy as np

from steelyard.diagnose.added_columns import Added, JointEstimates, add_columns, scatter
from steelyard.diagnose.case import Case
from steelyard.diagnose.regression import LONGEST

ROUNDS = 8  # of Gauss-Newton
SETTLED = 1e-4  # rad or m, below which another round changes nothing
SHOWN = 0.2  # rad or m: an offset known no better is taken for none
SMALL = 3.0  # standard deviations, within which the first step is right enough


def position_offsets(case: Case) -> JointEstimates:
    """Offsets of all joints, estimated together, rad or m; NaN where torques do not show it, as of a first joint about
    the vertical, of the last joint of an arm, and of light links."""
    dofs, added = _shown(case)
    if added is None:
        nothing = np.full((case.robot.nv, case.robot.nv), np.nan)
        return JointEstimates(nothing[0], nothing, 1.0)
    changed, found = case, added.coefficients
    if (np.abs(found) > SMALL * added.deviations * scatter(case, added)).any():
        found, added, changed = _settled(case, dofs, added)
    return JointEstimates.of(changed, dofs, found, added.covariance * scatter(changed, added) ** 2, added.left)


def _shown(case: Case) -> tuple[list[int], Added | None]:
    """Degrees whose offsets torques show beside each other, and the first step towards these if any."""
    dofs = np.array([dof for dof in case.dofs if dof in case.robot.scalar_positions], dtype=int)
    if not len(dofs):
        return [], None
    columns = case.regression.position_rates(case.free[0], dofs)
    added = add_columns(case, columns)
    least = scatter(case, added) / np.sqrt(
        np.maximum(np.diag(added.information), np.finfo(float).tiny)
    )  # if all others were right
    kept = least <= SHOWN
    while kept.any():
        added = add_columns(case, columns[:, :, kept])
        hidden = added.deviations * scatter(case, added)
        if hidden.max() <= SHOWN:
            return dofs[kept].tolist(), added
        kept[np.flatnonzero(kept)[np.argmax(hidden)]] = False
    return [], None


def _settled(case: Case, dofs: Sequence[int], added: Added) -> tuple[np.ndarray, Added, Case]:
    """Offsets (d,) of some degrees by Gauss-Newton, its last step, and the case with positions moved by them. added:
    the first step."""
    offset, changed = np.zeros(case.robot.nv), case
    for _ in range(ROUNDS):
        offset[list(dofs)] += np.clip(added.coefficients, -LONGEST, LONGEST)
        changed = case.undone("position_offset", q=case.regression.moved(offset).q)
        added = add_columns(changed, changed.regression.position_rates(changed.free[0], dofs))
        if (np.abs(added.coefficients) < SETTLED).all():
            break
    return offset[list(dofs)], added, changed
