"""A report recommends to record another motion for what that motion shows, and for nothing else."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.log import write_csv
from steelyard.pipeline import Job
from steelyard.pipeline.identification import run
from steelyard.report.identification_report import summary
from steelyard.report.unknown import HALF
from steelyard.simulate import Sensors, record, rich_motion
from steelyard.simulate.trajectories import Trajectory

PUMA = sy.library.puma560()
NOISE = np.array([0.6, 1.5, 0.6, 0.06, 0.04, 0.02])  # N m, of one sample


def noisy(motion, seed):
    log = record(PUMA, motion, sensors=Sensors(torque_noise=0.0, rate=250.0)).log
    return log.replace(tau=log.tau + np.random.default_rng(seed).normal(size=log.tau.shape) * NOISE)


@pytest.fixture(scope="module")
def little(tmp_path_factory):
    """A log in which the wrist hardly moves, and what identification made of it."""
    rich = rich_motion(PUMA, duration=10.0, seed=3)
    middle, share = rich.evaluate(np.zeros(1))[0][0], np.array([1, 1, 1, 0.05, 0.05, 0.05])

    def evaluate(t):
        q, v, a = rich.evaluate(t)
        return middle + share * (q - middle), share * v, share * a

    log = noisy(Trajectory(evaluate, 10.0), 0)
    path = write_csv(log, tmp_path_factory.mktemp("little") / "run.csv")
    return path, run(Job(str(PUMA.source.path), (str(path),)))


def weak_of(result):
    return next(each for each in summary(result)["unknown"] if each["kind"] == "weak")


@pytest.mark.exhaustive
def test_intervals_shrink_as_expected_once_another_motion_is_recorded(little, tmp_path):
    path, result = little
    more = write_csv(noisy(rich_motion(PUMA, duration=10.0, seed=5), 1), tmp_path / "next.csv")
    both = run(Job(str(PUMA.source.path), (str(path), str(more))))
    real = both.uncertainty.base.deviation / result.uncertainty.base.deviation
    ratio = real / result.narrowing
    weak = np.isin(result.uncertainty.base.names, weak_of(result)["names"])
    assert weak.sum() > 10 and 1 / 2 < np.median(ratio[weak]) < 2
    shown = weak & (result.narrowing < HALF)
    assert np.mean(real[shown] < 0.75) > 0.9  # what was recommended paid


def test_the_command_is_for_what_a_motion_shows(little):
    _, result = little
    weak = weak_of(result)
    shown = dict(zip(result.uncertainty.base.names, result.narrowing, strict=True))
    words = weak["command"].split()
    focus = words[words.index("--focus") + 1].split(",")
    owners = {name: name.rpartition(".")[0] for name in weak["names"] if shown[name] < HALF}
    best = {owner if owner.startswith("link") else name for name, owner in owners.items()}
    assert set(focus) <= best and words[1] == "excite" and "motion of the same length" in weak["remedy"]


def test_where_no_motion_would_show_it_another_remedy_is_given(little):
    result = replace(little[1], narrowing=np.full(len(little[1].narrowing), 0.9))
    weak = weak_of(result)
    assert weak["remedy"].startswith("No motion of this robot") and "--mass link" in weak["remedy"]
    assert weak["command"].split()[1] == "analyze"
    mixed = np.where(np.arange(len(result.narrowing)) % 2, 0.9, 0.1)
    weak = weak_of(replace(result, narrowing=mixed))
    assert "no motion is expected to halve the interval" in weak["remedy"] and weak["command"].split()[1] == "excite"
