"""Gradients of torques with respect to meshes, densities, places of parts and joint axes, by finite differences."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from robots import random_state
from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from steelyard.dynamics.gradients import geometry_gradient, with_parts
from steelyard.errors import ModelError
from steelyard.inertia import Part
from steelyard.model import library, with_moved_axes
from steelyard.spatial import rotation_from_vector

H = 1e-6


def box(extents):
    shape = trimesh.creation.box(extents)
    return np.array(shape.vertices), np.array(shape.faces)


PARTS = {
    "link2": (
        Part(*box([0.4, 0.1, 0.1]), 2700.0, origin=np.array([0.2, 0.0, 0.1])),
        Part(
            *box([0.08, 0.06, 0.07]),
            6000.0,
            rotation=rotation_from_vector(np.array([0.2, -0.4, 0.3])),
            origin=np.array([0.4, 0.0, 0.1]),
        ),
    ),
    "link3": (
        Part(*box([0.1, 0.1, 0.3]), 2700.0),
        Part(*box([0.05, 0.05, 0.05]), 7000.0, origin=np.array([0.1, 0.1, 0])),
    ),
}
MOTORS = {"joint3": ("link2", 1), "joint4": ("link3", 1)}


@pytest.fixture(scope="module")
def case():
    robot = library.puma560()
    rng = np.random.default_rng(0)
    state, weights = random_state(robot, rng, (3,)), rng.normal(size=(3, 6))

    def value(parts, eta=None):
        made = with_parts(robot if eta is None else with_moved_axes(robot, eta), parts)
        return float(np.sum(weights * inverse_dynamics(made, *state)))

    made = with_parts(robot, PARTS)
    gradient = inverse_dynamics_derivatives(made, *state).vjp(weights)
    return robot, value, gradient, geometry_gradient(made, PARTS, gradient, motors=MOTORS)


def changed(body, index, **changes):
    pieces = list(PARTS[body])
    pieces[index] = replace(pieces[index], **changes)
    return PARTS | {body: tuple(pieces)}


def slope(function, step=H):
    return (function(step) - function(-step)) / (2 * step)


@pytest.mark.parametrize(("body", "index"), [("link2", 0), ("link2", 1), ("link3", 0)])
def test_parts(case, body, index):
    _, value, _, found = case
    part, mine = PARTS[body][index], found.parts[body][index]
    assert slope(lambda h: value(changed(body, index, density=part.density + h)), 1.0) == pytest.approx(mine.density)
    for vertex, axis in ((0, 0), (3, 1), (6, 2)):
        shift = np.zeros_like(part.vertices)
        shift[vertex, axis] = 1.0
        difference = slope(lambda h, s=shift: value(changed(body, index, vertices=part.vertices + h * s)))
        assert difference == pytest.approx(mine.vertices[vertex, axis], rel=1e-5, abs=1e-5)
    for axis in range(3):
        e = np.eye(3)[axis]
        difference = slope(lambda h, e=e: value(changed(body, index, origin=part.origin + h * e)))
        assert difference == pytest.approx(mine.pose[axis], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("axis", range(6))
def test_axes_take_their_motors_along(case, axis):
    """Joint 3's stator rides on link 2, its parent: it moves by the twist as seen there."""
    robot, value, gradient, found = case
    joint, stator = robot.joints[2], PARTS["link2"][1]

    def moved(h):
        eta = np.zeros((6, 6))
        eta[2, axis] = h
        R, p = rotation_from_vector(eta[2, 3:]), eta[2, :3]  # exp(eta) to first order, about the joint's frame at zero
        to_parent, from_parent = (joint.rotation, joint.position), joint.rotation.T
        turn = to_parent[0] @ R @ from_parent
        origin = to_parent[1] + turn @ (stator.origin - to_parent[1]) + to_parent[0] @ p
        return value(changed("link2", 1, rotation=turn @ stator.rotation, origin=origin), eta)

    assert slope(moved) == pytest.approx(found.twist[2, axis], rel=1e-5, abs=1e-5)
    assert np.abs(found.twist[2] - gradient.twist.sum(axis=0)[2]).max() > 1e-3
    np.testing.assert_allclose(found.twist[0], gradient.twist.sum(axis=0)[0])


def test_a_rotor_rides_on_the_child(case):
    _, _, gradient, _ = case
    robot = with_parts(library.puma560(), PARTS)
    found = geometry_gradient(robot, PARTS, gradient, motors={"joint3": ("link3", 1)})
    expected = gradient.twist.sum(axis=0)[2] + found.parts["link3"][1].pose
    np.testing.assert_allclose(found.twist[2], expected)


def test_refusals(case):
    robot, _, gradient, _ = case
    with pytest.raises(ModelError, match="no body 'arm'"):
        with_parts(robot, {"arm": PARTS["link2"]})
    for motors, words in (
        ({"elbow": ("link2", 1)}, "no joint 'elbow'"),
        ({"joint3": ("link2", 5)}, "no part 5"),
        ({"joint6": ("link2", 1)}, "neither the parent nor the child"),
    ):
        with pytest.raises(ModelError, match=words):
            geometry_gradient(robot, PARTS, gradient, motors=motors)
