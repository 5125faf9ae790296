"""Robots that walk by their drives: the ground of their own file, states of a free base, and what a walk shows."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import steelyard as sy
from steelyard.drives.arrays import arrays_of
from steelyard.drives.drive import drives_of, twins
from steelyard.drives.free_base import apart, moved
from steelyard.drives.held_out import STRIDE
from steelyard.drives.refinement import refine, shown_by
from steelyard.drives.rollouts import as_recorded
from steelyard.drives.simulation import Simulation
from steelyard.drives.walking_coordinates import walking_unknowns
from steelyard.drives.window_errors import Simulated
from steelyard.drives.windows import stretches, windows_of
from steelyard.errors import ModelError, OptionError
from steelyard.model.mujoco_state import to_mujoco
from steelyard.pipeline.drive_identification import require_walking
from steelyard.pipeline.drive_verdict import UNPROVEN, heavier_than_loaded, shown_names
from steelyard.report.drive_report import drive_curves, drive_sheet, drive_summary
from steelyard.simulate.truth import Truth

TRUTH = Truth(load=3.0, armature=0.008, damping=0.4, frictionloss=0.4, delay=0.006)
ODD = """<mujoco><compiler angle="radian"/><option timestep="0.002" cone="elliptic" impratio="5"/>
<asset><mesh name="toe" vertex="-.03 -.02 -.02  .05 -.02 -.02  .05 .02 -.02  -.03 .02 -.02  0 0 .03"/></asset>
<worldbody>
  <geom name="floor" type="plane" size="5 5 .1" friction=".7 .01 .001" solref=".015 1"/>
  <geom name="step" type="box" size=".2 .2 .02" pos=".3 0 .02" euler="0 .1 0"/>
  <body name="trunk" pos="0 0 .4"><freejoint name="root"/><geom type="box" size=".1 .08 .04" mass="4"/>
    <body name="left" pos="0 .1 0"><joint name="left" axis="0 1 0" ref=".2" damping=".1" armature=".01"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".6"/>
      <body name="left foot" pos="0 0 -.3" euler="0 .2 .1">
        <geom type="mesh" mesh="toe" mass=".2" condim="4"/></body></body>
    <body name="right" pos="0 -.1 0"><joint name="right" axis="0 1 0" damping=".1" armature=".01"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".6"/>
      <body name="right foot" pos="0 0 -.3">
        <geom name="ball" type="sphere" size=".03" mass=".2" margin=".002"/></body></body>
  </body></worldbody>
<contact><exclude body1="left" body2="right"/>
  <pair geom1="floor" geom2="ball" condim="3" friction="2 2 .01 .001 .001"/></contact>
<actuator><position name="left" joint="left" kp="40" kv="1"/>
  <position name="right" joint="right" kp="40" kv="1"/></actuator>
