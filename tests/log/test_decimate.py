"""Decimation against its specification, and what aliasing does without it."""

import numpy as np
import pytest
from scipy import signal

from steelyard.errors import LogError, OptionError
from steelyard.log import Log, filters
from steelyard.log.decimate import ATTENUATION, PASSBAND, kernel_of

pytestmark = pytest.mark.claim("logs.filters")


@pytest.mark.parametrize("factor", [2, 5, 16])
def test_response(factor):
    kernel = kernel_of(factor)
    frequency, response = signal.freqz(kernel, worN=1 << 14, fs=2.0)  # of half the old rate
    amplitude = np.abs(response)
    assert 20 * np.log10(amplitude[frequency >= 1 / factor].max()) < -ATTENUATION
    assert np.abs(amplitude[frequency <= PASSBAND / factor] - 1).max() < 1e-4
    assert np.allclose(kernel, kernel[::-1], atol=1e-16) and kernel.sum() == pytest.approx(1)  # zero phase, no offset


def test_motion_stays_and_nothing_folds(motion):
    t = np.arange(0, 10, 0.001)
    truth, hum = motion(t), np.sin(2 * np.pi * 97.0 * t)[:, None]  # folds to 3 Hz at 100 Hz
    log = truth.replace(q=truth.q + 0.1 * hum, tau=truth.tau + 5 * hum, wrenches={"hand": np.repeat(hum, 6, axis=1)})
    found = filters.decimate(log, 10)
    rows = np.searchsorted(t, found.t)
    assert np.array_equal(t[rows], found.t) and found.rate == pytest.approx(100)
    for key in ("q", "v", "a", "tau"):
        exact = getattr(truth, key)[rows]
        np.testing.assert_allclose(getattr(found, key), exact, atol=1e-3 * np.abs(exact).max())
    assert np.abs(found.wrenches["hand"]).max() < 1e-3
    assert np.abs(log.q[rows] - truth.q[rows]).max() > 0.09  # taking every tenth sample
    assert "80 dB down from 50 Hz" in found.notes[-1]


def test_gaps_quaternions_and_refusals(motion):
    t = np.arange(0, 4, 0.002)
    t = t[(t < 1.5) | (t > 2.2)]
    truth = motion(t)
    jump = np.where(t < 2, 0.0, 1e3)[:, None]
    found, other = (filters.decimate(log, 4) for log in (truth, truth.replace(q=truth.q + jump)))
    before = found.t < 2
    assert np.array_equal(found.q[before], other.q[before]) and not np.any((found.t > 1.4) & (found.t < 2.3))
    wide = filters.decimate(truth.replace(q=np.ones((len(t), 4))), 4)
    assert np.array_equal(wide.q, np.ones((len(wide), 4))) and np.allclose(wide.v, found.v)
    assert filters.decimate(truth, 1) is truth
    with pytest.raises(OptionError, match="factor=0"):
        filters.decimate(truth, 0)
    with pytest.raises(LogError, match=r"decimating by 40 needs stretches of 20[0-9]+ samples"):
        filters.decimate(truth, 40)
    uneven = t + 0.0009 * np.random.default_rng(0).uniform(-1, 1, len(t))
    with pytest.raises(LogError, match=r"it has no one rate to divide. Filter it with differentiate"):
        filters.decimate(Log(t=uneven, q=truth.q), 4)
