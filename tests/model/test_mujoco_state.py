"""States and forces in MuJoCo's coordinates against closed forms: a free body on a curve, a follower, power."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import steelyard as sy
from steelyard.model import from_mujoco
from steelyard.model.mujoco_state import force_from_mujoco, to_mujoco
from steelyard.simulate.trajectories import _compiled

FREE = """<mujoco><worldbody><body name="trunk"><freejoint name="root"/><inertial pos="0 0 0" mass="3"
  diaginertia="0.1 0.2 0.25"/>
  <body name="arm" pos="0.1 0 0"><joint name="hip" axis="0 1 0" ref="0.2"/><inertial pos="0.1 0 0" mass="1"
    diaginertia="0.01 0.02 0.02"/></body></body></worldbody></mujoco>"""
FOLLOWER = """<robot name="gripper"><link name="hand"/>{links}
  <joint name="left" type="prismatic"><parent link="hand"/><child link="a"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="right" type="revolute"><parent link="hand"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="9" velocity="9"/><mimic joint="left" multiplier="-2.5" offset="0.3"/></joint>
</robot>"""
LINK = """<link name="{}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>"""
AXIS, RATE = np.array([0.48, 0.6, 0.64]), 1.7


def curve(t):
    """A body that turns about a fixed axis while its origin moves: R, p, their world derivatives, body rates."""
    R = Rotation.from_rotvec(np.outer(RATE * t + 0.4 * t**2, AXIS)).as_matrix()
    w, dw = np.outer(RATE + 0.8 * t, AXIS), np.tile(0.8 * AXIS, (len(t), 1))  # the same in body axes
    p = np.stack([np.sin(t), t**2, np.cos(2 * t)], axis=1)
    dp = np.stack([np.cos(t), 2 * t, -2 * np.sin(2 * t)], axis=1)
    ddp = np.stack([-np.sin(t), 2 + 0 * t, -4 * np.cos(2 * t)], axis=1)
    return R, p, dp, ddp, w, dw


def twist(t):
    R, _, dp, _, w, _ = curve(t)
    return np.concatenate([np.einsum("nji,nj->ni", R, dp), w], axis=1)


@pytest.fixture(scope="module")
def free(tmp_path_factory):
    path = tmp_path_factory.mktemp("free") / "free.xml"
    path.write_text(FREE)
    robot = sy.load(path)
    t = np.linspace(0.1, 1.5, 9)
    R, p, dp, ddp, w, dw = curve(t)
    quaternion = Rotation.from_matrix(R).as_quat()
    hip = np.stack([0.3 + t, 1 + 0 * t, 0 * t], axis=1)
    rates = (twist(t + 1e-5) - twist(t - 1e-5)) / 2e-5  # spatial acceleration: the twist's own derivative
    ours = [np.column_stack([p, quaternion, hip[:, 0]]), np.column_stack([twist(t), hip[:, 1]])]
    ours.append(np.column_stack([rates, hip[:, 2]]))
    theirs = [np.column_stack([p, np.roll(quaternion, 1, axis=1)]), np.column_stack([dp, w])]
    theirs.append(np.column_stack([ddp, dw]))
    return robot, _compiled(robot), ours, theirs


def test_a_free_body_moves_as_its_curve_says(free):
    robot, m, ours, theirs = free
    for found, expected in zip(to_mujoco(m, robot, *ours), theirs, strict=True):
        np.testing.assert_allclose(found[:, : expected.shape[1]], expected, atol=1e-8)


def test_and_back(free):
    robot, m, ours, _ = free
    for found, expected in zip(from_mujoco(m, robot, *to_mujoco(m, robot, *ours)), ours, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_forces_have_the_same_power(free):
    robot, m, ours, _ = free
    _, qvel, _ = to_mujoco(m, robot, *ours)
    qpos = to_mujoco(m, robot, *ours)[0]
    force = np.random.default_rng(0).normal(size=qvel.shape)
    power = np.sum(force * qvel, axis=1)
    np.testing.assert_allclose(np.sum(force_from_mujoco(m, robot, qpos, force) * ours[1], axis=1), power, rtol=1e-9)


def test_a_follower_is_where_its_master_puts_it(tmp_path):
    path = tmp_path / "gripper.urdf"
    path.write_text(FOLLOWER.format(links=LINK.format("a") + LINK.format("b")))
    robot = sy.load(path)
    m, q = _compiled(robot), np.array([[0.2], [-0.4]])
    qpos, qvel, qacc = to_mujoco(m, robot, q, 2 * q, 3 * q)
    at = m.joint("right").qposadr[0]
    np.testing.assert_allclose(qpos[:, at] - m.qpos0[at], -2.5 * q[:, 0] + 0.3)
    d = mujoco.MjData(m)
    for k in range(2):
        d.qpos[:] = qpos[k]
        mujoco.mj_kinematics(m, d)
        turn = Rotation.from_matrix(d.body("b").xmat.reshape(3, 3)).as_rotvec()
        np.testing.assert_allclose(turn, [0, 0, -2.5 * q[k, 0] + 0.3], atol=1e-9)
        np.testing.assert_allclose(d.body("a").xpos, [q[k, 0], 0, 0], atol=1e-9)
    right, left = m.joint("right").dofadr[0], m.joint("left").dofadr[0]
    np.testing.assert_allclose(qvel[:, right], -2.5 * qvel[:, left])
    np.testing.assert_allclose(qacc[:, right], -2.5 * qacc[:, left])
    force = np.zeros((2, m.nv))
    force[:, left], force[:, right] = 1.0, 4.0
    np.testing.assert_allclose(force_from_mujoco(m, robot, qpos, force), [[1 - 10.0]] * 2)