</mujoco>"""


@lru_cache
def walked(duration: float = 4.0, pace: float = 1.0, seed: int = 1, softness: float | None = None):
    truth = replace(TRUTH, softness=softness)
    return sy.simulate.walk("trot", truth=truth, duration=duration, pace=pace, seed=seed)


def file_of(text: str) -> Path:
    path = Path(mkdtemp()) / "robot.xml"
    path.write_text(text)
    return path


def test_changes_of_a_free_base_are_those_of_rotations():
    rng = np.random.default_rng(0)
    q, change = rng.normal(size=(50, 9)), rng.uniform(-1, 1, size=(50, 8))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    found, R = moved(q, change), Rotation.from_quat(q[:, 3:7])
    assert np.allclose(found[:, :3], q[:, :3] + R.apply(change[:, :3]))
    expected = (R * Rotation.from_rotvec(change[:, 3:6])).as_matrix()
    assert np.allclose(Rotation.from_quat(found[:, 3:7]).as_matrix(), expected)
    assert np.allclose(apart(found, q, 8), change)
    assert np.allclose(apart(q, q, 8), 0)


@pytest.mark.parametrize("text", [ODD, None], ids=["odd", "quadruped"])
def test_the_simulation_is_that_of_the_users_file(text):
    """All that touches, its parameters and options, also geoms of fixed links, meshes, pairs and exclusions."""
    path = file_of(text or walked().mjcf)
    robot, m = sy.load(path), mujoco.MjModel.from_xml_path(str(path))
    simulation, drives = Simulation(robot, m.opt.timestep), arrays_of(robot, drives_of(robot, ("model",)))
    m.opt.integrator = simulation.model.opt.integrator
    q, v, rng = robot.neutral, np.zeros(robot.nv), np.random.default_rng(1)
    q[2], q[7:] = (0.33, 0.1) if text else (0.3, walked().log.q[0, 7:])
    v[:2], goal = (0.3, 0.05), q[7:] + rng.uniform(-0.1, 0.1, robot.nv - 6)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], _ = to_mujoco(m, robot, q, v, 0 * v)
    d.ctrl[:] = goal
    path, touched = [], 0
    for _ in range(100):
        mujoco.mj_step(m, d)
        path.append(d.qpos.copy())
        touched = max(touched, d.ncon)
    controls = np.broadcast_to(np.r_[np.zeros(6), goal], (1, 100, robot.nv))
    found = simulation.run([simulation.driven(drives)], q[None], v[None], controls)[0, 1:]
    expected, _, _ = to_mujoco(m, robot, found, *np.zeros((2, 100, robot.nv)))
    assert touched >= 2
    assert np.abs(expected - np.array(path)).max() < 1e-6


def test_a_file_without_ground_gets_one_and_feet_without_geometry_are_refused():
    text = walked().mjcf
    floorless = "\n".join(line for line in text.splitlines() if 'name="ground"' not in line)
    simulation = Simulation(sy.load(file_of(floorless)), 2e-3)
    assert "no ground" in simulation.notes[0]
    bare = "\n".join(line for line in floorless.splitlines() if "<geom" not in line)
    with pytest.raises(ModelError, match="can touch the ground"):
        Simulation(sy.load(file_of(bare)), 2e-3)


def test_the_ground_that_was_found_is_the_floor_of_the_written_file(tmp_path):
    """Contacts in MuJoCo have the found friction and softness; a rollout of the robot and one of its file are equal."""
    walk = walked()
    robot = sy.load(file_of(walk.mjcf))
    arrays = arrays_of(robot, robot.drives).changed(ground=(0.0, np.log(0.5), np.log(1.7)))
    found = Simulation(robot, 2e-3).contact(walk.exact.q[::20], arrays)
    assert found.friction[0] == pytest.approx(0.5 * 0.8) and found.time_constant == pytest.approx(1.7 * 0.02)
    softer = replace(robot, floor=found)
    written = sy.load(sy.save(softer, tmp_path / "softer.xml").path)
    assert written.floor == found
    log, moves = _based(walk)[:200], []
    for each in (robot, softer, written):
        assert Simulation(each, 2e-3).contact(walk.exact.q[::20], arrays_of(each, each.drives)).condim == 3
        moves.append(sy.rollout(each, log).q)
    assert np.abs(moves[1] - moves[0]).max() > 1e-3 and np.abs(moves[2] - moves[1]).max() < 1e-9


def test_feet_that_touch_in_several_ways_tell_of_no_ground():
    robot = sy.load(file_of(ODD))
    simulation, arrays = Simulation(robot, 2e-3), arrays_of(robot, robot.drives)
    q = np.tile(robot.neutral, (60, 1))
    q[:, 2] = np.linspace(0.45, 0.25, 60)
    told = [simulation.contact(each[None], arrays) for each in q]
    assert told[0] is None and simulation.gap(q[:1]) > 0.01  # it touches nothing
    assert any(told) and simulation.contact(q, arrays) is None


def test_mirrored_legs_change_alike():
    robot = sy.load(file_of(walked().mjcf))
    drives = drives_of(robot, ("model",))
    arrays = arrays_of(robot, drives)
    known = {"gain": np.ones(robot.nv, dtype=bool)}
    free = walking_unknowns(robot, arrays, ("damping", "gain", "delay"), known, groups=twins(robot, drives))
    assert free.free == ("damping", "delay") and free.each == 3
    assert len(free.bodies) == 40  # trunk, hip, thigh and calf
    moved_to = free.at(free.start + 0.1 * np.random.default_rng(0).normal(size=len(free.start)))
    theta = moved_to.inertias.reshape(-1, 10)
    legs = [theta[[robot.body_index(f"{leg}_{part}") for part in ("hip", "thigh", "calf")]] for leg in ("FL", "FR")]
    signs = np.array([1, 1, -1, 1, 1, -1, 1, 1, -1, 1])
    assert np.allclose(legs[0], legs[1] * signs)
    assert not np.allclose(legs[0], legs[1])


def test_the_written_file_walks_on_from_a_recorded_state(tmp_path):
    """The user's floor, feet and free joint stay; half a second of the log's commands moves it as the log does, without
    a kick at the start."""
    walk = walked()
    robot = sy.load(file_of(walk.mjcf))
    found = robot.with_inertias(walk.true.inertias).with_joint_properties(
        **{name: getattr(walk.true, name) for name in ("armature", "damping", "frictionloss")}
    )
    path = sy.save(replace(found, drives=walk.true.drives), tmp_path / "found.xml").path
    before, m = mujoco.MjSpec.from_string(walk.mjcf), mujoco.MjModel.from_xml_path(str(path))
    assert m.ngeom == len(before.geoms) and m.opt.timestep == before.option.timestep
    log, first = _based(walk), 400
    q, v = log.q[first], log.v[first]
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], _ = to_mujoco(m, robot, q, v, 0 * v)
    errors = []
    for step in range(250):
        now = min(first + int(step * m.opt.timestep / 5e-3 + 1e-9), len(log) - 1)
        d.ctrl[:] = log.command[now, 6:]
        if step == 0:
            for i in m.actuator_delay.nonzero()[0]:
                mujoco.mj_initCtrlHistory(m, d, i, None, d.ctrl[[i]].repeat(m.actuator_history[i, 0])[:, None])
        mujoco.mj_step(m, d)
        t = (step + 1) * m.opt.timestep + log.t[first]
        measured = np.array([np.interp(t, log.t, log.q[:, 7 + j]) for j in range(12)])
        errors.append(np.abs(d.qpos[7:] - measured).max())
    assert max(errors[:10]) < 5e-3
    assert np.sqrt(np.mean(np.square(errors))) < 0.02


def _based(walk, seed: int = 0):
    """The log of a walk with the pose of its base, and twist, as a good estimator has them."""
    log, exact, rng = walk.log, walk.exact, np.random.default_rng(seed)
    base = moved(exact.q[:, :7], 3e-4 * rng.normal(size=(len(log), 6)))
    v = np.concatenate([exact.v[:, :6] + 3e-3 * rng.normal(size=(len(log), 6)), exact.v[:, 6:]], axis=1)
    return log.replace(q=np.concatenate([base, log.q[:, 7:]], axis=1), v=v)


def _trunk(robot, drives, inertias):
    """Numbers of motors and of the trunk may change."""
    known = {key: np.ones(robot.nv, dtype=bool) for key in ("gain", "limit", "slope_limit")}
    arrays = arrays_of(robot, drives).changed(inertias=inertias)
    arrays = arrays.changed(damping=arrays.damping + 0.1, frictionloss=arrays.frictionloss + 0.1)
    free = walking_unknowns(
        robot, arrays, ("damping", "frictionloss", "armature", "delay"), known, groups=twins(robot, drives)
    )
    return replace(free, bodies=free.bodies[:10])


def _windows(gravity: float = 9.81):
    walk = walked()
    robot = sy.load(file_of(walk.mjcf), gravity=(0, 0, -gravity))
    drives = drives_of(robot, ("model",))
    log = _based(walk)
    simulation = Simulation(robot, 2e-3, centred=True)
    recordings = stretches(robot, [log], drives, [as_recorded(log)])
    windows = windows_of(recordings, 2e-3, STRIDE, lead=simulation.lead)[::2]
    return Simulated(simulation, windows, simulation, windows), _trunk(robot, drives, robot.inertias)


@lru_cache
def _refined(gravity: float = 9.81):
    simulated, free = _windows(gravity)
    return simulated, refine(simulated, free)


def test_a_walk_shows_the_load_of_the_trunk_and_the_drives():
    """43 % more mass of the trunk than in the model, delays, friction; without ground nothing fits."""
    simulated, found = _refined()
    drives, true, shown = found.drives, walked().true, shown_by(simulated, found)
    assert found.rms[-1] < 0.2 * found.rms[0]
    assert drives.inertias[0, 0] == pytest.approx(true.inertias[0, 0], rel=0.03)
    center = true.inertias[0, 1:4] / true.inertias[0, 0]
    assert np.allclose(drives.inertias[0, 1:4] / drives.inertias[0, 0], center, atol=5e-3)
    off = np.abs(drives.delay[6:].reshape(4, 3)[0] - TRUTH.delay)
    # goals are held for 5 ms, so that half of that is as late; limbs are kept as in the model, and steps are of 2 ms
    assert np.all(off[1:] < 2.5e-3)
    # hips carry the trunk aside and hardly swing: the cost changes by 26 % over 3 ms of their delay, and by more than
    # 100 % over 2 ms of those of thighs and calves. What the walk does not show, the interval has to leave open.
    assert np.all(off < 2 * np.sqrt(np.diag(shown.covariance)[found.unknowns.of("delay")[6:9]]))
    assert np.isfinite(shown.covariance).all()
    simulated.finer.model.opt.disableflags ^= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    (fallen,) = simulated.errors([found.moved], [drives])
    simulated.finer.model.opt.disableflags ^= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    assert np.sqrt(np.mean(fallen**2)) > 5 * found.rms[-1]


@pytest.mark.exhaustive(keep=0)
def test_wrong_gravity_makes_a_wrong_trunk():
    _, found = _refined(9.0)
    assert abs(found.drives.inertias[0, 0] / walked().true.inertias[0, 0] - 1) > 0.05


@pytest.mark.exhaustive(keep=0)
def test_a_whole_run_writes_what_walks(tmp_path):
    walk = walked()
    result = sy.identify(str(file_of(walk.mjcf)), walk.log, drive="model", out=tmp_path / "out")
    errors = {each.name: each.pooled[0] for each in result.motion}
    assert errors["identified"] < 0.4 * errors["given model"]
    masses, true = result.robot.inertias[:, 0], walk.true.inertias[:, 0]
    assert masses.sum() == pytest.approx(true.sum(), rel=0.03)
    # limbs take up what contacts get wrong, and with it mass of the trunk: samples have to hold what the total leaves
    low, high = np.quantile(result.samples.inertias[:, 0, 0], [0.025, 0.975])
    assert low < true[0] < high and abs(masses[0] - true[0]) < 0.3 * abs(result.prior.inertias[0, 0] - true[0])
    assert result.samples.inertias.shape == (256, 13, 10)
    told = drive_summary(result)
    assert not told["proven"]["intervals"] and UNPROVEN in told["verdict"]["reasons"]
    assert UNPROVEN in drive_sheet(told).caption and UNPROVEN in drive_sheet(told, intervals=False).caption
    written = sy.load(tmp_path / "out" / "robot_identified.xml")
    assert written.floating and written.drives["FL_hip_joint"].delay > 0
    again = sy.identify(str(file_of(walk.mjcf)), walk.log, drive="model", start=str(tmp_path / "out"))
    assert np.allclose(again.fit.refined.unknowns.drives.inertias, written.inertias)  # where it begins
    assert again.robot.inertias[0, 0] == pytest.approx(true[0], rel=0.05)
    # windows find anew where they begin, and the prior is about other numbers: ends of two descents are not the same
    assert again.fit.refined.rms[-1] < 1.2 * result.fit.refined.rms[-1]


@pytest.mark.exhaustive(keep=0)
def test_a_whole_run_writes_the_ground(tmp_path):
    """The file says 0.02 s."""
    walk = walked(softness=0.012)
    result = sy.identify(str(file_of(walk.mjcf)), walk.log, drive="model", out=tmp_path / "out")
    written = sy.load(tmp_path / "out" / "robot_identified.xml")
    assert written.floor == result.ground and written.floor.time_constant == pytest.approx(0.012, rel=0.1)
    summary = drive_summary(result)
    told, ranges = summary["ground"], {(each["group"], each["name"]): each for each in summary["randomisation"]}
    assert ranges["time_constant", "ground"]["source"] == "identified"
    assert ranges["time_constant", "ground"]["upper"] < told["time_constant"]["upper"]
    assert told["written"] and told["time_constant"]["lower"] < 0.012 < told["time_constant"]["upper"] < 0.02


def test_a_free_base_is_named_as_people_do_and_follows_no_command():
    robot, rng = sy.load(file_of(walked().mjcf)), np.random.default_rng(0)
    driven = [robot.dof_names[dof] for dof in robot.driven_dofs]
    names = shown_names(robot.dof_names, driven)
    assert names[0] == "base x" and names[5] == "base about z" and names[6:] == driven
    positions = rng.normal(size=(3, 100, robot.nv))
    result = SimpleNamespace(prior=robot, overlay=(0.01 * np.arange(100), *positions))
    curves = drive_curves(result)
    assert sorted(i for kind, i, name in curves if name == "commanded") == list(range(6, robot.nv))
    assert sum(name == "measured" and kind == "motion" for kind, _, name in curves) == robot.nv


def test_a_mass_that_no_load_explains_is_named():
    """Gains that are a tenth of the robot's make it a tenth as heavy, and it moves as it did."""
    robot = sy.load(file_of(walked().mjcf))
    lighter, loaded = (robot.with_inertias(factor * robot.inertias) for factor in (0.14, 1.4))
    assert "2.148 kg, and 15.34 kg in the given model" in heavier_than_loaded(robot, lighter)
    assert heavier_than_loaded(robot, loaded) is None and heavier_than_loaded(robot, robot) is None
    assert "kp" in heavier_than_loaded(robot, robot.with_inertias(10 * robot.inertias))
    held = sy.load(file_of(walked().mjcf), floating=False)
    assert heavier_than_loaded(held, held.with_inertias(10 * held.inertias)) is None


@pytest.mark.exhaustive(keep=0)
def test_gains_of_another_scale_are_not_recommended(tmp_path):
    walk = walked()
    text = walk.mjcf.replace('gainprm="150" biasprm="0 -150 -4"', 'gainprm="15" biasprm="0 -15 -0.4"')
    assert text != walk.mjcf
    verdict = drive_summary(sy.identify(str(file_of(text)), walk.log, drive="model"))["verdict"]
    assert verdict["level"] == "keep" and "another scale" in verdict["reasons"][0]


def test_a_base_that_stands_still_is_refused():
    walk = walked()
    robot, log = sy.load(file_of(walk.mjcf)), _based(walk)
    held = log.replace(q=np.concatenate([np.repeat(log.q[:1, :7], len(log), axis=0), log.q[:, 7:]], axis=1))
    recordings = stretches(robot, [held], drives_of(robot, ("model",)), [as_recorded(held)])
    with pytest.raises(OptionError, match="--fixed"):
        require_walking(robot, recordings)
    require_walking(robot, stretches(robot, [log], drives_of(robot, ("model",)), [as_recorded(log)]))
