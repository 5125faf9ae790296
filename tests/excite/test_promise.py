"""Motions designed after a log keep what they promise, by identifications that know nothing of the design."""

from types import SimpleNamespace

import numpy as np
import pytest

import steelyard as sy
from brief_search import search_briefly
from steelyard.excite import Limits, design
from steelyard.excite.motion_files import prepared_for_design
from steelyard.information import accumulate
from steelyard.simulate import Sensors, record, rich_motion
from steelyard.simulate.trajectories import Trajectory

PUMA = sy.library.puma560()


@pytest.fixture
def brief(monkeypatch):
    search_briefly(monkeypatch)


@pytest.fixture(scope="module")
def known():
    """A log with little motion, its Information, and the independent samples that it has a second."""
    rich = rich_motion(PUMA, duration=10.0, seed=1)
    middle = rich.evaluate(np.zeros(1))[0][0]

    def little(t):
        q, v, a = rich.evaluate(t)
        return middle + 0.3 * (q - middle), 0.3 * v, 0.3 * a

    raw = record(PUMA, Trajectory(little, 10.0), sensors=Sensors(torque_noise=0.02)).log
    log = prepared_for_design(raw, PUMA)
    return SimpleNamespace(raw=raw, info=accumulate(PUMA, log), rate=log.effective_samples / log.duration)


def next_motion(known, **options):
    options = {"rate": known.rate, "limits": Limits(speed=0.5, collisions=False)} | options
    return design(PUMA, 8.0, harmonics=3, periods=1, after=known.info, **options)


def test_errors_of_identifications_from_both_logs_are_those_promised(known, brief):
    made = next_motion(known)
    truth = accumulate(PUMA, record(PUMA, made, sensors=Sensors(torque_noise=0.0)).truth)
    theta = np.linalg.lstsq(truth.base.G, truth.base.b, rcond=None)[0]
    deviation, over = np.sqrt(np.diag(made.covariance)), []
    for seed in range(3):
        log = record(PUMA, made, sensors=Sensors(torque_noise=0.0)).log
        noise = made.goal.noise * np.sqrt(log.rate / known.rate)
        log = log.replace(tau=log.tau + np.random.default_rng(seed).normal(size=log.tau.shape) * noise)
        both = known.info + accumulate(PUMA, prepared_for_design(log, PUMA))
        over.append((sy.fit.consistent(both).base - theta) / deviation)
    assert 0.5 < np.sqrt(np.mean(np.square(over))) < 2.0
