"""Noise of steps, against the steps' own error in the band where motion is."""

import numpy as np
import pytest

from steelyard.log import automatic_cutoff as bandwidth
from steelyard.log.automatic_cutoff import of_signal, step_noise

RATE, STEP = 500.0, 1e-3


def swung(amplitude: float):
    """A motion of three harmonics below 1 Hz (n, 1), what an encoder of coarse steps says of it, and the times."""
    t = np.arange(int(20 * RATE)) / RATE
    phases = (0.3, 1.9, 4.0)
    exact = amplitude * sum(np.sin(2 * np.pi * 0.3 * k * t + phase) / k for k, phase in enumerate(phases, 1))
    return exact[:, None], np.round(exact / STEP)[:, None] * STEP, t


def test_many_steps_are_white():
    """Their level shows at high frequencies, so nothing is supposed."""
    _, coarse, t = swung(2.0)
    assert step_noise(coarse[:, 0]) == 0.0
    assert of_signal(coarse, t).noise[0] == pytest.approx(STEP / np.sqrt(12), rel=0.1)
    assert step_noise(coarse[:, 0] + 1e-4 * np.random.default_rng(0).normal(size=len(coarse))) == 0.0
    assert step_noise(np.zeros(100)) == 0.0


@pytest.mark.parametrize("amplitude", [0.01, 0.02, 0.03])
def test_few_steps_are_denser_where_motion_is(amplitude, monkeypatch):
    """Within a factor of two of the density of the steps' own error below 10 Hz. High frequencies show a third of it at
    most, and the rest would be taken for motion."""
    exact, coarse, t = swung(amplitude)
    error = (coarse - exact)[:, 0]
    power = np.abs(np.fft.rfft(error * np.hanning(len(error)))) ** 2 / np.sum(np.hanning(len(error)) ** 2)
    low = np.fft.rfftfreq(len(error), 1 / RATE)
    dense = np.sqrt(np.mean(power[(low > 1.5) & (low < 10)]))
    assert dense / 2 < step_noise(coarse[:, 0]) < 2 * dense
    found = of_signal(coarse, t)
    assert found.noise[0] == step_noise(coarse[:, 0]) and found.cutoff < 2.0
    monkeypatch.setattr(bandwidth, "step_noise", lambda column: 0.0)
    wrong = of_signal(coarse, t)
    assert wrong.noise[0] < dense / 3 and wrong.cutoff > 10 * found.cutoff
