"""Verdicts name what was proven; joints of one motor share their drive; early stamps are no negative delays."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import steelyard as sy
from servo_logs import SERVOS, on_stand, servo_log
from steelyard.drives.arrays import DriveArrays
from steelyard.drives.drive import Drive, twins
from steelyard.drives.held_out import parted_by_speed
from steelyard.drives.simulation import unbounded
from steelyard.drives.windows import Recorded
from steelyard.pipeline.drive_identification import DriveResult
from steelyard.report.drive_report import drive_summary

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture(scope="module")
def leg():
    robot = sy.library.cheetah3_leg()
    return replace(robot, drives=dict.fromkeys(robot.dof_names, Drive("position", kp=60.0)))


@pytest.fixture(scope="module")
def biped():
    robot = on_stand(left=0.1, right=-0.1)
    return replace(robot, drives=dict.fromkeys(robot.dof_names, Drive("position", kp=20.0, kd=0.5)))


def logged(robot, drives: DriveArrays, **options) -> sy.Log:
    return servo_log(replace(robot, drives={}), drives, **options)


def identified(robot, logs, **options) -> DriveResult:
    found = sy.identify(robot, logs, drive="model", **options)
    assert isinstance(found, DriveResult)
    return found


def test_the_faster_part_is_the_faster_one():
    t = np.arange(0, 60, 0.02)
    speed = np.where((t > 20) & (t < 38), 3.0, 1.0)
    q = np.stack([np.sin(np.cumsum(speed) * 0.02), 0.1 * np.sin(np.cumsum(speed) * 0.02 + 1)], axis=1)
    slow, fast = parted_by_speed([Recorded(t, q, q)], 0.3)
    assert sum(map(len, slow)) + sum(map(len, fast)) == len(t)
    assert abs(sum(map(len, fast)) / len(t) - 0.3) < 0.06
    assert all(each.t[0] > 19 and each.t[-1] < 40 for each in fast) and len(slow) == 2


def test_a_slow_log_proves_slow_motion_only(leg):
    """Good on its own samples, and far worse on faster motion: the verdict says up to where it was tried."""
    slow = logged(leg, SERVOS, seed=0, size=0.15, duration=6.0)
    found = identified(leg, slow)
    verdict = drive_summary(found)["verdict"]
    speeds = np.abs(np.gradient(slow.q, slow.t, axis=0)).max(axis=0)
    assert np.all(found.proven.range[0] < speeds) and found.proven.range[0].max() > 0.3 * speeds.max()
    assert verdict["level"] == "care" and any("logs are slow" in reason for reason in verdict["reasons"])
    asked = {each["question"]: each for each in verdict["answers"]}["Up to which speed?"]
    assert "rad/s" in asked["answer"] and "nothing is proven" in asked["detail"]


def test_motion_that_is_not_predicted_when_faster_is_not_proven():
    """A drive that clips in the faster half alone, which a fit to the slower half cannot know."""
    leg = on_stand(left=0.1)
    leg = replace(leg, drives=dict.fromkeys(leg.dof_names, Drive("position", kp=20.0, kd=0.5)))
    limited = DriveArrays(
        follows_q=np.ones(2),
        gain=np.full(2, 20.0),
        kd=np.full(2, 0.5),
        limit=np.full(2, 1.5),
        delay=np.full(2, 0.012),
        slope_limit=np.full(2, np.inf),
        damping=np.array([0.3, 0.2]),
        frictionloss=np.array([0.3, 0.25]),
        armature=np.array([0.02, 0.01]),
        inertias=leg.inertias,
    )
    slow, fast = (logged(leg, limited, seed=k, size=size, duration=3.0) for k, size in ((0, 0.1), (1, 1.5)))
    found = identified(leg, [slow, fast], validation=0.5)
    assert not found.proven.beyond and np.array_equal(found.proven.range, found.proven.slower)
    assert any("Faster motion is not predicted" in reason for reason in drive_summary(found)["verdict"]["reasons"])


def test_joints_of_both_sides_have_one_motor(biped):
    names = biped.dof_names
    said = [[names[j] for j in group] for group in twins(biped, biped.drives)]
    assert said == [["left_hip", "right_hip"], ["left_knee", "right_knee"]]
    other = dict(biped.drives) | {"left_hip": Drive("position", kp=21.0)}
    assert [[names[j] for j in group] for group in twins(biped, other)] == [["left_knee", "right_knee"]]
    stated = {name: replace(drive, group="all") for name, drive in biped.drives.items()}
    assert [len(group) for group in twins(biped, stated)] == [4]
    servos = dict.fromkeys(names, Drive("position"))
    assert [len(group) for group in twins(biped, servos, named=False)] == [4] and len(twins(biped, servos)) == 2


def test_twins_share_what_the_log_hardly_shows(biped):
    """Armature of slow motion: twins come out alike, near the truth that is the same for both."""
    truth = DriveArrays(
        follows_q=np.ones(4),
        gain=np.full(4, 20.0),
        kd=np.full(4, 0.5),
        limit=np.full(4, np.inf),
        delay=np.full(4, 0.006),
        slope_limit=np.full(4, np.inf),
        damping=np.array([0.2, 0.15, 0.25, 0.15]),
        frictionloss=np.array([0.3, 0.2, 0.5, 0.25]),
        armature=np.array([0.02, 0.01, 0.02, 0.01]),
        inertias=biped.inertias,
    )
    found = identified(biped, logged(biped, truth, seed=4, size=0.4, duration=4.0))
    assert any(note.startswith("Same motor") and " share " in note for note in found.notes)
    for one, other in (("left_hip", "right_hip"), ("left_knee", "right_knee")):
        pair = [found.drives[name].armature for name in (one, other)]
        assert max(pair) < 1.15 * min(pair)
    assert found.drives["right_hip"].frictionloss > 1.3 * found.drives["left_hip"].frictionloss  # which its log shows


def test_early_stamps_are_not_negative_delays(leg):
    """Positions of a joint that are read later in the cycle than they are stamped."""
    log = logged(leg, SERVOS.changed(delay=np.full(3, 0.004)), seed=2, duration=6.0)
    late = log.q.copy()
    late[:, 1] = CubicSpline(log.t, log.q[:, 1])(log.t + 0.015)
    found = identified(leg, log.replace(q=late))
    drives = found.drives
    assert drives["hip"].delay == 0 and drives["hip"].early == pytest.approx(0.011, abs=0.003)
    assert drives["abad"].early is None and drives["abad"].delay == pytest.approx(0.004, abs=0.002)
    assert any(
        "before they are told" in reason and "(hip by" in reason
        for reason in drive_summary(found)["verdict"]["reasons"]
    )
    error = sy.rollout(found.robot, log.replace(q=late), window=0.5)
    assert error.rmse.max() < 4e-3


def test_limits_that_a_log_passes_are_left_out_and_stops_are_not(biped):
    t = np.arange(0, 2, 0.02)
    q = np.zeros((len(t), 4))
    q[:, 0], q[:, 1] = 2.5 * np.sin(3 * t), 2.1 * np.sin(3 * t)  # limits are 2.094
    free, notes = unbounded(biped, [Recorded(t, q, q)])
    assert np.array_equal(np.isfinite(free.upper), [False, True, True, True])
    assert len(notes) == 1 and notes[0].startswith("left_hip moved from -2.5")
