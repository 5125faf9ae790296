"""Motion subspaces and poses of joints against the exponential of their twist."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from steelyard.errors import ModelError
from steelyard.model import Joint, library, revolute_subspace
from steelyard.model.joint import (
    KINDS,
    displaced,
    joint_pose,
    planar_subspace,
    prismatic_subspace,
    spherical_subspace,
    twist_pose_coefficients,
)
from steelyard.spatial import skew

AXIS, ANCHOR = np.array([0.48, 0.6, 0.64]), np.array([0.3, -0.2, 0.5])
TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
PLACE = np.array([0.1, 0.2, 0.3])


def pose(twist):
    """(4, 4) exponential of a twist [v; w]."""
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = skew(twist[3:]), twist[:3]
    return expm(generator)


def placed(R, p):
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = R, p
    return whole


@pytest.mark.parametrize(
    "subspace",
    [
        revolute_subspace(AXIS),
        revolute_subspace(AXIS, anchor=ANCHOR),
        revolute_subspace(AXIS, anchor=ANCHOR, pitch=0.07),
        prismatic_subspace(AXIS),
    ],
    ids=["revolute", "beside", "helical", "prismatic"],
)
def test_one_degree_joints_are_exponentials_of_their_twist(subspace):
    R, p = twist_pose_coefficients(Joint("j", "revolute", subspace, TURN, PLACE))
    for q in (-2.3, 0.0, 0.4, 3.0):
        terms = np.array([1.0, q, np.sin(q), np.cos(q)])
        expected = placed(TURN, PLACE) @ pose(q * subspace[:, 0])
        np.testing.assert_allclose(np.tensordot(terms, R, 1), expected[:3, :3], atol=1e-12)
        np.testing.assert_allclose(terms @ p, expected[:3, 3], atol=1e-12)


def test_a_helix_advances_by_its_pitch_along_the_axis_through_its_anchor():
    v, w = np.split(revolute_subspace(AXIS, anchor=ANCHOR, pitch=0.07)[:, 0], 2)
    np.testing.assert_allclose(w, AXIS)
    np.testing.assert_allclose(v + np.cross(w, ANCHOR), 0.07 * AXIS, atol=1e-12)  # velocity of the anchor


def test_a_ball_joint_turns_about_its_anchor():
    quaternion = np.array([0.1, -0.4, 0.3, 0.86])
    quaternion /= np.linalg.norm(quaternion)
    joint = Joint("ball", "spherical", spherical_subspace(ANCHOR), np.eye(3), np.zeros(3))
    R, p = joint_pose(joint, quaternion)
    np.testing.assert_allclose(R @ ANCHOR + p, ANCHOR, atol=1e-12)
    for k in range(3):  # each column of Phi moves the anchor nowhere
        v, w = np.split(joint.subspace[:, k], 2)
        np.testing.assert_allclose(v + np.cross(w, ANCHOR), 0, atol=1e-12)
    moved = joint_pose(replace(joint, rotation=TURN, position=PLACE), quaternion)
    np.testing.assert_allclose(moved[0], TURN @ R, atol=1e-12)
    np.testing.assert_allclose(moved[1], TURN @ p + PLACE, atol=1e-12)


@pytest.mark.parametrize(
    "normal", [[0, 0, 1], [0, 0, -1], [0, 1e-9, -1], [1, 0, 0], [0.48, 0.6, -0.64], [0.6, -0.8, 0]]
)
def test_a_plane_has_its_normal_on_the_right_side(normal):
    normal = np.array(normal, dtype=float) / np.linalg.norm(normal)
    Phi = planar_subspace(normal)
    x, y, turn = Phi[:3, 0], Phi[:3, 1], Phi[3:, 2]
    np.testing.assert_allclose(turn, normal, atol=1e-8)
    np.testing.assert_allclose(np.cross(x, y), normal, atol=1e-8)
    np.testing.assert_allclose([x @ x, y @ y, x @ y], [1, 1, 0], atol=1e-8)
    assert not Phi[3:, :2].any() and not Phi[:3, 2].any()
    q = np.array([0.4, -0.7, 1.2])
    R, p = joint_pose(Joint("p", "planar", Phi, TURN, PLACE), q)
    expected = placed(TURN, PLACE) @ placed(np.eye(3), q[0] * x + q[1] * y) @ pose(np.r_[0, 0, 0, q[2] * turn])
    np.testing.assert_allclose(R, expected[:3, :3], atol=1e-8)
    np.testing.assert_allclose(p, expected[:3, 3], atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_velocities_of_every_kind_are_twists_in_child_axes(kind):
    """Displaced by a small motion, the child has moved by the exponential of its twist."""
    features = KINDS[kind]
    joint = Joint(kind, kind, features.subspace(AXIS, ANCHOR), TURN, PLACE)
    assert (joint.nq, joint.nv) == (features.nq, joint.subspace.shape[1])
    rng = np.random.default_rng(3)
    q, v = rng.normal(size=joint.nq), rng.normal(size=joint.nv)
    if features.quaternion:
        q[-4:] /= np.linalg.norm(q[-4:])

    def at(q):
        if joint.nv > 1:
            return placed(*joint_pose(joint, q))
        terms = np.array([1.0, q[0], np.sin(q[0]), np.cos(q[0])])
        return placed(*(np.tensordot(terms, x, 1) for x in twist_pose_coefficients(joint)))

    step = 1e-5
    moved = np.linalg.inv(at(q)) @ at(displaced(joint, q, step * v))
    np.testing.assert_allclose(moved, pose(step * joint.subspace @ v), atol=1e-8)


def test_joints_out_of_order_are_refused():
    """Two arms whose joints alternate: sums over what a joint carries would take in bodies of the other arm."""
    quadruped = library.quadruped()
    order = [0, 1, 4, 2, 3]
    mixed = [quadruped.joints[j] for j in order]
    parents = [-1, 0, 0, 1, 3]
    with pytest.raises(ModelError, match="joint 'FL_thigh_joint' comes after joints of another branch"):
        replace(quadruped, joints=tuple(mixed), parents=np.array(parents))
