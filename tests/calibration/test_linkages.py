"""Axes of linkages from torques of their motors alone; what loops cannot follow is kept."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.calibration.axis_errors import axis_directions, loop_axis_columns
from steelyard.calibration.visibility import axis_visibility
from steelyard.dynamics.closed_loop.states import tree_state_of
from steelyard.errors import OptionError
from steelyard.information import accumulate
from steelyard.model import library, with_moved_axes
from steelyard.terms import COULOMB_WIDTH

TILT, SHIFT, NOISE = np.radians(1), 0.003, 2e-3  # prior deviations; noise as a share of the torque
SPACE = {"five_bar": (TILT, 0.0), "four_bar_leg": (0.0, SHIFT)}


def torques(robot, q, v, a):
    """Of the motors, friction of all joints felt there."""
    q, v, a = sy.closed_loop.tree_state(robot, q, v, a)
    friction = robot.damping * v + robot.frictionloss * np.tanh(v / COULOMB_WIDTH)
    felt = np.einsum("nij,ni->nj", sy.closed_loop.gamma(robot, q), friction)
    return sy.closed_loop.inverse_dynamics(robot, q, v, a) + felt


def recorded(robot, *, seed, n):
    """A log of the motors' motion and torques with noise."""
    rng, t = np.random.default_rng(seed), np.linspace(0, 20, n)
    rate, phase = rng.uniform(1, 8, size=(4, len(robot.actuated))), rng.uniform(0, 2 * np.pi, (4, len(robot.actuated)))
    angle = rate * t[:, None, None] + phase
    q, v, a = (0.1 * x.sum(axis=1) for x in (np.sin(angle), rate * np.cos(angle), -(rate**2) * np.sin(angle)))
    tau = torques(robot, q, v, a)
    noise = NOISE * tau.std(axis=0)
    return sy.Log(t=t, q=q, v=v, a=a, tau=tau + noise * rng.normal(size=tau.shape), joint_names=robot.actuated), noise


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["five_bar", "four_bar_leg"])
def test_axes_come_back_within_their_deviations(name):
    robot, (tilt, shift) = getattr(library, name)(), SPACE[name]
    directions = axis_directions(robot, None, tilt=tilt, shift=shift)
    z = np.random.default_rng(1).normal(size=directions.count)
    truth = with_moved_axes(robot, directions.eta(z))
    log, noise = recorded(truth, seed=2, n=400)
    found = sy.calibrate(robot, log, tilt=tilt, shift=shift)
    pulls = (found.z - z) / np.sqrt(np.diag(found.covariance))
    assert found.converged and found.estimate.physical
    assert np.abs(pulls).max() < 3.5 and np.sqrt(np.mean(pulls**2)) < 1.5
    np.testing.assert_allclose(found.rms, noise, rtol=0.15)
    assert (found.rms_before > 1.3 * found.rms).all()
    assert found.eta.shape == (robot.nj + len(robot.loops), 6)
    assert np.linalg.eigvalsh(found.covariance)[0] < 0.02, "combinations are known far better than before"
    fresh, _ = recorded(truth, seed=3, n=300)
    state = fresh.q, fresh.v, fresh.a
    errors = (torques(each, *state) - torques(truth, *state) for each in (found.robot, robot))
    calibrated, nominal = (x.std(axis=0) for x in errors)  # offsets are fitted and have no place in a robot
    assert (calibrated < 0.5 * noise).all() and (nominal > noise).all()


@pytest.mark.parametrize("name", ["five_bar", "four_bar_leg"])
def test_directions_are_those_that_loops_follow_and_the_base_is_hidden(name):
    robot = getattr(library, name)()
    directions = axis_directions(robot, None, tilt=TILT, shift=SHIFT)
    kept, held = (" tilt ", " shift ") if name == "five_bar" else (" shift ", " tilt ")
    assert len(directions.names) == len(directions.held) == 2 * (robot.nj + 1)
    assert all(kept in each for each in directions.names) and all(held in each for each in directions.held)
    assert sum(each.startswith(robot.loops[0].name) for each in directions.names) == 2
    moved = with_moved_axes(robot, directions.eta(np.ones(directions.count)))
    sy.closed_loop.inverse_dynamics(moved, *np.zeros((3, len(robot.actuated))))  # closes
    log, _ = recorded(robot, seed=4, n=100)
    info = accumulate(robot, log)
    seen = axis_visibility(robot, info.layout, directions)
    moves = 1 if name == "five_bar" else 2  # a turn about gravity; shifts in the plane
    assert seen.base.shape[1] == moves == seen.hidden.shape[1]


@pytest.mark.parametrize("name", ["five_bar", "four_bar_leg"])
def test_columns_hold_friction_of_passive_joints(name):
    """Differences of torques, friction included; without it they are others."""
    robot = getattr(library, name)()
    loss = np.linspace(0.2, 0.5, robot.nv)
    robot = replace(robot, damping=loss, frictionloss=0.3 * loss)
    directions = axis_directions(robot, None, tilt=TILT, shift=SHIFT)
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-0.3, 0.3, size=(4, 2)) for _ in range(3))
    z = rng.normal(size=directions.count)
    at = tree_state_of(robot, *sy.closed_loop.tree_state(robot, q, v, a))
    found = loop_axis_columns(robot, directions.rates(np.zeros_like(z)), at, coulomb_width=COULOMB_WIDTH) @ z
    step = 1e-4
    ahead, behind = (torques(with_moved_axes(robot, directions.eta(s * step * z)), q, v, a) for s in (1, -1))
    expected = (ahead - behind) / (2 * step)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    still = robot.nv * [0.0]
    without = replace(robot, damping=still, frictionloss=still)
    lost = loop_axis_columns(without, directions.rates(np.zeros_like(z)), at, coulomb_width=COULOMB_WIDTH) @ z
    assert np.abs(lost - expected).max() > 1e-2 * np.abs(expected).max()


def test_refusals():
    robot = library.five_bar()
    with pytest.raises(OptionError, match="close after none"):
        axis_directions(robot, None, tilt=0.0, shift=SHIFT)
    with pytest.raises(OptionError, match="joint5"):
        axis_directions(robot, ["nothing"], tilt=TILT, shift=SHIFT)
