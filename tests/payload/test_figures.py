"""Numbers that a payload states of itself: deviations, residuals, counts, and what the online estimator remembers."""

from dataclasses import replace

import numpy as np
import pytest
from evidence.bench.tray_experiment import test_object

from payload_logs import THETA, static, swing
from steelyard import payload
from steelyard.errors import LogError
from steelyard.inertia import parameters
from steelyard.payload import OnlineEstimator, Payload, Status, WrenchLog, calibrate
from steelyard.payload.motion_signals import filter_motion, roughness
from steelyard.payload.point_mass import dynamism
from steelyard.payload.wrench_sums import accumulate, bias_of, residual_rms, wrench_regressor

NOISE = (0.1, 0.005)
WEIGHTLESS = np.zeros(10)


def streamed(log, **options):
    estimator = OnlineEstimator(**{"noise": NOISE} | options)
    estimator.update_many(log)
    return estimator


def joined(*logs):
    """Logs one after the other, in time, too."""
    keys = ("wrench", "rotation", "twist", "acceleration")
    arrays = {key: np.concatenate([getattr(log, key) for log in logs]) for key in keys}
    return WrenchLog(t=0.01 * np.arange(sum(map(len, logs))), gravity=logs[0].gravity, **arrays)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(10, 10)) * np.sqrt(THETA[0]) * [0.03, *[0.002] * 3, *[1e-4] * 6]
    return Payload(THETA, A.T @ A, "given", Status.OK, np.array([0.1, 0.01]), 100)


def test_deviations_are_those_of_drawn_bodies(found):
    """Mass, centre and inertia of bodies drawn from the covariance, small enough to be linear."""
    scale = 1e-3
    draws = np.random.default_rng(1).multivariate_normal(THETA, scale**2 * found.covariance, size=20_000)
    mass, com, inertia = parameters.to_com_inertia(draws)
    assert found.mass_deviation == pytest.approx(np.std(mass) / scale, rel=0.03)
    np.testing.assert_allclose(found.com_deviation, np.std(com, axis=0) / scale, rtol=0.03)
    np.testing.assert_allclose(found.inertia_deviation, np.std(inertia, axis=0) / scale, rtol=0.03)
    _, com, inertia = parameters.to_com_inertia(THETA)
    np.testing.assert_allclose(found.com, com, rtol=1e-12)
    np.testing.assert_allclose(found.inertia, inertia, rtol=1e-12)
    told = found.summary()
    center = [f"{1e3 * x:.2f} ± {1e3 * each:.2f}" for x, each in zip(com, found.com_deviation, strict=True)]
    assert f"centre of mass  {', '.join(center)} mm" in told
    for status in Status:
        assert replace(found, status=status).status.usable == (status.name in ("OK", "WEAK", "STATIC", "AXIS"))


def test_residuals_and_bias_are_those_of_every_component():
    log = swing(THETA, noise=(0.2, 0.004, 0.0, 0.0), duration=20.0, bias=np.array([1.0, -2.0, 0.5, 0.02, 0.01, -0.03]))
    info = accumulate(log, bias=True)
    unbiased = np.append(THETA, np.zeros(6))
    rows = log.wrench - np.einsum("nij,j->ni", wrench_regressor(log), THETA)
    expected = [np.sqrt(np.mean(rows[:, part] ** 2)) for part in (slice(3), slice(3, 6))]
    np.testing.assert_allclose(residual_rms(info, unbiased), expected, rtol=1e-9)
    bias, _ = bias_of(info, (0.2, 0.004), THETA, np.zeros((10, 10)))
    np.testing.assert_allclose(bias, rows.mean(axis=0), rtol=1e-6)
    half = info.discounted(0.25)
    np.testing.assert_allclose(residual_rms(half, unbiased), residual_rms(info, unbiased), rtol=1e-12)


def test_online_deviations_follow_the_noise_of_the_stream():
    """Noise three times as stated: what is stated does not matter for long."""
    log = swing(THETA, noise=(*NOISE, 0.0, 0.0), speed=1.5, duration=20.0)
    right = streamed(log)
    short = streamed(log, noise=(NOISE[0] / 3, NOISE[1] / 3))
    ratio = np.diag(short.covariance)[:4] / np.diag(right.covariance)[:4]
    np.testing.assert_allclose(ratio, 1.0, rtol=0.25)
    off = (right.theta - THETA) / np.sqrt(np.diag(right.covariance))
    assert np.abs(off[:4]).max() < 4


def test_memory_is_as_many_samples_as_it_says():
    log = swing(THETA, noise=(*NOISE, 0.0, 0.0), speed=1.5, duration=8.0)
    for memory in (20.0, 80.0):
        estimator = streamed(log, memory=memory)
        assert estimator.payload.samples == pytest.approx(1 / (1 - np.exp(-1 / memory)), abs=1)
        assert estimator.samples == len(log)
        assert estimator.theta[0] == pytest.approx(THETA[0], rel=0.02)
        assert estimator.payload.status is Status.WEAK  # so few samples leave the inertia open


def test_an_empty_hand_holds_nothing():
    log = swing(WEIGHTLESS, noise=(*NOISE, 0.0, 0.0), speed=1.5, duration=4.0)
    estimator = streamed(log)
    assert estimator.payload.status is Status.FAINT and not estimator.holding and estimator.state == "empty"


