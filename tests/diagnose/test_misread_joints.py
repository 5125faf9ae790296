"""Logs whose positions are not those of joints are told what they hold; right ones are not."""

import numpy as np
import pytest

from recordings_of_arms import arm, recorded
from steelyard.app.demo_job import mistaken
from steelyard.errors import LogError
from steelyard.job import Job, in_memory
from steelyard.model import load
from steelyard.pipeline.identification import run
from steelyard.pipeline.verdicts import verdict
from steelyard.report.record import KEEP
from steelyard.simulate import record

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="l"><inertial><origin xyz="0.18 0.02 0.005"/>
<mass value="1.5"/><inertia ixx="0.002" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.012"/></inertial></link>
<joint name="p" type="revolute"><parent link="base"/><child link="l"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="40" velocity="8"/></joint></robot>"""


def revolutions(q, tau):
    return q / (2 * np.pi), tau


def one_in_revolutions(q, tau):
    q[:, 2] /= 2 * np.pi
    return q, tau


def to_the_horizontal(q, tau):
    q[:, 2] += q[:, 1]
    return q, tau


def parallel_drive(q, tau):
    """The third motor stands still when the second joint turns."""
    q[:, 2] += q[:, 1]
    tau[:, 1] -= tau[:, 2]
    return q, tau


def differential(q, tau):
    q[:, 1:3] = np.stack([q[:, 1] + q[:, 2], q[:, 1] - q[:, 2]], axis=1)
    tau[:, 1:3] = np.stack([tau[:, 1] + tau[:, 2], tau[:, 1] - tau[:, 2]], axis=1) / 2
    return q, tau


def belt(q, tau):
    q[:, 2] *= 2
    tau[:, 2] /= 2
    return q, tau


def cylinder(q, tau):
    """Forces of a cylinder whose lever changes with the angle."""
    tau[:, 1] /= 0.1 + 0.05 * np.cos(q[:, 1] + 0.3)
    return q, tau


def other(log, change):
    q, tau = change(log.q.copy(), log.tau.copy())
    return log.replace(q=q, tau=tau, v=None, a=None)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["puma560", "ur10"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            parallel_drive,
            r"{2} is that of the joint plus {1}'s, and so are torques.*{2} minus {1} for positions and {1} ",
        ),
        (
            to_the_horizontal,
            r"{2} is that of the joint plus {1}'s, as of an angle to the horizontal: write {2} minus {1}",
        ),
        (
            differential,
            r"{1} and {2} are the motors of a differential: write half their sum for {1} and half of {1} minus",
        ),
        (belt, r"{2} are those before a gear or belt of ratio 2:.*--scale q:{2}=0.5 --scale tau:{2}=2\s"),
        (one_in_revolutions, r"The position of {2} is in revolutions.*--unit q:{2}=rev"),
        (revolutions, r"All positions are in revolutions.*--unit q=rev"),
    ],
)
def test_what_a_log_holds_is_told(name, change, said):
    log = other(recorded(name), change)
    with pytest.raises(LogError, match=said.format(*arm(name).dof_names)):
        run(Job(in_memory("arm"), (in_memory("log"),)), robot=mistaken(arm(name)), logs=(log,))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["puma560", "ur10"])
def test_forces_of_a_cylinder_are_no_torques(name):
    log = other(recorded(name), cylinder)
    try:
        found = run(Job(in_memory("arm"), (in_memory("log"),)), robot=mistaken(arm(name)), logs=(log,))
    except LogError:  # another unit, before any links
        return
    assert verdict(found).level == KEEP


def test_a_pendulum_of_another_mass_has_its_zero_where_it_is(tmp_path):
    """Torque is m l g cos(q + angle of the centre), so that a zero and a turned centre say the same."""
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    truth = load(tmp_path / "pendulum.urdf")
    given = truth.with_inertias(truth.inertias * np.array([4 / 3]))
    found = run(Job(in_memory("arm"), (in_memory("log"),)), robot=given, logs=(record(truth, duration=15.0).log,))
    assert not found.findings and found.after.relative_error < 0.03
    assert found.estimate.theta[0, 1] == pytest.approx(truth.inertias[0, 1], rel=0.03)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["puma560", "ur10", "panda"])
def test_wrong_links_are_no_other_reading(name):
    robot = arm(name)
    heavy = robot.with_inertias(robot.inertias * np.where(np.arange(robot.nb) == robot.nb - 1, 4.0, 1.0)[:, None])
    result = run(Job(in_memory("arm"), (in_memory("log"),)), robot=heavy, logs=(recorded(name),))
    assert result.after.relative_error < 0.02 and min(result.estimate.scales[each] for each in robot.body_names) < 10


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("name", "wrong", "lighter", "factor"),
    [("puma560", 3, 0.1, 0.15), ("panda", 1, 0.02, 0.1), ("panda", 3, 0.1, 1000.0)],
)
def test_torques_of_another_unit_are_told_beside_wrong_links(name, wrong, lighter, factor):
    robot = arm(name)
    light = np.where(np.arange(robot.nb) >= robot.nb - wrong, lighter, 1.0)[:, None]
    log = other(recorded(name), lambda q, tau: (q, factor * tau))
    with pytest.raises(LogError, match=r"(?s)Torques are .* times .*--accept torque_unit"):
        run(Job(in_memory("arm"), (in_memory("log"),)), robot=robot.with_inertias(robot.inertias * light), logs=(log,))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_currents_of_unlike_drives_are_told(name, seed):
    robot = arm(name)
    gains = np.random.default_rng(seed).uniform(4.0, 14.0, robot.nv)
    log = other(recorded(name), lambda q, tau: (q, tau / gains))
    with pytest.raises(LogError, match=r"(?s)(Torques are|Each joint's torque is).*--drive-gains"):
        run(Job(in_memory("arm"), (in_memory("log"),)), robot=robot, logs=(log,))
