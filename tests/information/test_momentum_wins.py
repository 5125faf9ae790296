"""The momentum form against differentiated accelerations, on a robot simulated in MuJoCo with noisy sensors."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.fit.prior import model_parameters
from steelyard.information import accumulate
from steelyard.simulate import PERFECT, Sensors, record

pytestmark = pytest.mark.claim(
    "information.momentum",
    "momentum identifies the noisy PUMA better than accelerations",
    pages=("docs/information.md",),
    limits="14 of 15 cells better, one 0.4 % worse",
)


def test_momentum_beats_accelerations_where_the_filter_lets_noise_pass():
    """One cell of the benchmark `momentum`, over seeds: held-out torque error, both from the same logs.

    Filtering the rows of the torque regression would do as much: what wins is that windows average the rows.
    """
    robot = sy.library.puma560()
    exact = accumulate(robot, record(robot, duration=5.0, seed=99, sensors=PERFECT).log)
    truth = exact.basis.regroup(model_parameters(robot, exact.layout))
    sensors = Sensors(encoder_resolution=2e-4, torque_noise=0.02)
    errors = {"joints": [], "momentum": []}
    for seed in range(3):
        log = sy.filters.differentiate(record(robot, duration=8.0, seed=seed, sensors=sensors).log, 20.0)
        for rows, found in errors.items():
            info = accumulate(robot, log.replace(a=None) if rows == "momentum" else log, rows=rows)
            off = info.basis.regroup(sy.fit.least_squares(info).parameters) - truth
            found.append(np.sqrt(off @ exact.G @ off / (truth @ exact.G @ truth)))
    assert np.mean(errors["momentum"]) < 0.85 * np.mean(errors["joints"]) < 0.02
