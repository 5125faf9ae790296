"""Motion filters: the kernel against a textbook Kalman filter and smoother, and on motions with known derivatives."""

import numpy as np
import pytest
from evidence.bench.tray_experiment import measured, test_object, wrist_motion
from scipy.spatial.transform import Rotation

import twins.kalman
import twins.rotations
from payload_logs import static, swing
from steelyard.errors import LogError, OptionError
from steelyard.log.kalman import covariances, filter_rotation, filter_vector, track
from steelyard.payload import MotionNoise, PoseTracker, WrenchLog, filter_motion, tune
from steelyard.payload.motion_signals import _smoothed, motion_from_poses, roughness, smooth_motion
from steelyard.spatial import rotate


def textbook(t, z, sigma, q, smooth):
    """Kalman filter and RTS smoother of one axis, by the matrix formulas. Returns states (n, 3), covariances."""
    H = np.array([[1.0, 0, 0]])
    x, P = np.array([z[0], 0, 0]), np.diag([sigma**2, 100.0, 1e4])
    xs, Ps, xp, Pp, Fs = [x], [P], [x], [P], [np.eye(3)]
    for k in range(1, len(t)):
        h = t[k] - t[k - 1]
        F = np.array([[1, h, h**2 / 2], [0, 1, h], [0, 0, 1]])
        Q = q * np.array([[h**5 / 20, h**4 / 8, h**3 / 6], [h**4 / 8, h**3 / 3, h**2 / 2], [h**3 / 6, h**2 / 2, h]])
        x, P = F @ x, F @ P @ F.T + Q
        xp.append(x), Pp.append(P), Fs.append(F)
        S = H @ P @ H.T + sigma**2
        K = P @ H.T / S
        x, P = x + K[:, 0] * (z[k] - x[0]), (np.eye(3) - K @ H) @ P
        xs.append(x), Ps.append(P)
    if smooth:
        for k in range(len(t) - 2, -1, -1):
            C = Ps[k] @ Fs[k + 1].T @ np.linalg.inv(Pp[k + 1])
            xs[k] = xs[k] + C @ (xs[k + 1] - xp[k + 1])
            Ps[k] = Ps[k] + C @ (Ps[k + 1] - Pp[k + 1]) @ C.T
    return np.array(xs), np.array(Ps)


