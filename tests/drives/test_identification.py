"""Robots identified from commands: truth within intervals, a scale that is said to be open, files that move as said."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

import steelyard as sy
from problems import cvxpy_solution
from servo_logs import SERVOS, servo_log
from steelyard import fit
from steelyard.app import app
from steelyard.drives.arrays import DriveArrays, arrays_of, effort
from steelyard.drives.drive import Drive
from steelyard.drives.motion_fit import Stated, draws, fit_motion
from steelyard.drives.simulation import step_for
from steelyard.drives.windows import stretches
from steelyard.errors import LogError, OptionError
from steelyard.fit.prior import consistent_prior
from steelyard.inertia import is_consistent
from steelyard.information import accumulate
from steelyard.prepare import prepare
from steelyard.report.drive_report import drive_summary
from steelyard.report.schema import difference

pytestmark = pytest.mark.usefixtures("few_draws")

TRUTH = SERVOS
NUMBERS = {"damping": "damping", "frictionloss": "frictionloss", "armature": "armature", "delay": "delay"}


@pytest.fixture(scope="module")
def leg():
    return sy.library.cheetah3_leg()


@pytest.fixture(scope="module")
def log(leg):
    return servo_log(leg, TRUTH, seed=0)


@pytest.fixture(scope="module")
def short(leg):
    return servo_log(leg, TRUTH, seed=0, duration=5.0)


@pytest.fixture(scope="module")
def taught(leg, short, tmp_path_factory):
    """From nothing but states and actions, as policies are taught with."""
    path = tmp_path_factory.mktemp("taught") / "teach.npz"
    np.savez(path, t=short.t, state=short.q, action=short.command)
    return sy.identify(leg, path, drive="position", channels={"q": "state", "command": "action"})


@pytest.fixture(scope="module")
def written(leg, tmp_path_factory):
    """What was identified of drives of known gain, from files, and the folder of its files."""
    folder = tmp_path_factory.mktemp("written")
    text = sy.save(leg, folder / "leg.urdf").path.read_text()
    mesh = '<visual><geometry><mesh filename="part.stl"/></geometry></visual>'
    (folder / "leg.urdf").write_text(text.replace("</link>", f"{mesh}</link>"))
    trimesh.creation.box((0.02, 0.03, 0.04)).export(folder / "part.stl")
    sy.write_csv(servo_log(leg, TRUTH, seed=0, duration=10.0), folder / "run.csv")
    (folder / "leg.steelyard.toml").write_text('version = 1\n[drives]\nkind = "position"\nkp = 60\n')
    return sy.identify(folder / "leg.urdf", folder / "run.csv", drive="model", out=folder / "out"), folder / "out"


@pytest.fixture(scope="module")
def known(written):
    return written[0]


def with_drives(robot, **numbers):
    return replace(robot, drives={name: Drive("position", **numbers) for name in robot.dof_names})


def test_servos_of_known_gain(leg, known):
    limits = {name: each["limit"]["state"] for name, each in drive_summary(known)["drives"].items()}
    assert limits == dict.fromkeys(leg.dof_names, "undetermined")  # named, not left out
    assert any('group = "servo"' in note for note in known.notes) == bool(np.isfinite(leg.effort_limits).all())
    """Friction, armature and delay to a few percent, within intervals that are as narrow as the data allows."""
    for joint, (name, found) in enumerate(known.drives.items()):
        assert name == leg.dof_names[joint] and found.kp == pytest.approx(60.0)
        for key, array in NUMBERS.items():
            truth = getattr(TRUTH, array)[joint]
            low, high = found.intervals[key]
            middle, half = (low + high) / 2, (high - low) / 2
            assert abs(middle - truth) < 2 * half, (name, key)  # twice a 95 % interval
            assert half < 0.05 * truth, (name, key)
    assert known.scaled == () and "fixed by" in known.scale[0]
    assert is_consistent(known.robot.inertias).all()


def test_the_start_is_the_optimum_of_cvxpy(leg, log):
    """Equation error with torques of the drives, of a known gain and in units of the drive."""
    for numbers in ({"kp": 60.0}, {}):
        robot = with_drives(leg, **numbers)
        ready = prepare(log, robot, drive=("model",) if numbers else ("position",)).log
        info = accumulate(robot, ready, armature=True)
        found = fit.consistent(info, weight=0.5)
        expected = cvxpy_solution(info, found.noise, consistent_prior(None, leg, leg.nb)[0], 0.5)
        assert np.abs(found.parameters - expected).max() < 1e-4 * np.abs(expected).max()


def test_it_moves_more_like_the_robot_than_all_others(known):
    errors = {each.name: each.pooled for each in known.motion}
    own = errors.pop("identified")
    assert own[0] < 5e-3 and own[1] < 5e-3
    assert all(own[k] < 0.5 * other[k] for other in errors.values() for k in (0, 1))
    assert set(errors) == {"where the refinement began", "given model", "goes where commanded", "stays"}


def test_an_open_scale_is_said_and_ratios_are_right(leg, short, taught):
    found = taught
    assert found.scaled == leg.dof_names and "open" in " ".join(found.scale)
    for joint, each in enumerate(found.drives.values()):
        for key in ("damping", "frictionloss"):
            ratio = getattr(TRUTH, key)[joint] / TRUTH.gain[joint]
            assert getattr(each, key) / each.kp == pytest.approx(ratio, rel=0.1)
    assert max(each.pooled[0] for each in found.motion if each.name == "identified") < 5e-3
    weight = [sy.inverse_dynamics(robot, short.q, 0 * short.q, 0 * short.q) for robot in (leg, found.robot)]
    assert np.sum(weight[0] * weight[1]) == pytest.approx(np.sum(weight[0] ** 2), rel=0.02)  # the model's weight


def test_files_that_move_as_the_report_says(leg, written, tmp_path):
    """A loop over `mj_step` that knows MuJoCo alone, beside `rollout` and `validate --rollout`."""
    other, out = servo_log(leg, TRUTH, seed=5, duration=5.0), written[1]
    sy.write_csv(other, tmp_path / "other.csv")
    summary = json.loads((out / "summary.json").read_text())
    assert difference(summary, "drives") is None
    assert summary["drives"]["hip"]["frictionloss"]["state"] == "found"
    page = (out / "report.html").read_text()
    assert "identified drives" in page and "goes where commanded" in page
    assert "hip (simulated)" in page  # the robot twice, measured and simulated
    path = out / "leg_identified_simulated.xml"
    again = sy.load(path)
    rollout = sy.rollout(again, other)
    m = mujoco.MjModel.from_xml_path(str(path))
    assert m.nmesh == 1 and m.ngeom >= leg.nb
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = other.q[0], 0
    moved = []
    for k in range(round(other.duration / m.opt.timestep) + 1):
        if k % round(0.02 / m.opt.timestep) == 0:
            moved.append(d.qpos.copy())
        row = np.searchsorted(other.t, k * m.opt.timestep + 1e-9, side="right") - 1
        d.ctrl[:] = other.command[row]
        mujoco.mj_step(m, d)
    n = len(moved)
    after = slice(25, n)  # MuJoCo's late commands begin at zero
    assert np.sqrt(np.mean((np.array(moved) - rollout.q[:n])[after] ** 2)) < 0.0005
    assert np.sqrt(np.mean((np.array(moved) - other.q[:n])[after] ** 2)) < 0.006
    for drive in again.drives.values():
        assert (drive.kind, drive.kp) == ("position", pytest.approx(60.0))
    words = ["validate", out, tmp_path / "other.csv", "--rollout", "--json"]
    told = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    found = json.loads(told.stdout)
    assert told.exit_code == 0 and found["models"][0]["whole"] < 0.006 < found["models"][1]["whole"]
    shown = CliRunner().invoke(app, ["report", str(out)], catch_exceptions=False)
    assert shown.exit_code == 0 and "Moves like the robot" in shown.stdout


def test_drives_that_do_not_move_like_the_robot_are_not_recommended(leg, short):
    """Commands of another joint each: nothing fits, and the verdict says so."""
    mixed = short[:200].replace(command=short.command[:200, [1, 2, 0]])
    found = sy.identify(with_drives(leg, kp=60.0), mixed, drive="position")
    verdict = drive_summary(found)["verdict"]
    assert verdict["level"] == "keep" and "is left" in verdict["reasons"][0]


def test_torques_of_drives(leg):
    """What gains multiply, by hand: late commands, clipped at known limits, in drive units where nothing is known."""
    t = np.arange(10) * 0.02
    command, q = np.tile(np.arange(10.0)[:, None], (1, 3)), np.full((10, 3), 0.5)
    drives = {
        "abad": Drive("position"),
        "hip": Drive("position", kp=2.0, limit=3.0),
        "knee": Drive("torque", delay=0.04),
    }
    found = effort(leg, sy.Log(t=t, q=q, command=command), drives)
    np.testing.assert_allclose(found[:, 0], command[:, 0] - 0.5)
    np.testing.assert_allclose(found[:, 1], np.clip(2 * (command[:, 0] - 0.5), -3, 3))
    np.testing.assert_allclose(found[:, 2], np.maximum(np.arange(10.0) - 2, 0))
    with pytest.raises(LogError, match="duty"):
        effort(leg, sy.Log(t=t, q=q, command=command), dict.fromkeys(leg.dof_names, Drive("voltage", gain=1.0)))
    with pytest.raises(OptionError, match="gain of the drives"):
        arrays_of(leg, drives)


def test_stretches_end_at_gaps_and_where_drives_are_off(leg):
    t = np.concatenate([np.arange(50), 200 + np.arange(50)]) * 0.02
    enable = np.ones((100, 3))
    enable[60:70, 1] = 0
    log = sy.Log(t=t, q=np.zeros((100, 3)), command=np.zeros((100, 3)), enable=enable)
    found = stretches(leg, [log], with_drives(leg, kp=1.0).drives)
    assert [len(each) for each in found] == [50, 10, 30]


def test_joints_without_a_drive_are_named(leg, log):
    with pytest.raises(OptionError, match="what drives hip, knee"):
        sy.identify(leg, log, drive="abad=position")


GROUNDED = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<body name="trunk" pos="0 0 .5"><freejoint name="root"/><geom name="box" size=".1 .1 .05" type="box" mass="3"/>
<body name="left" pos="0 .1 0"><joint name="left_hip" axis="0 1 0" range="-120 120"/>
  <geom name="rod" type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".5"/></body></body></worldbody>
<actuator><position name="servo" joint="left_hip" kp="20" kv=".5"/></actuator></mujoco>"""


