"""Where a picture puts bodies and shapes, without drawing one: against the model by hand and by MuJoCo."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import steelyard as sy
from robots import random_state, urdf
from steelyard.viewer.stage import _model, body_poses

URDF = """<robot name="two"><link name="base"/>
  <link name="arm"><inertial><origin xyz="0.3 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="cover"><inertial><mass value="0.1"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial>
    <visual><origin xyz="0.1 0 0" rpy="0.3 0 0"/><geometry><box size="0.1 0.2 0.3"/></geometry></visual></link>
  <link name="tool"><inertial><origin xyz="0.3 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="k" type="revolute"><parent link="arm"/><child link="tool"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="f" type="fixed"><origin xyz="0.5 0 0.2" rpy="0 0 1.2"/><parent link="arm"/><child link="cover"/></joint>
</robot>"""


def test_shapes_of_fixed_links_sit_in_their_turned_frames(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(URDF)
    model = _model(sy.load(path), 64, 64)
    turn = Rotation.from_euler("z", 1.2)
    assert model.ngeom == 2
    arm, tool = (model.body(f"body{i}").geomadr[0] for i in range(2))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    own = data.body("body0").xmat.reshape(3, 3).T @ (data.geom_xpos[arm] - data.body("body0").xpos)
    np.testing.assert_allclose(own, np.array([0.5, 0, 0.2]) + turn.apply([0.1, 0, 0]), atol=1e-6)
    np.testing.assert_allclose(model.geom_pos[tool], [0.3, 0.1, 0.2])  # nothing is shown: a ball at the centre of mass


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
