"""What a job, a side file and MJCF actuators say of drives; torques of actuators are MuJoCo's."""

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import steelyard as sy
from steelyard.drive_kinds import DRIVE_KINDS, DRIVE_NUMBERS
from steelyard.drives.drive import Drive, drives_of
from steelyard.errors import SteelyardError
from steelyard.model.locking import locked
from steelyard.model.side import read_side
from steelyard.report.schema import schema

ARM = """<mujoco><worldbody>
  <body><joint name="a" axis="0 0 1"/><geom size=".1"/>
    <body pos="0 0 .5"><joint name="b" axis="0 1 0"/><geom size=".1"/>
      <body pos="0 0 .5"><joint name="c" axis="0 1 0"/><geom size=".1"/></body></body></body>
</worldbody><actuator>{}</actuator></mujoco>"""
ACTUATORS = {
    '<position joint="a" kp="20" kv="1.5" gear="2" forcerange="-3 3"/>': Drive("position", kp=80, kd=6, limit=6),
    '<position joint="a" kp="17.8"/>': Drive("position", kp=17.8, kd=0),
    '<velocity joint="a" kv="2" gear="-3"/>': Drive("velocity", kd=18),
    '<motor joint="a" gear="50" forcerange="-2 2"/>': Drive("torque", gain=50, limit=100),
    '<general joint="a" gainprm="9" biastype="affine" biasprm="0 -9 -.4"/>': Drive("position", kp=9, kd=0.4),
    '<position joint="a" kp="5" forcerange="-1 2"/>': Drive("position", kp=5, kd=0),
    '<general joint="a" gainprm="9" biastype="affine" biasprm="0 -8 0"/>': None,
    '<position joint="a" kp="9" timeconst=".1"/>': None,
    '<position joint="a" kp="9"/><velocity joint="a" kv="1"/>': None,
}


def robot_with(tmp_path, actuators="", side=""):
    path = tmp_path / "arm.xml"
    path.write_text(ARM.format(actuators))
    robot = sy.load(path)
    if side:
        beside = tmp_path / "arm.steelyard.toml"
        beside.write_text("version = 1\n" + side)
        robot = read_side(beside, robot)
    return robot


@pytest.mark.parametrize("kind", DRIVE_KINDS)
def test_records_of_kinds_keep_what_they_say(kind):
    record = DRIVE_KINDS[kind]
    assert {record.gain, *record.numbers} <= set(DRIVE_NUMBERS) and record.gain in record.numbers
    numbers = {key: 1.0 for key in record.numbers if key != "slope_limit"} | {record.gain: 3.0}
    drive = Drive(kind, **numbers)
    a, b, c = drive.affine
    assert (a, b) == (3.0, -3.0 if record.follows_q else 0.0)
    first = next((name for name, each in DRIVE_KINDS.items() if each.told(a, b, c)), None)
    assert record.told(a, b, c) == (first == kind)
    if first == kind:
        assert drive.read_back == drive


def test_the_schema_of_results_has_every_kind():
    drives = schema("drives")["properties"]["drives"]["additionalProperties"]
    assert sorted(drives["properties"]["kind"]["enum"]) == sorted(DRIVE_KINDS)


@pytest.mark.parametrize("text", ACTUATORS)
def test_actuators_give_the_torques_of_mujoco(text, tmp_path):
    expected, robot = ACTUATORS[text], robot_with(tmp_path, text)
    drive = robot.drives.get("a")
    assert drive == expected and set(robot.drives) <= {"a"}
    if drive is None:
        return
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    gear = m.actuator_gear[0, 0]
    for q, v, told in np.random.default_rng(0).uniform(-1, 1, (20, 3)):
        data = mujoco.MjData(m)
        data.qpos[0], data.qvel[0] = q, v
        data.ctrl[0] = told if drive.kind == "torque" else gear * told  # of the joint's own position or speed
        mujoco.mj_forward(m, data)
        if drive.kind == "position":
            torque = drive.kp * (told - q) - drive.kd * v
        else:
            torque = drive.gain * told if drive.kind == "torque" else drive.kd * (told - v)
        if drive.limit is not None:
            torque = np.clip(torque, -drive.limit, drive.limit)
        if "-1 2" not in text:  # another limit each way is none that a drive has
            assert data.qfrc_actuator[0] == pytest.approx(torque, rel=1e-12, abs=1e-12)


