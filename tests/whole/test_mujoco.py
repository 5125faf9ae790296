"""Inverse dynamics and regressor against MuJoCo's, on MJCF models with every joint type and armature."""

import numpy as np
import pytest

from mujoco_models import inverse_forces, rigid_body_model
from robots import package_folder, random_state
from steelyard.dynamics import armature_torque, inverse_dynamics, regressor
from steelyard.model import force_from_mujoco, load, to_mujoco

pytestmark = pytest.mark.claim("pipeline.engines")

SUITE = package_folder("dm_control") / "suite"
LOCOMOTION = package_folder("dm_control") / "locomotion"
MODELS = [
    *(
        SUITE / f"{name}.xml"
        for name in ("acrobot", "ball_in_cup", "cartpole", "cheetah", "dog", "fish", "hopper", "humanoid")
    ),
    *(
        SUITE / f"{name}.xml"
        for name in ("humanoid_CMU", "manipulator", "pendulum", "point_mass", "quadruped", "reacher")
    ),
    *(SUITE / f"{name}.xml" for name in ("stacker", "swimmer", "walker", "finger")),
    LOCOMOTION / "walkers" / "assets" / "humanoid_CMU_V2020.xml",
    LOCOMOTION / "walkers" / "assets" / "rodent.xml",
    LOCOMOTION / "walkers" / "assets" / "jumping_ball" / "jumping_ball_with_head.xml",
]

EVERY_JOINT = """
<mujoco>
  <compiler angle="radian"/>
  <default><joint armature="0.03"/><geom density="700"/></default>
  <worldbody>
    <body name="torso" pos="0 0 1" quat="0.9 0.1 0.2 0.3">
      <freejoint name="root"/>
      <geom type="box" size=".2 .1 .3" pos=".05 0 .1"/>
      <body name="shoulder" pos=".2 .1 .3" euler=".3 .2 .1">
        <joint name="lift" type="slide" axis="1 2 3" ref="0.1"/>
        <joint name="yaw" type="hinge" axis="0 1 1" pos=".1 .2 -.1" ref="0.4"/>
        <joint name="pitch" type="hinge" axis="1 0 .3" pos="0 -.2 .3"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/>
        <body name="bracket" pos=".1 0 0" euler="0 .5 0">
          <geom type="sphere" size=".08" pos=".2 0 0"/>
          <body name="hand" pos=".3 0 0">
            <joint name="wrist" type="ball" pos=".05 .02 .01" armature="0.2"/>
            <geom type="ellipsoid" size=".1 .06 .03" pos=".1 0 .02"/>
          </body>
        </body>
      </body>
    </body>
    <body name="second" pos="1 0 0">
      <joint name="swing" type="hinge" axis="0 1 0"/>
      <geom type="box" size=".1 .1 .3" pos="0 0 -.3"/>
    </body>
  </worldbody>
</mujoco>
"""


def assert_agrees(path, record_property):
    robot, m = load(path), rigid_body_model(path)
    q, v, a = random_state(robot, np.random.default_rng(0), (5,))
    qpos, qvel, qacc = to_mujoco(m, robot, q, v, a)
    expected = force_from_mujoco(m, robot, qpos, inverse_forces(m, qpos, qvel, qacc))
    scale = np.abs(expected).max()
    tau = inverse_dynamics(robot, q, v, a)
    difference = np.abs(tau - expected).max() / scale
    record_property("difference from MuJoCo", float(difference))
    assert difference <= 1e-9
    columns = regressor(robot, q, v, a) @ robot.inertias.ravel() + armature_torque(robot, v.T, a.T).T
    assert np.abs(columns - expected).max() <= 1e-9 * scale
    return robot


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_agrees_with_mujoco(path, record_property):
    assert_agrees(path, record_property)


def test_every_joint_type_compound_joints_and_armature(tmp_path, record_property):
    path = tmp_path / "every.xml"
    path.write_text(EVERY_JOINT)
    robot = assert_agrees(path, record_property)
    assert {j.kind for j in robot.joints} == {"free", "prismatic", "revolute", "spherical"}
    assert robot.joint_names == ("root", "lift", "yaw", "pitch", "wrist", "swing")
    assert robot.body_names == ("torso", "shoulder", "hand", "second")
    assert np.all(robot.armature[6:9] == 0.03)
