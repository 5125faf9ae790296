"""Logs with gaps, stretches too short, channels that stay unfiltered, and masks after masks."""

import numpy as np
import pytest

from steelyard.errors import LogError
from steelyard.log import Log, checks, filters, masks
from steelyard.log.automatic_cutoff import acceleration_noise
from steelyard.log.stamps import gaps, segments

RATE = 128.0  # Hz: steps that floating point holds exactly


def stamped(*stretches):
    """Stamps of stretches (start, samples) at RATE."""
    return np.concatenate([start + np.arange(count) / RATE for start, count in stretches])


def swinging(t, **more):
    q = np.stack([np.sin(2 * t), 0.7 * np.cos(1.5 * t)], axis=1)
    tau = np.stack([np.cos(3 * t), np.sin(t)], axis=1)
    return Log(t=t, q=q, tau=tau, joint_names=("a", "b"), **more)


def velocities(log):
    return log.replace(v=np.stack([2 * np.cos(2 * log.t), -1.05 * np.sin(1.5 * log.t)], axis=1))


def codes(log, robot=None):
    return [finding.code for finding in checks.check(log, robot)]


def test_a_long_gap_does_not_hide_a_short_one():
    t = stamped((0.0, 50), (1.0, 60), (500.0, 40))
    np.testing.assert_array_equal(gaps(t), [49, 109])
    assert segments(t) == [slice(0, 50), slice(50, 110), slice(110, 150)]
    found = [f for f in checks.check(velocities(swinging(t))) if f.code == "gap"]
    assert "2 gaps" in found[0].message and f"after t = {t[109]:.6g} s" in found[0].message


def test_stretches_shorter_than_the_filter_are_left_out():
    t = stamped((0.0, 400), (10.0, 8), (20.0, 9))  # a filter of order four needs more than eight
    found = filters.differentiate(swinging(t), 10.0, drop=0)
    np.testing.assert_array_equal(found.t, t[np.r_[:400, 408:417]])
    assert "0 of" not in found.notes[0] and "8 of 417 samples left out" in found.notes[0]


def test_what_is_not_filtered_is_that_of_the_same_samples():
    t = stamped((0.0, 400), (10.0, 300))
    wrench = np.arange(700.0)[:, None] + np.arange(6)
    log = swinging(t, wrenches={"hand": wrench})
    found = filters.differentiate(log, 10.0, filter_torque=False)
    kept = np.isin(t, found.t)
    assert len(found) < len(log)
    np.testing.assert_array_equal(found.wrenches["hand"], wrench[kept])
    np.testing.assert_array_equal(found.tau, log.tau[kept])
    assert found.direction is None  # the smoothed sign of the speed belongs to torques that jump
    filtered = filters.differentiate(log, 10.0)
    assert filtered.direction is not None
    inner = slice(50, 300)
    np.testing.assert_allclose(filtered.wrenches["hand"][inner], wrench[kept][inner], atol=1e-3)


def test_half_the_rate_is_no_cutoff():
    log = swinging(stamped((0.0, 400)))
    with pytest.raises(LogError, match="below 64 Hz"):
        filters.differentiate(log, 64.0)
    with pytest.raises(LogError, match="below 64 Hz"):
        filters.lowpass(log.q, RATE, 64.0)


def test_masks_add_up():
    log = swinging(stamped((0.0, 600)))
    one, other = np.zeros((2, 600, 2), dtype=bool)
    one[100, 0], other[300, 0] = True, True
    filtered = filters.differentiate(log, 10.0)
    both = masks.masked(masks.masked(filtered, log, one, 10.0), log, other, 10.0)
    together = masks.masked(filtered, log, one | other, 10.0)
    np.testing.assert_array_equal(both.weights, together.weights)
    assert (both.weights[:, 0] == 0).sum() > 10 and both.weights[:, 1].all()


def test_motion_in_a_gap_is_no_wrong_velocity():
    log = velocities(swinging(stamped((0.0, 500), (7.3, 500))))
    assert codes(log) == ["gap"]
    wrong = [f for f in checks.check(log.replace(v=log.v * [1, 4])) if f.code == "velocity_scale"]
    option, word = wrong[0].options
    assert (
        option == "--scale" and word.startswith("v:b=") and float(word.split("=")[1]) == pytest.approx(0.25, rel=0.01)
    )


