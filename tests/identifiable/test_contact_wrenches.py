"""Wrenches that joints do not feel: against null spaces of Pinocchio's Jacobians, in a pose and in all."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinocchio_adapter as adapter
import steelyard as sy
from properties import tried
from robots import random_state, urdf
from steelyard.errors import ModelError
from strategies import robots

POSES = 12


def blind_to(columns):
    """(6, d) orthonormal basis of the wrenches without torque on columns of twists (6, n)."""
    U, s, _ = np.linalg.svd(columns, full_matrices=True)
    return U[:, int(np.sum(s > 1e-9 * s.max(initial=1e-300))) :]


def require_same_span(one, other):
    assert one.shape == other.shape
    if one.shape[1]:
        turned = np.linalg.qr(one)[0].T @ np.linalg.qr(other)[0]
        np.testing.assert_allclose(np.linalg.svd(turned, compute_uv=False), 1.0, atol=1e-7)


@pytest.mark.parametrize(("name", "frames"), [("panda", 5), ("ur10_robot", 6), ("solo12", 4), ("tiago", 5)])
def test_null_spaces_of_pinocchio(name, frames):
    robot, rng = sy.load(urdf(name)), np.random.default_rng(0)
    model = adapter.load(robot.source.path, False)
    data, E = model.createData(), adapter.velocity_map(model, robot)
    moving = [each.name for each in robot.links if each.body >= 0 and model.existFrame(each.name)]
    for frame in rng.choice(moving, frames, replace=False):
        index, stacked = model.getFrameId(frame), []
        for _ in range(POSES):
            q, _, _ = random_state(robot, rng)
            there = adapter.configuration(model, robot, q)
            J = pin.computeFrameJacobian(model, data, there, index, pin.LOCAL) @ E
            stacked.append(J)
            own = sy.identifiable_wrench(robot, frame, q)
            require_same_span(own.blind, blind_to(J))
            assert own.joints == {robot.dof_names[k]: 1 for k in np.flatnonzero(np.abs(J).max(axis=0) > 1e-12)}
        found = sy.identifiable_wrench(robot, frame)
        require_same_span(found.blind, blind_to(np.concatenate(stacked, axis=1)))
        ranks = {
            n: np.linalg.matrix_rank(np.stack([J[:, k] for J in stacked], axis=1), tol=1e-9)
            for k, n in enumerate(robot.dof_names)
        }
        assert found.joints == {name: rank for name, rank in ranks.items() if rank}
        assert found.count == 6 - found.blind.shape[1] == 6 - len(found.blind_words)


@tried(25)
@given(robot=robots(most=7), seed=st.integers(0, 99))
def test_random_trees(robot, seed):
    """Mimic joints, which share a coordinate on the way to a link, too."""
    rng = np.random.default_rng(seed)
    q, _, _ = random_state(robot, rng, (POSES,))
    for frame in robot.body_names:
        R, stacked = _rotations(robot, q, frame), []
        for k, J in enumerate(sy.jacobian(robot, q, frame)):
            stacked.append(np.concatenate([R[k].T @ J[:3], R[k].T @ J[3:]]))
        require_same_span(sy.identifiable_wrench(robot, frame).blind, blind_to(np.concatenate(stacked, axis=1)))


def _rotations(robot, q, frame):
    from steelyard.dynamics.frames import frame_rows

    return np.moveaxis(frame_rows(robot, q.T, (frame,))[0][1], -1, 0)


def test_the_span_of_one_pose_is_not_that_of_all():
    """Leaving the motion between a joint and the link out, as if its axis stood still there, hides too much."""
    robot = sy.library.puma560()
    one, all_ = sy.identifiable_wrench(robot, "link6", np.zeros(6)), sy.identifiable_wrench(robot, "link6")
    assert one.count < 6 == all_.count


def test_words():
    found = sy.identifiable_wrench(sy.library.scara(), "link3")
    assert found.blind_words == ("nx", "ny") and found.joints == {"joint1": 3, "joint2": 1, "joint3": 1}
    assert "4 of 6 components" in repr(found)
    with pytest.raises(ModelError, match="does not move"):
        sy.identifiable_wrench(sy.load(urdf("ur10_robot")), "base_link")
    with pytest.raises(ModelError, match="closed loops"):
        sy.identifiable_wrench(sy.library.five_bar(), sy.library.five_bar().body_names[0])
