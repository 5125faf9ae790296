"""Rotors as bodies of a regression: rows against MuJoCo, rank against the structural count, engines, fits, files."""

from dataclasses import replace
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

import steelyard as sy
from pinocchio_trees import Twin, scaled_rank
from problems import random_log, scattered
from random_trees import random_tree
from robots import random_state
from steelyard.dynamics.newton_euler import regressor_rows_with_rotors
from steelyard.dynamics.rotors import with_rotor_bodies
from steelyard.errors import FitError, ModelError, OptionError
from steelyard.identifiable import regression_basis
from steelyard.identifiable.motor_rotors import _reading
from steelyard.inertia import to_com_inertia
from steelyard.information import accumulate
from steelyard.model import mjcf_text
from steelyard.model.mujoco_state import force_from_mujoco, to_mujoco
from steelyard.model.rotor import Rotor
from steelyard.terms import layout_of

pytestmark = pytest.mark.claim("information.engines")

MAKERS = {"puma": sy.library.puma560, "scara": sy.library.scara, "leg": sy.library.cheetah3_leg}
ENGINES = ("numpy", "native")


def unbalanced(robot, rng):
    """The robot with rotors of any shape, on any axis, ridden by any body, out of place."""

    def changed(rotor):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        turn *= np.linalg.det(turn)
        return replace(
            rotor,
            carrier=str(rng.choice([*robot.body_names])) if rng.uniform() < 0.8 else None,
            axis=turn @ np.array([0.6, 0, 0.8]),
            rotation=turn,
            position=0.1 * rng.normal(size=3),
            theta=scattered(np.array([0.5, 0, 0, 0, 1e-3, 0, 1e-3, 0, 0, 1e-3]), rng),
            symmetric=False,
        )

    return replace(robot, rotors=tuple(changed(rotor) for rotor in robot.rotors))


