"""Torques that follow gravity alone: a gravity compensation commands them while someone else moves the robot.

Links that are heavy are inert, too. What the given links need to move beyond gravity is compared with what each row of
the torques holds of it, beside any gravity and any friction: a row of a driven robot holds all of it, and more where
its drive has armature; one of a gravity law holds none.
"""

import numpy as np

from steelyard.diagnose.added_columns import persistence
from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.hypotheses.gravity_compensated import static_rows
from steelyard.diagnose.thresholds import ALL, RANK
from steelyard.fit.qr import span
from steelyard.terms import TERMS

CODE = "gravity_law"
MOST = 0.4  # of the inertia of the given links that their torques may hold: no file is that wrong in every joint
DEVIATIONS = 3.0  # by which it must be less
SURE = 0.1  # standard deviation of a share, up to which it counts
LEAST = 0.5  # of the torques' energy in joints whose share is sure, at least
UNIT = 2.0  # times the gravity of the given links, from which on torques are in another unit, and inertia with them


def find(case: Case) -> Fault | None:
    """The fault, which nothing undoes."""
    if not np.any(case.robot.gravity) or not len(case.dofs):
        return None
    share, deviation, left = inertia_held(case)
    sure = deviation < SURE
    energy = case.energy
    if energy[sure].sum() < LEAST * energy.sum() or (share + DEVIATIONS * deviation)[sure].max(initial=0.0) > MOST:
        return None
    error = case.share(left)
    weight = (case.regression.still.torque(case.robot).T * case.regression.believed)[sure]
    scale = float(np.sum(weight * case.target[sure]) / np.sum(weight**2))
    if error > ALL or not 1 / UNIT < scale < UNIT:
        return None
    most = float(np.abs(share[sure]).max())
    return fault(
        CODE,
        f"Torques follow gravity alone: of the torque that the given links need to speed up, they hold "
        f"{100 * most:.0f} % at most, and gravity with friction leaves {error:.1%} of them. A gravity compensation "
        "commands such torques while someone else moves the robot, as by hand.",
        relative_error_undone=error,
        inertia_held=most,
    )


def inertia_held(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(nv,) share that each degree's torques hold of what the given links need beyond gravity, its standard deviation,
    infinite where the motion does not tell, and the energies that gravity and friction leave.

    Gravity of any links, friction and a constant torque are fitted beside it; armature is not, as it can only add.
    """
    regression = case.regression
    moved = (regression.torque(case.robot) - regression.still.torque(case.robot)).T * regression.believed
    still = static_rows(case)
    terms = [name for name in TERMS if name in case.layout.terms and name != "armature"]
    drives = np.stack([regression.effect(name).T * regression.believed for name in terms], axis=-1) if terms else None
    share, deviation, left = np.zeros(case.robot.nv), np.full(case.robot.nv, np.inf), case.energy.copy()
    residual = np.zeros_like(moved)
    sizes = np.zeros(case.robot.nv)
    freedom = np.ones(case.robot.nv)
    for dof in case.dofs:
        beside = still[dof] if drives is None else np.column_stack([still[dof], drives[dof]])
        space = span(beside, RANK)
        target, own = (each - space @ (space.T @ each) for each in (case.target[dof], moved[dof]))
        left[dof], sizes[dof] = target @ target, own @ own
        if sizes[dof] > RANK**2 * (moved[dof] @ moved[dof]) > 0:
            share[dof] = own @ target / sizes[dof]
            residual[dof] = target - share[dof] * own
            freedom[dof] = max(1.0, len(case) * case.independence - space.shape[1] - 1)
    kept = sizes > 0
    spread = np.sum(residual**2, axis=1) / freedom * persistence(case, residual)
    deviation[kept] = np.sqrt(spread[kept] / sizes[kept])
    return share, deviation, left
