"""What torques show of joint axes: cases with known answers, and fresh motions that must agree."""

import numpy as np
import pytest

from robots import random_state
from steelyard.app.demo_job import mistaken
from steelyard.calibration import axis_directions
from steelyard.calibration.axis_errors import axis_columns
from steelyard.calibration.visibility import axis_visibility
from steelyard.dynamics import regressor
from steelyard.model import Joint, Robot, library, revolute_subspace
from steelyard.terms import layout_of

PENDULUM_THETA = np.array([[2.0, 0.3, 0.1, -0.2, 0.4, 0.02, 0.5, 0.03, -0.01, 0.6]])


def chain(axes, theta):
    joints = tuple(
        Joint(f"j{i}", "revolute", revolute_subspace(axis), np.eye(3), np.array([0.3 * (i > 0), 0, 0]))
        for i, axis in enumerate(axes)
    )
    n = len(joints)
    none, names = np.zeros(n), tuple(f"b{i}" for i in range(n))
    thetas = np.tile(theta, (n, 1))
    return Robot(
        "chain", joints, np.arange(n) - 1, names, np.arange(n), thetas, np.array([0, 0, -9.81]), none, none, none
    )


def seen(robot, **deviations):
    directions = axis_directions(robot, None, **({"tilt": 0.05, "shift": 0.01} | deviations))
    return directions, axis_visibility(robot, layout_of(robot, friction=("viscous", "coulomb", "offset")), directions)


def test_a_pendulum_says_nothing_about_its_axis():
    """A tilt scales gravity, which mass takes up: no direction of a single axis can be seen, though torques change."""
    robot = chain([[0.0, 1.0, 0.0]], PENDULUM_THETA)
    directions, visibility = seen(robot)
    assert visibility.rank == 0 and visibility.base.shape[1] == 3  # a turn about the axis's own height is a tilt
    state = random_state(robot, np.random.default_rng(0), (20,))
    assert np.abs(axis_columns(robot, directions.basis, *state)).max() > 1e-2
    assert "Torques show 0 of 4" in visibility.summary() and "Never seen: j0 tilt about x" in visibility.summary()


def test_two_crossed_axes_show_their_angle():
    """A vertical and a horizontal axis: the angle between them is seen, where the first one stands is not."""
    _, visibility = seen(chain([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], PENDULUM_THETA))
    share = dict(zip(visibility.names, visibility.seen, strict=True))
    assert share["j0 shift along x"] < 1 and share["j0 shift along y"] < 1
    assert 0 < visibility.rank < len(visibility.names)
    assert visibility.base.shape[1] == 4


@pytest.mark.parametrize("seed", [0, 1])
def test_puma(seed):
    """Whatever its masses, the four moves of the whole robot are hidden and nothing else is."""
    _, visibility = seen(mistaken(library.puma560(), seed=seed))
    assert visibility.rank == 20 and visibility.base.shape[1] == 4
    assert "4 of the hidden combinations only move the whole robot" in visibility.summary()
    assert sum(hidden for _, hidden in visibility.groups) == 4


def test_hidden_combinations_are_taken_up_by_inertial_parameters_and_seen_ones_are_not():
    """Least squares on other states than the analysis used: the residual decides."""
    robot = mistaken(library.puma560())
    directions, visibility = seen(robot)
    q, v, a = random_state(robot, np.random.default_rng(7), (60,))
    Y = regressor(robot, q, v, a).reshape(360, -1)
    J = axis_columns(robot, directions.basis, q, v, a).reshape(360, -1)

    def left(columns):
        return np.linalg.norm(columns - Y @ np.linalg.lstsq(Y, columns, rcond=1e-12)[0], axis=0)

    hidden, scale = visibility.hidden, np.linalg.norm(J)
    assert left(J @ hidden).max() < 1e-9 * scale
    complement = np.linalg.svd(hidden.T)[2][hidden.shape[1] :].T
    smallest = np.linalg.svd(J @ complement - Y @ np.linalg.lstsq(Y, J @ complement, rcond=1e-12)[0])[1][-1]
    assert smallest > 1e-6 * scale
