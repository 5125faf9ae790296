"""What slow logging and clipping cost: Fisher information by another route, and Pinocchio for slower motion."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from recordings_of_arms import arm, recorded
from small_runs import JOINTS, motion, write_model
from steelyard.app.demo_job import mistaken
from steelyard.information import accumulate
from steelyard.log import saturated
from steelyard.pipeline import inspect
from steelyard.terms import COULOMB_WIDTH

SLOW = 33  # samples of which one is kept


def told(log, robot):
    return [fault for fault in inspect(log, robot).faults if fault.code == "record_longer"]


def clipped(log, share):
    most = share * np.abs(log.tau).max(axis=0)
    return log.replace(tau=np.clip(log.tau, -most, most))


def fisher_error(robot, log, weights):
    """Expected error of the log's own torques, from Gram matrices of all samples. log: filtered."""
    options = {"armature": True}
    noise = 0.01 * np.sqrt(np.mean(log.tau**2, axis=0))
    used = accumulate(robot, log.replace(weights=weights), **options).gram
    G, H = np.tensordot(noise**-2.0, used, axes=1), accumulate(robot, log, **options).gram.sum(axis=0)
    size = np.sqrt(np.diag(G))
    return float(np.sqrt(np.sum(H * np.linalg.inv(G / size / size[:, None]) / size / size[:, None])))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["panda", "ur10"])
def test_what_clipped_torques_cost(name):
    robot, log = arm(name), recorded(name)
    raw = clipped(log, 0.7)
    (fault,) = told(raw, mistaken(robot))
    filtered = sy.filters.differentiate(log, cutoff=10.0, drop=0)
    ratio = fisher_error(robot, filtered, (~saturated(raw)).astype(float)) / fisher_error(robot, filtered, None)
    assert fault.evidence["expected_error_ratio"] == pytest.approx(ratio, rel=0.2)
    assert fault.evidence["times_as_long"] == pytest.approx(fault.evidence["expected_error_ratio"] ** 2)
    assert fault.evidence["share_clipped"] == pytest.approx(saturated(raw).mean(), rel=0.1)
    assert f"Give --saturation, and record {fault.evidence['times_as_long']:.2g} times as long" in fault.message
    assert told(log, mistaken(robot)) == []


def test_slow_logs_say_how_long_to_record():
    robot, log = mistaken(arm("panda")), recorded("panda")
    (fault,) = told(log[::SLOW], robot)
    assert fault.evidence["times_as_long"] == pytest.approx(20 * 500 / len(log[::SLOW]))
    assert fault.evidence["expected_error_ratio"] == pytest.approx(np.sqrt(SLOW), rel=0.01)
    better = fault.evidence["expected_error"] / fault.evidence["expected_error_ratio"]
    assert f"500 Hz would tell them to {better:.2%}" in fault.message
    (shorter,) = told(log[: len(log) // 2 : SLOW], robot)
    assert shorter.evidence["times_as_long"] == pytest.approx(2 * fault.evidence["times_as_long"], rel=0.01)
    assert 1.2 < shorter.evidence["expected_error"] / fault.evidence["expected_error"] < 1.8


def test_more_samples_do_not_average_what_lasts_longer():
    """A disturbance that stays alike for a second: samples of 15 Hz are alike already."""
    log, rng = recorded("panda"), np.random.default_rng(0)
    knots = np.arange(0, 22.0, 0.5)
    slow = np.stack([np.interp(log.t - log.t[0], knots, rng.normal(size=len(knots))) for _ in range(log.nv)], axis=1)
    disturbed = log.replace(tau=log.tau + 0.03 * np.std(log.tau, axis=0) * slow)
    (white,) = told(log[::SLOW], arm("panda"))
    found = told(disturbed[::SLOW], arm("panda"))
    assert len(found) == 1 and found[0].evidence["times_as_long"] < 0.6 * white.evidence["times_as_long"]


@pytest.fixture
def small(tmp_path):
    """Path of a small arm, its motion, and Pinocchio's torques of it at a share of the speed, in some gravity."""
    path = write_model(tmp_path / "arm.urdf")
    t, q, v, a = motion(2000)
    m = pin.buildModelFromUrdf(str(path))
    d = m.createData()

    def torques(speed=1.0, gravity=9.81):
        m.gravity.linear[:] = 0, 0, -gravity
        rows = zip(q, speed * v, speed**2 * a, strict=True)
        tau = np.array([pin.rnea(m, d, *row).copy() for row in rows])
        return tau + 0.3 * speed * v + 0.2 * np.tanh(v / COULOMB_WIDTH)

    return path, sy.Log(t=t, q=q, tau=torques(), joint_names=JOINTS), torques


def test_speed_at_which_no_torque_is_clipped(small):
    path, log, torques = small
    robot = sy.load(path, gravity=(0, 0, 0))
    exact = torques(gravity=0.0)
    most = 0.7 * np.abs(exact).max(axis=0)
    noisy = exact + 0.01 * np.std(exact, axis=0) * np.random.default_rng(0).normal(size=exact.shape)
    (fault,) = told(log.replace(tau=np.clip(noisy, -most, most)), robot)
    speed = fault.evidence["speed"]
    over = {s: (np.abs(torques(s, gravity=0.0)) > 1.02 * most).mean(axis=0).max() for s in (speed, speed + 0.1)}
    assert over[speed] < 2e-3 < over[speed + 0.1]
    assert f"{speed:.2g} times the speed" in fault.message
    assert fault.evidence["times_as_long_slower"] > 1


def test_poses_that_need_more_than_the_limit_at_any_speed(small):
    path, log, torques = small
    most = 0.7 * np.abs(log.tau).max(axis=0)
    still = np.abs(torques(0.1)) > 1.02 * most
    expected = [name for name, share in zip(JOINTS, still.mean(axis=0), strict=True) if share > 2e-3]
    assert expected and len(expected) < 3
    noisy = log.tau + 0.01 * np.std(log.tau, axis=0) * np.random.default_rng(0).normal(size=log.tau.shape)
    (fault,) = told(log.replace(tau=np.clip(noisy, -most, most)), sy.load(path))
    assert f"does not spare {', '.join(expected)}, whose poses" in fault.message and "speed" not in fault.evidence


def test_gravity_free_parameters_of_the_structure():
    """Combinations that show in gravity only: as many as the structure loses without gravity."""
    robot, log = arm("panda"), recorded("panda")
    still = np.zeros_like(log.q)
    held = log.replace(tau=log.tau - sy.inverse_dynamics(robot, log.q, still, still))
    (fault,) = inspect(held, mistaken(robot)).faults
    weightless = replace(robot, gravity=np.zeros(3))
    lost = sy.identifiability(robot).count - sy.identifiability(weightless).count
    assert fault.code == "gravity_compensated" and fault.evidence["combinations_lost"] == lost > 0
    assert "--gravity-model MODEL" in fault.message and fault.options == ("--gravity", "0", "0", "0")
    assert fault.evidence["times_as_long"] > 2
