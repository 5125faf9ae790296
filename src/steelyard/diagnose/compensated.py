"""Torques without gravity: what a controller reports once it has taken its own gravity model off.

What was taken off is either what the robot feels (zero gravity then fits) or what the given model says (adding that
fits). The former loses what only gravity shows, unless the model that it came from is known.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.finding import Fault, fault
from steelyard.diagnose.trial import Trial, trial
from steelyard.diagnose.worth import worth

CODE = "gravity_compensated"


def trials(case: Case) -> Iterator[Trial]:
    """Gravity of the given model taken off the torques, or all of it."""
    if not np.any(case.robot.gravity) or len(case.dofs) != case.robot.nv:
        return
    yield trial(
        case,
        case.undone(CODE, added=case.added + _gravity(case)),
        "Torques hold no gravity: that of the given model was taken off them",
        "Log torques before gravity compensation, or have gravity added again: that of the given model, or, where the "
        "controller uses another, of that one (--gravity-model MODEL), as masses follow the gravity that is added.",
        ("--gravity-compensated",),
    )
    yield trial(
        case,
        case.undone(CODE, robot=replace(case.robot, gravity=np.zeros(3))),
        "Torques hold no gravity",
        "Log torques before gravity compensation, or give the model that it was taken from (--gravity-model MODEL).",
        ("--gravity", "0", "0", "0"),
    )


def _gravity(case: Case) -> np.ndarray:
    """(n, nv) torque of the given model at rest."""
    regression = case.regression
    still = replace(regression, v=0 * regression.v, a=0 * regression.a)
    return still.torque(case.robot)


def explained(case: Case, undone: Case, found: Fault) -> Fault:
    """A fault of this kind with what is lost without gravity, and the remedies that lose nothing; others as they are.
    case: the logs as they are; undone: with all faults undone, whose noise counts."""
    if found.code != CODE or "--gravity" not in found.options:
        return found
    regression = case.regression
    still = replace(regression, v=0 * regression.v, a=0 * regression.a, direction=0 * regression.direction)
    whole, bodies = regression.rows, regression.basis.columns < case.layout.inertial.stop
    rows = whole.copy()
    rows[:, :, bodies] -= still.rows[:, :, bodies]
    left = worth(rows, whole, undone.free[1])
    only = (
        f"{left.lost} of {left.combinations} combinations of parameters show in gravity only and stay the given model's"
    )
    others = f"the others take {left.times_as_long:.2g} times as long a log for the same errors of torques"
    remedy = (
        "Give the model that the controller takes gravity from (--gravity-model MODEL), or log torques before gravity "
        f"compensation. Without gravity, masses show in accelerations only: {only}, {others}."
    )
    evidence = {"combinations_lost": left.lost, "combinations": left.combinations, "times_as_long": left.times_as_long}
    before = found.message.removesuffix(found.remedy).strip()
    return fault(CODE, before, remedy, options=found.options, **found.evidence, **evidence)
