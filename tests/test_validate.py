"""Held-out torque errors."""

import numpy as np
import pytest

from problems import random_log, with_friction
from robots import urdf
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import LogError
from steelyard.fit import validate
from steelyard.fit.validation import CHUNK
from steelyard.information import accumulate
from steelyard.model import load


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    robot = with_friction(load(urdf("ur5_robot")), rng)
    rigid = robot.with_joint_properties(armature=np.zeros(robot.nv))
    return robot, random_log(robot, rng, samples=CHUNK + 10, torque=lambda *s: inverse_dynamics(rigid, *s))


def test_the_right_model_has_no_error(case):
    robot, log = case
    result = validate(robot, log)
    assert result.predicted.shape == log.tau.shape
    assert result.relative_error < 1e-12
    assert result.joint_names == robot.joint_names


def test_errors_are_what_they_say(case):
    robot, log = case
    off = log.replace(tau=log.tau + np.array([0, 2.0, 0, 0, 0, 0]))
    result = validate(robot, off)
    np.testing.assert_allclose(result.rms, [0, 2, 0, 0, 0, 0], atol=1e-9)
    assert result.relative[1] == pytest.approx(2.0 / np.sqrt(np.mean(off.tau[:, 1] ** 2)))
    assert result.relative_error == pytest.approx(2.0 * np.sqrt(len(log)) / np.linalg.norm(off.tau))


def test_estimates_predict_with_their_offsets(case):
    robot, log = case
    off = log.replace(tau=log.tau + np.array([0.5, 2.0, 0, 0, 0, -1.0]))
    estimate = fit.least_squares(accumulate(robot, off, armature=True))
    assert validate(estimate, off).relative_error < 1e-9
    assert validate(estimate.robot, off).relative_error > 1e-3


def test_a_log_without_motion_signals_is_refused(case):
    robot, log = case
    with pytest.raises(LogError, match="has no v, a"):
        validate(robot, log.replace(v=None, a=None))
