"""New files from a robot: other engines compute the same torques from them, and what a format cannot say is said."""

import dataclasses

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import pinocchio_adapter as adapter
from edits import relative_error
from robots import EXAMPLE_ROBOTS, package_folder, random_state
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError
from steelyard.model import Joint, library, load, revolute_subspace, save
from steelyard.model.joint import planar_subspace
from steelyard.model.mujoco_state import force_from_mujoco, to_mujoco

SUITE = package_folder("dm_control") / "suite"
URDFS = (
    "panda_description/urdf/panda.urdf",  # a mimic joint
    "talos_data/robots/talos_full_v2.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "a1_description/urdf/a1.urdf",
    "baxter_description/urdf/baxter.urdf",
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
)
MJCFS = ("acrobot", "cheetah", "humanoid", "humanoid_CMU", "quadruped", "swimmer", "walker", "fish", "manipulator")


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", URDFS)
def test_mujoco_computes_the_torques_of_a_urdf_from_its_mjcf(name, floating, tmp_path):
    robot = load(EXAMPLE_ROBOTS / name, floating=floating, gravity=(0.5, -1.0, -9.0))
    if "world" in robot.body_names:
        with pytest.raises(ModelError, match="keeps the name 'world'"):
            save(robot, tmp_path / "out.xml")
        return
    rng = np.random.default_rng(0)
    # (armature on a free joint would act on MuJoCo's velocities, which are in world axes)
    armature = [
        0.0 if joint.kind == "free" else rng.uniform(0, 0.1) for joint in robot.free_joints for _ in range(joint.nv)
    ]
    robot = robot.with_joint_properties(armature=armature)
    report = save(robot, tmp_path / "out.xml")
    assert {link.name for link in robot.links} <= set(load(report.path).frames)
    m = mujoco.MjModel.from_xml_path(str(report.path))
    assert m.opt.gravity == pytest.approx(robot.gravity)
    off = mujoco.mjtDisableBit
    m.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_SPRING | off.mjDSBL_DAMPER
    data = mujoco.MjData(m)
    for _ in range(3):
        q, v, a = random_state(robot, rng)
        data.qpos[:], data.qvel[:], data.qacc[:] = to_mujoco(m, robot, q, v, a)
        mujoco.mj_inverse(m, data)
        theirs = force_from_mujoco(m, robot, data.qpos, data.qfrc_inverse)
        assert np.abs(theirs - inverse_dynamics(robot, q, v, a)).max() <= 1e-9 * np.abs(theirs).max()


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", MJCFS)
def test_pinocchio_computes_the_torques_of_an_mjcf_from_its_urdf(name, tmp_path):
    robot = load(SUITE / f"{name}.xml")
    report = save(robot, tmp_path / "out.urdf")
    model = pin.buildModelFromUrdf(str(report.path))
    model.gravity.linear[:] = robot.gravity
    bare = robot.with_joint_properties(armature=np.zeros(robot.nv))
    data = model.createData()
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v, a = random_state(bare, rng)
        straight = dataclasses.replace(bare, joints=tuple(dataclasses.replace(j, offset=0.0) for j in bare.joints))
        theirs = adapter.inverse_dynamics(model, data, straight, q, v, a)
        assert np.abs(theirs - inverse_dynamics(bare, q, v, a)).max() <= 1e-9 * np.abs(theirs).max()
    again = load(report.path)
    assert again.joint_names == robot.joint_names and set(robot.body_names) <= set(again.body_names)
    assert np.array_equal(again.damping, robot.damping) and np.array_equal(again.frictionloss, robot.frictionloss)
    bounded = np.isfinite(robot.lower)
    assert again.lower[bounded] == pytest.approx(robot.lower[bounded])
    if robot.armature.any():
        assert "armature" in " ".join(report.notes)


@pytest.mark.parametrize("make", [library.puma560, library.scara, library.cheetah3_leg])
def test_there_and_back_again(make, tmp_path):
    robot = make()
    mjcf = load(save(robot, tmp_path / "a.xml").path)
    back = load(save(dataclasses.replace(mjcf, source=None), tmp_path / "b.urdf").path)
    for other in (mjcf, back):
        assert other.joint_names == robot.joint_names and other.body_names == robot.body_names
        assert relative_error(other.inertias, robot.inertias) < 1e-12
        assert np.array_equal(other.damping, robot.damping) and np.array_equal(other.frictionloss, robot.frictionloss)
        assert other.lower == pytest.approx(robot.lower) and other.upper == pytest.approx(robot.upper)
        for one, joint in zip(other.joints, robot.joints, strict=True):
            assert one.rotation == pytest.approx(joint.rotation, abs=1e-12)
            assert one.position == pytest.approx(joint.position, abs=1e-12)


