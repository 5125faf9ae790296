"""Torques that a gravity compensation commands while a person moves the robot; driven robots are not accused."""

import numpy as np
import pytest

import steelyard as sy
from recordings_of_arms import arm, diagnosis_of, recorded, scaled
from steelyard.simulate import Sensors, record, rich_motion


def law(robot, log):
    """Torques of a robot at rest in each posture of a log."""
    still = np.zeros_like(log.q)
    return sy.inverse_dynamics(robot, log.q, still, still)


def codes(robot, log):
    return [each.code for each in diagnosis_of(robot, log).faults]


def loaded(robot, kilograms):
    """A tool on the last link that is there or only believed."""
    theta = robot.inertias.copy()
    theta[-1] += sy.inertia.from_com_inertia(kilograms, np.array([0.0, 0.01, 0.1]), 1e-3 * kilograms * np.eye(3))
    return robot.with_inertias(theta)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["panda", "puma560"])
@pytest.mark.parametrize("kind", ["nominal", "tool believed wrong", "friction compensated", "noisy"])
def test_guided_by_hand(name, kind):
    robot, log = arm(name), recorded(name)
    rng = np.random.default_rng(0)
    tau = law(loaded(robot, 1.5) if kind == "tool believed wrong" else robot, log)
    size = np.sqrt(np.mean(tau**2, axis=0))
    if kind == "friction compensated":
        speed = np.gradient(log.q, log.t, axis=0)
        tau = tau + size * (0.2 * np.tanh(speed / 0.05) + 0.1 * speed)
    if kind == "noisy":
        tau = tau + 0.01 * size * rng.normal(size=tau.shape)
    found = diagnosis_of(robot, log.replace(tau=tau)).faults
    assert [each.code for each in found] == ["gravity_law"]
    assert found[0].severity == "fatal" and not found[0].options


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["panda", "puma560"])
def test_driven_robots_are_none(name):
    """Also where the file's links are half as inert as the robot's, or half as much again."""
    log = recorded(name)
    assert "gravity_law" not in codes(arm(name), log)
    for factor in (0.6, 1.6):
        theta = arm(name).inertias.copy()
        theta[:, 4:] *= factor
        assert "gravity_law" not in codes(arm(name).with_inertias(theta), log)


def test_slow_motion_is_none():
    """Inertia that is less than the noise says nothing."""
    motion = rich_motion(arm("panda"), duration=80.0, seed=3, harmonics=1)
    slow = record(arm("panda"), motion, sensors=Sensors(rate=125.0)).log
    assert "gravity_law" not in codes(arm("panda"), slow)


@pytest.mark.exhaustive
def test_torques_without_gravity_are_another_fault():
    log = recorded("panda")
    assert codes(arm("panda"), log.replace(tau=log.tau - law(arm("panda"), log)))[0] == "gravity_compensated"


def test_torques_of_the_whole_model_are_none():
    log = recorded("panda")
    motion = sy.filters.differentiate(log, cutoff=6.0)
    tau = sy.inverse_dynamics(arm("panda"), motion.q, motion.v, motion.a)
    assert "gravity_law" not in codes(arm("panda"), scaled(motion.replace(tau=tau)))
