"""Wrong input is named with its remedy: signs, axes, saturation, gaps, poses, misplaced shapes; and the empty hand."""

import re

import numpy as np
import pytest
from evidence.bench.tray_experiment import test_object

from payload_logs import THETA, in_world_axes, static, swing, tool, tool_log
from random_bodies import rotations
from steelyard import WrenchLog
from steelyard.errors import FitError, LogError
from steelyard.payload import (
    Status,
    calibrate,
    compensate,
    diagnose,
    identify,
    solid_of,
)
from steelyard.payload.wrench_sums import wrench_regressor

pytestmark = pytest.mark.claim("payload.mistakes", "mistakes of axes, signs, shapes and sensors are named")

NOISE = (0.05, 0.002, 0.01, 0.05)


def test_a_good_log_has_no_findings():
    assert diagnose(swing(noise=NOISE)) == ()
    assert diagnose(static(sigma=(0.05, 0.002))) == ()


@pytest.mark.parametrize("noise", [(0.0,) * 4, NOISE])
def test_signs_and_axes_are_named(noise):
    log = swing(noise=noise)
    classical = np.concatenate([log.origin_acceleration, log.acceleration[:, 3:]], axis=1)
    cases = {
        r"pass -wrench": log.replace(wrench=-log.wrench),
        r"gravity is flipped: pass gravity=\(0, 0, -9.81\)": log.replace(gravity=-log.gravity),
        r"rotation is sensor_from_world": log.replace(rotation=log.rotation.transpose(0, 2, 1)),
        r"from_world_axes": log.replace(
            wrench=in_world_axes(log, log.wrench),
            twist=in_world_axes(log, log.twist),
            acceleration=in_world_axes(log, classical),
        ),
    }
    for words, wrong in cases.items():
        (found,) = diagnose(wrong)
        assert re.search(words, found), found


@pytest.mark.claim("payload.tools")
def test_the_trap_of_the_tools_data():
    """Loaded naively (sensor axes, gravity down), the log fits a negative mass; both mistakes are named, nothing
    crashes, and following the advice gives the truth."""
    data, theta, _ = tool("Pliers")
    naive = WrenchLog(
        t=data["t"],
        wrench=data["wrench"],
        rotation=data["ft_pose"][:, :3, :3],
        twist=data["ft_vel"],
        acceleration=data["ft_acc"],
    )
    found = identify(naive)
    assert found.status is Status.SUSPECT and not found.status.usable
    assert "from_world_axes" in found.findings[0] and "gravity=(0, 0, 9.81)" in found.findings[0]
    half_right = identify(tool_log(data, gravity=(0.0, 0.0, -9.81)))
    assert half_right.status is Status.SUSPECT and half_right.mass < 0 and half_right.method == "ols"
    assert "negative mass" in half_right.findings[0] and "gravity is flipped" in half_right.findings[0]
    right = identify(tool_log(data), "ols")
    assert right.findings == () and right.mass == pytest.approx(theta[0], rel=1e-8)


def test_nothing_held():
    log = swing(1e-9 * THETA, noise=(0.05, 0.002, 0, 0))
    found = identify(log)
    assert abs(found.mass) < 0.01


def test_saturation_gaps_and_poses_are_named():
    log = swing(noise=NOISE)
    clipped = log.replace(wrench=np.clip(log.wrench, -2.0, 2.0))
    assert any("is saturated" in text for text in diagnose(clipped))
    jump = log.replace(t=log.t + np.where(np.arange(len(log)) > 100, 5.0, 0.0))
    assert any("time jumps 1 times, the longest by 5.01 s" in text for text in diagnose(jump))
    still = static(poses=30, sigma=(0.02, 0.001))
    constant = still.replace(rotation=still.rotation[[0] * 30])
    constant = constant.replace(wrench=still.wrench[[0] * 30] + 0.02 * np.random.default_rng(0).normal(size=(30, 6)))
    assert any("keeps one orientation" in text for text in diagnose(constant))


def test_a_shape_in_the_wrong_place_is_named():
    thing = test_object("hammer")
    log = swing(thing.theta, noise=NOISE)
    assert diagnose(log, thing.solid) == ()
    moved = solid_of(thing.solid.points + np.array([0.5, 0, 0]))
    (found,) = diagnose(log, moved)
    assert "mm outside the shape" in found and "sensor frame" in found


def hand(poses=10, seed=0, gravity=(0.0, 0.0, -9.81), moving=False):
    bias = np.array([1.0, -2.0, 0.5, 0.03, -0.02, 0.01])
    if moving:
        return swing(bias=bias).replace(gravity=np.array(gravity)), bias
    return static(poses=poses, seed=seed, gravity=gravity, bias=bias), bias