def test_the_file_of_a_robot_that_was_held_keeps_its_ground_and_its_base(tmp_path):
    """One file is written, the user's own, and a free base without --fixed is named with what to do."""
    (path := tmp_path / "hopper.xml").write_text(GROUNDED)
    held = replace(sy.load(path, floating=False), drives={}, source=None)
    truth = DriveArrays(
        **{name: np.array([value]) for name, value in {"follows_q": 1.0, "gain": 20.0, "kd": 0.5}.items()},
        **{name: np.array([value]) for name, value in {"limit": np.inf, "delay": 0.01, "slope_limit": np.inf}.items()},
        **{name: np.array([value]) for name, value in {"damping": 0.2, "frictionloss": 0.2, "armature": 0.01}.items()},
        inertias=held.inertias,
    )
    log = servo_log(held, truth, seed=1, duration=4.0)
    with pytest.raises(OptionError, match=r"'root'.*--fixed"):
        sy.identify(path, log, drive="model")
    sy.identify(path, log, drive="model", floating=False, out=tmp_path / "out")
    written = sorted(each.name for each in (tmp_path / "out").glob("*.xml"))
    assert written == ["hopper_identified.xml"]
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / written[0]))
    assert m.joint("root").type[0] == mujoco.mjtJoint.mjJNT_FREE and m.geom("floor").id == 0
    assert m.dof_armature[6] == pytest.approx(0.01, rel=0.1) and m.actuator("servo").id == 0
    words = ["validate", tmp_path / "out", tmp_path / "run.csv", "--rollout", "--json"]
    sy.write_csv(log, tmp_path / "run.csv")
    told = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert json.loads(told.stdout)["models"][0]["windows"] < 3e-3


