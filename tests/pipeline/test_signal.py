"""Numbers of a log's health by hand: noise, steps of time, reversals, the stretch that is looked at."""

import re

import numpy as np
import pytest

from steelyard.log import Log, acceleration_noise, clipped_sides
from steelyard.pipeline import inspect
from steelyard.pipeline.inspection import health, signals, white_noise
from steelyard.pipeline.recording_costs import _limits


@pytest.mark.parametrize("level", [1e-4, 0.03])
def test_white_noise_beside_smooth_motion(level):
    t = np.arange(50_000) / 500
    x = np.sin(2 * t) + level * np.random.default_rng(0).normal(size=len(t))
    assert white_noise(x) == pytest.approx(level, rel=0.03)


def test_signals_are_those_of_the_longest_stretch():
    t = np.concatenate([np.arange(100) / 100, 10 + np.arange(300) / 100])
    q = np.where(t < 5, 7.0, np.sin(t))[:, None]
    (found,) = signals(Log(t=t, q=q))
    assert (found.smallest, found.largest) == (q[100:].min(), q[100:].max())
    assert found.rms == pytest.approx(np.sqrt(np.mean(q[100:] ** 2)))


def test_gaps_are_no_jitter_and_standstill_no_reversal():
    rng = np.random.default_rng(1)
    t = np.arange(1000) / 100 + 5e-4 * rng.uniform(-1, 1, size=1000)
    t[500:] += 2.0
    v = np.sin(2 * np.pi * np.arange(1000) / 250)[:, None]  # seven turns back
    rest = slice(600, 700)
    v[rest] = 5e-3 * np.where(np.arange(100) % 2, 1, -1)[:, None]
    log = Log(t=t, q=np.cumsum(v, axis=0) / 100, v=v, a=np.gradient(v, axis=0) * 100)
    found = health(log, findings=(), ready=log)
    steps = np.delete(np.diff(t), 499)
    assert found.jitter == pytest.approx(np.std(steps) / np.median(np.diff(t)))
    assert found.gaps == ((t[499], t[500] - t[499]),)
    (motion,) = found.motion
    moving = np.abs(v[:, 0]) > 0.01
    assert motion.moving == moving.mean() and motion.speed == pytest.approx(np.sqrt(np.mean(v**2)))
    assert motion.reversals == np.count_nonzero(np.diff(np.sign(v[moving, 0]))) < 10


def test_clipped_torques_that_differ_tell_no_limit():
    t = np.arange(200) / 100
    tau = np.clip(np.stack([np.sin(4 * t), 2 * np.cos(3 * t)], axis=1), -0.8, 1.5)
    log = Log(t=t, q=np.sin(t)[:, None] * [1, 2], tau=tau)
    low, high = _limits(log)
    np.testing.assert_array_equal(low, [-0.8, -0.8])
    np.testing.assert_array_equal(high, [np.inf, 1.5])
    sides = clipped_sides(log)
    assert _limits(log.replace(tau=tau + 0.1 * np.sin(t)[:, None], clipped=sides)) is None  # such as gravity added


def test_steps_make_as_much_noise_as_evenly_spread_rounding():
    """A deviation of step / sqrt(12), through the filter and two derivatives."""
    t = np.arange(4000) / 200
    q = 0.5 * np.sin(2 * t) + 0.2 * np.sin(5 * t)
    rounded = np.round(q / 0.01) * 0.01
    found = [each for each in inspect(Log(t=t, q=rounded[:, None])).findings if each.code == "coarse_position"]
    told = float(re.search(r"filtered at 10 Hz, acceleration has noise of (\S+) beside", found[0].message)[1])
    assert told == pytest.approx(acceleration_noise(0.01 / np.sqrt(12), 200.0, 10.0), rel=0.25)
