"""Rollouts move as MuJoCo does when a script that knows nothing of us steps it, and refinement finds what moved."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import steelyard as sy
from steelyard.drives import rollout
from steelyard.drives.arrays import DriveArrays
from steelyard.drives.coordinates import unknowns
from steelyard.drives.drive import Drive
from steelyard.drives.refinement import refine, shown_by
from steelyard.drives.simulation import Simulation
from steelyard.drives.window_errors import Simulated
from steelyard.drives.windows import Recorded, Windows, smoothed, windows_of
from steelyard.errors import LogError, ModelError, OptionError
from steelyard.inertia import is_consistent
from steelyard.model import mjcf_text

STEP = 0.005  # s, that a log of 50 Hz is simulated with
SAMPLE = 0.02
FREE = ("gain", "damping", "frictionloss", "delay")
TICK = 2 * np.pi / 4096


@pytest.fixture(scope="module")
def leg():
    return sy.library.cheetah3_leg()


def servos(robot, **changes) -> DriveArrays:
    one = np.ones(robot.nv)
    plain = {"follows_q": one, "gain": 60 * one, "kd": 0 * one, "limit": np.inf * one}
    plain |= {"delay": 0 * one, "slope_limit": np.inf * one, "damping": 3.0 * one, "frictionloss": 0.5 * one}
    return DriveArrays(**plain | {"armature": 0.05 * one, "inertias": robot.inertias} | changes)


def goals(robot, duration: float, seed: int):
    """Times (n,) at 50 Hz and positions (n, nv): sines and a staircase."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, 0.02)
    turns = rng.uniform(0.2, 1.0, size=(3, robot.nv))
    waves = sum(0.15 * np.sin(2 * np.pi * w * t[:, None] + k) for k, w in enumerate(turns))
    stairs = np.repeat(rng.uniform(-0.3, 0.3, size=(len(t) // 50 + 1, robot.nv)), 50, axis=0)[: len(t)]
    return t, waves + stairs


def stepped(robot, drives: DriveArrays, t, command, step=STEP) -> np.ndarray:
    """(n, nv) positions at times t, by a loop over `mj_step` of a model with MuJoCo's own position actuators."""
    spec = mujoco.MjSpec.from_string(mjcf_text(robot))
    for j, joint in enumerate(spec.joints):
        actuator = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_position(kp=drives.gain[j], kv=drives.kd[j])
        actuator.forcelimited, actuator.forcerange = True, np.minimum(drives.limit[j], 1e30) * np.array([-1, 1])
        joint.damping, joint.frictionloss = np.r_[drives.damping[j], 0, 0], drives.frictionloss[j]
        joint.armature = drives.armature[j]
        if not drives.softness[j]:
            joint.solimp_friction, joint.solref_friction = [0.9999, 0.9999, 0.001, 0.5, 2], [2 * step, 1]
    m = spec.compile()
    m.opt.timestep, m.opt.integrator = step, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    d, found = mujoco.MjData(m), []
    d.qpos[:] = command[0]
    for k in range(round((t[-1] - t[0]) / step) + 1):
        if k % round(SAMPLE / step) == 0:
            found.append(d.qpos.copy())
        told = t[0] + k * step - drives.delay
        last = np.maximum(np.searchsorted(t, told + 1e-9, side="right") - 1, 0)
        d.ctrl[:] = command[last, np.arange(m.nu)]
        mujoco.mj_step(m, d)
    return np.array(found)


def recorded(robot, drives, seed, duration=20.0, tick=TICK, step=STEP) -> Recorded:
    t, command = goals(robot, duration, seed)
    q = stepped(robot, drives, t, command, step)
    return Recorded(t, np.round(q / tick) * tick if tick else q, command)


def from_rest(own: Recorded) -> Windows:
    """All of a recording, from exactly where it began."""
    return replace(windows_of([own], STEP, None), q=own.q[:1], v=np.zeros_like(own.q[:1]))


def drives_alone(robot, drives, windows):
    """Unknowns without those of bodies."""
    return replace(unknowns(robot, drives, FREE, windows), bodies=np.zeros((0, robot.nb, 10)))


def moved(simulation, windows, drives) -> np.ndarray:
    return simulation.run([simulation.driven(drives)] * len(windows), windows.q, windows.v, windows.controls(drives))


def named(robot, arrays: DriveArrays) -> tuple:
    """The robot with the friction of the arrays, and their drives by joint."""
    moved = replace(robot, damping=arrays.damping, frictionloss=arrays.frictionloss, armature=arrays.armature)
    numbers = {"kp": "gain", "kd": "kd", "limit": "limit", "delay": "delay", "slope_limit": "slope_limit"}
    held = {key: getattr(arrays, name) for key, name in numbers.items()}
    drives = {
        joint: Drive("position", **{key: float(x[j]) if np.isfinite(x[j]) else None for key, x in held.items()})
        for j, joint in enumerate(robot.dof_names)
    }
    return moved, drives


def rolled(robot, log, arrays: DriveArrays, **options):
    robot, drives = named(robot, arrays)
    return rollout(robot, log, drives=drives, **options)


def log_of(robot, own: Recorded) -> sy.Log:
    return sy.Log(t=own.t, q=own.q, command=own.command, joint_names=robot.dof_names)


def test_the_simulation_is_a_plain_one_of_mujoco(leg):
    """With hard friction, and in one joint with that of MuJoCo by default."""
    drives = servos(leg, kd=np.array([0.5, 0.0, 1.0]), softness=np.array([0.0, 1.0, 0.0]))
    drives = drives.changed(limit=np.array([8.0, np.inf, 12.0]), delay=np.array([0, 0.01, 0.03]))
    own = recorded(leg, drives, seed=1, duration=6.0, tick=0)
    windows, simulation = from_rest(own), Simulation(leg, STEP)
    np.testing.assert_allclose(windows.errors(moved(simulation, windows, drives)), 0, atol=1e-9)
    hard = drives.changed(softness=0.0)
    fine = recorded(leg, hard, seed=1, duration=6.0, tick=0, step=sy.model.STEP)
    assert rolled(leg, log_of(leg, fine), hard).rmse.max() < 1e-3  # which begins with the speed of a quadratic


def test_the_sparse_solver_of_large_robots_is_not_used(tmp_path):
    """Its factor is wrong in MuJoCo 4.0.0 (mujoco#3767), which takes it from 60 degrees of freedom on."""
    body = '<body name="b{0}"><joint name="j{0}" axis="0 1 0"/><geom size="0.1" pos="0.1 0 0"/></body>'
    text = f"<mujoco><worldbody>{''.join(map(body.format, range(61)))}</worldbody></mujoco>"
    assert mujoco.mj_isSparse(mujoco.MjModel.from_xml_string(text))
    (tmp_path / "many.xml").write_text(text)
    assert not mujoco.mj_isSparse(Simulation(sy.load(tmp_path / "many.xml"), STEP).model)


def test_a_changed_body_is_what_mujoco_makes_of_it(leg):
    heavier = leg.with_inertias(1.3 * leg.inertias)
    own = recorded(heavier, servos(leg), seed=2, duration=4.0, tick=0)
    windows, told = from_rest(own), servos(leg, inertias=1.3 * leg.inertias)
    np.testing.assert_allclose(windows.errors(moved(Simulation(leg, STEP), windows, told)), 0, atol=1e-9)


def test_commands_arrive_late_and_no_faster_than_their_slope(leg):
    t = np.arange(0, 2, 0.02)
    steps = Recorded(t, np.zeros((len(t), 3)), np.where(t[:, None] < 1.0, 0.0, [0.3, -0.3, 0.0]))
    drives = servos(leg, delay=np.array([0.0, 0.1, 0.0]), slope_limit=np.array([2.0, np.inf, 1.0]))
    (told,) = windows_of([steps], STEP, None).controls(drives)
    since = STEP * np.arange(len(told)) - 1.0
    np.testing.assert_allclose(told[:, 0], np.clip(2.0 * (since + STEP), 0, 0.3), atol=2 * STEP)
    np.testing.assert_allclose(told[:, 1], np.where(since + 1e-9 >= 0.1, -0.3, 0.0), atol=1e-9)
    assert np.abs(told[:, 2]).max() < 1e-9
    band = drives.changed(dead_band=np.array([0.0, 6.0, 6.0]))  # 3 N m, 0.05 rad
    (less,) = windows_of([steps], STEP, None).controls(band)
    np.testing.assert_allclose(less, told + [0, 0.05, 0] * (told < -0.1), atol=1e-9)


def test_windows_begin_where_the_robot_was(leg):
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 3, size=200))
    a, b, c = rng.normal(size=(3, 3))
    q, v, acceleration, left = smoothed(Recorded(t, a + b * t[:, None] + c * t[:, None] ** 2, np.zeros((200, 3))))
    np.testing.assert_allclose(q, a + b * t[:, None] + c * t[:, None] ** 2, atol=1e-9)
    np.testing.assert_allclose(v, b + 2 * c * t[:, None], atol=1e-6)
    np.testing.assert_allclose(acceleration, np.tile(2 * c, (200, 1)), atol=1e-4)
    assert left.max() < 1e-20


def test_refinement_finds_the_drives_from_a_wrong_start(leg):
    truth = servos(leg, gain=np.array([50.0, 80, 60]), damping=np.array([2.0, 4, 3]), delay=np.full(3, 0.02))
    truth = truth.changed(frictionloss=np.array([0.3, 0.8, 0.5]))
    own, other = recorded(leg, truth, 3), recorded(leg, truth, 4, step=sy.model.STEP)
    simulation, windows = Simulation(leg, STEP), windows_of([own], STEP, 0.5)
    start = servos(leg, gain=np.full(3, 90.0), damping=np.full(3, 6.0), frictionloss=np.full(3, 0.2))
    simulated = Simulated(simulation, windows, simulation, windows)
    found = refine(simulated, drives_alone(leg, start, windows))
    rest = log_of(leg, other)
    before, after = rolled(leg, rest, start), rolled(leg, rest, found.drives)
    assert after.rmse.max() < 1.5e-3  # the quantisation makes 0.4
    assert before.rmse.min() > 5 * after.rmse.max()
    assert rolled(leg, rest, found.drives, window=0.5).rmse.max() < 1.5e-3
    np.testing.assert_allclose(found.drives.gain, truth.gain, rtol=0.05)
    np.testing.assert_allclose(found.drives.damping, truth.damping, rtol=0.15)
    np.testing.assert_allclose(found.drives.delay, truth.delay, atol=3e-3)
    deviation = np.sqrt(np.diag(shown_by(simulated, found).covariance))
    error = found.x - drives_alone(leg, truth, windows).start
    assert np.abs(error / deviation).max() < 4
    assert deviation[:3].max() < 0.05


def test_the_scale_is_not_known_without_a_gain_or_a_mass(leg):
    """Everything times two moves alike: the intervals of gain, friction and masses say so."""
    own = recorded(leg, servos(leg), seed=5)
    windows, simulation = windows_of([own], STEP, 0.5), Simulation(leg, STEP)
    names = ("gain", "damping", "frictionloss", "armature", "inertias")
    twice = servos(leg, **{name: 2 * getattr(servos(leg), name) for name in names})
    np.testing.assert_allclose(
        moved(simulation, windows, servos(leg)), moved(simulation, windows, twice), rtol=0, atol=1e-6
    )


def test_bodies_stay_consistent(leg):
    own = recorded(leg.with_inertias(leg.inertias * np.array([[1.6], [0.7], [1.4]])), servos(leg), seed=6)
    windows, simulation = windows_of([own], STEP, 0.5), Simulation(leg, STEP)
    start = unknowns(leg, servos(leg), FREE, windows)
    assert len(start.bodies)
    found = refine(Simulated(simulation, windows, simulation, windows), start)
    assert found.rms[-1] < found.rms[0]
    assert is_consistent(found.drives.inertias).all()
    for x in (
        np.random.default_rng(0).normal(size=(50, len(start.start))) * 3 * np.sqrt(np.diag(start.prior(start.start)[1]))
    ):
        assert is_consistent(start.at(x).inertias).all()


def test_refusals(leg):
    own = recorded(leg, servos(leg), seed=7, duration=2.0)
    log = log_of(leg, own)
    with pytest.raises(LogError, match="command"):
        rolled(leg, log.replace(command=None), servos(leg))
    with pytest.raises(OptionError, match="what drives abad"):
        rollout(leg, log)
    with pytest.raises(OptionError, match="gain of the drives of abad"):
        rollout(leg, log, drives=dict.fromkeys(leg.dof_names, Drive("position")))
    with pytest.raises(OptionError, match="window=9"):
        rolled(leg, log, servos(leg), window=9.0)
    with pytest.raises(ModelError, match="one motor"):
        Simulation(sy.library.five_bar(), STEP)


def test_every_kind_of_drive_is_told_what_it_takes(leg):
    """Torques of position servos by hand: as commands of torque drives, as currents, and as duty times volts."""
    arrays = servos(leg, kd=np.full(3, 1.0))
    own = recorded(leg, arrays, seed=8, duration=3.0, tick=0)
    base, _ = named(leg, arrays)
    push = np.random.default_rng(0).normal(size=own.q.shape)
    log = sy.Log(t=own.t, q=own.q, command=push, current=push / 2, duty=push / 24, voltage=np.full(len(own.t), 24.0))
    kinds = {"torque": Drive("torque"), "current": Drive("current", gain=2.0), "voltage": Drive("voltage", gain=1.0)}
    kinds["volts"] = Drive("voltage", gain=1.0, volts=24.0)
    found = {
        name: rollout(
            base, log if name != "volts" else log.replace(voltage=None), drives=dict.fromkeys(leg.dof_names, drive)
        )
        for name, drive in kinds.items()
    }
    for each in found.values():
        assert each.commanded is None
        np.testing.assert_allclose(each.q, found["torque"].q, atol=1e-9)
