"""Motor currents, or motor-side torques, in the place of joint torques: every joint in a unit of its own.

A link is felt by several joints, so all gains but one common factor follow from the motion; the nominal model says that
one, as well as its masses are right.
"""

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.errors import FitError
from steelyard.fit.drive_calibration import gains_by_model

APART = 1.3  # factor between the gains of joints
CERTAIN = 5.0  # standard deviations
EXPLAINED = 0.02  # share of a torque that the physical fit leaves, below which in every joint all have one unit: where
# two gains of an arm are 1.35 times the others', it leaves 10 % and more of some joint's
FEWEST = 2  # joints off those that agree; one alone is a `torque_scale`


def find(case: Case) -> tuple[Fault, Case] | None:
    """The fault, and the case in N m."""
    if case.relative.max() < EXPLAINED:
        return None
    try:
        found = gains_by_model(case.information)
    except FitError:
        return None
    gains, known = found.gains, np.isfinite(found.deviation)
    if (gains <= 0).any():
        return None
    spread = np.abs(np.log(gains / gains[:, None]))
    own, noise = spread > np.log(APART), np.hypot(found.deviation / gains, (found.deviation / gains)[:, None])
    off = own[known][:, known] & (spread > CERTAIN * noise)[known][:, known]
    if off.sum(axis=1).min() < FEWEST:
        return None
    names = case.robot.dof_names
    listed = ", ".join(f"{name} {x:.3g}" for name, x, seen in zip(names, gains, known, strict=True) if seen)
    found_fault = fault(
        "motor_current",
        f"Each joint's torque is in a unit of its own, as motor currents or motor-side torques are: N m per unit are "
        f"{listed}, all of them times one factor that only a known mass fixes.",
        options=["--drive-gains"],
        **{f"gain_{name}": x for name, x, seen in zip(names, gains, known, strict=True) if seen},
    )
    return found_fault, case.undone("motor_current", factor=case.factor * gains)