@pytest.mark.parametrize("smooth", [False, True])
def test_kernel_is_the_textbook_filter(smooth):
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.005, 0.02, 120))
    z = np.sin(3 * t)[:, None] * np.array([1.0, 0.5, -0.2]) + 0.01 * rng.normal(size=(120, 3))
    gains, back, _, P = covariances(t, 0.01, 5.0, smooth)
    x = filter_vector(t, z, gains, back, smooth, np.zeros(3), np.zeros(3))
    for axis in range(3):
        states, spread = textbook(t, z[:, axis], 0.01, 5.0, smooth)
        np.testing.assert_allclose(np.stack([x[i][:, axis] for i in range(3)], axis=1), states, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(P, spread, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("smooth", [False, True])
def test_rotations_about_one_axis_are_a_scalar_filter(smooth):
    rng = np.random.default_rng(1)
    t = np.arange(150) * 0.01
    angle = 2 * np.sin(2 * t) + 0.003 * rng.normal(size=150)
    c, s, o = np.cos(angle), np.sin(angle), np.zeros(150)
    R = np.stack([c, -s, o, s, c, o, o, o, o + 1], axis=1).reshape(-1, 3, 3)
    gains, back, _, _ = covariances(t, 0.003, 10.0, smooth)
    _, w, alpha, _ = filter_rotation(t, R, gains, back, smooth)
    states, _ = textbook(t, angle, 0.003, 10.0, smooth)
    np.testing.assert_allclose(w[:, 2], states[:, 1], atol=1e-6)
    np.testing.assert_allclose(alpha[:, 2], states[:, 2], atol=1e-5)
    np.testing.assert_allclose(w[:, :2], 0, atol=1e-12)


def test_filter_finds_the_motion_and_the_smoother_finds_it_better():
    motion = wrist_motion(1.5, 4.0)
    log = measured(motion, test_object("tee").theta)
    lag = {}
    for smooth in (False, True):
        found = filter_motion(log, smooth=smooth)[100:]
        wrong = found.acceleration - motion.acceleration[100:]
        lag[smooth] = np.sqrt(np.mean(wrong[:, 3:] ** 2))
        assert np.sqrt(np.mean((found.twist - motion.twist[100:])[:, 3:] ** 2)) < 0.08
    assert lag[True] < 0.4 * lag[False] < 0.4 * 2.0
    exact = filter_motion(motion.replace(twist=None, acceleration=None))[50:-50]
    np.testing.assert_allclose(exact.acceleration, motion.acceleration[50:-50], atol=0.02)
    np.testing.assert_allclose(exact.twist, motion.twist[50:-50], atol=1e-3)


def test_poses_one_by_one_are_the_causal_filter():
    log = measured(wrist_motion(1.5, 3.0), test_object("tee").theta)
    noise = tune(log)
    expected = filter_motion(log, noise=noise, smooth=False)
    tracker = PoseTracker(noise)
    for k in range(len(log)):
        R, twist, acceleration = tracker.update(log.t[k], log.rotation[k], log.position[k])
        np.testing.assert_allclose(R, expected.rotation[k], atol=1e-10)
        np.testing.assert_allclose(twist, expected.twist[k], atol=1e-8)
        np.testing.assert_allclose(acceleration, expected.acceleration[k], atol=1e-6)
    with pytest.raises(LogError, match="in order of time"):
        tracker.update(log.t[0], log.rotation[0], log.position[0])


def test_filter_refuses():
    with pytest.raises(LogError, match="no positions"):
        filter_motion(static())
    with pytest.raises(LogError, match="at least 10"):
        filter_motion(wrist_motion(1.0, 0.05))
    with pytest.raises(OptionError, match="settle"):
        filter_motion(wrist_motion(1.0, 0.5), noise=MotionNoise((1e-4, 1e-3), (1.0, 1.0)), settle=50)


def test_smoothing_is_the_dense_least_squares():
    rng = np.random.default_rng(2)
    t = np.cumsum(rng.uniform(0.008, 0.012, 40))
    v, a = (
        np.sin(2 * t)[:, None] + 0.01 * rng.normal(size=(40, 1)),
        2 * np.cos(2 * t)[:, None] + 0.2 * rng.normal(size=(40, 1)),
    )
    q = 30.0
    rows, right = [], []
    for k in range(40):
        rows += [np.eye(120)[3 * k] / 0.01, np.eye(120)[3 * k + 1] / 0.2]
        right += [v[k, 0] / 0.01, a[k, 0] / 0.2]
    for k in range(39):
        h = t[k + 1] - t[k]
        F = np.array([[1, h, h**2 / 2], [0, 1, h], [0, 0, 1]])
        Q = q * np.array([[h**5 / 20, h**4 / 8, h**3 / 6], [h**4 / 8, h**3 / 3, h**2 / 2], [h**3 / 6, h**2 / 2, h]])
        white = np.linalg.inv(np.linalg.cholesky(Q))
        block = np.zeros((3, 120))
        block[:, 3 * k : 3 * k + 3], block[:, 3 * k + 3 : 3 * k + 6] = -white @ F, white
        rows += list(block)
        right += [0.0] * 3
    x = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0].reshape(40, 3)
    smooth_v, smooth_a, _ = _smoothed(t, v, a, (0.01, 0.2), q)
    np.testing.assert_allclose(smooth_v[:, 0], x[:, 0], atol=1e-6)
    np.testing.assert_allclose(smooth_a[:, 0], x[:, 1], atol=1e-5)


def _rms(log, clean):
    return np.sqrt(np.mean((log.acceleration - clean.acceleration)[:, 3:] ** 2))


def test_smoothing_helps_where_it_can_and_keeps_off_where_it_cannot():
    clean = swing(speed=1.0)
    noisy = swing(speed=1.0, noise=(0, 0, 0.05, 0.5))
    smooth = smooth_motion(noisy)
    assert _rms(smooth, clean) < 0.1 * _rms(noisy, clean)
    assert "smoothed together" in smooth.notes[-1]
    assert smooth_motion(clean) is clean
    short = clean[:8]
    assert smooth_motion(short) is short
    filtered = filter_motion(measured(wrist_motion(1.0, 2.0), test_object("tee").theta), smooth=False)
    assert smooth_motion(filtered) is filtered  # its noise has memory


def test_smoothing_never_reaches_across_a_gap():
    noisy = swing(speed=1.0, noise=(0, 0, 0.05, 0.5))
    whole = smooth_motion(noisy[np.r_[0:80, 120:200]])
    left = smooth_motion(noisy[:80])
    assert np.abs(whole.acceleration[:80] - left.acceleration).max() < 0.1
    altered = noisy.acceleration.copy()
    altered[120:] += 50.0
    other = smooth_motion(noisy.replace(acceleration=altered)[np.r_[0:80, 120:200]])
    assert np.abs(other.acceleration[:80] - whole.acceleration[:80]).max() < 1.0


def test_roughness_is_the_noise_of_smooth_signals():
    """Third differences leave nothing of a parabola, and sqrt(20) of white noise; of steps, which are first
    differences already, second ones do."""
    t = np.linspace(0, 2, 4000)[:, None]
    noisy = 1 - 3 * t + 2 * t**2 * [1.0, -1.0, 5.0] + 1e-4 * np.random.default_rng(0).normal(size=(4000, 3))
    assert roughness(noisy) == pytest.approx(1e-4, rel=0.05)
    assert roughness(np.diff(noisy, axis=0), more=2) == pytest.approx(1e-4, rel=0.05)


@pytest.mark.parametrize("smooth", [False, True])
def test_the_core_and_python_agree(smooth):
    """Covariances, vectors, rotations and the tracker, to rounding, with uneven stamps."""
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(0.005, 0.02, 80))
    measured_, spun = rng.normal(size=(80, 4)), np.array(swing().rotation[:80])
    plan = covariances(t, 0.3, 2.0, smooth)
    values = filter_vector(t, measured_, plan[0], plan[1], smooth, np.ones(4), np.zeros(4))
    turned = filter_rotation(t, spun, plan[0], plan[1], smooth)
    for found, expected in zip(twins.kalman.covariances(t, 0.3, 2.0, smooth), plan, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    again = twins.kalman.filter_vector(t, measured_, plan[0], plan[1], smooth, np.ones(4), np.zeros(4))
    for found, expected in zip(again, values, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    for found, expected in zip(twins.rotations.filter_rotation(t, spun, plan[0], plan[1], smooth), turned, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-10)


def test_the_tracker_of_the_core_and_of_python_agree():
    rng = np.random.default_rng(4)
    states = [
        [np.eye(3), *rng.normal(size=(2, 3)), rng.normal(size=(3, 3)), np.array([np.eye(3)] * 2)] for _ in range(1)
    ]
    one, other = states[0], [np.array(x) for x in states[0]]
    seen = (0.01, np.array(swing().rotation[3]), rng.normal(size=3), np.array([0.1, 0.2]), np.array([3.0, 4.0]))
    track(*seen, *one)
    twins.rotations.track(*seen, *other)
    for found, expected in zip(one, other, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_noise_of_rounded_poses_that_stand_still_at_times():
    """An arm that waits repeats its rounded position; that it was rounded shows while it moves."""
    t = np.arange(0.0, 8.0, 0.002)
    moved = 0.2 * np.where(t < 5, 0.0, 1 - np.cos(2 * np.maximum(t - 5, 0)))
    position = np.round(np.stack([moved, 0.5 * moved, -moved], axis=1) / 1e-4) * 1e-4
    turned = Rotation.from_rotvec(np.round(np.outer(moved, [1.0, 2.0, 0.5]) / 1e-4) * 1e-4).as_matrix()
    log = WrenchLog(t=t, wrench=np.zeros((len(t), 6)), rotation=turned, position=position)
    found = tune(log)
    assert all(1e-5 < each < 1e-4 for each in found.pose)  # 1e-4 / sqrt(12)
    smooth = motion_from_poses(log)
    truth = 0.8 * np.where(smooth.t < 5, 0.0, np.cos(2 * np.maximum(smooth.t - 5, 0)))
    inner = np.abs(smooth.t - 5) > 0.3  # where the acceleration jumps
    felt = rotate(smooth.rotation, smooth.origin_acceleration)[:, 0]
    assert np.sqrt(np.mean((felt - truth)[inner] ** 2)) < 0.05
