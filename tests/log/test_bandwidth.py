"""What counts as motion in a spectrum, against the exact law of chance; the factors of the expected error, against
noise-free logs and information matrices."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.information import accumulate
from steelyard.log import automatic_cutoff as bandwidth
from steelyard.log.automatic_cutoff import ABOVE, DISTORTS, SMOOTHED, WEAK, cutoff_for, of_signal
from steelyard.log.smoothers import SMOOTHERS, order_of, response

RATE, LENGTH = 100.0, 1000
SLOW = 1.0  # Hz


def chance(times: float) -> float:
    """Probability that the mean of nine neighbours in the spectrum of white noise exceeds a multiple of its mean.

    A sum of exponential variables, whose means are the eigenvalues of the covariance of the nine amplitudes: the
    transform of Hann's window squared, 1, -2/3 and 1/6 at neighbours.
    """
    shared = np.zeros(SMOOTHED)
    shared[:3] = 1, -2 / 3, 1 / 6
    apart = np.abs(np.subtract.outer(np.arange(SMOOTHED), np.arange(SMOOTHED)))
    means = np.linalg.eigvalsh(shared[apart]) / SMOOTHED
    factors = 1 - means / means[:, None]  # of the i-th term, over all others
    np.fill_diagonal(factors, 1.0)
    return float(np.sum(np.exp(-times / means) / np.prod(factors, axis=1)))


def noisy(columns: int, seed: int):
    """A slow sine with white noise, in as many columns, and its times."""
    t = np.arange(LENGTH) / RATE
    rng = np.random.default_rng(seed)
    return np.sin(2 * np.pi * SLOW * t)[:, None] + 2e-3 * rng.normal(size=(LENGTH, columns)), t


def counted(found) -> int:
    """Columns of which anything well above the sine counts as motion."""
    beyond = found.frequency > 4 * SLOW
    return int(np.any(bandwidth._motion(found.spectrum, found.floor)[beyond] > 0, axis=0).sum())


def test_the_law_of_chance_is_that_of_noise():
    """Fewer than one in ten billion at the threshold; where it is frequent enough to count, as the law says."""
    assert chance(ABOVE) < 1e-10 < 1e-6 < chance(5.0)
    found = [of_signal(*noisy(400, seed)) for seed in range(4)]
    over = np.concatenate([each.spectrum[100:] / each.floor[100:] for each in found], axis=1)
    averages = np.lib.stride_tricks.sliding_window_view(over, SMOOTHED, axis=0).mean(axis=-1)
    for times in (2.0, 3.0, 4.0):
        assert np.mean(averages > times) == pytest.approx(chance(times), rel=0.25)


def test_noise_is_not_taken_for_motion(monkeypatch):
    """In no one of five thousand joints, of which a lower threshold finds some."""
    found = [of_signal(*noisy(500, seed)) for seed in range(10)]
    assert sum(map(counted, found)) == 0
    monkeypatch.setattr(bandwidth, "ABOVE", 5.0)
    assert 1 <= sum(map(counted, found)) < 50


def test_draws_of_the_noise_ask_for_the_same_cutoff(cutoffs, monkeypatch):
    """Logs that differ by their noise; the lower threshold takes a bump of the eighth for motion."""
    truth = cutoffs.moved(cutoffs.bench("puma560").truth, *cutoffs.MOTIONS["slow"])
    logs = [cutoffs.sensed(truth, 100, "white 2e-4", draw) for draw in range(12)]

    def spread() -> float:
        chosen = [cutoff_for(log) for log in logs]
        return max(chosen) / min(chosen)

    assert spread() < 1.05
    monkeypatch.setattr(bandwidth, "ABOVE", 5.0)
    assert spread() > 1.5


@pytest.fixture
def cutoffs(monkeypatch):
    from evidence.bench import cutoffs

    return cutoffs


@pytest.mark.parametrize("smoother", SMOOTHERS)
def test_lost_motion_distorts_as_supposed(cutoffs, smoother):
    """Error of models of noise-free logs, over the root of the acceleration's energy that the filter took."""
    bench, motion = cutoffs.bench("puma560"), 3.6  # Hz, the highest harmonic
    truth = cutoffs.moved(bench.truth, *cutoffs.MOTIONS["quick"])
    spectrum = of_signal(truth.q[::5], truth.t[::5])
    share = spectrum.spectrum / spectrum.spectrum.sum(axis=0)
    for cutoff in (1.5 * motion, 1.8 * motion):
        over = spectrum.frequency / cutoff
        gain = response(smoother, over, 0.2 * cutoff / 100, 1.0, order_of(smoother, None), 2)
        lost = np.sqrt(np.mean((1 - gain) ** 2 @ share))
        error = bench.error(truth[::5].replace(v=None, a=None), cutoff, 10.0, smoother)
        assert DISTORTS / 2 < error / lost < DISTORTS * 1.5


@pytest.mark.parametrize("motion", ["slow", "quick"])
def test_noise_attenuates_as_supposed(cutoffs, motion):
    """Bias of least squares on noisy regressors, `-(G + C)^-1 C theta`, in the norm of another motion's torques."""
    bench = cutoffs.bench("puma560")
    robot, log = bench.truth, cutoffs.moved(bench.truth, *cutoffs.MOTIONS[motion])[::10]
    options = {"columns": "all", "friction": ("viscous", "coulomb"), "armature": True, "engine": "numpy"}
    unit = np.random.default_rng(0).normal(size=log.q.shape)
    noise = log.replace(v=np.zeros_like(log.q), a=unit, tau=np.zeros_like(log.q))
    G, judge = (accumulate(robot, each, **options).G for each in (log, bench.judge))
    C = accumulate(replace(robot, gravity=np.zeros(3)), noise, **options).G
    theta = np.concatenate([robot.inertias.ravel(), robot.damping, robot.frictionloss, robot.armature])
    scale = np.sqrt(np.diag(G), where=np.diag(G) > 0, out=np.full(len(G), np.inf))
    vectors, values, _ = np.linalg.svd(G / np.outer(scale, scale))
    shown = vectors[:, values > 1e-9 * values[0]] / scale[:, None]
    for energy in (1e-5, 1e-3):
        noisy = C * energy / np.mean(1 / np.mean(log.a**2, axis=0))
        bias = shown @ np.linalg.solve(shown.T @ (G + noisy) @ shown, shown.T @ noisy @ theta)
        assert WEAK / 2 < np.sqrt(bias @ judge @ bias / (theta @ judge @ theta)) / energy < 2 * WEAK