def test_calibration_finds_hand_bias_and_gravity():
    tilted = 9.81 * np.array([0.05, -0.08, -np.sqrt(1 - 0.05**2 - 0.08**2)])
    log, bias = hand(gravity=tilted)
    assumed = log.replace(gravity=np.array([0, 0, -9.81]))
    found = calibrate(assumed)
    np.testing.assert_allclose(found.theta[:4], THETA[:4], atol=1e-9)
    np.testing.assert_allclose(found.bias, bias, atol=1e-8)
    np.testing.assert_allclose(found.gravity, tilted, atol=1e-8)
    assert found.noise.max() < 1e-8
    stubborn = calibrate(assumed, find_gravity=False)
    assert np.abs(stubborn.bias - bias).max() > 1e-3  # what a tilted base costs otherwise


def test_a_known_gravity_weighs_forces_and_torques_by_their_noise():
    """Against weighted least squares with the noise that was put in: torques tell more of the centre of mass."""
    sigma, errors = (0.5, 0.002), []
    for seed in range(12):
        log = swing(seed=seed, noise=(*sigma, 0, 0))
        Y = np.concatenate([wrench_regressor(log), np.broadcast_to(np.eye(6), (len(log), 6, 6))], axis=2)
        weight = np.tile(np.repeat(1 / np.array(sigma), 3), len(log))
        best = np.linalg.lstsq(Y.reshape(-1, 16) * weight[:, None], log.wrench.ravel() * weight, rcond=None)[0]
        found = calibrate(log, find_gravity=False).theta
        errors.append([np.linalg.norm(x[1:4] / x[0] - THETA[1:4] / THETA[0]) for x in (best, found)])
    known, weighed = np.sqrt(np.mean(np.square(errors), axis=0))
    assert weighed < 1.02 * known


def test_compensation_leaves_the_payload():
    held = test_object("tee").theta
    empty, _ = hand(moving=True)
    full = swing(THETA + held, bias=np.array([1.0, -2.0, 0.5, 0.03, -0.02, 0.01]))
    found = calibrate(empty)
    np.testing.assert_allclose(found.theta, THETA, atol=1e-8)
    np.testing.assert_allclose(identify(full, "ols", tool=found).theta, held, atol=1e-8)
    assert "taken off" in compensate(full, found).notes[-1]
    assert identify(full, "ols").mass > held[0] + 0.5


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("method", ["hull", "pmd", "auto", "ellipsoid"])
def test_a_result_that_misses_the_log_is_not_called_solved(method):
    """A shape half a metre away holds no body with these moments."""
    thing = test_object("hammer")
    log = swing(thing.theta, noise=NOISE)
    away = identify(log, method, shape=thing.solid.points + np.array([0.5, 0.0, 0.0]))
    assert away.status is Status.SUSPECT
    assert any("no body inside the shape explains the log" in text for text in away.findings)
    here = identify(log, method, shape=thing.solid)
    assert here.status.usable and here.findings == ()


def test_one_orientation_does_not_hide_a_misplaced_shape():
    thing = test_object("hammer")
    poses = static(thing.theta, poses=30)
    still = poses.replace(rotation=poses.rotation[[0] * 30], wrench=poses.wrench[[0] * 30])
    still = still.replace(wrench=still.wrench + 0.01 * np.random.default_rng(0).normal(size=(30, 6)))
    found = diagnose(still, solid_of(thing.solid.points + np.array([0.5, 0.0, 0.0])))
    assert "keeps one orientation" in found[0] and "outside the shape" in found[1]


def test_calibration_refuses_what_it_cannot_tell_apart():
    log, _ = hand(poses=3)
    with pytest.raises(LogError, match="at least 4"):
        calibrate(log)
    log, _ = hand(poses=12)
    with pytest.raises(FitError, match="Tilt the sensor about two axes"):
        calibrate(log.replace(rotation=np.repeat(rotations(0, (1,)), 12, axis=0)))
    with pytest.raises(LogError, match="no gravity"):
        calibrate(log.replace(gravity=np.zeros(3)))


def test_noise_stated_too_small_is_named_and_deviations_follow_the_residual():
    stated, real = (0.05, 0.002), (0.25, 0.01)
    errors = []
    for seed in range(4):
        found = identify(swing(noise=(*real, 0.0, 0.0), seed=seed, duration=6.0), noise=stated)
        assert any("noise was stated as 0.05 N" in each for each in found.findings)
        errors.append((found.theta[:4] - THETA[:4]) / np.sqrt(np.diag(found.covariance)[:4]))
    assert np.sqrt(np.mean(np.square(errors))) < 2.5
    honest = identify(swing(noise=(*real, 0.0, 0.0), duration=6.0), noise=real)
    assert not any("noise was stated" in each for each in honest.findings)
