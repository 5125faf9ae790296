"""A fit can be looked at before it is solved, and a regularizer is one record."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import steelyard as sy
from problems import random_log
from steelyard.errors import FitError
from steelyard.fit import build, consistent, solve
from steelyard.fit.prior import REGULARIZERS, Regularizer
from steelyard.information import accumulate

NOISE = (0.5, 0.2, 0.1)


@pytest.fixture(scope="module")
def info():
    robot = sy.library.cheetah3_leg()
    log = random_log(
        robot,
        np.random.default_rng(0),
        samples=200,
        noise=0.02,
        torque=lambda *state: sy.inverse_dynamics(robot, *state),
    )
    return accumulate(robot, log, friction=("viscous", "coulomb"))


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_a_program_solved_at_a_known_noise_is_the_consistent_fit(info, regularizer):
    options = {"noise": NOISE, "weight": 0.1, "regularizer": regularizer, "fixed": {info.robot.body_names[0]: "mass"}}
    program, whole = build(info, **options), consistent(info, **options)
    found = solve(program)
    np.testing.assert_array_equal(found.parameters, whole.parameters)
    np.testing.assert_array_equal(found.covariance, whole.covariance)
    assert found.certificate == whole.certificate and found.method == whole.method
    w = np.linalg.lstsq(program.directions, found.parameters - program.start)[0]
    nearby = program.parameters(w + 1e-3 * np.random.default_rng(0).normal(size=w.shape))
    assert program.cost(w) < program.cost(np.linalg.lstsq(program.directions, nearby - program.start)[0])


def test_a_program_says_what_it_holds(info):
    name = info.robot.body_names[1]
    program = build(info, masses={name: 1.5}, bounds={"viscous": (0.1, 5)}, weight=0.5)
    labels = [each.label for each in program.constraints]
    assert labels[0] == f"mass of {name} is 1.5 kg" and any("viscous at least 0.1" in each for each in labels)
    assert program.fixed == (info.layout.names.index(f"{name}.m"),)
    assert program.size == info.layout.size - 1 and "pullback prior of weight 0.5" in repr(program)
    table = program.table()
    assert all(label in table for label in labels) and f"fixed        {name}.m" in table
    with pytest.raises(FrozenInstanceError):
        program.noise = np.ones(3)


def test_equalities_that_contradict_each_other_are_named_before_anything_is_solved(info):
    first, second = info.robot.body_names[:2]
    with pytest.raises(FitError, match=f"mass of {first} is 1 kg.*mass of {first} \\+ {second} is 5 kg"):
        build(info, masses={first: 1.0, second: 2.0, (first, second): 5.0})
    program = build(info, masses={first: 1.0, "all": 1.0})
    with pytest.raises(FitError, match="mass of all bodies together is 1 kg"):
        solve(program)


def test_a_regularizer_is_one_record(info, monkeypatch):
    squares = REGULARIZERS["pullback"].squares
    for record in (Regularizer("twin", "as pullback", squares), Regularizer("both", "a barrier, too", squares, 1.0)):
        monkeypatch.setitem(REGULARIZERS, record.name, record)
    plain, entropic, twin, both = (
        consistent(info, regularizer=name, noise=NOISE, weight=10.0)
        for name in ("pullback", "entropic", "twin", "both")
    )
    np.testing.assert_array_equal(twin.parameters, plain.parameters)
    assert "twin prior" in twin.method and both.certificate.duality_gap < 1e-6
    program = build(info, regularizer="both", noise=NOISE, weight=10.0)
    cost = [
        program.cost(np.linalg.lstsq(program.directions, x.parameters - program.start)[0])
        for x in (both, plain, entropic)
    ]
    assert cost[0] < min(cost[1:])
