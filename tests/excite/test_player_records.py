"""What players record identifies the robot that was played on, whose links are heavier or lighter than the model's."""

import json
import shlex
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from moved_joints import Clock, Controlled, Simulated
from player_trials import Trial
from robots import urdf
from steelyard.app import app
from steelyard.excite import design

LINK = """<link name="{name}"><inertial><origin xyz="{x} 0 0.01"/><mass value="{mass}"/>
<inertia ixx="1e-4" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="revolute"><origin xyz="{x} 0 0"/><parent link="{parent}"/><child link="{child}"/>
<axis xyz="0 1 0"/><limit lower="-1.6" upper="1.6" velocity="4" effort="5"/></joint>"""
pytestmark = pytest.mark.usefixtures("few_draws")
KP, KD = 20.0, 0.5  # N m/rad, N m s/rad, of simulated servos


def two_links(folder):
    """An arm with two joints in a vertical plane."""
    parts = [
        '<robot name="two"><link name="base"/>',
        LINK.format(name="upper", x=0.1, mass=0.4, i=2e-3) + LINK.format(name="lower", x=0.08, mass=0.25, i=8e-4),
        JOINT.format(name="joint1", x=0.0, parent="base", child="upper"),
        JOINT.format(name="joint2", x=0.2, parent="upper", child="lower"),
        "</robot>",
    ]
    (folder / "two.urdf").write_text("\n".join(parts))
    return sy.load(folder / "two.urdf")


def six_joints(folder):
    """A Puma 560 without friction."""
    none = np.zeros(6)
    sy.save(sy.library.puma560().with_joint_properties(damping=none, frictionloss=none), folder / "six.urdf")
    return sy.load(folder / "six.urdf")


def panda_without_fingers(_):
    return sy.load(urdf("panda"), lock={"panda_finger_joint1": 0.0})


def go2(_):
    return sy.load(urdf("go2"))


ARM = {"damping": 0.1, "frictionloss": 0.0}
SERVOS = {"kind": partial(Simulated, kp=KP, kd=KD), "damping": 0.3, "frictionloss": 0.05, "armature": 0.01}
LEGS = ARM | {"kind": partial(Simulated, kp=60.0, kd=5.0), "speed": 0.08}
RARE = pytest.mark.exhaustive(keep=0)


def played(name, given, folder, monkeypatch, *, kind=Controlled, speed=0.5, seed=0, **friction):
    """A trial that was played on a robot with links up to a fifth heavier or lighter, and that robot.

    kind: of plant. friction: properties of its joints.
    """
    folder.mkdir(exist_ok=True)
    motion = design(
        given,
        8.0,
        harmonics=4,
        periods=1,
        time_limit=1e-6,
        seed=seed,
        limits=sy.excite.Limits(speed=speed, collisions=False),
    )
    truth = replace(given, inertias=given.inertias * (1 + 0.2 * np.cos(np.arange(given.nv)))[:, None])
    truth = truth.with_joint_properties(**{key: np.full(given.nv, value) for key, value in friction.items()})
    clock = Clock()
    trial = Trial(name, motion, folder, monkeypatch, kind(truth, motion.start, clock.monotonic), clock)
    trial.script.Plan.following = np.full(given.nv, 0.5)  # the stand-in's controller is slow
    assert trial.play() == 0
    return trial, truth


# player, model, truth, N m per A of the stand-in's currents, None where the file has torques; error of torques
@pytest.mark.parametrize(
    ("name", "model", "truth", "gain", "error"),
    [
        ("ros2", two_links, ARM, None, 2e-3),
        # torques are measured at the end of each command's 2 ms, which looks like 0.045 N m s/rad of damping too little
        pytest.param("unitree", go2, LEGS, None, 2e-2, marks=RARE),
        pytest.param("dynamixel", two_links, ARM, 3.0, 2e-2, marks=RARE),
        pytest.param("ur_rtde", six_joints, ARM, 10.0, 1e-2, marks=RARE),
        pytest.param("franka", panda_without_fingers, ARM, None, 1e-2, marks=RARE),
    ],
)
def test_what_was_recorded_identifies_the_robot(name, model, truth, gain, error, tmp_path, monkeypatch):
    given = model(tmp_path)
    trial, robot = played(name, given, tmp_path, monkeypatch, **truth)
    log = sy.read_log(trial.out, given)
    log = log if gain is None else log.replace(tau=gain * log.current)
    found = sy.fit.consistent(sy.accumulate(given, sy.filters.differentiate(log, cutoff=10.0), armature=False)).robot
    rng = np.random.default_rng(0)
    states = [scale * rng.normal(size=(200, given.nv)) for scale in (1.0, 1.0, 3.0)]
    told, right, wrong = (sy.inverse_dynamics(each, *states) for each in (found, robot, given))
    assert np.linalg.norm(told - right) < error * np.linalg.norm(right) < 0.5 * np.linalg.norm(wrong - right)


def run(arguments):
    """Output of a command that ends with 0."""
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    return found.output


# player, model, truth, error of faster motion: of the identified model at most, of the given one at least; relative, of
# torques, for servos in windows of motion, rad
@pytest.mark.parametrize(
    ("name", "model", "truth", "most", "least"),
    [
        ("xarm", six_joints, ARM, 0.002, 0.05),
        ("lerobot", two_links, SERVOS, 0.002, 0.02),
        pytest.param("feetech", two_links, SERVOS, 0.002, 0.02, marks=RARE),
        pytest.param("dynamixel", two_links, SERVOS, 0.002, 0.02, marks=RARE),
        pytest.param("franka", panda_without_fingers, ARM, 0.002, 0.02, marks=RARE),
    ],
)
def test_the_printed_command_predicts_faster_motion_better(
    name, model, truth, most, least, tmp_path, monkeypatch, capsys
):
    """The given model of servos is told their gains; friction is for the log to show."""
    monkeypatch.chdir(tmp_path)
    given = model(tmp_path)
    slow, _ = played(name, given, tmp_path / "slow", monkeypatch, **truth)
    program, *command = shlex.split(capsys.readouterr().out.splitlines()[-1])
    servos = truth is SERVOS
    assert program == "steelyard" and str(slow.out) in command and ("--drive" in command) == servos
    run(command)
    fast, _ = played(name, given, tmp_path / "fast", monkeypatch, speed=0.8, seed=3, **truth)
    path, more = given.source.path, [f"--lock={joint}" for joint in given.source.locked]
    if servos:
        path.with_suffix(".steelyard.toml").write_text(
            f'version = 1\n[drives]\nkind = "position"\nkp = {KP}\nkd = {KD}\n'
        )
        more = ["--rollout"]
    judged = json.loads(run(["validate", command[-1], str(fast.out), "--against", str(path), "--json", *more]))
    found, before = (each["windows" if servos else "relative_error"] for each in judged["models"][:2])
    assert found < most < least < before
