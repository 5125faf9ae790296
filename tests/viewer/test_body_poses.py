"""Where recordings put bodies, against Pinocchio and MuJoCo."""

import mujoco
import numpy as np
import pytest

import steelyard as sy
from robots import random_state, urdf
from steelyard.model import mjcf_text
from steelyard.model.mujoco_state import to_mujoco
from steelyard.viewer.recording import body_poses


@pytest.mark.parametrize("name", ["ur5_robot", "panda"])
def test_bodies_are_where_pinocchio_has_them(name):
    import pinocchio as pin

    import pinocchio_adapter as adapter

    robot = sy.load(urdf(name))
    q, _, _ = random_state(robot, np.random.default_rng(0), (3,))
    model = adapter.load(urdf(name), False)
    data = model.createData()
    R, p = body_poses(robot, q)
    for k in range(3):
        pin.forwardKinematics(model, data, adapter.configuration(model, robot, q[k]))
        for body, joint in enumerate(robot.body_joints):
            placed = data.oMi[model.getJointId(robot.joints[joint].name)]
            np.testing.assert_allclose(R[k, body], placed.rotation, atol=1e-9)
            np.testing.assert_allclose(p[k, body], placed.translation, atol=1e-9)


def test_bodies_stand_where_mujoco_puts_them():
    path = urdf("panda")
    robot = sy.load(path)
    q, v, a = random_state(robot, np.random.default_rng(0), (3,))
    R, p = body_poses(robot, q)
    m = mujoco.MjModel.from_xml_string(mjcf_text(robot))
    d = mujoco.MjData(m)
    for k, qpos in enumerate(to_mujoco(m, robot, q, v, a)[0]):
        d.qpos[:] = qpos
        mujoco.mj_kinematics(m, d)
        for i, name in enumerate(robot.body_names):
            np.testing.assert_allclose(p[k, i], d.body(name).xpos, atol=1e-9)
            np.testing.assert_allclose(R[k, i].ravel(), d.body(name).xmat, atol=1e-9)
