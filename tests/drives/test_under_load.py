"""Friction that grows with load is that of a plain loop of MuJoCo, and is kept in files;
joints that swing while their drives are off are told from those that a hand moves and those that fall and lie."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import steelyard as sy
from servo_logs import SERVOS
from steelyard.drives.arrays import LOAD_FRICTION, ODDITIES
from steelyard.drives.drive import Drive
from steelyard.drives.free_swings import swings
from steelyard.drives.simulation import Simulation
from steelyard.drives.windows import Recorded, windows_of
from steelyard.model import mjcf_text, write_side
from steelyard.model.side import read_side

STEP = 0.005
MOTOR, EXTERNAL = np.array([0.3, 0.0, 0.2]), np.array([0.2, 0.15, 0.0])


@pytest.fixture(scope="module")
def leg():
    return sy.library.cheetah3_leg()


def stepped(robot, drives, command):
    """Positions by `mj_step` alone, with the line that the notes of a model file have."""
    spec = mujoco.MjSpec.from_string(mjcf_text(robot))
    for j, joint in enumerate(spec.joints):
        spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(kp=drives.gain[j])
        joint.damping, joint.armature = np.r_[drives.damping[j], 0, 0], drives.armature[j]
        joint.frictionloss = drives.frictionloss[j]
        joint.solimp_friction, joint.solref_friction = [0.9999, 0.9999, 0.001, 0.5, 2], [2 * STEP, 1]
    m = spec.compile()
    m.opt.timestep, m.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    d, found = mujoco.MjData(m), []
    for told in command:
        found.append(d.qpos.copy())
        d.ctrl[:] = told
        mujoco.mj_forward(m, d)
        for k, (base, motor, external) in enumerate(zip(drives.frictionloss, MOTOR, EXTERNAL, strict=True)):
            m.dof_frictionloss[k] = base + motor * abs(d.qfrc_actuator[k]) + external * abs(d.qfrc_bias[k])
        mujoco.mj_step(m, d)
    return np.array(found)


def test_the_simulation_is_a_plain_loop_of_mujoco(leg):
    t = STEP * np.arange(400)
    command = 0.5 * np.sin(2 * np.pi * np.outer(t, [0.7, 1.1, 1.6])) + np.where(t < 1, 0.0, 0.4)[:, None]
    drives = SERVOS.changed(delay=np.zeros(3), load_friction_motor=MOTOR, load_friction_external=EXTERNAL)
    whole = windows_of([Recorded(t, np.zeros_like(command), command)], STEP, None)
    simulation = Simulation(leg, STEP)

    def moved(drives):
        return simulation.run(whole.driven(simulation, drives), np.zeros((1, 3)), np.zeros((1, 3)), command[None])[0]

    truth = stepped(leg, drives, command)
    np.testing.assert_allclose(moved(drives)[:-1], truth, atol=1e-6)
    constant = drives.changed(load_friction_motor=np.zeros(3), load_friction_external=np.zeros(3))
    assert np.abs(moved(constant)[:-1] - truth).max() > 0.02  # which is not the same


def test_side_files_have_it_and_models_have_the_line(leg, tmp_path):
    drive = Drive("position", kp=60.0, friction_base=0.1, load_friction_motor=0.3, load_friction_external=0.2)
    robot = replace(leg, drives=dict.fromkeys(leg.dof_names, drive))
    report = sy.save(replace(robot, source=None), tmp_path / "leg.xml")
    (note,) = [each for each in report.notes if "of hip grows with load" in each]
    m = mujoco.MjModel.from_xml_path(str(report.path))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    exec(note.partition("mj_step: ")[2], {"m": m, "d": d})  # as printed
    k = m.joint("hip").dofadr[0]
    expected = 0.1 + 0.3 * abs(d.qfrc_actuator[k]) + 0.2 * abs(d.qfrc_bias[k])
    assert m.dof_frictionloss[k] == pytest.approx(expected) and expected > 0.1
    side = write_side(robot, tmp_path / "leg.steelyard.toml", driven=sy.load(report.path).drives)
    assert read_side(side, sy.load(report.path)).drives["hip"].differing(drive, 1e-12) == ("kd",)  # 0


def pendulum(tmp_path):
    (path := tmp_path / "pendulum.xml").write_text(
        "<mujoco><worldbody><body><joint name='hinge' axis='0 1 0' damping='0.01'/>"
        "<inertial mass='0.5' pos='0 0 -0.1' diaginertia='1e-4 1e-4 1e-4'/></body></worldbody></mujoco>"
    )
    return sy.load(path)


def swinging(kind: str):
    """Times and positions of a pendulum: released, led by hand there and back, or fallen onto a table."""
    t = 0.005 * np.arange(600)
    if kind == "hand":
        return t, 0.8 * np.sin(2.5 * t) * np.sin(0.7 * t)
    free = 1.2 * np.exp(-0.8 * t) * np.cos(9.5 * t)
    if kind == "table":
        return t, np.maximum(free, 0.3)
    return t, free


@pytest.mark.parametrize("kind", ["free", "hand", "table"])
def test_what_swings_is_told_from_what_is_moved_and_what_lies(kind, tmp_path):
    robot = pendulum(tmp_path)
    t, q = swinging(kind)
    enable = (t < 0.05)[:, None].astype(float)
    log = sy.Log(t=t, q=q[:, None], command=np.zeros((len(t), 1)), enable=enable, joint_names=robot.dof_names)
    found = swings(robot, [log], {"hinge": Drive("position", kp=1.0)})
    if kind != "free":
        assert found == []
        return
    (own,) = found
    assert own.off.tolist() == [True] and own.t[0] == pytest.approx(0.05)
    assert swings(robot, [log.replace(enable=None)], {"hinge": Drive("position", kp=1.0)}) == []


@pytest.mark.parametrize("axis, led, found", [("1 0 0", 0, 1), ("0 1 0", 0, 1), ("1 0 0", 30, 0), ("0 0 1", 0, 0)])
def test_a_pendulum_swings_under_a_slide_that_rolls(axis, led, found, tmp_path):
    """MuJoCo's motion with both drives off: a level slide ends where friction holds it. One that a hand leads there and
    back is none, nor one that falls down."""
    (path := tmp_path / "gantry.xml").write_text(
        f"<mujoco><worldbody><body><joint name='slide' type='slide' axis='{axis}' damping='1'/>"
        "<inertial mass='1' pos='0 0 0' diaginertia='1e-3 1e-3 1e-3'/>"
        "<body><joint name='hinge' axis='0 1 0' damping='.01'/>"
        "<inertial mass='0.5' pos='0 0 -0.2' diaginertia='1e-3 1e-3 1e-3'/></body></body></worldbody></mujoco>"
    )
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.timestep = 0.005
    d, t, q = mujoco.MjData(m), 0.005 * np.arange(1200), np.empty((1200, 2))
    d.qpos[:], d.qvel[:] = (0, 1), (0.3, 0)
    for k in range(1200):
        q[k] = d.qpos
        d.qfrc_applied[0] = led * np.sin(2.5 * t[k])
        mujoco.mj_step(m, d)
    robot = sy.load(path)
    log = sy.Log(t=t, q=q, command=0 * q, enable=(t < 0.05)[:, None] * np.ones(2), joint_names=robot.dof_names)
    assert len(swings(robot, [log], {name: Drive("position", kp=1.0) for name in robot.dof_names})) == found
    assert np.ptp(q[:, 0]) > 0.3


def test_a_drive_that_is_off_gives_no_torque(tmp_path):
    robot = pendulum(tmp_path)
    drives = SERVOS.changed(
        **{n: getattr(SERVOS, n)[:1] for n in ("follows_q", "kd", "delay", "slope_limit", "gain", "limit")},
        **{n: np.array([x]) for n, x in {"damping": 0.01, "frictionloss": 0.0, "armature": 0.0}.items()},
        **{n: np.zeros(1) for n in (*LOAD_FRICTION, *ODDITIES)},
        inertias=robot.inertias,
    )  # fmt: skip
    t = 0.005 * np.arange(100)
    own = Recorded(t, np.ones((100, 1)), np.full((100, 1), 5.0), off=np.array([True]))
    simulation, windows = Simulation(robot, 0.005), windows_of([own], 0.005, None)
    q = simulation.run(windows.driven(simulation, drives), np.ones((1, 1)), np.zeros((1, 1)), windows.controls(drives))
    none = drives.changed(gain=np.zeros(1))
    again = windows_of([replace(own, off=None)], 0.005, None)
    free = simulation.run(again.driven(simulation, none), np.ones((1, 1)), np.zeros((1, 1)), again.controls(none))
    np.testing.assert_allclose(q, free, atol=1e-12)
    assert np.ptp(q) > 1.0