def in_mujoco(robot):
    """MuJoCo model of the links, and every rotor a body on a hinge of its own."""
    root = ElementTree.fromstring(mjcf_text(robot))
    world = root.find("worldbody")
    for rotor in robot.rotors:
        carrier = world if rotor.carrier is None else world.find(f".//body[@name='{rotor.carrier}']")
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotor.rotation).ravel())
        mass, com, I = to_com_inertia(rotor.theta)
        body = ElementTree.SubElement(carrier, "body", pos=text(rotor.position), quat=text(quaternion))
        six = text(I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
        ElementTree.SubElement(body, "inertial", pos=text(com), mass=text(mass), fullinertia=six)
        ElementTree.SubElement(body, "joint", name=rotor.name, type="hinge", axis=text(rotor.rotation.T @ rotor.axis))
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def text(numbers):
    return " ".join(repr(float(x)) for x in np.atleast_1d(numbers))


def mujoco_torque(robot, q, v, a):
    """Torques (nv,) of robot and rotors: every rotor's hinge moves, and acts, through its gear."""
    links = mujoco.MjModel.from_xml_string(mjcf_text(robot))
    qpos, qvel, qacc = (x[0] for x in to_mujoco(links, robot, q[None], v[None], a[None]))
    model = in_mujoco(robot)
    data = mujoco.MjData(model)
    gears = {rotor.name: rotor.gears for rotor in robot.rotors}
    data.qpos[:] = 0.0
    project = np.zeros((model.nv, links.nv))
    for i in range(model.njnt):
        joint = model.joint(i)
        for driven, ratio in gears.get(joint.name, ((joint.name, 1.0),)):
            source = links.joint(driven)
            for k in range(len(joint.damping)):
                project[joint.dofadr[0] + k, source.dofadr[0] + k] = ratio
            turned = ratio * qpos[source.qposadr[0] : source.qposadr[0] + len(joint.qpos0)]
            data.qpos[joint.qposadr[0] : joint.qposadr[0] + len(joint.qpos0)] += turned
    data.qvel, data.qacc = project @ qvel, project @ qacc
    model.dof_damping[:] = model.dof_frictionloss[:] = model.dof_armature[:] = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_inverse(model, data)
    return force_from_mujoco(links, robot, qpos, project.T @ data.qfrc_inverse)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("name", MAKERS)
def test_rows_and_torques_are_those_of_mujoco(name, balanced, floating):
    rng = np.random.default_rng(3)
    robot = MAKERS[name](floating=floating)
    robot = robot if balanced else unbalanced(robot, rng)
    robot = robot.with_joint_properties(armature=np.zeros(robot.nv))
    theta = np.concatenate([robot.inertias.ravel(), *(rotor.theta for rotor in robot.rotors)])
    for _ in range(4):
        q, v, a = random_state(robot, rng)
        expected = mujoco_torque(robot, q, v, a)
        size = np.abs(expected).max()
        np.testing.assert_allclose(sy.inverse_dynamics(robot, q, v, a, rotors=True), expected, atol=1e-11 * size)
        rows = regressor_rows_with_rotors(robot, *(x[:, None] for x in (q, v, a)))[..., 0]
        np.testing.assert_allclose(rows @ theta, expected, atol=1e-11 * size)
        without = sy.inverse_dynamics(robot, q, v, a)
        assert np.abs(without - expected).max() > 1e-3 * size


def differential(robot, rng):
    """Two more motors, on the first link, that turn with sum and difference of the last joints, and two on the first
    joint."""
    last, first = robot.joint_names[-2:], robot.rotors[0]
    both = ((last[1], 20.0), (last[1], -20.0))
    pair = (
        replace(first, joint=last[0], gear_ratio=30.0, also=(each,), number=1 + k, carrier=robot.body_names[0])
        for k, each in enumerate(both)
    )
    return unbalanced(replace(robot, rotors=(first, replace(first, number=2), *pair)), rng)


@pytest.mark.parametrize("name", MAKERS)
def test_several_motors_of_a_joint_and_several_joints_of_a_motor(name):
    """Rows and torques are MuJoCo's, base parameters as many as the rank of Pinocchio's rows."""
    rng = np.random.default_rng(5)
    robot = differential(MAKERS[name](), rng)
    robot = robot.with_joint_properties(armature=np.zeros(robot.nv))
    theta = np.concatenate([robot.inertias.ravel(), *(rotor.theta for rotor in robot.rotors)])
    q, v, a = random_state(robot, rng)
    expected = mujoco_torque(robot, q, v, a)
    size = np.abs(expected).max()
    np.testing.assert_allclose(sy.inverse_dynamics(robot, q, v, a, rotors=True), expected, atol=1e-11 * size)
    rows = regressor_rows_with_rotors(robot, *(x[:, None] for x in (q, v, a)))[..., 0]
    np.testing.assert_allclose(rows @ theta, expected, atol=1e-11 * size)
    found = sy.identifiability(robot, motors=True)
    assert found.count == scaled_rank(Twin(robot, motors=True).regression(rng, 200))[0]
    info = accumulate(robot, geared_log(robot, rng), rotors=True, friction=())
    assert (info.residual_energy(info.basis.regroup(theta)) <= 1e-13 * info.energy).all()


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", MAKERS)
def test_basis_is_the_structural_count_and_the_rank(name, floating):
    robot = MAKERS[name](floating=floating)
    layout = layout_of(robot, rotors=True)
    basis = regression_basis(robot, layout)
    assert basis.count == sy.identifiability(robot, motors=True).count
    assert basis.count == {"puma": 40, "scara": 11, "leg": 18}[name] or floating
    q, v, a = random_state(robot, np.random.default_rng(0), (150,))
    Y = np.moveaxis(regressor_rows_with_rotors(robot, q.T, v.T, a.T), -1, 0).reshape(-1, layout.size)
    assert scaled_rank(Y)[0] == scaled_rank(Y[:, basis.columns])[0] == basis.count
    assert np.abs(Y[:, basis.columns] @ basis.regrouping - Y).max() < 1e-12 * np.abs(Y).max()
    assert layout.bodies == robot.body_names + tuple(rotor.name for rotor in robot.rotors)
    assert layout.names[layout.rotors.start] == f"{robot.rotors[0].name}.m"


@pytest.mark.parametrize("seed", range(15))
def test_basis_of_random_trees(seed):
    """Rotors of both kinds, on mimic joints, on other carriers: null space and rank of Pinocchio's regression."""
    rng = np.random.default_rng([11, seed])
    robot = random_tree(rng, bodies=int(rng.integers(2, 7)))
    if not robot.rotors:
        assert not regression_basis(robot, layout_of(robot)).columns.max(initial=0) >= 10 * robot.nb
        return
    layout = layout_of(robot, rotors=True)
    basis = regression_basis(robot, layout)
    reading, _ = _reading(robot, layout)
    Y = Twin(robot, motors=True).regression(rng, 3 * layout.size // robot.nv + 30) @ reading
    rank, _ = scaled_rank(Y)
    assert basis.count == rank == scaled_rank(Y[:, basis.columns])[0]
    regrouped = Y[:, basis.columns] @ basis.regrouping
    assert np.abs(regrouped - Y).max() <= 1e-8 * np.abs(Y).max()


def geared_log(robot, rng, **options):
    return random_log(robot, rng, torque=lambda *s: sy.inverse_dynamics(robot, *s, rotors=True), **options)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize(("name", "floating"), [("puma", False), ("leg", True)])
def test_engines_agree_and_base_columns_are_lossless(name, floating, balanced):
    rng = np.random.default_rng(4)
    robot = MAKERS[name](floating=floating)
    robot = robot if balanced else unbalanced(robot, rng)
    log = geared_log(robot, rng, samples=300)
    options = {"armature": True, "rotors": True, "coupling": (robot.joint_names[-2:],)}
    infos = {e: {c: accumulate(robot, log, engine=e, columns=c, **options) for c in ("base", "all")} for e in ENGINES}
    for columns in ("base", "all"):
        ours, fused = (infos[engine][columns] for engine in ENGINES)
        for field in ("gram", "moment", "energy"):
            one, other = getattr(ours, field), getattr(fused, field)
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * np.abs(one).max(), err_msg=field)
        assert fused.engine == "native"
    base, full = infos["numpy"]["base"], infos["numpy"]["all"]
    K = base.basis.regrouping
    size = np.sqrt(np.diag(full.G))
    size = np.maximum(size, 1e-6 * size.max())  # columns that are zero but for rounding
    assert np.abs((K.T @ base.G @ K - full.G) / size[:, None] / size).max() < 1e-9


@pytest.mark.parametrize("name", MAKERS)
def test_fits_find_the_rotors(name, tmp_path):
    """From other masses of links and rotors, without noise: torques, and spin inertias that the data reveals."""
    rng = np.random.default_rng(5)
    model = MAKERS[name]()
    model = model.with_joint_properties(armature=np.zeros(model.nv))
    truth = model.with_inertias(scattered(model.inertias, rng, 0.1))
    truth = truth.with_rotor_inertias([scattered(rotor.theta, rng, 0.1) for rotor in truth.rotors])
    log, test = (geared_log(truth, rng, samples=1500) for _ in range(2))
    info = accumulate(model, log, rotors=True)
    assert info.layout == sy.load_information(sy.save_information(info, tmp_path / "info.npz"), model).layout
    elsewhere = replace(model, rotors=tuple(replace(r, gear_ratio=2 * r.gear_ratio) for r in model.rotors))
    with pytest.raises(FitError, match="rotors"):
        sy.load_information(tmp_path / "info.npz", elsewhere)
    for estimate in (sy.fit.least_squares(info), sy.fit.consistent(info, weight=1e-6)):
        assert all(f"  {name}: " in estimate.summary() for name in estimate.layout.bodies)
        assert estimate.theta.shape == (model.nb, 10) and estimate.rotors.shape == (len(model.rotors), 10)
        assert sy.validate(estimate, test).relative_error < 1e-6
        for rotor, found, true in zip(estimate.robot.rotors, estimate.rotors, truth.rotors, strict=True):
            np.testing.assert_allclose(rotor.theta, found, atol=1e-9)  # already symmetric
            if f"{rotor.name}.Izz" in estimate.base_names:
                assert found[9] == pytest.approx(true.theta[9], rel=1e-4)
    plain = sy.fit.least_squares(accumulate(model, log))
    assert plain.rotors.shape == (0, 10)
    assert sy.validate(plain, test).relative_error > 1e-4


def test_unknown_rotors_get_a_nominal_prior():
    model = sy.library.cheetah3_leg()
    unknown = replace(model, rotors=tuple(replace(rotor, theta=np.zeros(10)) for rotor in model.rotors))
    log = geared_log(model, np.random.default_rng(6), samples=800)
    estimate = sy.fit.consistent(accumulate(unknown, log, rotors=True, armature=True))
    assert any("rotor(knee)" in note and "0.5 kg" in note for note in estimate.notes)
    assert sy.validate(estimate, log).relative_error < 0.05


def test_a_rotor_on_a_joint_that_follows_another(tmp_path):
    """Its angle is the gear times the follower's, with the follower's ratio and offset: closed form of a bob."""
    follower = '<axis xyz="0 1 0"/><mimic joint="lead" multiplier="-2" offset="0.3"/>'
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    link = f'<link name="{{}}">{inertia}</link>'
    joint = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/>{}</joint>'
    (tmp_path / "two.urdf").write_text(
        f'<robot name="two"><link name="ground"/>{link.format("one")}{link.format("two")}'
        f'{joint.format("lead", "ground", "one", """<axis xyz="0 1 0"/>""")}'
        f"{joint.format('follow', 'one', 'two', follower)}</robot>"
    )
    mass, arm, gear, inertia = 0.5, 0.02, 3.0, 4e-4
    theta = np.array([mass, mass * arm, 0, 0, 3e-4, 0, inertia, 0, 0, 3e-4])
    rotor = Rotor("follow", gear, None, np.array([0.0, 1, 0]), np.eye(3), np.zeros(3), theta, symmetric=False)
    robot = replace(sy.load(tmp_path / "two.urdf"), rotors=(rotor,))
    q, v, a = np.array([0.4]), np.array([1.3]), np.array([-0.7])
    angle, speed = gear * (-2 * q + 0.3), gear * -2
    expected = speed**2 * inertia * a - speed * mass * 9.81 * arm * np.cos(angle)  # its height is -arm sin(angle)
    torque = sy.inverse_dynamics(robot, q, v, a, rotors=True) - sy.inverse_dynamics(robot, q, v, a)
    np.testing.assert_allclose(torque, expected, rtol=1e-9)


def test_refusals():
    robot = sy.library.scara()
    log = geared_log(robot, np.random.default_rng(7), samples=20)
    with pytest.raises(OptionError, match="side file"):
        accumulate(replace(robot, rotors=()), log, rotors=True)
    with pytest.raises(ModelError, match="joint1"):
        with_rotor_bodies(replace(robot, rotors=(replace(robot.rotors[0], joint="elbow"),)))
    with pytest.raises(ModelError, match="rotors of ten"):
        robot.with_rotor_inertias(np.zeros((2, 10)))
