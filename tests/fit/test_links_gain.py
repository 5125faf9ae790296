"""Friction fitted beside links as given, and whether identified links are better: on truth unlike the log."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

import steelyard as sy
from steelyard.errors import FitError
from steelyard.fit import drives_alone, uncertainty
from steelyard.fit.gain_of_links import _expected, links_gain
from steelyard.fit.prediction_error import ordinary_use
from steelyard.fit.whitening import weigh_by_noise
from steelyard.information import accumulate, accumulate_blocks
from steelyard.log import split_blocks
from steelyard.prepare.prepared import with_motion
from steelyard.simulate import PERFECT, Sensors, record, rich_motion
from steelyard.simulate.trajectories import Trajectory
from steelyard.terms import COULOMB_WIDTH

COLUMNS = {"friction": ("viscous", "coulomb", "offset"), "armature": True}


def given(robot, seed: int, spread: float):
    factors = np.exp(np.random.default_rng(seed).normal(0, spread, size=(robot.nb, 1)))
    return robot.with_inertias(robot.inertias * factors)


def compared(truth, model, *, seed: int, duration: float = 20.0):
    """Gain of links identified from a record of the truth, and both estimates."""
    log = with_motion(record(truth, duration=duration, seed=seed, sensors=Sensors()).log)
    train, test = split_blocks(log, validation=0.25)
    blocks = accumulate_blocks(model, train, **COLUMNS)
    total = sum(blocks[1:], start=blocks[0])
    everything, alone = sy.fit.consistent(total), drives_alone(total)
    found = uncertainty(everything, blocks)
    errors = [sy.validate(each, test) for each in (alone, everything)]
    return links_gain(alone, found, ordinary_use(model, [train], **COLUMNS), *errors, info=total), alone, everything


def friction_of(robot):
    values = {"damping": 1.0, "frictionloss": 1.5, "armature": 0.1}
    return robot.with_joint_properties(**{name: np.full(robot.nv, value) for name, value in values.items()})


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", [0, 1])
def test_right_links_stand_and_wrong_ones_are_better_identified(seed):
    truth = friction_of(sy.library.puma560())
    gain, alone, _ = compared(truth, truth, seed=seed)
    assert not gain.certain and (alone.theta == truth.inertias).all()
    model = given(truth, seed, 0.3)
    gain, alone, everything = compared(truth, model, seed=seed)
    assert gain.certain and (alone.theta == model.inertias).all()
    fast = record(truth, duration=5.0, seed=seed + 50, sensors=Sensors()).truth
    right = sy.inverse_dynamics(truth, fast.q, fast.v, fast.a)
    errors = [
        np.linalg.norm(sy.inverse_dynamics(each, fast.q, fast.v, fast.a) - right) for each in (model, everything.robot)
    ]
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("still", [3, 5])
def test_a_joint_that_stands_still_is_no_reason_against_the_others(still):
    """Nothing is learnt of its friction; links that are far better still are, in other poses of this joint, too."""
    truth = friction_of(sy.library.puma560())
    model, course = given(truth, 0, 0.3), rich_motion(truth, duration=10.0)
    moving = np.arange(truth.nv) != still
    log = record(truth, Trajectory(lambda t: tuple(moving * x for x in course.evaluate(t)), 10.0)).log
    result = sy.identify(model, log)
    assert result.links.certain and not result.kept
    other = record(truth, rich_motion(truth, duration=5.0, seed=9), sensors=PERFECT).truth
    right = sy.inverse_dynamics(truth, other.q, other.v, other.a)
    rigid = [sy.inverse_dynamics(each, other.q, other.v, other.a) - right for each in (model, result.robot)]
    assert np.linalg.norm(rigid[1]) < 0.3 * np.linalg.norm(rigid[0])


def test_links_get_no_credit_for_friction():
    """The same links beside other friction are no better, however much better that friction is."""
    truth = friction_of(sy.library.puma560())
    log = with_motion(record(truth, duration=10.0, seed=2, sensors=Sensors()).log)
    blocks = accumulate_blocks(truth, log, **COLUMNS)
    found = uncertainty(sy.fit.consistent(sum(blocks[1:], start=blocks[0])), blocks)
    rubbing = found.estimate.layout.term("viscous")
    parameters = found.estimate.parameters.copy()
    parameters[rubbing] *= 3
    own = found.estimate.require_robot()
    slower = own.with_joint_properties(damping=3 * own.damping)
    other = replace(found.estimate, parameters=parameters, robot=slower)
    errors = [sy.validate(each, log) for each in (other, found.estimate)]
    total = sum(blocks[1:], start=blocks[0])
    gain = links_gain(other, found, ordinary_use(truth, [log], **COLUMNS), *errors, info=total)
    assert gain.held_out > 3 and gain.share > 0.1 and gain.apart == pytest.approx(0)
    assert gain.expected < 0 and not gain.certain


def test_the_gain_is_expected_as_it_turns_out_in_two_thousand_fits():
    """Plain regressions: five columns of links, of which the model has other values, three of drives, noise."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 8)) @ (np.eye(8) + 0.1 * rng.normal(size=(8, 8)))
    use = rng.normal(size=(40, 8)) * [1, 1, 1, 1, 1, 9, 9, 9]  # faster: what drives err by counts more
    G, H, true, model = use.T @ use, X.T @ X, rng.normal(size=8), rng.normal(size=8)
    model = true + 0.02 * model
    drives = np.eye(8)[:, 5:]
    fit = np.linalg.solve(drives.T @ H @ drives, drives.T)
    P, N = drives @ fit @ H, np.linalg.inv(H)
    root = np.linalg.cholesky(N)
    told, met = [], []
    for _ in range(2000):
        y = X @ true + rng.normal(size=60)
        identified = np.linalg.solve(H, X.T @ y)
        given = np.r_[model[:5], fit @ X.T @ (y - X[:, :5] @ model[:5])]
        d = identified - given
        deviation = 2 * np.sqrt(d @ G @ N @ G @ d)
        told.append(deviation * _expected(d, root, root - P @ root, N, G))
        met.append((given - true) @ G @ (given - true) - (identified - true) @ G @ (identified - true))
    error = np.std(np.subtract(told, met)) / np.sqrt(len(met))
    assert np.mean(told) == pytest.approx(np.mean(met), abs=4 * error)
    assert 2 * np.trace(G @ P @ N) > 20 * error  # what is left out if both models are taken to err apart


