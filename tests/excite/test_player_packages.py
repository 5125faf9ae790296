"""Scripts that play a motion, against the packages of the makers themselves.

They are taken from the Python that STEELYARD_VENDORS names, by default this one. Tests skip where one is missing.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from moved_joints import Lags
from robot_makers import SIGNATURES
from robots import urdf
from servo_lines import TABLES, Line, Protocol0, Protocol2, Servos
from steelyard.excite import design, write
from ur_controllers import SERVO_STOP, SERVOJ, STOP_SCRIPT, Controller
from xarm_boxes import Box

NUMBERS = count(1)  # of addresses of this machine, one a test
SLOW = pytest.mark.exhaustive(keep=0)
HAPPENINGS = ("key", "unplugged", "frozen", "protective stop")
PYTHON = os.environ.get("STEELYARD_VENDORS", sys.executable)


ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "make" / "without_torch")}


def require(*modules):
    code = "\n".join(f"import {module}" for module in (*modules, "numpy"))
    if subprocess.run([PYTHON, "-c", code], capture_output=True, check=False, env=ENVIRONMENT).returncode:
        pytest.skip(f"{PYTHON} has no {', '.join(modules)}")


@pytest.fixture(scope="module")
def motions():
    limits = sy.excite.Limits(speed=0.2, collisions=False)
    options = {"harmonics": 2, "periods": 1, "ramp": 0.4, "time_limit": 1e-6, "limits": limits}
    panda = sy.load(urdf("panda"))
    six = design(sy.library.puma560(), 1.5, **options)
    return {6: six, 7: lambda: design(panda, 1.5, locked=("*finger*",), **options)}


@contextmanager
def playing(motion, name, folder, address, **changes):
    """A script that plays, after yes, and a function that waits for its end and gives its text and status."""
    path = write(motion, folder / f"motion.{name}.py")
    text = path.read_text("utf-8")
    for key, value in {"settle": 0.3, "stale": 2.0, **changes}.items():  # this machine may be busy
        line = next(line for line in text.splitlines() if line.startswith(f"    {key} = "))
        text = text.replace(line, f"    {key} = {value}")
    path.write_text(text, "utf-8")
    command = [PYTHON, str(path), address, "--out", str(folder / "log.csv")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, **pipes, text=True, env=ENVIRONMENT) as process:
        process.stdin.write("yes\n")
        process.stdin.flush()
        yield process, lambda: (process.communicate(timeout=60)[0], process.returncode)


def moving(plant, start, seconds):
    """Wait until the joints have left the start of the motion for so long."""
    until = time.monotonic() + 30
    while np.abs(plant.command - start).max() < 0.1:
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(seconds)


def begun(motion):
    return motion.start[[motion.robot.scalar_positions[i] for i in motion.moving]]


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("happens", ["nothing", "unplugged"])
@pytest.mark.parametrize(
    ("name", "sdk", "protocol"),
    [
        ("dynamixel", "dynamixel_sdk", Protocol2),
        ("feetech", "scservo_sdk", Protocol0),
        ("lerobot", "lerobot.motors.feetech", Protocol0),
    ],
)
def test_servos_on_a_line(name, sdk, protocol, happens, motions, tmp_path):
    """Every byte goes through the maker's package and a pseudo-terminal."""
    require(sdk)
    motion = motions[6]
    plant = Lags(begun(motion) + 0.02, time.monotonic)
    with Line(Servos(plant, TABLES["dynamixel" if name == "dynamixel" else "feetech"]), protocol) as line:
        stale = 2.0 if happens == "nothing" else 0.4
        with playing(motion, name, tmp_path, line.path, stale=stale) as (_, ended):
            if happens == "unplugged":
                moving(plant, begun(motion), 0.2)
                line.servos.dead = True
            text, status = ended()
        assert line.error is None
    assert (status, "Motion complete" in text) == ((0, True) if happens == "nothing" else (1, False)), text
    log = sy.read_log(tmp_path / "log.csv")
    np.testing.assert_allclose(log.command[0], begun(motion), atol=1e-3)
    assert (log.duration > 1.4) == (happens == "nothing")
    assert name == "lerobot" or log.voltage[0, 0] == pytest.approx(12.0)
    assert log.duty is not None and np.abs(log.q - log.command).max() < 0.3
    if name == "dynamixel":
        assert log.current is not None


