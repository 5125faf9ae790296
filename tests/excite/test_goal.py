"""Criteria against their definitions, gradients against differences, predictions against repeated noise."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import FitError, OptionError
from steelyard.excite.design_goal import goal_of
from steelyard.excite.limits import Limits, bounds_of, random_states
from steelyard.excite.measured_rows import base_rows
from steelyard.inertia.divergence import pullback_metric
from steelyard.information import accumulate
from steelyard.motion_options import Aim
from steelyard.simulate import PERFECT, record


@pytest.fixture(scope="module")
def robot():
    return sy.library.scara()


@pytest.fixture(scope="module")
def probe(robot):
    return random_states(robot, bounds_of(robot, Limits()))


@pytest.fixture(scope="module")
def gram(robot, probe):
    goal = goal_of(robot, probe, Aim())
    rows = base_rows(robot, goal.layout, goal.basis, *probe[:3], goal.coulomb_width) / goal.noise[:, None]
    flat = rows.reshape(goal.basis.count, -1)
    return flat @ flat.T


@pytest.mark.parametrize("criterion", ["D", "A", "E", "prediction", "condition"])
@pytest.mark.parametrize("focus", [None, "friction", "payload"])
def test_gradients_are_those_of_differences(robot, probe, gram, criterion, focus):
    goal = goal_of(robot, probe, Aim(criterion=criterion, focus=focus))
    size = np.sqrt(np.diag(gram))
    change = np.random.default_rng(0).normal(size=gram.shape) * size[:, None] * size
    change = change + change.T
    step = 1e-7
    slope = (goal.cost(gram + step * change)[0] - goal.cost(gram - step * change)[0]) / (2 * step)
    assert slope == pytest.approx(np.sum(goal.cost(gram)[1] * change), rel=1e-4, abs=1e-7)


def test_the_prior_is_the_one_of_the_consistent_fit(robot, probe):
    goal = goal_of(robot, probe, Aim(friction=(), weight=2.0))
    unknown = np.linalg.inv(2.0 / 2 * pullback_metric(robot.inertias))
    expected = sum(
        goal.basis.regrouping[:, goal.layout.body(i)] @ unknown[i] @ goal.basis.regrouping[:, goal.layout.body(i)].T
        for i in range(robot.nb)
    )
    found = goal.covariance(np.zeros_like(expected))
    scale = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(found / scale / scale[:, None], expected / scale / scale[:, None], atol=1e-8)


def test_d_and_a_are_determinant_and_trace(robot, probe, gram):
    goal = goal_of(robot, probe, Aim())
    K = np.eye(goal.spread.shape[1]) + goal.spread.T @ gram @ goal.spread
    assert goal.cost(gram)[0] == pytest.approx(-np.linalg.slogdet(K)[1] / len(K))
    assert replace(goal, criterion="A").cost(gram)[0] == pytest.approx(np.log(np.trace(np.linalg.inv(K))))
    worst = np.linalg.eigvalsh(np.linalg.inv(K))[-1]
    assert 0 <= replace(goal, criterion="E").cost(gram)[0] - np.log(worst) < np.log(len(K)) / 6


def test_the_condition_number_is_that_of_unit_columns(robot, probe, gram):
    goal = goal_of(robot, probe, Aim(criterion="condition"))
    rows = base_rows(robot, goal.layout, goal.basis, *probe[:3], goal.coulomb_width) / goal.noise[:, None]
    Y = rows.reshape(goal.basis.count, -1).T
    expected = np.linalg.cond(Y / np.linalg.norm(Y, axis=0))
    assert goal.rank == goal.basis.count
    assert goal.condition(gram) == pytest.approx(expected, rel=1e-6)


def test_earlier_logs_count(robot, probe, gram):
    log = record(robot, duration=4.0, sensors=PERFECT).truth
    info = accumulate(robot, log)
    noise = 0.05
    goal, fresh = (goal_of(robot, probe, Aim(after=x, noise=noise, rate=1000.0)) for x in (info, None))
    gram = info.base.G / noise**2
    np.testing.assert_allclose(goal.covariance(0 * gram), fresh.covariance(gram), rtol=1e-6, atol=1e-12)
    with pytest.raises(FitError, match="same friction"):
        goal_of(robot, probe, Aim(after=info, friction=()))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"focus": ("link1.Ixx",)}, "can never show link1.Ixx.*analyze"),
        ({"focus": ("link2.m",)}, "only in combinations.*whole body"),
        ({"focus": ("linkX",)}, "neither 'payload'"),
        ({"focus": ()}, "nothing is left"),
        ({"criterion": "F"}, "D, A, E, prediction, condition"),
        ({"noise": 0.0}, "positive standard deviation"),
    ],
)
def test_what_cannot_be_known_is_refused(robot, probe, options, words):
    with pytest.raises(OptionError, match=words):
        goal_of(robot, probe, Aim(**options))


def test_volume_is_the_same_in_any_units(robot, probe, gram):
    goal = goal_of(robot, probe, Aim())
    block = goal.contrasts @ np.linalg.inv(goal.precision + goal.spread.T @ gram @ goal.spread) @ goal.contrasts.T
    assert goal._known is not None and goal_of(robot, probe, Aim(focus="payload"))._known is None
    assert goal.cost(gram)[0] == pytest.approx(np.linalg.slogdet(block)[1] / len(block), abs=1e-9)
