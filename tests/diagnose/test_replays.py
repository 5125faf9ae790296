"""Logs whose stamps are off by a factor, as of a replay at another speed: named with the factor; right ones are not."""

import re
from functools import cache

import numpy as np
import pytest

from recordings_of_arms import arm, recorded
from steelyard.app.demo_job import mistaken
from steelyard.corrections import Corrections
from steelyard.errors import LogError
from steelyard.job import Job, in_memory
from steelyard.log import checks
from steelyard.pipeline.identification import run
from steelyard.prepare.prepared import with_motion


def identified(name, log, **options):
    return run(Job(in_memory("arm"), (in_memory("log"),), **options), robot=mistaken(arm(name)), logs=(log,))


@cache
def clean_error(name, recorded_velocity=False):
    log = recorded(name)
    log = with_velocity(log) if recorded_velocity else log.replace(v=None)
    return identified(name, log).after.relative_error


def with_velocity(log, factor=1.0):
    return log.replace(v=factor * np.gradient(log.q, log.t, axis=0), a=None)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", ["puma560", "panda", "ur10"])
@pytest.mark.parametrize("slower", [2.0, 0.5, 3.0])
@pytest.mark.parametrize("recorded_velocity", [False, True])
def test_a_replay_is_told_by_its_torques(name, slower, recorded_velocity):
    """Its velocities are those of the robot, if there are any: 2 dq/dt of a replay at half speed."""
    log = recorded(name)
    log = with_velocity(log) if recorded_velocity else log.replace(v=None)
    replayed = log.replace(t=slower * log.t)
    option = f"--scale t:all={1 / slower:.5g}"
    with pytest.raises(LogError, match=rf"(?s)The motion took .*{option}\s"):
        identified(name, replayed)
    undone = identified(name, replayed, corrections=Corrections(scale=(option.split()[1],)))
    assert undone.after.relative_error < 1.1 * clean_error(name, recorded_velocity)
    told = [each for each in checks.check(replayed, arm(name)) if each.code == "velocity_scale"]
    assert len(told) == recorded_velocity and all(option in each.message for each in told)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("name", "slower"), [("puma560", 0.7), ("panda", 1.4), ("ur10", 0.7), ("ur10", 1.4)])
def test_the_speed_of_a_replay_may_be_any(name, slower):
    log = recorded(name).replace(v=None)
    with pytest.raises(LogError, match=r"The motion took .*--scale t:all=(\S*)") as told:
        identified(name, log.replace(t=slower * log.t))
    assert float(re.search(r"t:all=(\S*)", str(told.value))[1]) == pytest.approx(1 / slower, rel=0.05)


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_velocities_of_another_unit_are_no_replay(name):
    found = identified(name, with_velocity(recorded(name), 2.0))
    assert [each.code for each in found.findings] == ["velocity_scale"]
    assert found.after.relative_error < 1.1 * clean_error(name)


def test_velocities_are_taken_where_they_are_rates():
    log = with_velocity(recorded("panda"))
    assert "v: filtered measurement" in with_motion(log).notes
    (note,) = [each for each in with_motion(log.replace(v=1.5 * log.v)).notes if each.startswith("v: ")]
    assert note.startswith("v: derivative of the filtered q, as that of the log is 1.5 times as large")
