"""Torques that the file's own links make, without friction: no measurement, and no proof of any link."""

import numpy as np
import pytest

import steelyard as sy
from recordings_of_arms import arm, diagnosis_of
from steelyard.report.identification_report import summary


def computed(robot, *, friction=0.0, by=None):
    t = np.arange(1500) / 100
    rng = np.random.default_rng(1)
    w, phase = rng.uniform(0.5, 2.5, (2, robot.nv, 3))
    middle = np.clip((robot.lower + robot.upper) / 2, -1, 1)
    q = middle + 0.3 * np.sin(t[:, None, None] * w + 3 * phase).sum(axis=2)
    v = 0.3 * (w * np.cos(t[:, None, None] * w + 3 * phase)).sum(axis=2)
    a = -0.3 * (w**2 * np.sin(t[:, None, None] * w + 3 * phase)).sum(axis=2)
    tau = sy.inverse_dynamics(by or robot, q, v, a)
    tau = tau + friction * np.sqrt(np.mean(tau**2, axis=0)) * np.tanh(v / 0.05)
    return sy.Log(t=t, q=q, tau=tau, joint_names=robot.dof_names)


def bare(name):
    robot = arm(name)
    zero = np.zeros(robot.nv)
    return robot.with_joint_properties(damping=zero, frictionloss=zero, armature=zero)


def codes(robot, log):
    return [each.code for each in diagnosis_of(robot, log).faults]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_torques_of_the_given_links(name):
    assert "model_torque" in codes(bare(name), computed(bare(name)))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_robots_with_friction_or_other_links_are_measured(name):
    robot = bare(name)
    assert "model_torque" not in codes(robot, computed(robot, friction=0.03))
    assert "model_torque" not in codes(robot, computed(robot, by=robot.with_inertias(1.2 * robot.inertias)))


def test_nothing_is_good_about_them():
    found = sy.identify(bare("puma560"), computed(bare("puma560")))
    assert summary(found)["verdict"]["level"] == "care" and found.after.relative_error < 1e-3
