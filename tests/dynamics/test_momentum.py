"""Momentum form and wrenches of links: against Pinocchio, differences along a motion, the torque regressor."""

import numpy as np
import pinocchio as pin
import pytest

import pinocchio_adapter as adapter
import steelyard as sy
from robots import random_state, urdf
from steelyard.errors import OptionError


def test_drift_is_coriolis_and_gravity_of_pinocchio():
    path = urdf("ur5_robot")
    robot, model = sy.load(path), adapter.load(path, False)
    data = model.createData()
    q, v, _ = random_state(robot, np.random.default_rng(0))
    theta = robot.inertias.ravel()
    C = pin.computeCoriolisMatrix(model, data, q, v).copy()
    g = pin.computeGeneralizedGravity(model, data, q)
    np.testing.assert_allclose(sy.momentum_drift_regressor(robot, q, v) @ theta, C.T @ v - g, atol=1e-11)
    assert np.abs(C @ v - C.T @ v).max() > 1e-2  # the other sum of Christoffel symbols would be wrong


@pytest.mark.parametrize(("stem", "floating"), [("panda", None), ("anymal", True), ("romeo", True)])
def test_rate_of_momentum_is_torque_and_drift(stem, floating):
    """Along a motion `dq/dt = v`, by central differences; mimic and free joints too."""
    robot = sy.load(urdf(stem), floating=floating)
    q, v, a = random_state(robot, np.random.default_rng(1))
    h, qdot = 1e-5, _rate(robot, q, v)
    ahead, behind = (sy.momentum_regressor(robot, q + s * h * qdot, v + s * h * a) for s in (1, -1))
    drift = sy.momentum_drift_regressor(robot, q, v)
    np.testing.assert_allclose((ahead - behind) / (2 * h) - drift, sy.regressor(robot, q, v, a), atol=1e-6)


def _rate(robot, q, v):
    """dq/dt of joint velocities; a free joint's twist is in its own axes."""
    parts = []
    for joint, at_q, at_v in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
        if joint.mimics is not None:
            continue
        if joint.kind != "free":
            parts.append(v[at_v])
            continue
        x, w = q[at_q][3:], v[at_v]
        R = pin.Quaternion(x[3], *x[:3]).toRotationMatrix()
        turned = np.concatenate([x[3] * w[3:] + np.cross(x[:3], w[3:]), [-x[:3] @ w[3:]]]) / 2
        parts.append(np.concatenate([R @ w[:3], turned]))
    return np.concatenate(parts)


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
def test_batch_shapes(batch):
    robot = sy.load(urdf("panda"))
    q, v, a = random_state(robot, np.random.default_rng(2), batch)
    assert sy.momentum_drift_regressor(robot, q, v).shape == (*batch, robot.nv, 10 * robot.nb)
    assert sy.wrench_regressor(robot, q, v, a, "panda_link4").shape == (*batch, 6, 10 * robot.nb)


def test_wrench_of_a_link_is_its_joint_force_in_pinocchio():
    path = urdf("ur5_robot")
    robot, model = sy.load(path), adapter.load(path, False)
    data = model.createData()
    q, v, a = random_state(robot, np.random.default_rng(3))
    pin.rnea(model, data, q, v, a)
    for i, name in enumerate(robot.body_names):
        wrench = sy.wrench_regressor(robot, q, v, a, name) @ robot.inertias.ravel()
        np.testing.assert_allclose(wrench, data.f[i + 1].vector, atol=1e-10)
    tool = sy.wrench_regressor(robot, q, v, a, "tool0") @ robot.inertias.ravel()
    placement = model.frames[model.getFrameId("tool0")].placement
    np.testing.assert_allclose(tool, placement.actInv(data.f[-1]).vector, atol=1e-10)


def test_links_that_carry_no_sensor():
    robot = sy.load(urdf("ur5_robot"))
    for name in ("elbow", "base_link"):
        with pytest.raises(OptionError, match=rf"no moving link '{name}'.*wrist_3_link"):
            sy.wrench_regressor(robot, *random_state(robot, np.random.default_rng(4)), name)
