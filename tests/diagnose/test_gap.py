"""What physical consistency costs beyond noise: more parameters than samples win by following the noise."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from problems import random_log
from recordings_of_arms import arm
from steelyard.diagnose.case import case_of, gain
from steelyard.information import accumulate

MUCH = 0.2  # nats a sample, which at its word would tell of a mistake


def case_with(samples: int, *, independence: float = 1.0):
    """A right model of a Panda and white noise of 2 % on its torques."""
    robot = arm("panda")
    rng = np.random.default_rng(3)
    log = random_log(robot, rng, samples=samples, noise=0.02, torque=lambda *state: _rigid(robot, *state))
    return case_of(
        sy.fit.consistent(accumulate(robot, log, armature=True)),
        (log.replace(bandwidth=0.5 * independence * log.rate),),
    )


def _rigid(robot, q, v, a):
    return sy.inverse_dynamics(robot, q, v, a) - robot.armature * a


def test_noise_that_more_parameters_than_samples_fit_is_no_gap():
    case = case_with(18)
    count = case.information.basis.count
    assert count > len(case) * case.independence
    won = gain(case.physical_energy, case.free_energy)
    assert won > MUCH
    assert case.gap == pytest.approx(won - count / (2 * len(case)))
    assert case.gap < MUCH


def test_with_more_samples_than_parameters_nothing_is_taken_off():
    case = case_with(400)
    assert case.information.basis.count < len(case) * case.independence
    assert case.gap == gain(case.physical_energy, case.free_energy)
    assert case.gap < MUCH


def test_only_independent_samples_count():
    case = case_with(400)
    few = replace(case, independence=50 / len(case))
    count = case.information.basis.count
    assert few.gap == pytest.approx(gain(few.physical_energy, few.free_energy) - count / 100)
