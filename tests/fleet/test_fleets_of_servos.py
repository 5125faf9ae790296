"""Fleets of robots that log commands instead of torques: friction of each unit, where gains are known."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from servo_logs import leg, servo_log
from steelyard import fleet
from steelyard.errors import OptionError

SIDE = 'version = 1\n[drives]\nkind = "position"\nkp = 60\n'
RUBS = {"a": 1.0, "b": 1.0, "c": 2.0}  # times the friction of the hip


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    folder, (robot, truth, _, _) = tmp_path_factory.mktemp("units"), leg()
    sy.save(replace(robot, drives={}), folder / "leg.urdf")
    (folder / "leg.steelyard.toml").write_text(SIDE)
    for seed, (unit, times) in enumerate(RUBS.items()):
        own = truth.changed(frictionloss=truth.frictionloss * np.array([1, times, 1]))
        (folder / "logs" / unit).mkdir(parents=True)
        for run in range(2):
            log = servo_log(robot, own, seed=10 * seed + run, duration=4.0)
            sy.write_csv(log, folder / "logs" / unit / f"{run}.csv")
    return folder


def test_a_unit_that_rubs_more(units):
    sums = fleet.accumulate(units / "leg.urdf", units / "logs", drive="model")
    members = fleet.fits(fleet.study(sums)).members
    hips = {unit: each.estimate.friction["coulomb"][1] for unit, each in members.items()}
    assert hips["c"] > 1.3 * max(hips["a"], hips["b"])
    assert abs(hips["a"] / hips["b"] - 1) < 0.25


def test_gains_must_be_known(units):
    (units / "leg.steelyard.toml").rename(units / "aside.toml")
    with pytest.raises(OptionError, match="gain of the drives"):
        fleet.accumulate(units / "leg.urdf", units / "logs", drive="position")
    (units / "aside.toml").rename(units / "leg.steelyard.toml")