def test_torques_of_drives_without_a_gain_are_not_compared(leg, log, tmp_path):
    sy.save(leg, tmp_path / "leg.urdf")
    sy.write_csv(log, tmp_path / "run.csv")
    words = ["validate", tmp_path / "leg.urdf", tmp_path / "run.csv", "--drive", "position"]
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 2 and "--rollout" in done.output


def test_a_log_that_is_too_short_is_refused(leg, log):
    with pytest.raises(LogError, match="long enough"):
        sy.identify(leg, log[:60].replace(enable=np.tile((np.arange(60) % 20 < 12)[:, None], (1, 3))), drive="position")


@pytest.fixture(scope="module")
def loaded(leg, known):
    """A result whose fit is that of another log, from what was found of the first."""
    log, near = servo_log(leg, TRUTH, seed=0, size=2.5, rubs=0.2), known.fit
    recordings, gains = stretches(near.robot, [log], with_drives(leg, kp=60.0).drives), np.ones(leg.nv, dtype=bool)
    return replace(
        known, fit=fit_motion(near.robot, near.refined, Stated({"gain": gains}), recordings, step_for(log.rate))
    )


def grown(result):
    """Slopes of friction over load, by joint; the verdict names it."""
    assert any("grows with load" in reason for reason in drive_summary(result)["verdict"]["reasons"])
    return {law.joint: law.slope for law in result.fit.laws if law.by == "load"}


