"""Held-out torque errors."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from problems import random_log, with_friction
from robots import urdf
from steelyard import fit
from steelyard.app import app
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import LogError, OptionError
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


def test_recordings_are_judged_as_the_command_line_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = sy.library.scara()
    sy.write_csv(sy.simulate.record(robot, duration=3.0).log, "run.csv")
    sy.save(robot.with_inertias(1.3 * robot.inertias), "heavy.urdf")
    result = sy.identify("heavy.urdf", "run.csv", out="result")
    raw = sy.read_log("run.csv")
    same = {
        "heavy.urdf": ("heavy.urdf", sy.load("heavy.urdf")),
        "result": ("result", result, result.estimate),
    }
    for name, models in same.items():
        done = CliRunner().invoke(app, ["validate", name, "run.csv", "--json"])
        told = json.loads(done.stdout)["models"][0]["relative_error"]
        for model in models:
            for log in ("run.csv", [raw]):
                assert sy.validate(model, log).relative_error == pytest.approx(told, rel=1e-12), (name, type(model))
    ready = result.held_out  # which is not filtered again
    assert sy.validate(result, ready).relative_error == sy.validate(result.estimate, ready).relative_error
    with pytest.raises(OptionError, match="rotors, contacts and row_weights are for a Log with q, v, a and tau"):
        sy.validate(result, "run.csv", rotors=True)


def test_a_folder_counts_with_motors_that_joints_share(tmp_path):
    """What no model file has a place for is in the folder's summary: the error is that of the Result."""
    robot = sy.library.puma560()
    log = sy.simulate.record(robot, duration=6.0, seed=3).log
    speed = np.gradient(log.q, log.t, axis=0)
    apart, tau = speed[:, 4] - speed[:, 5], log.tau.copy()
    shared = 0.5 * np.tanh(apart / 0.02) + 0.3 * apart
    tau[:, 4], tau[:, 5] = tau[:, 4] + shared, tau[:, 5] - shared
    log = log.replace(tau=tau)
    result = sy.identify(robot, log, coupling="joint5-joint6", out=tmp_path / "out")
    found = sy.validate(tmp_path / "out", log).relative_error
    assert found == pytest.approx(sy.validate(result, log).relative_error, rel=1e-9)
    assert found < 0.2 * sy.validate(result.robot, log).relative_error