def test_a_rattle_is_no_other_payload():
    """Four blows, the last one soft, then the same payload as before: new sums are begun, and joined to the old."""
    solid = test_object("hammer").solid
    log = swing(0.7 * solid.homogeneous, noise=(*NOISE, 0.0, 0.0), speed=1.0, duration=12.0)
    wrench = np.array(log.wrench)
    wrench[600:604, :3] += np.array([2.0, -2.0, 2.0, -0.5])[:, None]
    log = log.replace(wrench=wrench)
    estimator = streamed(log[:630], shape=solid)
    assert estimator.state == "changing" and estimator.payload.samples < 40
    estimator.update_many(log[630:])
    assert estimator.changes == [] and estimator.state == "holding" and estimator.payload.samples > len(log) - 10
    assert estimator.theta[0] == pytest.approx(0.7, rel=0.01)


def test_a_change_is_told_with_the_masses_that_memory_holds():
    kept = swing(THETA, noise=(*NOISE, 0.0, 0.0), speed=1.0, duration=6.0)
    empty = swing(WEIGHTLESS, noise=(*NOISE, 0.0, 0.0), speed=1.0, duration=2.0, seed=1)
    (change,) = streamed(joined(kept, empty), memory=50.0).changes
    assert change.kind == "dropped"
    assert change.mass_before == pytest.approx(THETA[0], rel=0.02) and abs(change.mass_after) < 0.02


def test_a_wild_sample_hardly_moves_the_estimate():
    log = swing(THETA, noise=(*NOISE, 0.0, 0.0), speed=1.0, duration=4.0)
    wrench = np.array(log.wrench)
    wrench[300, :3] += 80.0
    clean, hit = streamed(log), streamed(log.replace(wrench=wrench))
    deviation = np.sqrt(np.diag(clean.covariance))
    assert np.abs((hit.theta - clean.theta) / deviation).max() < 0.3
    assert np.abs(hit.theta - clean.theta).max() > 0


def test_a_tool_brings_its_gravity():
    """Logs whose world has z down: the tool was calibrated there, and its payload is weighed there."""
    down = (0.0, 0.0, 9.81)
    hand = parameters.from_com_inertia(0.4, np.array([0.0, 0.01, 0.03]), 4e-4 * np.eye(3))
    tool = calibrate(static(hand, poses=12, gravity=down))
    log = static(hand + THETA, poses=60, gravity=down, seed=3)
    estimator = OnlineEstimator(noise=NOISE, tool=tool)
    for k in range(len(log)):
        estimator.update(log.t[k], log.rotation[k], log.wrench[k])
    assert estimator.theta[0] == pytest.approx(THETA[0], rel=0.01)


def test_the_first_change_is_dated_to_its_first_sample():
    motion = swing(WEIGHTLESS, noise=(0.02, 0.001, 0.0, 0.0), speed=1.0, duration=3.0)
    held = swing(THETA * 0.2, noise=(0.02, 0.001, 0.0, 0.0), speed=1.0, duration=3.0, seed=1)
    log = joined(motion, held)
    (change,) = streamed(log, noise=(0.02, 0.001)).changes
    assert change.kind == "picked up" and change.time == pytest.approx(log.t[len(motion)], abs=0.011)


def test_noise_of_poses_is_that_of_white_noise():
    rng, t = np.random.default_rng(4), np.arange(50_000) * 0.01
    smooth = np.stack([np.sin(0.3 * t), np.cos(0.2 * t), 0.1 * t], axis=1)
    for level in (1e-3, 1e-2):
        noisy = smooth + level * rng.normal(size=smooth.shape)
        assert roughness(noisy) == pytest.approx(level, rel=0.02)
        assert roughness(np.diff(noisy, axis=0), more=2) == pytest.approx(level, rel=0.02)


def test_motion_from_poses_is_the_motion():
    """A sensor on a circle that turns with it: its spatial acceleration is zero, the classical one is not."""
    t, rate, radius = np.arange(400) * 0.01, 1.3, 0.5
    c, s = np.cos(rate * t), np.sin(rate * t)
    zero, one = np.zeros_like(t), np.ones_like(t)
    rotation = np.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=1).reshape(-1, 3, 3)
    position = radius * np.stack([c, s, zero], axis=1)
    log = WrenchLog(t=t, wrench=np.zeros((400, 6)), rotation=rotation, position=position)
    found = filter_motion(log, settle=100)
    assert len(found) == 300
    inner = slice(50, 250)
    twist, acceleration = found.motion
    np.testing.assert_allclose(twist[inner], np.tile([0, radius * rate, 0, 0, 0, rate], (200, 1)), atol=2e-3)
    np.testing.assert_allclose(acceleration[inner], 0.0, atol=2e-2)
    np.testing.assert_allclose(found.origin_acceleration[inner, 0], -radius * rate**2, atol=2e-2)
    np.testing.assert_allclose(dynamism(found)[inner], (radius * rate**2) ** 2 + (rate / 0.5) ** 2, rtol=0.03)


def test_four_samples_are_enough_and_three_are_not():
    log = static(THETA, poses=4)
    assert payload.identify(log).mass == pytest.approx(THETA[0], rel=1e-3)
    with pytest.raises(LogError, match="has 3 samples"):
        payload.identify(log[:3])
