"""Axis errors and turned robots: what moves, what cannot, and what a file keeps of it."""

import numpy as np
import pytest

from robots import random_state, urdf
from steelyard.calibration import axis_directions
from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from steelyard.errors import ModelError, OptionError
from steelyard.model import library, load, save, with_moved_axes
from steelyard.spatial import crm

H = 1e-6


@pytest.fixture(scope="module")
def puma():
    return library.puma560()


def test_turning_is_what_the_derivative_says(puma):
    state = random_state(puma, np.random.default_rng(0), (4,))
    slopes = inverse_dynamics_derivatives(puma, *state).dtau_djoint
    for j, i in ((0, 4), (2, 1), (3, 5), (5, 3)):
        eta = np.zeros((6, 6))
        eta[j, i] = H
        ahead, behind = (inverse_dynamics(with_moved_axes(puma, sign * eta), *state) for sign in (1, -1))
        difference = ahead - behind
        np.testing.assert_allclose(difference / (2 * H), slopes[:, :, j, i], atol=1e-6)


def test_rates_hold_far_from_zero(puma):
    """The axes move by `rates(z) dz` from z on, in the frames of their children."""
    directions = axis_directions(puma, None, tilt=0.3, shift=0.2)
    z, dz = np.random.default_rng(1).normal(size=(2, directions.count))
    plus, minus, here = (with_moved_axes(puma, directions.eta(z + s * dz)).joints for s in (H, -H, 0))
    for j, rate in enumerate(directions.rates(z) @ dz):
        moved = (plus[j].subspace - minus[j].subspace) / (2 * H)
        np.testing.assert_allclose(moved, crm(rate) @ here[j].subspace, atol=1e-8)


def test_every_direction_moves_its_axis_and_no_other_does():
    robot = load(urdf("panda"))
    directions = axis_directions(robot, None, tilt=1.0, shift=1.0)
    for j in set(directions.joint.tolist()):
        A = robot.joints[j].subspace[:, 0]
        own = directions.vectors[directions.joint == j]
        moved = crm(A) @ own.T
        assert np.linalg.matrix_rank(moved) == len(own) == np.linalg.matrix_rank(crm(A))
    assert [name for name in directions.names if name.startswith("panda_finger_joint1")] == [
        "panda_finger_joint1 tilt about x",
        "panda_finger_joint1 tilt about z",
    ]
    assert "panda_joint1 shift along y" in directions.names


def test_a_turned_robot_survives_its_file(puma, tmp_path):
    eta = axis_directions(puma, None, tilt=0.02, shift=0.005).eta(np.random.default_rng(2).normal(size=24))
    other = with_moved_axes(puma, eta)
    save(other, tmp_path / "turned.urdf")
    q, v, a = random_state(puma, np.random.default_rng(3), (5,))
    expected = inverse_dynamics(other, q, v, a) - other.armature * a
    np.testing.assert_allclose(inverse_dynamics(load(tmp_path / "turned.urdf"), q, v, a), expected, atol=1e-9)


def test_refusals(puma):
    with pytest.raises(OptionError, match="'elbow'; the robot's joints of one degree are"):
        axis_directions(puma, ["elbow"], tilt=0.1, shift=0.1)
    with pytest.raises(OptionError, match="not both 0"):
        axis_directions(puma, None, tilt=0.0, shift=0.0)
    with pytest.raises(ModelError, match="shape \\(6, 6\\)"):
        with_moved_axes(puma, np.zeros(6))
    floating = library.puma560(floating=True)
    with pytest.raises(ModelError, match="is free"):
        with_moved_axes(floating, np.ones((7, 6)))
