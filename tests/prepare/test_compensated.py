"""Gravity that a controller took off its torques is added again, and what was clipped before it is still told."""

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from small_runs import JOINTS, motion, torques, write_model
from steelyard.errors import ModelError, OptionError
from steelyard.log import checks, clipped_sides, saturated
from steelyard.prepare import Corrections, corrected

LINK = '<link name="{0}"><inertial><origin xyz="{2} 0 0"/><mass value="{1}"/><inertia ixx="0.1" ixy="0" ixz="0" \
iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
JOINT = '<joint name="{0}" type="revolute"><parent link="trunk"/><child link="{0}"/><axis xyz="0 {1} 0"/>\
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'


def two_arms(path, first, second):
    """A trunk with two pendulums, in some order: mass, centre and direction of each by its name."""
    arms = {"left": (2.0, 0.3, 1), "right": (5.0, -0.2, -1)}
    parts = [LINK.format(name, *arms[name][:2]) + JOINT.format(name, arms[name][2]) for name in (first, second)]
    path.write_text(f'<robot name="two"><link name="trunk"/>{"".join(parts)}</robot>')
    return path


def gravity_by_pinocchio(path, q):
    m = pin.buildModelFromUrdf(str(path))
    d = m.createData()
    return np.array([pin.computeGeneralizedGravity(m, d, row).copy() for row in q])


def arm_log(tau, **more):
    t, q, _, _ = motion(len(tau))
    return sy.Log(t=t, q=q, tau=tau, joint_names=JOINTS, **more)


def test_gravity_of_the_model_that_a_controller_uses(tmp_path):
    given = sy.load(write_model(tmp_path / "given.urdf"))
    used = write_model(tmp_path / "used.urdf", mass=7.0, forearm=0.4)
    _, q, _, _ = motion(400)
    tau = np.random.default_rng(0).normal(size=(400, 3))
    recorded = arm_log(tau - gravity_by_pinocchio(used, q))
    for robot in (given, None):
        found = corrected(robot, recorded, Corrections(gravity_model=str(used)))
        np.testing.assert_allclose(found.tau, tau, atol=1e-10)
        assert str(used) in found.notes[-1]
    other = corrected(given, recorded, Corrections(gravity_compensated=True))
    assert np.abs(other.tau - tau).max() > 2  # the nominal model is another


def test_joints_are_met_by_name(tmp_path):
    given = sy.load(two_arms(tmp_path / "given.urdf", "left", "right"))
    path = two_arms(tmp_path / "used.urdf", "right", "left")
    assert sy.load(path).dof_names == given.dof_names[::-1] == ("right", "left")
    q = np.random.default_rng(1).uniform(-1, 1, size=(50, 2))
    log = sy.Log(t=np.arange(50) / 100, q=q, tau=np.zeros((50, 2)), joint_names=("left", "right"))
    found = corrected(given, log, Corrections(gravity_model=str(path)))
    # about -y, a mass at x has its height at + x sin q: the left one turns about y, the right one about -y at x < 0
    closed = 9.81 * np.stack([-2.0 * 0.3 * np.cos(q[:, 0]), -5.0 * 0.2 * np.cos(q[:, 1])], axis=1)
    np.testing.assert_allclose(found.tau, closed, atol=1e-12)


def test_gravity_is_that_of_the_given_robot(tmp_path):
    path = write_model(tmp_path / "arm.urdf")
    wall = sy.load(path, gravity=(9.81, 0, 0))
    log = arm_log(np.zeros((60, 3)))
    rest = np.zeros((60, 3))
    expected = sy.inverse_dynamics(wall, log.q, rest, rest)
    found = corrected(wall, log, Corrections(gravity_model=str(path)))
    np.testing.assert_allclose(found.tau, expected, atol=1e-12)


def test_models_that_cannot_be_the_controllers_are_refused(tmp_path):
    given, path = sy.load(write_model(tmp_path / "arm.urdf")), str(write_model(tmp_path / "same.urdf"))
    other = str(write_model(tmp_path / "other.urdf", elbow="joint2"))
    log = arm_log(np.zeros((60, 3)))

    def refused(match, robot=given, error=OptionError, **words):
        with pytest.raises(error, match=match):
            corrected(robot, log, Corrections(**words))

    refused("lacks elbow and has joint2 besides: .* shoulder, elbow, slide", gravity_model=other)
    refused("absent.urdf", error=ModelError, gravity_model=str(tmp_path / "absent.urdf"))
    refused("name one of them", gravity_model=path, gravity_compensated=True)
    weightless = sy.load(path, gravity=(0, 0, 0))
    refused("gravity is zero", robot=weightless, gravity_model=path)
    refused("gravity is zero", robot=weightless, gravity_compensated=True)
    hanging = sy.load(path, floating=True)
    floating = tmp_path / "floating.xml"
    floating.write_text(
        '<mujoco><worldbody><body><freejoint name="free"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    refused("free base", robot=hanging, gravity_model=str(floating))


@pytest.mark.parametrize("delay", [(), ("elbow=0.013",), ("all=0.02",)])
def test_torques_clipped_before_gravity_and_a_delay_are_still_told(tmp_path, delay):
    path = write_model(tmp_path / "arm.urdf")
    _, q, v, a = motion(800)
    held = torques(path, q, v, a, noise=0.0) - gravity_by_pinocchio(path, q)
    most = 0.7 * np.abs(held).max(axis=0)
    recorded = arm_log(np.clip(held, -most, most))
    found = corrected(sy.load(path), recorded, Corrections(gravity_compensated=True, delay=delay))
    late = np.zeros(3)
    for word in delay:
        name, _, text = word.partition("=")
        late[:] = np.where([name in ("all", joint) for joint in JOINTS], float(text), late)
    side = np.sign(held) * (np.abs(held) >= most)
    for j, seconds in enumerate(late):
        at = np.arange(800) + 100 * seconds
        near = [np.clip(np.floor(at + 1e-9), 0, 799).astype(int), np.clip(np.ceil(at - 1e-9), 0, 799).astype(int)]
        touched = np.where(side[near[1], j], side[near[1], j], side[near[0], j])
        inner = slice(0, 790)
        np.testing.assert_array_equal(clipped_sides(found)[inner, j], touched[inner])
    assert [f.code for f in checks.check(found)].count("saturation") == 3
    assert all("as recorded" in f.message for f in checks.check(found) if f.code == "saturation")
    assert not saturated(found.replace(tau=found.tau)).any()  # torques with gravity do not tell it any more