@pytest.mark.parametrize("happens", ["nothing", *(pytest.param(each, marks=SLOW) for each in HAPPENINGS)])
def test_a_controller_of_ur(happens, motions, tmp_path):
    """ur_rtde over TCP: RTDE, dashboard and script."""
    require("rtde_control", "rtde_receive")
    motion = motions[6]
    plant = Lags(begun(motion) + 0.02, time.monotonic, lag=0.02)
    stale = 0.5 if happens in ("unplugged", "frozen") else 2.0
    with (
        Controller(plant, f"127.13.{os.getpid() % 250 + 1}.{next(NUMBERS)}") as controller,
        playing(motion, "ur_rtde", tmp_path, controller.host, stale=stale) as (process, ended),
    ):
        if happens != "nothing":
            moving(plant, begun(motion), 0.1)
        if happens == "key":
            process.stdin.write("\n")
            process.stdin.flush()
        elif happens == "unplugged":
            controller.cut()
        elif happens == "frozen":
            controller.frozen = True
        elif happens == "protective stop":
            controller.protective = True
        text, status = ended()
    words = {"nothing": "complete", "key": "by key", "protective stop": "stopped itself"}.get(
        happens, "connection lost"
    )
    assert words in text and status == (happens != "nothing"), text
    log = sy.read_log(tmp_path / "log.csv")
    assert log.current is not None and log.v is not None
    assert (log.duration > 1.4) == (happens == "nothing")
    if happens == "nothing":
        assert controller.commands.count(SERVOJ) > 300 and controller.commands[-2:] == [SERVO_STOP, STOP_SCRIPT]


@pytest.mark.parametrize("happens", ["nothing", pytest.param("key", marks=SLOW), pytest.param("failure", marks=SLOW)])
def test_a_control_box_of_ufactory(happens, motions, tmp_path):
    """xArm-Python-SDK over TCP."""
    require("xarm.wrapper")
    motion = motions[6]
    plant = Lags(begun(motion) + 0.02, time.monotonic, lag=0.02)
    with (
        Box(plant, f"127.14.{os.getpid() % 250 + 1}.{next(NUMBERS)}") as box,
        playing(motion, "xarm", tmp_path, box.host) as (process, ended),
    ):
        if happens != "nothing":
            moving(plant, begun(motion), 0.1)
        if happens == "key":
            process.stdin.write("\n")
            process.stdin.flush()
        box.failed = happens == "failure"
        text, status = ended()
    words = {"nothing": "complete", "key": "by key", "failure": "stopped itself"}[happens]
    assert words in text and status == (happens != "nothing"), text
    log = sy.read_log(tmp_path / "log.csv")
    assert log.tau is not None and (log.duration > 1.4) == (happens == "nothing")


@contextmanager
def unitree_robot(messages, domain, pose):
    """A process that is the robot, and a function that ends it and gives what it was told."""
    script = Path(__file__).parents[1] / "make" / "unitree_robot.py"
    command = [PYTHON, str(script), messages, str(domain), *map(str, pose)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, **pipes, text=True, env=ENVIRONMENT) as process:

        def until(start):
            return next(line for line in process.stdout if line.startswith(start))

        def say(word):
            process.stdin.write(f"{word}\n")
            process.stdin.flush()

        try:
            until("ready")
            yield until, say
        finally:
            process.kill()