def single(kind, subspace, **options):
    """A robot of one body, from no file."""
    base = library.scara()
    joint = Joint("j", kind, subspace, np.eye(3), np.array([0.1, 0.2, 0.3]), **options)
    return dataclasses.replace(
        base,
        name="one",
        joints=(joint,),
        parents=np.array([-1]),
        body_names=("b",),
        body_joints=np.array([0]),
        inertias=np.array([[2.0, 0.2, 0, 0, 1.0, 0, 1.5, 0, 0, 2.0]]),
        armature=np.zeros(joint.nv),
        damping=np.full(joint.nv, 0.5),
        frictionloss=np.zeros(joint.nv),
        links=(),
        rotors=(),
        source=None,
    )


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0.6, 0.8), (0, 0, -1)])
def test_a_planar_joint_is_two_slides_and_a_hinge(tmp_path, normal):
    infinite = np.full(3, np.inf)
    limits = {"lower": -infinite, "upper": infinite, "velocity_limit": infinite, "effort_limit": infinite}
    robot = single("planar", planar_subspace(normal), **limits)
    report = save(robot, tmp_path / "out.xml")
    assert "two slides" in report.notes[0]
    m = mujoco.MjModel.from_xml_path(str(report.path))
    data = mujoco.MjData(m)
    data.qpos[:] = [0.3, -0.4, 0.5]
    mujoco.mj_kinematics(m, data)
    Phi = planar_subspace(normal)
    assert data.xpos[1] == pytest.approx([0.1, 0.2, 0.3] + Phi[:3, :2] @ [0.3, -0.4])
    assert data.xmat[1].reshape(3, 3) @ Phi[3:, 2] == pytest.approx(Phi[3:, 2])
    assert np.trace(data.xmat[1].reshape(3, 3)) == pytest.approx(1 + 2 * np.cos(0.5))
    assert np.array_equal(m.dof_damping.reshape(3, -1)[:, 0], [0.5] * 3)
    # URDF has the joint itself
    again = load(save(robot, tmp_path / "out.urdf").path)
    assert again.joints[0].kind == "planar" and again.damping == pytest.approx(0.5)


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
def test_one_sided_limits_and_anchors(tmp_path, suffix):
    robot = single("revolute", revolute_subspace((0, 0, 1), anchor=(0.5, 0, 0)), lower=np.array([-1.0]), offset=0.25)
    report = save(robot, tmp_path / f"out{suffix}")
    again = load(report.path)
    assert again.lower == pytest.approx(-1) and again.upper[0] >= 1e9
    q, v, a = np.array([0.3]), np.array([0.7]), np.array([1.1])
    assert inverse_dynamics(again, q, v, a) == pytest.approx(inverse_dynamics(robot, q, v, a), rel=1e-12)


def test_what_a_format_cannot_say_is_refused(tmp_path):
    helical = single("revolute", revolute_subspace((0, 0, 1), pitch=0.1))
    ball = load_text(tmp_path, '<body name="b"><joint name="j" type="ball"/><geom size="0.1"/></body>')
    uneven = single("planar", planar_subspace((0, 0, 1)), lower=-np.full(3, np.inf), upper=np.full(3, np.inf))
    uneven = uneven.with_joint_properties(damping=[1, 2, 3])
    bodiless = single("revolute", revolute_subspace((0, 0, 1))).with_inertias(np.zeros((1, 10)))
    for robot, suffix, match in (
        (helical, ".xml", "helical"),
        (helical, ".urdf", "helical"),
        (ball, ".urdf", "ball joint"),
        (uneven, ".urdf", "Make them equal"),
        (bodiless, ".xml", "Body 'b' cannot be written"),
        (bodiless.with_inertias([[1, 0, 0, 0, -1, 0, 1, 0, 0, 1]]), ".urdf", "Body 'b' cannot be written"),
    ):
        with pytest.raises(ModelError, match=match):
            save(robot, tmp_path / "new" / f"out{suffix}")
    assert not (tmp_path / "new").exists()
    # a URDF link may be without inertia
    assert "<inertial>" not in save(bodiless, tmp_path / "out.urdf").path.read_text()
    moved = dataclasses.replace(load(EXAMPLE_ROBOTS / URDFS[3], floating=True), source=None)
    root = dataclasses.replace(moved.joints[0], position=np.ones(3))
    moved = dataclasses.replace(moved, joints=(root, *moved.joints[1:]))
    with pytest.raises(ModelError, match="free and not at the origin"):
        save(moved, tmp_path / "out.xml")


def load_text(folder, body):
    (folder / "in.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    return load(folder / "in.xml")


def test_a_urdf_called_xml_stays_one(tmp_path):
    (tmp_path / "arm.xml").write_bytes((EXAMPLE_ROBOTS / URDFS[2]).read_bytes())
    robot = load(tmp_path / "arm.xml")
    save(robot, tmp_path / "same.xml")
    assert (tmp_path / "same.xml").read_bytes() == (tmp_path / "arm.xml").read_bytes()
    assert "<mujoco" in save(dataclasses.replace(robot, source=None), tmp_path / "new.xml").path.read_text()
