"""What counts as motion in a spectrum, against the exact law of chance, and what false motion would do to a cutoff."""

import sys

import numpy as np
import pytest

from steelyard.log import bandwidth
from steelyard.log.bandwidth import ABOVE, SMOOTHED, cutoff_for, of_signal

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


def counted(columns: int, seed: int) -> np.ndarray:
    """(columns,) whether anything well above the sine counts as motion."""
    found = of_signal(*noisy(columns, seed))
    beyond = found.frequency > 4 * SLOW
    return np.any(bandwidth._motion(found.spectrum, found.floor)[beyond] > 0, axis=0)


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
    assert not any(counted(500, seed).any() for seed in range(10))
    monkeypatch.setattr(bandwidth, "ABOVE", 5.0)
    assert 1 <= sum(counted(500, seed).sum() for seed in range(10)) < 50


def test_draws_of_the_noise_ask_for_the_same_cutoff(monkeypatch):
    """Logs that differ by their noise; the lower threshold takes a bump of the eighth for motion."""
    monkeypatch.delitem(sys.modules, "benchmarks", raising=False)
    from benchmarks import cutoffs

    truth = cutoffs.moved(cutoffs.bench("puma560").truth, *cutoffs.MOTIONS["slow"])
    logs = [cutoffs.sensed(truth, 100, "white 2e-4", draw) for draw in range(12)]

    def spread() -> float:
        chosen = [cutoff_for(log) for log in logs]
        return max(chosen) / min(chosen)

    assert spread() < 1.05
    monkeypatch.setattr(bandwidth, "ABOVE", 5.0)
    assert spread() > 2
