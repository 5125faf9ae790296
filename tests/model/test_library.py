"""Bundled robots: published structural counts, kinematics, numbers, bodies that can exist and fit their shapes."""

import json
import tomllib
from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from lxml import etree

from robots import SHARED_DATA, random_state
from steelyard.dynamics import closed_loop, inverse_dynamics
from steelyard.inertia import parameters, pseudo
from steelyard.model import library
from steelyard.model.robot import WORLD

ROBOTS = {"puma560": library.puma560, "scara": library.scara, "cheetah3_leg": library.cheetah3_leg}
# links, links with motors: paper C, Tables 2, 4, 5; a free torso adds its own ten parameters
COUNTS = [
    ("puma560", False, 36, 40),
    ("scara", False, 8, 11),
    ("cheetah3_leg", False, 17, 18),
    ("cheetah3_leg", True, 10 + 21, 10 + 24),
]
SYMMETRIC = np.zeros((10, 4))  # m, hz, Ixx = Iyy, Izz of a rotor about its z axis
SYMMETRIC[0, 0] = SYMMETRIC[3, 1] = SYMMETRIC[4, 2] = SYMMETRIC[6, 2] = SYMMETRIC[9, 3] = 1.0


def _with_rotors(robot):
    """Pinocchio model of the robot whose rotors are bodies on joints of their own, and v_pin from the robot's v."""
    base = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    model = pin.buildModelFromUrdf(str(robot.source.path), *base)
    model.gravity.linear = robot.gravity
    E = np.eye(model.nv)
    for rotor in robot.rotors:
        carrier = robot.body_joints[robot.body_index(rotor.carrier)] if rotor.carrier else WORLD
        name = "universe" if carrier == WORLD else robot.joints[carrier].name.replace("floating_base", "root_joint")
        z = rotor.axis  # the symmetric parameters above belong to a frame with z along the spin
        x = np.cross([0.3, 0.5, 0.7], z)
        x /= np.linalg.norm(x)
        frame = pin.SE3(np.column_stack([x, np.cross(z, x), z]), rotor.position)
        index = model.addJoint(model.getJointId(name), pin.JointModelRZ(), frame, f"rotor_{rotor.joint}")
        model.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Identity())
        E = np.vstack([E, rotor.gear_ratio * E[model.joints[model.getJointId(rotor.joint)].idx_v]])
    return model, E


def _stacked_regressor(robot, samples=60):
    """Torque regressor of links (10 columns each) and symmetric rotors (4 each) at random states, from Pinocchio."""
    model, E = _with_rotors(robot)
    data, rng = model.createData(), np.random.default_rng(3)
    rows = []
    for _ in range(samples):
        q, v, a = random_state(robot, rng)
        rotor_angles = [r.gear_ratio * q[robot.q_slices[_joint(robot, r.joint)]][0] for r in robot.rotors]
        Y = pin.computeJointTorqueRegressor(model, data, np.concatenate([q, rotor_angles]), E @ v, E @ a)
        blocks = (E.T @ Y).reshape(robot.nv, -1, 10)
        links, rotors = blocks[:, : robot.nb], blocks[:, robot.nb :] @ SYMMETRIC
        rows.append(np.concatenate([links.reshape(robot.nv, -1), rotors.reshape(robot.nv, -1)], axis=1))
    return np.concatenate(rows)


def _joint(robot, name):
    return [joint.name for joint in robot.joints].index(name)


def _rank(Y):
    """Rank of a matrix with columns scaled to one length, and the gap behind it."""
    norms = np.linalg.norm(Y, axis=0)
    singular = np.linalg.svd(Y[:, norms > 1e-9 * norms.max()] / norms[norms > 1e-9 * norms.max()], compute_uv=False)
    singular = np.append(singular, 1e-17)
    rank = int(np.sum(singular > 1e-10 * singular[0]))
    assert singular[rank] < 1e-12 * singular[0] and singular[rank - 1] > 1e-8 * singular[0], "no clear gap"
    return rank


@pytest.mark.parametrize(("name", "floating", "links", "with_motors"), COUNTS)
def test_published_structural_counts(name, floating, links, with_motors):
    robot = ROBOTS[name](floating=floating)
    Y = _stacked_regressor(robot)
    assert _rank(Y[:, : 10 * robot.nb]) == links
    assert _rank(Y) == with_motors


