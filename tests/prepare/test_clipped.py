"""Clipped torques: filled with their expectation, so that a fit can use all samples that are not clipped."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import truncnorm

import steelyard as sy
from recordings_of_arms import arm, recorded
from steelyard.app.demo_job import mistaken
from steelyard.decisions.fit_plan import HeldOut
from steelyard.decisions.rules import beyond, unclipped
from steelyard.information import accumulate
from steelyard.log.masks import masked, saturated
from steelyard.log.smoothers import BUTTERWORTH
from steelyard.prepare import Prepared
from steelyard.prepare.prepared import Filter
from steelyard.simulate import PERFECT, record

pytestmark = pytest.mark.claim("logs.faults")

CUTOFF = 3.0  # Hz


@pytest.mark.parametrize(
    ("mean", "limit", "side"), [(1.0, 2.0, 1.0), (2.0, 1.0, 1.0), (-1.0, 0.5, -1.0), (0.0, 9.0, 1.0)]
)
def test_mean_of_a_torque_beyond_its_limit(mean, limit, side):
    low, high = ((limit - mean) / 0.7, np.inf) if side > 0 else (-np.inf, (limit - mean) / 0.7)
    expected = truncnorm.mean(low, high, loc=mean, scale=0.7)
    assert beyond(mean, 0.7, limit, side) == pytest.approx(expected, rel=1e-3)


def test_filled_torques_against_believed_and_left_out():
    """Clipped at 70 % of each joint's largest torque: two thirds of one joint's samples."""
    robot, log = arm("panda"), recorded("panda")
    given, judge = mistaken(robot), record(robot, duration=10.0, seed=99, sensors=PERFECT).log
    options = {"armature": True}

    def error(filtered):
        train = sy.split_blocks(filtered, validation=0.3)[0]
        return sy.validate(sy.fit.consistent(accumulate(given, train, **options)), judge).relative_error

    most = 0.7 * np.abs(log.tau).max(axis=0)
    raw = log.replace(tau=np.clip(log.tau, -most, most))
    filtering = partial(sy.filters.differentiate, cutoff=CUTOFF)
    left_out = masked(filtering(raw), raw, saturated(raw), CUTOFF)
    refilter = Filter(given, BUTTERWORTH, (), CUTOFF, CUTOFF)
    clipped = Prepared(raw, filtering(raw), left_out, (), CUTOFF, CUTOFF, refilter)
    (filled,) = unclipped(given, [clipped], held_out=HeldOut(0.3), options=options)
    assert error(filled) < 3 * error(filtering(log))
    assert error(filled) < 0.7 * error(left_out)
    assert error(filled) < 0.05 * error(filtering(raw))
    assert (filled.weights.mean(axis=0) > left_out.weights.mean(axis=0)).all()