SIDE = """
[drives]
kind = "position"
delay = 0.02
[drives.b]
kp = 17.8
[drives.c]
kind = "current"
gain = 1.3
"""


def test_the_documented_example_reads(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "side_file.md").read_text()
    example = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)[-1]
    robot = robot_with(tmp_path, side=example.replace("gripper", "b"))
    assert robot.drives["a"] == Drive("position", delay=0.02)
    assert robot.drives["b"] == Drive("position", kp=17.8, delay=0.02, early=0.005, group="hand")


def test_words_count_over_the_side_file_and_that_over_actuators(tmp_path):
    robot = robot_with(tmp_path, '<position joint="a" kp="30" kv="2"/><position joint="b" kp="30" kv="2"/>', SIDE)
    a, b, c = Drive("position", 30, 2, delay=0.02), Drive("position", 17.8, 2, delay=0.02), Drive("current", gain=1.3)
    assert drives_of(robot) == {} and drives_of(robot, ["model"]) == {"a": a, "b": b, "c": c}
    assert drives_of(robot, ["position"]) == {"a": a, "b": b, "c": Drive("position")}
    assert drives_of(robot, ["b=velocity"]) == {"b": Drive("velocity")}  # numbers of another kind say nothing
    assert drives_of(robot, ["c=current", "position"]) == {"a": a, "b": b, "c": c}
    assert set(locked(robot, {"c": 0.0}).drives) == {"a", "b"}


def test_numbers_without_a_kind_wait_for_a_word(tmp_path):
    robot = robot_with(tmp_path, side="[drives]\nlimit = 2.0\n")
    assert drives_of(robot, ["b=position"]) == {"b": Drive("position", limit=2.0)}
    with pytest.raises(SteelyardError, match=r"nor the side file says what drives a.*\[drives\.a\]"):
        drives_of(robot, ["model"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["servo"], "--drive servo: 'servo' is no kind of drive.*position"),
        (["d=position"], "no joint 'd' with a motor; joints are a, b, c"),
        (["a=model"], "'model' is no kind of drive"),
    ],
)
def test_words_that_cannot_be_read(words, message, tmp_path):
    with pytest.raises(SteelyardError, match=message):
        drives_of(robot_with(tmp_path), words)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ('[drives]\nkind = "servo"', r"arm.steelyard.toml: \[drives\].*kind is 'servo'.*position"),
        ("[drives.a]\nkP = 3", r"\[drives.a\].kP is not known. Valid here: kind, kp"),
        ("[drives.d]\nkp = 3", "no joint 'd' with a motor. Its joints: a, b, c"),
        ("[drives.a]\nlimit = 0", "limit is 0.0; expected a number that is positive"),
        ("[drives.a]\nkp = -1", "kp is -1.0; expected a number that is zero or positive"),
        ("[drives.a]\ngain = 0", "gain is 0.0; expected a number that is not zero"),
        ('[drives.a]\nkp = "stiff"', "expected one finite number"),
    ],
)
def test_side_files_that_cannot_be_read(side, message, tmp_path):
    with pytest.raises(SteelyardError, match=message):
        robot_with(tmp_path, side=side)


def test_a_job_has_drives_in_words_or_a_table():
    from steelyard.pipeline.job_run import job_of

    assert job_of("arm.urdf", drive="position").drive == ("position",)
    assert job_of("arm.urdf", drive={"a": "voltage", "b": "current"}).drive == ("a=voltage", "b=current")
