"""Inertial elements read back by Pinocchio and MuJoCo."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from random_bodies import assert_close, bodies
from steelyard.errors import InertiaError
from steelyard.inertia.conventions import mjcf_inertial, urdf_inertial


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_reads_the_urdf_element(seed):
    theta = bodies(seed)
    link = f'<link name="a">{urdf_inertial(theta)}</link>'
    joint = '<joint name="j" type="continuous"><parent link="w"/><child link="a"/><axis xyz="0 0 1"/></joint>'
    model = pin.buildModelFromXML(f'<robot name="r"><link name="w"/>{link}{joint}</robot>')
    assert_close(model.inertias[1].toDynamicParameters(), theta, 1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_mujoco_reads_the_mjcf_element(seed):
    theta = bodies(seed)
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><body><freejoint/>{mjcf_inertial(theta)}</body></worldbody></mujoco>"
    )
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.body_iquat[1])
    R = R.reshape(3, 3)
    central = (R * model.body_inertia[1]) @ R.T
    body = pin.Inertia(model.body_mass[1], model.body_ipos[1], central)
    assert_close(body.toDynamicParameters(), theta, 1e-12)


@pytest.mark.parametrize("write", [urdf_inertial, mjcf_inertial])
def test_bodies_no_simulator_takes_are_refused(write):
    with pytest.raises(InertiaError, match="not physically consistent"):
        write(np.array([1, 0, 0, 0, 1, 0, 1, 0, 0, 3.0]))
    with pytest.raises(InertiaError, match="one body"):
        write(bodies(0, (2,)))