def test_counts_need_what_the_paper_assumes():
    """Without gravity the leg shows less; direct drives parallel to their joints hide in the links (paper C, 63)."""
    weightless = library.cheetah3_leg(gravity=np.zeros(3))
    assert _rank(_stacked_regressor(weightless)[:, :30]) < 17
    robot = library.cheetah3_leg(floating=True)
    direct = tuple(replace(rotor, gear_ratio=1.0) for rotor in robot.rotors)
    assert _rank(_stacked_regressor(replace(robot, rotors=direct))) == 10 + 21
    reversed_ = (replace(direct[0], gear_ratio=-1.0), *direct[1:])
    assert _rank(_stacked_regressor(replace(robot, rotors=reversed_))) == 10 + 22


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("floating", [False, True])
def test_every_body_and_rotor_can_exist(name, floating):
    robot = ROBOTS[name](floating=floating)
    assert robot.floating == floating
    assert not robot.missing_inertials
    for theta in [*robot.inertias, *(rotor.theta for rotor in robot.rotors)]:
        moments = np.linalg.eigvalsh(parameters.to_com_inertia(theta)[2])
        assert moments.max() < 0.995 * (moments.sum() - moments.max()), "not clear of the boundary"
        assert pseudo.smallest_eigenvalue(theta) > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_one_rotor_a_joint_on_the_parent_body(name):
    fixed, floating = ROBOTS[name](), ROBOTS[name](floating=True)
    assert tuple(rotor.joint for rotor in fixed.rotors) == fixed.joint_names
    assert fixed.rotors[0].carrier is None and floating.rotors[0].carrier == floating.body_names[0]
    for rotor, parent in zip(fixed.rotors[1:], fixed.body_names, strict=False):
        assert rotor.carrier == parent


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_fits_the_shape(name):
    """Second moments about a shape's centre, over the mass, cannot exceed the squares of its half sides."""
    robot = ROBOTS[name](floating=True)
    root = etree.parse(str(robot.source.path)).getroot()
    for body, theta in zip(robot.body_names, robot.inertias, strict=True):
        link = root.find(f"link[@name='{body}']")
        assert [etree.tostring(e, with_tail=False) for e in link.find("visual")] == [
            etree.tostring(e, with_tail=False) for e in link.find("collision")
        ]
        shape = link.find("collision/geometry")[0]
        centre = np.array([float(x) for x in link.find("collision/origin").get("xyz").split()])
        J = pseudo.to_matrix(parameters.transform(theta, np.eye(3), -centre))
        moments = np.diag(J)[:3] / J[3, 3]
        if shape.tag == "box":
            half = np.array([float(x) for x in shape.get("size").split()]) / 2
            assert (moments < half**2).all()
            assert (np.abs(J[:3, 3] / J[3, 3]) < half).all()
        else:
            assert moments[0] + moments[1] < float(shape.get("radius")) ** 2
            assert moments[2] < (float(shape.get("length")) / 2) ** 2


@pytest.mark.parametrize("name", ROBOTS)
def test_limits_and_friction_are_stated(name):
    robot = ROBOTS[name]()
    assert np.isfinite([robot.lower, robot.upper, robot.velocity_limits, robot.effort_limits]).all()
    assert (robot.lower < robot.upper).all() and (robot.damping > 0).all() and (robot.frictionloss > 0).all()
    assert (robot.effort_limits > robot.frictionloss).all()
    rng = np.random.default_rng(1)
    gravity_load = inverse_dynamics(
        robot, rng.uniform(robot.lower, robot.upper, (200, robot.nq)), np.zeros((200, robot.nv)), np.zeros(robot.nv)
    )
    assert (np.abs(gravity_load).max(axis=0) < robot.effort_limits).all(), "the motors can hold the arm"


@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco_reads_the_same_bodies(name):
    robot = ROBOTS[name]()
    m = mujoco.MjModel.from_xml_path(str(robot.source.path))
    assert [m.joint(i).name for i in range(m.njnt)] == list(robot.joint_names)
    np.testing.assert_allclose([m.body(body).mass[0] for body in robot.body_names], robot.inertias[:, 0])
    np.testing.assert_allclose(m.dof_damping.ravel()[: robot.nv], robot.damping)
    np.testing.assert_allclose(m.dof_frictionloss, robot.frictionloss)


def test_files_cite_their_sources():
    for name, make in ROBOTS.items():
        path = make().source.path
        assert "A geometric characterization" in path.read_text() or "IEEE" in path.read_text()
        assert tomllib.loads(path.with_name(f"{name}.steelyard.toml").read_text())["version"] == 1


def _fk(rows, q):
    """World poses of modified Denavit-Hartenberg frames, written out independently."""
    T, frames = np.eye(4), []
    for (alpha, a, d), angle in zip(rows, q, strict=True):
        ca, sa, c, s = np.cos(alpha), np.sin(alpha), np.cos(angle), np.sin(angle)
        T = T @ [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]]
        frames.append(T)
    return np.array(frames)


