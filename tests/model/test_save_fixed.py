"""Inertias written to links that are fixed, turned and moved, to the one that carries the mass."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import steelyard as sy
from steelyard.errors import ModelError
from steelyard.inertia import from_com_inertia, transform

URDF = """<robot name="held"><link name="base"/><link name="arm"/>
  <link name="motor"><inertial><origin xyz="0.03 0.01 0.02"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.008"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/><dynamics damping="0.1"/></joint>
  <joint name="f" type="fixed"><origin xyz="0.5 -0.1 0.2" rpy="0.4 0.2 1.2"/><parent link="arm"/><child link="motor"/>
  </joint></robot>"""
THETA = from_com_inertia(np.asarray(2.5), np.array([0.5, -0.05, 0.25]), np.diag([0.02, 0.015, 0.012]))


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "held.urdf"
    path.write_text(URDF)
    return sy.load(path)


def test_a_body_whose_mass_is_in_a_turned_fixed_link(robot, tmp_path):
    sy.save(robot.with_inertias(THETA), tmp_path / "out.urdf")
    again = sy.load(tmp_path / "out.urdf")
    np.testing.assert_allclose(again.inertias[0], THETA, rtol=1e-9, atol=1e-12)
    (motor,) = [link for link in again.links if link.name == "motor"]
    turn = Rotation.from_euler("xyz", [0.4, 0.2, 1.2]).as_matrix()
    np.testing.assert_allclose(transform(motor.theta, turn, np.array([0.5, -0.1, 0.2])), THETA, rtol=1e-9, atol=1e-12)


def test_bodies_thinner_than_a_plate_are_not_written(robot, tmp_path):
    """Second moments along x, y and z: a plate has none along its normal, which simulators take, and none has less."""
    moments = np.array([0.01, 0.02, -1e-9])
    theta = from_com_inertia(np.asarray(1.0), np.zeros(3), np.diag(moments.sum() - moments))
    with pytest.raises(ModelError, match="cannot be written"):
        sy.save(robot.with_inertias(theta), tmp_path / "out.urdf")
    for name in ("damping", "frictionloss"):
        with pytest.raises(ModelError, match=f"has {name}"):
            sy.save(robot.with_joint_properties(**{name: np.array([-0.1])}), tmp_path / "out.urdf")


def test_masses_of_fixed_links_that_had_to_change_are_told(tmp_path):
    """A gripper that stood still, on a hand that came out lighter than it: which links, and from what to what."""
    from robots import urdf

    robot = sy.load(urdf("panda"), lock={"panda_finger_joint1": 0.02})
    light = robot.inertias.copy()
    light[-1] *= 0.44
    report = sy.save(robot.with_inertias(light), tmp_path / "light.urdf")
    (line,) = report.rescaled
    assert line in report.notes
    assert "panda_hand 0.73 -> 0.3212 kg" in line and "(1.496 -> 0.658 kg with them)" in line
    written = {link.name: link.theta[0] for link in sy.load(report.path).links}
    assert written["panda_hand"] == pytest.approx(0.3212)
    # with room for the gripper, it stays as it is
    heavy = robot.inertias.copy()
    heavy[-1] *= 1.2
    report = sy.save(robot.with_inertias(heavy), tmp_path / "heavy.urdf")
    assert report.rescaled == ()
    written = {link.name: link.theta[0] for link in sy.load(report.path).links}
    assert (written["panda_hand"], written["panda_link7"]) == pytest.approx((0.73, 1.2 * robot.inertias[-1, 0] - 0.76))