def machine(name):
    """A motion, and the pose of the motors in the order of the SDK."""
    limits = sy.excite.Limits(speed=0.04, collisions=False)
    options = {"harmonics": 2, "periods": 1, "ramp": 0.4, "time_limit": 1e-6, "limits": limits}
    if name == "unitree_go":
        made = design(sy.load(urdf("go2")), 1.5, **options)
        names = [f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf")]
    else:
        robot = sy.load(urdf("g1_29dof_rev_1_0"), floating=False)
        made = design(robot, 1.5, locked=("*hip*", "*knee*", "*ankle*", "waist*"), **options)
        names = robot.dof_names  # its file has the order of the SDK
    return made, {name: made.start[made.robot.dof_names.index(name)] for name in names}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("happens", ["nothing", "key", "cut", "freeze", "block"])
@pytest.mark.parametrize("messages", ["unitree_go", "unitree_hg"])
def test_a_robot_of_unitree(messages, happens, tmp_path):
    """unitree_sdk2py over DDS, through the loopback device: messages, checksums and the program that is released."""
    require("unitree_sdk2py.core.channel")
    motion, pose = machine(messages)
    domain = os.getpid() % 100 + 1 + 100 * (messages == "unitree_hg")
    words = {"nothing": "complete", "key": "by key", "block": "following error"}.get(happens, "connection lost")
    changes = {"stale": 0.5 if happens in ("cut", "freeze") else 2.0, "domain": domain}
    with unitree_robot(messages, domain, [q + 0.02 for q in pose.values()]) as (until, say):
        with playing(motion, "unitree", tmp_path, "lo", **changes) as (process, ended):
            if happens != "nothing":
                until("moving")
            if happens == "key":
                process.stdin.write("\n")
                process.stdin.flush()
            elif happens != "nothing":
                say(happens)
            text, status = ended()
        say("end")
        found = json.loads(until("{"))
    assert words in text and "'ai', which is released" in text and status == (happens != "nothing"), text
    assert found["faults"] == [] and found["commands"] > 300
    np.testing.assert_allclose(found["first"][0], np.array(list(pose.values())) + 0.02, atol=1e-3)  # held where it was
    t, kp, _ = np.transpose(found["fading"])
    assert 1.2 < t[np.argmin(kp)] - t[0] < 2.2 and len(set(kp)) > 20  # in finer steps where the machine has time
    assert np.all(np.array(found["last"][1]) == 0) and np.all(np.array(found["last"][2]) >= 5)
    log = sy.read_log(tmp_path / "log.csv", motion.robot)
    assert (log.duration > 1.4) == (happens == "nothing") and log.joint_names == motion.robot.joint_names
    moved = np.abs(log.q - log.command).max(axis=1)[: len(log.t) // 2]
    assert np.median(moved) < 0.1 and np.all(log.tau == 3.0)  # single ones are late where the machine is busy


@SLOW
def test_a_simulated_fr3(motions, tmp_path):
    """pylibfranka and franky_sim, which speaks the network protocol of the robot."""
    require("pylibfranka", "franky_sim.mujoco_simulator")
    motion = motions[7]()
    server = (
        "import time; from franky_sim import SimulationServer\n"
        "from franky_sim.mujoco_simulator import MujocoSimulator\n"
        "with MujocoSimulator() as sim:\n    robot = sim.add_robot()\n    with SimulationServer(sim) as server:\n"
        "        server.run_async(); print(robot.hostname, flush=True); time.sleep(50)"
    )
    with subprocess.Popen([PYTHON, "-c", server], stdout=subprocess.PIPE, text=True) as simulated:
        host = simulated.stdout.readline().strip()
        time.sleep(1)
        with playing(motion, "franka", tmp_path, host, realtime=False, slow=0.8) as (_, ended):
            text, status = ended()
        simulated.kill()
    assert status == 0 and "Motion complete" in text, text
    log = sy.read_log(tmp_path / "log.csv")
    assert log.duration == pytest.approx(1.5, abs=0.01) and log.rate == pytest.approx(1000, rel=0.01)
    assert log.tau is not None and np.abs(log.q - log.command).max() < 0.05


@pytest.mark.parametrize("module", SIGNATURES)
def test_stand_ins_have_the_calls_of_the_packages(module):
    """Names, and where Python tells them numbers of arguments."""
    require(module)
    code = f"""
import importlib, inspect
for name, count in {SIGNATURES[module]!r}:
    owner, _, method = name.partition(".")
    found = getattr(importlib.import_module({module!r}), owner)
    found = getattr(found, method) if method else found
    try:
        if callable(found):
            inspect.signature(found).bind(*range(count))
    except ValueError:
        pass  # a compiled one
"""
    found = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert found.returncode == 0, shlex.quote(found.stderr)
