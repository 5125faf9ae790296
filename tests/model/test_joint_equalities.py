"""Joints that an equality of MJCF couples are mimics: against MuJoCo, and through files of both formats."""

import mujoco
import numpy as np
import pytest

import steelyard as sy
from steelyard.model.mujoco_state import force_from_mujoco, to_mujoco

BODY = '<body name="{0}" pos="0.1 0 0.2"><joint name="j{0}" axis="0 {1} 1" ref="{2}"/>{4}'
BODY += '<inertial pos="0.05 0 0.1" mass="{3}" fullinertia="0.02 0.03 0.025 0.001 0 0"/>{5}</body>'


def chain(*equalities, own=""):
    """Three joints one behind another, of which the first two have positions that do not start at zero."""
    inner = ""
    for k, (name, ref) in reversed(list(enumerate(zip("abc", (0.3, -0.2, 0.0), strict=True)))):
        inner = BODY.format(name, 1 - k, ref, 1 + k, "", inner).replace(f'name="j{name}"', f'name="j{name}" {own}')
    return f"<mujoco><worldbody>{inner}</worldbody><equality>{''.join(equalities)}</equality></mujoco>"


COUPLED = {
    "one follows": '<joint joint1="jb" joint2="ja" polycoef="0.15 -0.5 0 0 0"/>',
    "the first follows": '<joint joint1="ja" joint2="jc" polycoef="-0.1 2 0 0 0"/>',
    "a chain": '<joint joint1="jc" joint2="jb" polycoef="0.2 -1.5 0 0 0"/>'
    '<joint joint1="jb" joint2="ja" polycoef="0.1 2 0 0 0"/>',
}


def agreement(m, robot, rng):
    """Difference of torques of the free joints, relative."""
    q, v, a = rng.normal(size=(3, 4, robot.nv))
    expected = sy.inverse_dynamics(robot, q, v, a)
    data = mujoco.MjData(m)
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    found = []
    for state in zip(*to_mujoco(m, robot, q, v, a), strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = state
        mujoco.mj_inverse(m, data)
        found.append(force_from_mujoco(m, robot, data.qpos, data.qfrc_inverse))
    return np.abs(np.array(found) - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("text", COUPLED.values(), ids=list(COUPLED))
def test_an_equality_is_a_mimic(tmp_path, text):
    path = tmp_path / "robot.xml"
    path.write_text(chain(text), encoding="utf-8")
    robot, m = sy.load(path), mujoco.MjModel.from_xml_path(str(path))
    assert len(robot.mimic_names) == text.count("<joint") and robot.nv == 3 - len(robot.mimic_names)
    data = mujoco.MjData(m)
    data.qpos[:] = to_mujoco(m, robot, *np.full((3, robot.nv), 0.7))[0]
    mujoco.mj_forward(m, data)
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-12  # its own residual vanishes where the mimics are
    assert agreement(m, robot, np.random.default_rng(0)) < 1e-9


@pytest.mark.parametrize("text", COUPLED.values(), ids=list(COUPLED))
@pytest.mark.parametrize("first", ["xml", "urdf"])
def test_coordinates_stay_through_files(tmp_path, text, first):
    given = tmp_path / "given.xml"
    given.write_text(chain(text), encoding="utf-8")
    robots = [sy.load(given)]
    for k, suffix in enumerate([first, "xml", "urdf", "xml"]):
        robots.append(sy.load(sy.save(robots[-1], tmp_path / f"{k}.{suffix}").path))
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, robots[0].nv))
    torques = [sy.inverse_dynamics(robot, q, v, a) for robot in robots]
    for robot, tau in zip(robots[1:], torques[1:], strict=True):
        assert robot.joint_names == robots[0].joint_names and robot.mimic_names == robots[0].mimic_names
        assert np.allclose(tau, torques[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        '<joint joint1="jb" joint2="ja" polycoef="0 1 0.5 0 0"/>',
        '<joint joint1="jb" polycoef="0.3 0 0 0 0"/>',
        '<joint joint1="jb" joint2="ja" active="false"/>',
    ],
    ids=["curved", "to a value", "inactive"],
)
def test_other_equalities_are_none(tmp_path, text):
    path = tmp_path / "robot.xml"
    path.write_text(chain(text), encoding="utf-8")
    robot = sy.load(path)
    assert robot.mimic_names == () and "1 equality constraints not modelled" in " ".join(robot.notes)


def test_joints_that_follow_each_other_keep_one_of_their_own(tmp_path):
    path = tmp_path / "robot.xml"
    circle = '<joint joint1="jb" joint2="ja"/><joint joint1="ja" joint2="jb"/>'
    path.write_text(chain(circle), encoding="utf-8")
    robot = sy.load(path)
    assert robot.mimic_names == ("jb",) and "1 equality constraints not modelled" in " ".join(robot.notes)


@pytest.mark.parametrize("text", COUPLED.values(), ids=list(COUPLED))
def test_what_followers_have_of_their_own_is_felt_by_the_joint_they_follow(tmp_path, text):
    path = tmp_path / "robot.xml"
    path.write_text(chain(text, own='armature="0.1" damping="2" frictionloss="0.3"'), encoding="utf-8")
    robot, m = sy.load(path), mujoco.MjModel.from_xml_path(str(path))
    m.dof_damping[:] = m.dof_frictionloss[:] = 0.0
    assert agreement(m, robot, np.random.default_rng(0)) < 1e-9
    followers = [joint for joint in robot.joints if joint.mimics]
    felt = np.array([sum(j.ratio**2 for j in followers if j.mimics == name) for name in robot.joint_names])
    dry = np.array([sum(abs(j.ratio) for j in followers if j.mimics == name) for name in robot.joint_names])
    assert np.allclose(robot.damping, 2 * (1 + felt)) and np.allclose(robot.frictionloss, 0.3 * (1 + dry))
    for target in (path.with_name("new.urdf"), path.with_name("new.xml")):
        again = sy.load(sy.save(robot, target).path)
        assert np.allclose(again.damping, robot.damping) and np.allclose(again.frictionloss, robot.frictionloss)
    more = robot.with_joint_properties(armature=robot.armature + 0.05)
    edited = sy.load(sy.save(more, path.with_name("edited.xml")).path)
    assert np.allclose(edited.armature, robot.armature + 0.05)
    less = robot.with_joint_properties(damping=np.full(robot.nv, 0.1), frictionloss=np.zeros(robot.nv))
    edited = sy.load(sy.save(less, path.with_name("less.xml")).path)  # than followers have: theirs is edited, too
    assert np.allclose(edited.damping, 0.1) and not edited.frictionloss.any()
