"""Simulated logs: MuJoCo obeys our equations, sensors degrade as stated, and identification returns the truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

import steelyard as sy
from arm_logs import puma
from problems import true_base
from steelyard.errors import ModelError, OptionError
from steelyard.information import accumulate
from steelyard.prepare import with_motion
from steelyard.simulate import PERFECT, JointPD, Sensors, Trajectory, record, rich_motion

pytestmark = pytest.mark.claim(
    "pipeline.simulated",
    "simulated logs: recovery to 1e-6 without noise, prediction as good as the truth's with noise",
    pages=("docs/evidence/conformance.md",),
)

ROBOTS = {"puma560": sy.library.puma560, "scara": sy.library.scara, "cheetah3_leg": sy.library.cheetah3_leg}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ROBOTS)
def test_noise_free_logs_return_the_truth(name, record_property):
    truth = ROBOTS[name]()
    recording = record(truth, sensors=PERFECT, duration=8.0)
    assert sy.validate(truth, recording.log).relative_error < 1e-10
    info = accumulate(truth, recording.log, armature=True)
    expected = true_base(info, truth)
    given = truth.with_inertias(truth.inertias * 1.2)
    for estimate in (sy.fit.least_squares(info), sy.fit.consistent(info, prior=given)):
        difference = np.abs(estimate.base - expected).max() / np.abs(expected).max()
        record_property("base parameters without noise differ by", float(difference))
        assert difference < 1e-6
        resolved = np.abs(expected) > 1e-3 * np.abs(expected).max()
        np.testing.assert_allclose(estimate.base[resolved], expected[resolved], rtol=1e-6)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ROBOTS)
def test_noisy_logs_are_predicted_as_well_as_by_the_truth(name, record_property):
    truth = ROBOTS[name]()
    given = truth.with_inertias(truth.inertias * np.array([1.3] + [0.8] * 3 + [1.4] * 6))
    given = given.with_inertias(sy.fit.prior.consistent_prior(given, given, given.nb)[0])
    log = with_motion(record(truth, duration=16.0, sensors=Sensors(torque_noise=0.02)).log, None)
    train, test = sy.split_blocks(log)
    estimate = sy.fit.consistent(accumulate(truth, train, armature=True), prior=given)
    floor = sy.validate(truth, test).relative_error
    error = sy.validate(estimate, test).relative_error
    record_property("error over the truth's own", float(error / floor))
    assert error < 1.05 * floor
    assert floor < 3 * 0.02 * np.sqrt(2 * 10.0 / log.rate)  # the torque noise that the filter leaves
    assert sy.validate(given, test).relative_error > 3 * floor


def followed(step, monkeypatch, controller=None):
    """Error of the torque by the closed-form motion, over the torque, and that of the velocity, rad/s, of a record."""
    robot, motion = puma(), rich_motion(puma(), duration=2.0, seed=3)
    monkeypatch.setattr("steelyard.simulate.trajectories.STEP", step)
    log = record(robot, motion, sensors=Sensors(0.0, 0.0, rate=1 / step), controller=controller).log
    q, v, a = (log.q, log.v, log.a) if controller else motion.evaluate(log.t)
    error = sy.validate(robot, log.replace(q=q, v=v, a=a)).relative_error
    return error, np.abs(log.v - v).max(), log


def test_torque_and_motion_are_of_one_instant(monkeypatch):
    """To second order in the step: velocities half a step late, as `mj_step` leaves them, are twenty times worse."""
    coarse, fine = (followed(step, monkeypatch)[:2] for step in (1e-3, 5e-4))
    assert coarse[0] < 1e-4 and coarse[1] < 5e-4
    np.testing.assert_allclose(np.divide(coarse, fine), 4, rtol=0.1)
    _, _, log = followed(1e-3, monkeypatch)
    robot, motion = puma(), rich_motion(puma(), duration=2.0, seed=3)
    q, _, a = motion.evaluate(log.t)
    late = motion.evaluate(log.t - 0.5e-3)[1]
    assert sy.validate(robot, log.replace(q=q, v=late, a=a)).relative_error > 20 * coarse[0]


def test_velocity_under_a_controller_is_that_of_the_positions(monkeypatch):
    """The same for a robot that lags behind: derivative of a spline through its positions."""
    controller = JointPD(stiffness=1500.0, damping=80.0)
    errors = []
    for step in (1e-3, 5e-4):
        error, _, log = followed(step, monkeypatch, controller)
        assert error < 1e-12
        errors.append(np.abs(make_interp_spline(log.t, log.q, k=5)(log.t, 1) - log.v)[len(log) // 4 : -50].max())
    assert errors[0] < 0.1 * 0.5e-3 * np.abs(log.a).max() and errors[0] > 3.5 * errors[1]


def test_a_simulation_that_diverges_is_refused():
    with pytest.raises(ModelError, match="diverged"):
        record(sy.library.puma560(), duration=1.0, controller=JointPD(stiffness=1e6, damping=0.0))


def test_motion_stays_inside_the_limits_and_moves_every_joint():
    robot = sy.library.puma560()
    motion = rich_motion(robot, duration=12.0, seed=3)
    q, v, a = motion.evaluate(np.arange(0, 12, 1e-3))
    assert (q > robot.lower).all()
    assert (q < robot.upper).all()
    assert (np.abs(v) < robot.velocity_limits).all()
    assert (np.ptp(q, axis=0) > 0.3).all()
    np.testing.assert_allclose(np.gradient(q, 1e-3, axis=0)[1:-1], v[1:-1], atol=1e-3)
    np.testing.assert_allclose(np.gradient(v, 1e-3, axis=0)[1:-1], a[1:-1], atol=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_a_motion_uses_four_fifths_of_a_range_and_seven_tenths_of_a_speed(seed):
    """At most, and one of the two, or 1.2 rad and 0.15 m, to the full."""
    robot = sy.library.puma560()
    quick = {"velocity_limit": np.array([50.0])}
    narrow = replace(robot.joints[1], lower=np.array([-0.5]), upper=np.array([0.7]), **quick)
    robot = replace(robot, joints=(robot.joints[0], narrow, *robot.joints[2:]))
    q, v, _ = rich_motion(robot, duration=12.0, seed=seed).evaluate(np.linspace(0, 6, 400))
    span, middle = robot.upper - robot.lower, (robot.upper + robot.lower) / 2
    reach = np.minimum(0.8 * span / 2, 1.2)
    used = np.abs(q - middle).max(axis=0) / reach, np.abs(v).max(axis=0) / (0.7 * robot.velocity_limits)
    np.testing.assert_allclose(np.max(used, axis=0), 1.0, rtol=1e-3)


def test_sensors_do_what_they_say():
    robot = sy.library.scara()
    sensors = Sensors(encoder_resolution=1e-3, torque_noise=0.05, delay=0.004, rate=250.0)
    recording = record(robot, duration=6.0, sensors=sensors)
    log, truth = recording.log, recording.truth
    assert log.v is None
    assert log.rate == pytest.approx(250.0)
    np.testing.assert_allclose(log.q / 1e-3, np.round(log.q / 1e-3), atol=1e-6)
    assert np.abs(log.q - truth.q).max() <= 0.5e-3 + 1e-12
    late = np.stack([np.interp(truth.t - 0.004, truth.t, tau) for tau in truth.tau.T], axis=1)
    ratio = np.std(log.tau - late, axis=0) / np.sqrt(np.mean(truth.tau**2, axis=0))
    np.testing.assert_allclose(ratio, 0.05, rtol=0.15)


def test_the_same_seed_gives_the_same_log():
    robot = sy.library.scara()
    one, same, other = (record(robot, duration=3.0, seed=seed).log.tau for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-3


def test_a_motion_of_ones_own():
    robot = sy.library.scara()
    still = Trajectory(lambda t: (np.tile([0.1, 0.2, 0.0, 0.3], (len(t), 1)), *[np.zeros((len(t), 4))] * 2), 1.0)
    log = record(robot, still, sensors=PERFECT).log
    np.testing.assert_allclose(log.q, np.tile([0.1, 0.2, 0.0, 0.3], (len(log), 1)), atol=1e-9)


def test_refusals():
    with pytest.raises(OptionError, match="one-degree"):
        rich_motion(sy.library.scara(floating=True))
    with pytest.raises(OptionError, match="rate"):
        record(sy.library.scara(), duration=1.0, sensors=Sensors(rate=333.0))
    with pytest.raises(OptionError, match="duration"):
        rich_motion(sy.library.scara(), duration=0.0)
