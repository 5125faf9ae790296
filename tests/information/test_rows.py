"""What belongs to which row, sample and degree: counts, weights, directions of motion, several logs."""

import numpy as np
import pytest

import loop_logs
import steelyard as sy
from steelyard.identifiable import excitation
from steelyard.information import accumulate
from steelyard.model import library


@pytest.fixture(scope="module")
def leg():
    robot = library.cheetah3_leg()
    t = np.arange(600) / 200
    q, v, a = sy.simulate.rich_motion(robot, duration=3.0, seed=2).evaluate(t)
    tau = sy.inverse_dynamics(robot, q, v, a) + robot.frictionloss * np.tanh(v / 0.05)
    return robot, sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)


def test_samples_are_those_of_the_fullest_row(leg):
    robot, log = leg
    weights = np.ones((600, 3))
    weights[:200, 0] = 0
    info = accumulate(robot, log.replace(weights=weights))
    np.testing.assert_array_equal(info.counts, [400, 600, 600])
    assert info.n == 600


def test_weights_of_the_log_and_given_ones_multiply(leg):
    robot, log = leg
    rng = np.random.default_rng(0)
    own, given = rng.uniform(size=(2, 600, 3))
    both = accumulate(robot, log.replace(weights=own), sample_weights=given)
    told = accumulate(robot, log, sample_weights=own * given)
    np.testing.assert_allclose(both.gram, told.gram, rtol=1e-12)
    np.testing.assert_allclose(both.counts, told.counts, rtol=1e-12)


def test_a_direction_counts_at_its_own_width_alone(leg):
    robot, log = leg
    recorded = log.replace(direction=np.cos(log.t)[:, None] * [1.0, 0.5, 0.2], direction_width=0.05)
    same = accumulate(robot, recorded, coulomb_width=0.05)
    assert np.abs(same.gram - accumulate(robot, log, coulomb_width=0.05).gram).max() > 1
    other, plain = (accumulate(robot, each, coulomb_width=0.2) for each in (recorded, log))
    np.testing.assert_allclose(other.gram, plain.gram, rtol=1e-12)


def test_balances_over_windows_are_independent_already(leg):
    robot, log = leg
    for rows, share in (("momentum", 1.0), ("energy", 1.0), ("joints", 0.1), (("joints", "momentum"), 0.1)):
        found = accumulate(robot, log.replace(bandwidth=0.05 * log.rate), rows=rows).independence
        assert found == pytest.approx(share)


@pytest.mark.parametrize("rows", ["joints", "momentum", ("momentum", "joints")])
def test_torques_of_degrees_are_those_of_their_own_rows(leg, rows):
    robot, log = leg
    info = accumulate(robot, log, rows=rows)
    rms = dict(zip(info.group_names, np.sqrt(info.energy / info.counts), strict=True))
    own = "{}" if "joints" in (rows, rows[-1]) else "momentum({})"
    np.testing.assert_allclose(info.degree_rms, [rms[own.format(name)] for name in robot.dof_names], rtol=1e-12)
    assert np.ptp(info.degree_rms) > 0.1


def test_excitation_of_several_logs_is_that_of_all_their_samples(leg):
    robot, log = leg
    pieces = excitation([log[:450], log[450:]], robot)
    whole = excitation(log, robot)
    np.testing.assert_allclose(pieces.rms, whole.rms, rtol=1e-9)
    np.testing.assert_allclose(pieces.singular, whole.singular, rtol=1e-9)


def test_weights_of_closed_loops_are_those_of_the_motors():
    """Of the hip and the crank, first and third of the four joints; the others have no equation of their own."""
    robot = library.four_bar_leg()
    t = np.arange(300) / 100
    q = np.stack([0.2 * np.sin(2 * t), 0.2 * np.cos(3 * t)], axis=1)
    v = np.stack([0.4 * np.cos(2 * t), -0.6 * np.sin(3 * t)], axis=1)
    a = np.stack([-0.8 * np.sin(2 * t), -1.8 * np.cos(3 * t)], axis=1)
    log = loop_logs.motors_log(robot, t, q, v, a).replace(v=v, a=a)
    weights = np.ones((300, 2))
    weights[:100, 0], weights[:250, 1] = 0, 0
    info = accumulate(robot, log.replace(weights=weights))
    assert dict(zip(info.group_names, info.counts, strict=True)) == {"hip": 200, "crank": 50}