def test_puma_kinematics_are_the_published_table():
    h = np.pi / 2
    rows = [(0, 0, 0), (-h, 0, 0.2435), (0, 0.4318, -0.0934), (h, -0.0203, 0.4331), (-h, 0, 0), (h, 0, 0)]
    model = pin.buildModelFromUrdf(str(library.puma560().source.path))
    data, q = model.createData(), np.random.default_rng(2).normal(size=6)
    pin.forwardKinematics(model, data, q)
    for frame, pose in zip(_fk(rows, q), data.oMi[1:], strict=True):
        np.testing.assert_allclose(pose.rotation, frame[:3, :3], atol=1e-12)
        np.testing.assert_allclose(pose.translation, frame[:3, 3] + [0, 0, 0.672], atol=1e-12)


def test_scara_kinematics_are_the_papers():
    path = SHARED_DATA / "models.json"
    if not path.is_file():
        pytest.skip("needs ../shared/data/models.json")
    rows = json.loads(path.read_text())["structural_counts"]["SCARA"]["rows"]
    joints = library.scara().joints
    np.testing.assert_allclose([j.position[0] for j in joints], [row[1] for row in rows])
    assert [j.kind for j in joints] == ["revolute", "revolute", "prismatic", "revolute"]
    for joint in joints:
        np.testing.assert_array_equal(joint.rotation, np.eye(3))
        assert joint.subspace[[2, 5], 0].max() == 1.0


def test_leg_axes_and_lengths():
    robot = library.cheetah3_leg()
    model = pin.buildModelFromUrdf(str(robot.source.path))
    data = model.createData()
    pin.computeJointJacobians(model, data, np.zeros(3))
    axes = [pin.getJointJacobian(model, data, i, pin.LOCAL_WORLD_ALIGNED)[3:, i - 1] for i in (1, 2, 3)]
    np.testing.assert_allclose(axes, [[1, 0, 0], [0, -1, 0], [0, -1, 0]], atol=1e-12)
    np.testing.assert_allclose(data.oMi[3].translation, [0.3, 0.128 + 0.045, -0.342], atol=1e-12)
    assert [round(rotor.gear_ratio, 3) for rotor in robot.rotors] == [7.667, 7.667, 8.846]


def test_puma_numbers_of_armstrong_khatib_burdick():
    robot = library.puma560()
    np.testing.assert_allclose(robot.inertias[1:, 0], [17.4, 4.8, 0.82, 0.34, 0.09])
    assert robot.inertias[0, 9] == pytest.approx(0.35)
    reflected = [rotor.gear_ratio**2 * rotor.theta[9] for rotor in robot.rotors]
    np.testing.assert_allclose(reflected, [1.14, 4.75, 0.86, 0.20, 0.18, 0.21], rtol=0.03)


def test_gravity_option_is_passed_on():
    np.testing.assert_array_equal(library.scara(gravity=(0, 0, -1.62)).gravity, [0, 0, -1.62])


@pytest.mark.parametrize("make", [library.five_bar, library.four_bar_leg, library.palletiser])
def test_linkages_are_closed_at_zero_and_their_bodies_can_exist(make):
    robot = make()
    m = mujoco.MjModel.from_xml_path(str(robot.source.path))
    np.testing.assert_allclose([m.body(body).mass[0] for body in robot.body_names], robot.inertias[:, 0])
    for theta in [*robot.inertias, *(rotor.theta for rotor in robot.rotors)]:
        moments = np.linalg.eigvalsh(parameters.to_com_inertia(theta)[2])
        assert moments.max() < 0.9995 * (moments.sum() - moments.max()) and pseudo.smallest_eigenvalue(theta) > 0
    assert tuple(rotor.joint for rotor in robot.rotors) == robot.actuated == closed_loop.independent(robot)
    rest = np.zeros(len(robot.actuated))
    q, _, _ = closed_loop.tree_state(robot, rest, rest, rest)
    np.testing.assert_allclose(q, 0, atol=1e-12)
    assert np.isfinite([robot.lower, robot.upper, robot.velocity_limits, robot.effort_limits]).all()
    load = closed_loop.inverse_dynamics(robot, rest, rest, rest)
    driven = [robot.joint_names.index(name) for name in robot.actuated]
    assert (np.abs(load) < robot.effort_limits[driven]).all(), "the motors can hold it"


def test_the_palletiser_keeps_its_wrist_level():
    robot = library.palletiser()
    q = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20, 3))
    gamma = closed_loop.gamma(robot, q)
    pitch = [robot.joint_names.index(name) for name in ("shoulder", "elbow", "wrist")]
    np.testing.assert_allclose(gamma[:, pitch].sum(axis=1), 0, atol=1e-12)
