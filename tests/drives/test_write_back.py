"""Files with drives: scripts that know MuJoCo alone move them as rollouts say, they read back, and other bytes stay."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import steelyard as sy
from edits import differences
from steelyard.drives import rollout
from steelyard.drives.drive import Drive
from steelyard.errors import ModelError
from steelyard.model import mjcf_drives, write_side
from steelyard.model.mjcf_drives import PRESENT_COMMANDS
from steelyard.model.side import read_side

RATE = 125.0  # Hz, of logs
TIMES = np.arange(500) / RATE
SOURCE = """<mujoco model='arm'>
  <!-- of the user -->
  <option timestep="0.002" integrator="implicitfast"/>
  <default>
    <joint damping="0.4" armature="0.02"/>
    <geom size="0.05" mass="1" contype="0"/>
    <default class="servo"><position kp="40" dampratio='1' forcerange="-9 9"/></default>
  </default>
  <worldbody>
    <body name="one"><joint name="a" axis="0 0 1"/><geom pos="0.1 0 0"/>
      <body name="two" pos="0.2 0 0.1"><joint name="b" axis="0 1 0" frictionloss="0.2"/><geom pos="0 0 0.2"/>
        <body name="three" pos="0 0 0.3"><joint name="c" axis="0 1 0"/><geom pos="0.1 0 0"/></body></body></body>
  </worldbody>
  {}