def test_a_few_stretches_of_a_slow_error_prove_nothing():
    """An error that stays alike for a third of the samples tells three things, not twenty."""
    t, sizes = np.arange(1200) * 0.01, np.repeat([[1.5, 1.0, 1.0], [1.0, 1.05, 1.05]], 400, axis=1)
    still = np.zeros((len(t), 1))
    before, after = (sy.fit.Validation(t, still, size[:, None], ("joint1",)) for size in sizes)
    robot = sy.library.puma560()
    log = with_motion(record(robot, duration=5.0, seed=0, sensors=Sensors()).log)
    blocks = accumulate_blocks(robot, log, **COLUMNS)
    found = uncertainty(sy.fit.consistent(sum(blocks[1:], start=blocks[0])), blocks)
    for memory, least, most in ((0.0, 1.5, 3.0), (4.0, 0.0, 1.0), (40.0, 0.0, 1.0)):
        gain = links_gain(found.estimate, found, None, before, after, info=blocks[0], memory=memory)
        assert least < gain.held_out < most and not gain.certain


def test_fewer_samples_than_tell_a_deviation_prove_nothing():
    """However much better a fit is on a dozen of them."""
    robot = sy.library.puma560()
    log = with_motion(record(robot, duration=5.0, seed=0, sensors=Sensors()).log)
    blocks = accumulate_blocks(robot, log, **COLUMNS)
    found = uncertainty(sy.fit.consistent(sum(blocks[1:], start=blocks[0])), blocks, draws=0)
    t = np.arange(12) * 0.01
    before, after = (sy.fit.Validation(t, np.zeros((12, 1)), np.full((12, 1), e), ("joint1",)) for e in (1.0, 0.01))
    gain = links_gain(found.estimate, found, None, before, after, info=blocks[0])
    assert gain.share > 0.9 and gain.held_out == 0 and not gain.certain and not gain.likely


def test_drives_alone_are_nonnegative_least_squares():
    """Against SciPy on the rows themselves; a negative friction ends at zero."""
    robot, rng = sy.library.scara(), np.random.default_rng(3)
    q, v, a = rng.normal(size=(3, 300, robot.nv))
    friction = np.array([2.0, -1.0, 0.5, 0.3])[: robot.nv]
    tau = sy.inverse_dynamics(robot, q, v, a) + friction * v + 0.1 * rng.normal(size=v.shape)
    log = sy.Log(t=np.arange(300) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
    info = accumulate(robot, log, friction=("viscous", "coulomb", "offset"))
    found = drives_alone(info)
    rest = tau - sy.inverse_dynamics(robot, q, v, a)
    for j in range(robot.nv):
        columns = np.column_stack([v[:, j], np.ones(300), -np.ones(300), np.tanh(v[:, j] / COULOMB_WIDTH)])
        x, _ = nnls(columns, rest[:, j])
        assert found.friction["viscous"][j] == pytest.approx(x[0], abs=1e-6)
        assert found.friction["offset"][j] == pytest.approx(x[1] - x[2], abs=1e-6)
    assert found.friction["viscous"][1] == 0.0 and found.physical
    assert weigh_by_noise(info)[1].shape == found.noise.shape


def test_a_regression_without_a_robot_has_no_links_to_keep():
    Y = np.random.default_rng(0).normal(size=(50, 1, 10))
    with pytest.raises(FitError, match="Links are kept"):
        drives_alone(sy.Information.from_arrays(Y, Y @ np.ones(10)))
