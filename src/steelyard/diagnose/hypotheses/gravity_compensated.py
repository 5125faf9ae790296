"""Torques without gravity: what a controller reports once it has taken its own gravity model off.

What was taken off is what the robot feels (zero gravity then fits), what the nominal model says (adding that fits), or
what a third model says: only torques whose gravity is free of the links' masses then fit. The first and the last lose
what only gravity shows, unless the model that it came from is known.
"""

from dataclasses import replace

import numpy as np

from steelyard.diagnose.added_columns import lasting
from steelyard.diagnose.case import Case, gain
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.fisher_information import information_loss
from steelyard.diagnose.given_links import GivenLinks
from steelyard.diagnose.thresholds import RANK

CODE = "gravity_compensated"
THIRD = 0.5  # nats a sample that gravity free of the masses must win over that of the nominal model, or none
UNSUSPECTED = 2.0  # the same where neither fits, and only links that cannot exist do: measured logs win 0.8 at most
WHITE = 1.5  # times longer than the filter's that what is then left may stay alike: of springs more is left than noise
UNPHYSICAL = 1.0  # nats a sample by which a fit free of physics is then better
ROUNDS = 3  # of noise and least squares


def explained(case: Case, found: tuple[Fault, ...], undone: Case) -> tuple[tuple[Fault, ...], Case]:
    """Faults and the case with them undone, once it is known whose gravity was taken off and what that loses. case: the
    logs as they are. Others are returned as they are."""
    named = any(each.code == CODE for each in found)
    if not (named or (_possible(case) and undone.gap > UNPHYSICAL and not GivenLinks(case).fair)):
        return found, undone
    free = gravity_free(case)
    won = gain(undone.physical_energy, free.physical_energy)
    if won > THIRD if named else won > UNSUSPECTED and lasting(free, free.error.T) < WHITE:
        return (_of_a_third_model(case, free),), free
    return tuple(_lost(case, undone, each) for each in found), undone


def _possible(case: Case) -> bool:
    """Whether there is gravity, and torques of all joints that it could be taken off."""
    return bool(np.any(case.robot.gravity)) and len(case.dofs) == case.robot.nv


def gravity_free(case: Case) -> Case:
    """The case without gravity, and without any torque that gravity could make, whatever the masses: by least squares
    with columns of its own for gravity."""
    static = static_rows(case)
    columns = np.concatenate([case.regression.rows - static, static], axis=2)
    noise, found = case.free[1], np.zeros(columns.shape[2])
    for _ in range(ROUNDS):
        weighted = (columns / noise[:, None, None]).reshape(-1, columns.shape[2])
        size = np.linalg.norm(weighted, axis=0)
        size[size == 0] = 1.0
        joined = np.column_stack([weighted / size, (case.target / noise[:, None]).ravel()])
        triangle = np.asarray(np.linalg.qr(joined, mode="r"))
        found = np.linalg.lstsq(triangle[:, :-1], triangle[:, -1], rcond=RANK)[0] / size
        noise = np.sqrt(np.mean((case.target - columns @ found) ** 2, axis=1))
    held = (static @ found[static.shape[2] :]).T
    return case.undone(CODE, added=case.added - held, robot=replace(case.robot, gravity=np.zeros(3)))


def _of_a_third_model(case: Case, free: Case) -> Fault:
    errors = np.sqrt([each.physical_energy.sum() / case.information.energy.sum() for each in (case, free)])
    return fault(
        CODE,
        "Torques hold part of gravity: what was taken off them is neither all of it nor that of the nominal model. "
        f"Gravity free of the links' masses leaves {errors[1]:.1%} of the torque unexplained, not {errors[0]:.1%}.",
        relative_error=errors[0],
        relative_error_undone=errors[1],
    )


def _lost(case: Case, undone: Case, found: Fault) -> Fault:
    """The fault with what is lost without gravity, and the remedies that lose nothing; others as they are. undone: the
    case whose noise counts."""
    if found.code != CODE or "--gravity" not in found.options:
        return found
    rows = case.regression.rows
    loss = information_loss(rows - static_rows(case), rows, undone.free[1])
    only = (
        f"{loss.lost} of {loss.combinations} combinations of parameters show in gravity only and stay the nominal "
        "model's"
    )
    others = f"the others take {loss.times_as_long:.2g} times as long a log for the same errors of torques"
    remedy = (
        "Give the model that the controller takes gravity from (--gravity-model MODEL), or log torques before gravity "
        f"compensation. Without gravity, masses show in accelerations only: {only}, {others}."
    )
    evidence = {"combinations_lost": loss.lost, "combinations": loss.combinations, "times_as_long": loss.times_as_long}
    before = found.message.removesuffix(found.remedy).strip()
    return fault(CODE, before, remedy, options=found.options, **found.evidence, **evidence)


def static_rows(case: Case) -> np.ndarray:
    """(nv, n, r) rows of the bodies at rest: what gravity makes of their parameters."""
    still = case.regression.still
    bodies = still.basis.columns < case.layout.inertial.stop
    return np.where(bodies, still.rows, 0.0)
