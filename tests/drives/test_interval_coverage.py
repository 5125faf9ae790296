"""Intervals of drives hold the truth as often as they say, over repeated simulations of an arm's leg, of a quadruped on
a stand and of a gripper whose drives reach a limit; with quantised positions, late commands, steps far finer than the
fit's."""

import numpy as np
import pytest

import steelyard as sy
from servo_logs import CASES, legs, servo_log

NUMBERS = ("damping", "frictionloss", "armature", "delay", "limit")
LOGS = {"leg": 8, "quadruped": 2, "gripper": 8}
SHARES = {"leg": 0.92, "quadruped": 0.92, "gripper": 0.88}  # limits within a sample are known less well than they seem


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_truth_lies_within_intervals(name, record_property):
    robot, truth, given, size = CASES[name]()
    inside = []
    for seed in range(200, 200 + LOGS[name]):
        found = sy.identify(given, servo_log(robot, truth, seed=seed, size=size), drive="model")
        for joint, drive in enumerate(found.drives.values()):
            for number in set(NUMBERS) & set(drive.intervals):
                low, high = drive.intervals[number]
                inside.append(low <= getattr(truth, number)[joint] <= high)
    share, spread = np.mean(inside), np.sqrt(0.05 * 0.95 / len(inside))
    record_property("share", float(share))
    assert len(inside) > 70 and share > SHARES[name] - spread  # which counting alone makes


@pytest.mark.exhaustive
@pytest.mark.parametrize("oddity", [{"soft": True}, {"dead": 4e-3}], ids=["soft friction", "dead band"])
def test_truth_lies_within_intervals_of_what_a_model_lacks(oddity, record_property):
    """How windows differ does not say: armature and friction of all of them are wrong alike."""
    robot, truth, given, _ = CASES["leg"]()
    inside = []
    for seed in range(300, 303):
        found = sy.identify(given, servo_log(robot, truth, seed=seed, **oddity), drive="model")
        for joint, drive in enumerate(found.drives.values()):
            for number in set(NUMBERS) & set(drive.intervals):
                low, high = drive.intervals[number]
                inside.append(low <= getattr(truth, number)[joint] <= high)
    record_property("share", float(np.mean(inside)))
    assert len(inside) >= 36 and np.mean(inside) > 0.92


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_truths_of_twins_that_differ(seed):
    """Two legs whose motors were drawn one by one, although their names say they are the same."""
    robot, truth, given = legs(seed)
    found = sy.identify(given, servo_log(robot, truth, seed=seed), drive="model")
    inside = []
    for joint, drive in enumerate(found.drives.values()):
        assert drive.armature == pytest.approx(truth.armature[joint], rel=0.05)
        for number in set(NUMBERS) & set(drive.intervals):
            low, high = drive.intervals[number]
            inside.append(low <= getattr(truth, number)[joint] <= high)
    assert len(inside) == 16 and sum(inside) >= 13