@pytest.mark.parametrize("joint", ["hip", "abad"])
def test_friction_that_grows_with_load_is_named(loaded, known, joint):
    """It is no constant, so that drives of constant friction err; none is named where there is none."""
    assert 0.1 < grown(loaded)[joint] < 0.3
    assert known.fit.laws == ()


WEAK = pytest.mark.xfail(strict=False, reason="0.097 +- 0.022 a N m, 4 deviations; with other seeds less than that")


@pytest.mark.exhaustive
@pytest.mark.parametrize("joint", ["hip", pytest.param("abad", marks=WEAK)])
def test_friction_that_grows_with_load_is_named_by_a_whole_run(leg, joint):
    log = servo_log(leg, TRUTH, seed=0, size=2.5, rubs=0.2)
    assert 0.1 < grown(sy.identify(with_drives(leg, kp=60.0), log, drive="model"))[joint] < 0.3


@pytest.mark.exhaustive
def test_none_that_grows_with_load_is_named_of_large_motion(leg):
    plain = sy.identify(with_drives(leg, kp=60.0), servo_log(leg, TRUTH, seed=0, size=2.5), drive="model")
    assert plain.fit.laws == () and drive_summary(plain)["verdict"]["level"] == "good"


def test_measured_torques_are_refined_by_motion(leg):
    """The same for robots with torque sensors: what the model is wrong in shows in how it moves."""
    log = servo_log(leg, TRUTH, seed=0, duration=4.0, sample=0.004, torques=True)
    found = sy.identify(leg, log, drive="torque")
    for joint, each in enumerate(found.drives.values()):
        assert each.damping == pytest.approx(TRUTH.damping[joint], rel=0.03)
        assert each.frictionloss == pytest.approx(TRUTH.frictionloss[joint], rel=0.06)
    errors = {each.name: each.pooled[0] for each in found.motion}
    assert errors["identified"] < 0.3 * errors["given model"] and found.scaled == ()


def test_draws_to_randomise_simulations(known):
    """As wide as the intervals, together rather than one by one, and all of bodies that can exist."""
    own = draws(known.fit, 150, seed=1)
    assert is_consistent(own["inertias"]).all() and np.ptp(own["inertias"], axis=0).max() > 0
    assert np.ptp(own["gain"]) < 1e-3 and not np.isfinite(own["limit"]).any()
    for joint, each in enumerate(known.drives.values()):
        low, high = each.intervals["damping"]
        assert 0.3 * (high - low) < 4 * own["damping"][:, joint].std() < 1.2 * (high - low)
    both = np.cov(np.log(own["damping"]).T, np.log(own["armature"]).T)  # together as the fit says
    first = [3 * known.fit.refined.unknowns.free.index(name) for name in ("damping", "armature")]
    at = np.concatenate([np.arange(k, k + 3) for k in first])
    np.testing.assert_allclose(both, known.fit.covariance[np.ix_(at, at)], atol=0.2 * np.abs(np.diag(both)).max())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system for the time of another process")
def test_a_long_run_says_where_it_is_and_stops_when_told(leg, log, tmp_path):
    """In two seconds of its own, on a machine that is as busy as it may be."""
    sy.save(leg, tmp_path / "leg.xml")
    np.savez(tmp_path / "run.npz", t=log.t, q=log.q, command=log.command)
    words = [sys.executable, "-m", "steelyard", "identify", "leg.xml", "run.npz", "--drive", "position"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        line = run.stderr.readline()
        assert line.endswith("%\n") and _spent(run.pid) < 2
        while "motion" not in line:
            line = run.stderr.readline()
        before = _spent(run.pid)
        run.send_signal(signal.SIGTERM)
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode == 128 + signal.SIGTERM and used.ru_utime + used.ru_stime - before < 2


def _spent(process: int) -> float:
    """Time of the processor, s."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def test_ranges_to_randomise_in(known):
    """What was found by its samples, what was stated as given, what the motion does not show as the prior's."""
    found = {(each["group"], each["name"]): each for each in drive_summary(known)["randomisation"]}
    for joint, each in known.drives.items():
        assert found["gain", joint]["source"] == "given" and found["damping", joint]["source"] == "identified"
        low, high = each.intervals["damping"]
        assert low < found["damping", joint]["lower"] < each.damping < found["damping", joint]["upper"] < high
        assert ("limit", joint) not in found  # none was reached
    masses = [each for (group, _), each in found.items() if group == "mass_scale"]
    assert {each["source"] for each in masses} <= {"identified", "prior", "given"}
    assert all(each["lower"] <= 1 <= each["upper"] for each in masses)
    robot = known.samples.robot(0, known.robot)
    assert robot.drives["knee"].kp == pytest.approx(60.0, rel=1e-3) and robot.drives["knee"].delay > 0