</mujoco>
"""
SERVO = Drive("position", kp=55.0, kd=1.5, limit=6.0)
FOR_ALL = "<actuator>{}</actuator>".format("".join(f'<position name="{j}" joint="{j}" kp="30" kv="1"/>' for j in "bc"))


def driven(robot, drives):
    """The robot with friction in every joint, and drives: one of all joints, or by joint."""
    drives = dict.fromkeys(robot.dof_names, drives) if isinstance(drives, Drive) else drives
    rubbing = robot.with_joint_properties(frictionloss=np.full(robot.nv, 0.3), armature=np.full(robot.nv, 0.03))
    return replace(rubbing, drives=dict(robot.drives) | drives)


def arm(folder, actuators, drives):
    (folder / "arm.xml").write_text(SOURCE.format(actuators))
    return driven(sy.load(folder / "arm.xml"), drives)


def log_of(robot, seed=0):
    """A robot at rest, then told steps and waves; its positions are where it begins."""
    rng = np.random.default_rng(seed)
    waves = np.sin(2 * np.pi * rng.uniform(0.3, 1.5, robot.nv) * TIMES[:, None])
    stairs = np.repeat(rng.uniform(-1, 1, (5, robot.nv)), 100, axis=0)
    begin, signal = rng.uniform(-0.2, 0.2, robot.nv), 0.3 * (waves + stairs)
    channels = {"command": begin + signal, "current": signal, "duty": signal / 3, "voltage": 12 + waves[:, 0]}
    return sy.Log(t=TIMES, q=np.tile(begin, (len(TIMES), 1)), joint_names=robot.dof_names, **channels)


def sent(robot, log):
    """(n, nv) what controls are set to: commands hold, currents are as they are, duty is that of the voltage."""
    of_kind = {"voltage": log.duty * log.voltage, "current": log.current}
    kinds = [robot.drives[name].kind for name in robot.dof_names]
    return np.stack([of_kind.get(kind, log.command)[:, j] for j, kind in enumerate(kinds)], axis=1)


def moved(path, names, q, controls, change=lambda m: None, present=True):
    """(n, nv) positions at the times of a log, by a loop over `mj_step` of what is in a file."""
    m = mujoco.MjModel.from_xml_path(str(path))
    change(m)
    d, found = mujoco.MjData(m), []
    at = [int(np.flatnonzero(m.actuator_trnid[:, 0] == m.joint(name).id)[0]) for name in names]
    d.qpos[[m.joint(name).qposadr[0] for name in names]] = q
    for actuator, first in zip(at, controls[0], strict=True):
        d.ctrl[actuator] = first
    exec(PRESENT_COMMANDS if present else "", {"mujoco": mujoco, "m": m, "d": d})
    for row in controls:
        found.append([d.qpos[m.joint(name).qposadr[0]] for name in names])
        d.ctrl[at] = row
        mujoco.mj_step(m, d, nstep=round(1 / RATE / m.opt.timestep))
    return np.array(found)


def error(robot, path, controls=None, **options):
    log = log_of(robot)
    said = rollout(robot, log)
    assert np.ptp(said.q, axis=0).min() > 0.02  # every joint moves
    controls = sent(robot, log) if controls is None else controls(log)
    return np.abs(moved(path, robot.dof_names, log.q[0], controls, **options) - said.q).max()


def servo(kp, kd, limit=None, delay=None):
    return Drive("position", kp=kp, kd=kd, limit=limit, delay=delay)


NEW = {
    "leg": (sy.library.cheetah3_leg, servo(90.0, 2.0, limit=20.0, delay=0.016)),
    "scara": (sy.library.scara, servo(900.0, 30.0, delay=0.02)),
    "leg of velocities": (sy.library.cheetah3_leg, Drive("velocity", kd=15.0)),
    "leg of voltages": (sy.library.cheetah3_leg, Drive("voltage", gain=3.0, kd=4.0)),
    "leg of currents": (sy.library.cheetah3_leg, Drive("current", gain=8.0, kd=1.0)),
    "leg of torques": (sy.library.cheetah3_leg, Drive("torque", limit=1.5)),
}


@pytest.mark.parametrize("case", NEW)
def test_new_files_move_as_rollouts_say(case, tmp_path):
    make, drive = NEW[case]
    robot = driven(make(), drive)
    if drive.kind != "position":
        robot = robot.with_joint_properties(damping=np.full(robot.nv, 2.0))
    report = sy.save(robot, tmp_path / "new.xml")
    assert error(robot, report.path) < 1e-7
    assert error(robot, report.path, change=soft) > 1e-4  # MuJoCo's default


def test_late_commands_start_from_the_present_one(tmp_path):
    """By the line of Python that the notes of a written file give; without it MuJoCo starts from zero."""
    robot = driven(sy.library.cheetah3_leg(), servo(90.0, 2.0, delay=0.03))
    report = sy.save(robot, tmp_path / "new.xml")
    assert any(PRESENT_COMMANDS in note for note in report.notes)
    assert error(robot, report.path) < 1e-7
    assert error(robot, report.path, present=False) > 1e-3


def soft(m):
    m.dof_solimp[:, :2], m.dof_solref[:, 0] = [0.9, 0.95], 0.02


REST = '<position joint="b" kp="30" kv="1"/><position joint="c" kp="30" kv="1"/>'
SOURCES = {
    "a class": ('<position joint="a" class="servo"/>', SERVO),
    "late": ('<position joint="a" class="servo"/>', replace(SERVO, delay=0.03)),
    "no limit": ('<position joint="a" class="servo"/>', replace(SERVO, limit=None)),
    "own ratio": ('<position joint="a" kp="10" dampratio="2"/>', SERVO),
    "a gear": ('<position joint="a" class="servo" gear="-3"/>', SERVO),
    "a motor": ('<motor joint="a" gear="50" ctrlrange="-0.1 0.1" ctrllimited="true"/>', SERVO),
    "spelled out": ('<general joint="a" gainprm="9" biastype="affine" biasprm="0 -9 -.4" gear="2"/>', SERVO),
    "velocity": ('<velocity joint="a" kv="3" gear="2"/>', Drive("velocity", kd=7.0, limit=2.0)),
    "a motor's gain": ('<motor joint="a" gear="5"/>', Drive("torque", gain=7.0, limit=2.0)),
    "current": ('<motor joint="a"/>', Drive("current", gain=7.0)),
    "voltage": ('<motor joint="a"/>', Drive("voltage", gain=0.9, kd=0.5, limit=4.0)),
    "another voltage": (
        '<general joint="a" gear="3" gainprm="1" biastype="affine" biasprm="0 0 -.1"/>',
        Drive("voltage", gain=0.9, kd=0.5),
    ),
}


@pytest.mark.parametrize("case", SOURCES)
def test_edited_files_move_as_rollouts_say(case, tmp_path):
    text, drive = SOURCES[case]
    robot = arm(tmp_path, f"<actuator>\n    {text}{REST}\n  </actuator>", {"a": drive})
    report = sy.save(robot, tmp_path / "out.xml")
    gear = mujoco.MjModel.from_xml_path(str(report.path)).actuator_gear[0, 0]

    def controls(log):
        found = sent(robot, log)
        found[:, 0] *= gear if drive.kind in ("position", "velocity") else 1.0
        return found

    assert error(robot, report.path, controls) < 1e-7
    before = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    after = mujoco.MjModel.from_xml_path(str(report.path))
    np.testing.assert_array_equal(before.actuator_gainprm[1:], after.actuator_gainprm[1:])
    np.testing.assert_array_equal(before.actuator_biasprm[1:], after.actuator_biasprm[1:])
    assert sy.load(report.path).drives["a"].differing(drive.read_back, 1e-12) == ()
    named = ("joint[a]", "joint[b]", "joint[c]", "position", "general", "velocity", "motor")
    for path, what in differences((tmp_path / "arm.xml").read_bytes(), report.path.read_bytes()):
        assert path.rsplit("/", 1)[-1].startswith(named), (path, what)
    kept = report.path.read_text()
    assert "<!-- of the user -->" in kept and "dampratio='1'" in kept and REST in kept


def test_numbers_that_stay_are_not_written(tmp_path):
    robot = arm(tmp_path, f'<actuator><position joint="a" class="servo"/>{REST}</actuator>', {})
    assert sy.save(sy.load(robot.source.path), tmp_path / "same.xml").changed == ()
    late = replace(sy.load(robot.source.path), drives=robot.drives | {"b": servo(30.0, 1.0, delay=0.01)})
    sy.save(late, tmp_path / "late.xml")
    added = {what for _, what in differences(robot.source.path.read_bytes(), (tmp_path / "late.xml").read_bytes())}
    assert added == {"@delay", "@nsample", "@interp", "@solreffriction", "@solimpfriction"}


def test_damping_stays_when_inertias_that_it_came_from_change(tmp_path):
    robot = arm(tmp_path, f'<actuator><position joint="a" class="servo"/>{REST}</actuator>', {})
    plain = sy.load(robot.source.path)
    for changed in (plain.with_inertias(1.5 * plain.inertias), plain.with_joint_properties(armature=np.full(3, 0.1))):
        report = sy.save(changed, tmp_path / "heavy.xml")
        assert sy.load(report.path).drives["a"].kd == pytest.approx(robot.drives["a"].kd, rel=1e-12)
        assert [line for line in report.changed if "dampratio" in line]


@pytest.mark.parametrize(
    "actuators", ["", "<actuator/>", '<actuator>\n    <position name="a" joint="b" kp="1" kv="0"/>\n  </actuator>']
)
def test_joints_without_actuators_get_them_behind_the_others(actuators, tmp_path):
    robot = arm(tmp_path, actuators, dict.fromkeys("abc", SERVO))
    report = sy.save(robot, tmp_path / "out.xml")
    m = mujoco.MjModel.from_xml_path(str(report.path))
    joints = [m.joint(m.actuator_trnid[k, 0]).name for k in range(m.nu)]
    assert joints == (["b", "a", "c"] if actuators.endswith("</actuator>") else ["a", "b", "c"])
    assert error(robot, report.path) < 1e-7


@pytest.mark.parametrize("kind", ["position", "velocity", "voltage"])
def test_defaults_of_all_actuators_do_not_reach_new_ones(kind, tmp_path):
    text = SOURCE.replace("<default>", '<default>\n    <motor gear="7" ctrlrange="-.1 .1" forcerange="-1 1"/>', 1)
    (tmp_path / "arm.xml").write_text(text.format('<actuator><motor joint="a" ctrlrange="-1 1"/></actuator>'))
    drive = {"position": SERVO, "velocity": Drive("velocity", kd=8.0), "voltage": Drive("voltage", gain=0.5, kd=1.0)}
    robot = driven(sy.load(tmp_path / "arm.xml"), drive[kind])
    assert error(robot, sy.save(robot, tmp_path / "out.xml").path) < 1e-7


def random_drive(rng):
    numbers = {"kp": 10, "kd": 1, "limit": 5, "delay": 0.02, "slope_limit": 4, "gain": 2, "volts": 12}
    kind = str(rng.choice(["position", "velocity", "voltage", "current", "torque"]))
    needed = {"position": ("kp",), "velocity": ("kd",), "torque": ()}.get(kind, ("gain",))
    chosen = [key for key in numbers if key in needed or rng.random() < 0.5]
    return Drive(kind, **{key: float(numbers[key] * rng.uniform(0.3, 3)) for key in chosen})


@pytest.mark.parametrize("seed", range(8))
def test_random_drives_read_back(seed, tmp_path):
    """From a new file, from three edited ones, and all of them, to every digit, with a side file beside each."""
    rng = np.random.default_rng(seed)
    texts = [SOURCES[str(each)][0] for each in rng.choice(list(SOURCES), 3)]
    nominal = arm(tmp_path, "<actuator>" + "".join(texts) + "</actuator>", {})
    for _ in range(3):
        rng.shuffle(texts)
        actuators = "".join(text.replace('"a"', f'"{joint}"') for text, joint in zip(texts, "abc", strict=True))
        nominal = arm(tmp_path, f"<actuator>{actuators}</actuator>", {})
        robot = replace(nominal, drives={name: random_drive(rng) for name in "abc"})
        for which in (robot, replace(robot, source=None)):
            found = sy.load(sy.save(which, tmp_path / "out.xml").path)
            for name, drive in robot.drives.items():
                assert found.drives[name].differing(drive.read_back, 1e-12) == ()
            side = write_side(robot, tmp_path / "out.steelyard.toml", driven=found.drives)
            again = read_side(side, found).drives
            for name, drive in robot.drives.items():
                said = drive.differing(again[name], 1e-12)
                assert all(getattr(drive, key) is None for key in said)  # what only the file says
        assert read_side(write_side(robot, tmp_path / "all.steelyard.toml"), replace(nominal, drives={})).drives == (
            robot.drives
        )


def test_side_files_of_urdf_and_names_that_need_quotes(tmp_path):
    leg = driven(sy.library.cheetah3_leg(), {"hip": Drive("position", kp=3.0), "knee": Drive(limit=2.0)})
    report = sy.save(leg, tmp_path / "leg.urdf")
    assert any("side file" in note for note in report.notes)
    again = sy.load(report.path)
    assert (
        again.drives == {} and read_side(write_side(leg, tmp_path / "leg.steelyard.toml"), again).drives == leg.drives
    )
    known = {"hip": leg.drives["hip"], "knee": replace(leg.drives["knee"], limit=3.0)}
    text = write_side(leg, tmp_path / "less.steelyard.toml", driven=known).read_text()
    assert 'drives."hip"' not in text and text.endswith('[drives."knee"]\nlimit = 2.0\n')


def test_notes_of_what_has_no_place(tmp_path):
    drives = {"a": replace(SERVO, slope_limit=3.0), "b": replace(SERVO, early=0.01), "c": Drive("position")}
    robot = arm(tmp_path, f'<actuator><position joint="a" gear="2"/>{REST}</actuator>', drives)
    slow = robot.source.path.read_text().replace('timestep="0.002" integrator="implicitfast"', 'timestep="0.01"')
    robot.source.path.write_text(slow)
    for which in (robot, replace(robot, source=None)):
        notes = " ".join(sy.save(which, tmp_path / "out.xml").notes)
        assert "Slope limits of commands (a)" in notes and "Positions that are stamped early (b)" in notes
        assert "not known (c)" in notes
        assert ("euler, 0.01 s" in notes and "Controls of a" in notes) is (which is robot)


OBSTACLES = {
    "several": '<actuator><motor joint="a"/><motor joint="a"/></actuator>',
    "name": '<actuator><motor joint="b"/></actuator>',
    "keyframes": '<actuator><motor joint="b"/></actuator><keyframe><key ctrl="1"/></keyframe>',
}


@pytest.mark.parametrize("case", OBSTACLES)
def test_drives_that_cannot_be_written_are_said(case, tmp_path):
    text = SOURCE.format(OBSTACLES[case])
    (tmp_path / "arm.xml").write_text(text.replace('<joint name="a"', "<joint") if case == "name" else text)
    robot = sy.load(tmp_path / "arm.xml")
    report = sy.save(replace(robot, drives={robot.dof_names[0]: SERVO}), tmp_path / "out.xml")
    assert case in " ".join(report.notes) and (tmp_path / "out.xml").read_bytes() == (tmp_path / "arm.xml").read_bytes()


def test_gears_that_are_forgotten_are_refused_and_move_otherwise(tmp_path, monkeypatch):
    gains = mjcf_drives.gains
    robot = arm(tmp_path, f'<actuator><position joint="a" gear="2"/>{REST}</actuator>', {"a": SERVO})
    right = sy.save(robot, tmp_path / "right.xml").path
    for wrong in (1.0, 2.0**0.5):  # no gear, and the gear where its square belongs
        monkeypatch.setattr(mjcf_drives, "gains", lambda tag, drive, gear, wrong=wrong: gains(tag, drive, wrong))
        with pytest.raises(ModelError, match="of the drive of 'a' is"):
            sy.save(robot, tmp_path / "wrong.xml")
        assert not (tmp_path / "wrong.xml").exists()
    text = right.read_text()
    assert text.count(f'kp="{55 / 4:g}"') == 1
    (tmp_path / "wrong.xml").write_text(text.replace(f'kp="{55 / 4:g}"', f'kp="{55 / 2:g}"'))

    def geared(log):
        return sent(robot, log) * [2, 1, 1]

    assert error(robot, right, geared) < 1e-7 and error(robot, tmp_path / "wrong.xml", geared) > 1e-3


def test_controls_of_several_numbers(tmp_path):
    """MuJoCo counts controls, not actuators, since some have several."""
    text = """<mujoco><worldbody><body name="one"><joint name="ball" type="ball"/><geom size="0.1"/><body name="two">
<joint name="a"/><geom size="0.1"/></body></body></worldbody><actuator><orientation joint="ball"/>
<position joint="a" kp="3"/></actuator></mujoco>"""
    (tmp_path / "arm.xml").write_text(text)
    robot = sy.load(tmp_path / "arm.xml")
    assert robot.drives == {"a": Drive("position", kp=3.0, kd=0.0)}
    report = sy.save(replace(robot, drives={"a": SERVO}), tmp_path / "out.xml")
    assert sy.load(report.path).drives["a"] == SERVO
