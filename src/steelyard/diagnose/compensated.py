"""Torques without gravity: what a controller reports once it has taken its own gravity model off.

What was taken off is either what the robot feels (zero gravity then fits) or what the given model says (adding that
fits).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.trial import Trial, trial

CODE = "gravity_compensated"


def trials(case: Case) -> Iterator[Trial]:
    """Gravity of the given model taken off the torques, or all of it."""
    if not np.any(case.robot.gravity) or len(case.dofs) != case.robot.nv:
        return
    yield trial(
        case,
        case.undone(CODE, added=case.added + _gravity(case)),
        "Torques hold no gravity: that of the given model was taken off them",
        "Log torques before gravity compensation, or have the given model's gravity torque added to them.",
        ("--gravity-compensated",),
    )
    yield trial(
        case,
        case.undone(CODE, robot=replace(case.robot, gravity=np.zeros(3))),
        "Torques hold no gravity",
        "Log torques before gravity compensation; without gravity, masses show in accelerations only.",
        ("--gravity", "0", "0", "0"),
    )


def _gravity(case: Case) -> np.ndarray:
    """(n, nv) torque of the given model at rest."""
    regression = case.regression
    still = replace(regression, v=0 * regression.v, a=0 * regression.a)
    return still.torque(case.robot)