def test_limits_hold_on_either_side(fake_robot):
    log = velocities(swinging(stamped((0.0, 600))))
    for shift in (-0.6, 0.6):
        robot = fake_robot(("a", "b"), 2, 2, lower=np.array([-1.1, -1.1]), upper=np.array([1.1, 1.1]))
        assert codes(log.replace(q=log.q + np.array([0.0, shift]), v=log.v), robot) == ["limits"]
    assert codes(log, robot) == []


def test_a_fast_joint_does_not_wrap():
    """Almost a turn a sample, always: wheels do that in slow logs."""
    t = stamped((0.0, 600))
    log = Log(
        t=t, q=np.stack([np.sin(t), 0.95 * 2 * np.pi * RATE * t], axis=1), tau=np.ones((600, 2)) * np.sin(t)[:, None]
    )
    assert "wrapped_angle" not in codes(log)
    q = log.q.copy()
    q[300:, 0] += 2 * np.pi
    assert "wrapped_angle" in codes(log.replace(q=q))


def test_held_samples_go_and_rest_stays():
    """Every tenth sample is held while the robot moves; it slows down to rest, and goes on after a gap."""
    t = stamped((0.0, 400), (10.0, 200))
    slowing = np.clip(t - 1.0, 0.0, 1.0)
    clock = np.where(t < 9, np.minimum(t, 1.0) + slowing - slowing**2 / 2, t - 8.5)
    held = clock.copy()
    held[5:200:10] = clock[4:199:10]
    log = Log(t=t, q=np.stack([np.sin(2 * held), np.cos(held)], axis=1), tau=np.sin(held)[:, None] * [1.0, 2.0])
    found = filters.restamp(log)
    assert len(found) == len(log) - 20
    assert np.count_nonzero(np.all(found.q == found.q[300], axis=1)) >= 140  # samples at rest
    first = found.t < 9
    assert found.t[first][[0, -1]] == pytest.approx(t[[0, 399]]) and found.t[~first] == pytest.approx(t[400:])
    assert np.ptp(np.diff(found.t[first])) < 1e-9


def test_the_share_of_clipped_samples_is_the_joints_own():
    log = velocities(swinging(stamped((0.0, 1000))))
    high = np.quantile(log.tau[:, 1], 0.9)
    (found,) = checks.check(log.replace(tau=np.minimum(log.tau, [np.inf, high])))
    assert found.code == "saturation" and "in 10.0 % of the samples" in found.message


def test_noise_of_positions_makes_as_much_acceleration_as_is_said():
    rng, noise = np.random.default_rng(1), 1e-3
    log = Log(t=stamped((0.0, 40_000)), q=noise * rng.normal(size=(40_000, 1)))
    for cutoff in (4.0, 16.0):
        found = np.std(filters.differentiate(log, cutoff).a)
        assert acceleration_noise(noise, RATE, cutoff) == pytest.approx(found, rel=0.04)


def test_other_positions_have_another_direction():
    filtered = filters.differentiate(swinging(stamped((0.0, 400))), 10.0)
    assert filtered.direction is not None
    for key in ("q", "v"):
        assert filtered.replace(**{key: 2 * getattr(filtered, key)}).direction is None
    assert filtered.replace(tau=2 * filtered.tau).direction is not None


def test_filtered_torques_are_as_many_samples_as_their_band_holds():
    log = swinging(stamped((0.0, 1280)))
    assert log.effective_samples == 1280
    filtered = filters.differentiate(log, 8.0, torque_cutoff=16.0)
    assert filtered.effective_samples == pytest.approx(len(filtered) * 2 * 16 / RATE)
    again = filters.differentiate(filtered, 30.0)
    assert again.effective_samples == pytest.approx(len(again) * 2 * 16 / RATE)  # what is gone does not come back
    narrower = filters.differentiate(filtered, 4.0)
    assert narrower.effective_samples == pytest.approx(len(narrower) * 2 * 4 / RATE)
    measured = filters.differentiate(log, 8.0, filter_torque=False)
    assert measured.effective_samples == len(measured)
