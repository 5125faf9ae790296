"""Scripts that play a motion: against stand-ins of makers' packages in a time of their own, and against packages."""

import re
import sys
from dataclasses import replace
from importlib.resources import files
from types import ModuleType

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from player_trials import SETTLE, Trial
from robots import urdf
from servo_lines import COUNT, decoded
from steelyard.app import app
from steelyard.errors import OptionError
from steelyard.excite import design, write
from steelyard.excite.motion_formats import SCRIPTS
from steelyard.model import mjcf_text

NAMES = [form.ending.split(".")[1] for form in SCRIPTS]


@pytest.fixture(scope="module")
def motions():
    """A short motion of a robot with six joints, of one with seven, and of a Go2."""
    options = {
        "harmonics": 2,
        "periods": 1,
        "ramp": 0.4,
        "time_limit": 1e-6,  # the start of the search alone: the same motion on every machine
        "limits": sy.excite.Limits(speed=0.3, collisions=False),
    }
    puma, panda = sy.library.puma560(), sy.load(urdf("panda"))
    six, seven = design(puma, 2.0, **options), design(panda, 2.0, locked=("*finger*",), **options)
    options["limits"] = sy.excite.Limits(speed=0.05, collisions=False)
    special = {"franka": seven, "unitree": design(sy.load(urdf("go2")), 2.0, **options)}
    return {name: special.get(name, six) for name in NAMES}


@pytest.fixture
def trial(motions, tmp_path, monkeypatch):
    return lambda name: Trial(name, motions[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", NAMES)
def test_a_motion_is_played_and_recorded(name, trial, capsys):
    each = trial(name)
    assert each.play() == 0
    text = capsys.readouterr().out
    assert "Motion complete" in text and "steelyard identify" in text and str(each.out) in text
    log = each.log()
    assert log.duration == pytest.approx(2.0, abs=0.1) and log.command is not None and log.v is not None
    told = log.command
    assert max(np.abs(each.planned(201) - row).max(axis=1).min() for row in told[::20]) < 0.02  # on the path
    late = [np.interp(log.t - each.plant.lag, log.t, column) for column in told.T]
    np.testing.assert_allclose(log.q, np.transpose(late), atol=0.04)
    assert not [note for note in log.notes if "command" in note or "tau" in note]


def lose(trial):
    trial.world.dead = True


def block(trial):
    """Whatever motion was found in the time that a busy computer left for it goes on by a quarter of the allowance."""
    if not trial.plant.blocked:
        trial.plant.blocked = tuple(range(len(trial.plant.q)))
        trial.script.Plan.following = trial.script.Plan.following / 4


def freeze(trial):
    trial.world.frozen = trial.world.frozen or trial.clock.t - 90


def turn_back(trial):
    trial.world.frozen = 5.0


def protect(trial):
    trial.world.protective = True


FAULTS = {  # what happens, and the words that tell it
    "connection lost": (lose, "connection lost"),
    "following error": (block, "following error"),
    "stamps stand still": (freeze, "no new stamp"),
    "stamps go back": (turn_back, "stamps go back"),
    "own stop": (protect, "stopped itself"),
}


@pytest.mark.exhaustive(keep=12)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_stops_and_what_came_before_is_kept(name, fault, trial, capsys):
    happen, words = FAULTS[fault]
    each = trial(name)
    needed = {"stamps stand still": "frozen", "stamps go back": "frozen", "own stop": "protective"}.get(fault)
    if needed and not hasattr(each.world, needed):
        pytest.skip("the robot has no clock, or says nothing of its stops")
    assert each.play(after=(2 * SETTLE + 1.0, lambda: happen(each))) == 1
    text = capsys.readouterr().out
    assert "Motion ended early" in text and words in text.split("ended early")[1]
    log = each.log()
    assert 0.3 < log.duration < 1.7
    assert "ended early" in each.out.read_text("utf-8").splitlines()[0]
    assert not list(each.out.parent.glob("*.part"))
    if name in ("dynamixel", "feetech", "lerobot", "ros2"):
        if fault == "following error":  # joints that are blocked are not pressed on
            np.testing.assert_allclose(each.plant.command, each.plant.q, atol=0.01)
        else:
            assert np.abs(each.planned(401) - each.plant.command).max(axis=1).min() < 0.02
    elif fault in ("following error", "stamps go back", "stamps stand still"):
        assert each.world.stopped == 1


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", NAMES)
def test_a_key_slows_down_along_the_path(name, trial, capsys):
    each = trial(name)
    assert each.play(keys=(2 * SETTLE + 1.2,)) == 1
    assert "stopped by key" in capsys.readouterr().out
    told, planned = each.log().command, each.planned(801)
    assert max(np.abs(planned - row).max(axis=1).min() for row in told[::10]) < 0.01  # also while it slows down
    step = np.abs(np.diff(told, axis=0)).max(axis=1)
    assert step[-1] < 0.1 * step[-len(step) // 2 :].max()
    np.testing.assert_allclose(each.plant.command, told[-1], atol=0.01)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", NAMES)
def test_two_keys_stop_at_once(name, trial, capsys):
    each = trial(name)
    assert each.play(keys=(2 * SETTLE + 1.2, 2 * SETTLE + 1.25)) == 1
    assert "at once" in capsys.readouterr().out and each.out.exists()


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_moves_before_yes(name, trial, capsys):
    each = trial(name)
    before = each.plant.command.copy()
    assert each.play(answer="no") == 2
    np.testing.assert_array_equal(each.plant.command, before)
    assert not each.out.exists() and "nothing was moved" in capsys.readouterr().out


def test_a_pose_beyond_the_limits_is_refused(trial, capsys):
    each = trial("dynamixel")
    each.plant.q[1] = each.plant.command[1] = 3.0
    assert each.play() == 2
    assert "position of joint2 is 3" in capsys.readouterr().out and not each.out.exists()


def test_a_start_pose_that_is_not_reached_is_told(trial, capsys):
    each = trial("ur_rtde")
    each.plant.q, each.plant.command = each.start - 0.15, each.start - 0.15
    each.script.Plan.lag, each.plant.blocked = 100.0, (3,)
    assert each.play() == 1
    assert "start pose of joint4" in capsys.readouterr().out and not each.out.exists()


def test_servos_get_their_pose_as_goal_before_torque_is_on(trial):
    each = trial("dynamixel")
    each.play()
    torque = next(k for k, (_, address, _) in enumerate(each.world.written) if address == 64)
    goals = {n: decoded(data, "twos") for n, address, data in each.world.written[:torque] if address == 116}
    np.testing.assert_allclose([goals[i + 1] for i in range(6)], 2048 + (each.start + 0.02) / COUNT, atol=1)


def test_a_unitree_gets_stiffness_by_names_and_loses_it_slowly(trial, capsys):
    each = trial("unitree")
    table = each.script.Plan.motors
    assert [table[f"{leg}_calf_joint"][0] for leg in ("FR", "FL", "RR", "RL")] == [2, 5, 8, 11]
    assert each.script.Plan.joints[:2] == ("FL_hip_joint", "FL_thigh_joint")
    assert each.play() == 0 and "'normal', which is released" in capsys.readouterr().out
    t, kp, kd = np.transpose(each.world.faded)
    assert 1.4 < t[np.argmin(kp)] - t[0] < 1.6 and np.diff(kp).min() > -1.0 and kp[-1] == 0 and np.all(kd == 5)


def test_ticks_of_another_length_are_refused(trial, capsys):
    """Motions follow the robot's clock, and would be a thousand times faster."""
    each = trial("unitree")
    each.world.tick = 1e-6
    assert each.play() == 2 and "`tick` in Plan has 0.001 s each" in capsys.readouterr().out
    assert each.world.program == "normal"


def test_a_program_that_is_not_released_gets_no_company(trial, capsys):
    each = trial("unitree")
    each.world.stuck = True
    assert each.play() == 1 and "'normal' is not released" in capsys.readouterr().out
    assert not hasattr(each.plant, "kp")  # not one command


def test_motors_of_a_unitree_are_found_by_names_or_not_at_all(motions, tmp_path):
    """Legs of G1 and H1-2 have the same names in another order; joints that stay still are held and recorded."""
    go2 = sy.load(urdf("go2"))
    limits = sy.excite.Limits(speed=0.05, collisions=False)
    options = {"harmonics": 2, "periods": 1, "ramp": 0.4, "time_limit": 1e-6, "limits": limits}
    front = design(go2, 2.0, locked=("R*",), **options)
    text = write(front, tmp_path / "motion.unitree.py").read_text("utf-8")
    assert "'RR_calf_joint')" in text.split("lower = ")[0] and "--lock" not in text
    with pytest.raises(OptionError, match=r"joints, and those of 'puma560' .joint1, "):
        write(motions["ur_rtde"], tmp_path / "motion.unitree.py")
    joints = tuple(replace(each, name=each.name.replace("RR_hip", "RR_abduction")) for each in go2.joints)
    with pytest.raises(OptionError, match=r"RR_abduction_joint. do not tell"):
        write(replace(motions["unitree"], robot=replace(go2, joints=joints)), tmp_path / "motion.unitree.py")


LEGS = [f"{side}_{part}" for side in ("left", "right") for part in ("hip_yaw", "hip_pitch", "hip_roll", "knee")]


@pytest.mark.parametrize(
    ("waist", "numbers"),
    [  # of G1, of H1-2, of neither, of both
        ("waist_yaw", (2, 0, 3, 8, 12, 18)),
        ("torso", (0, 1, 3, 6, 12, 16)),
        ("head", None),
        ("left_wrist_roll", None),
    ],
)
def test_the_waist_tells_g1_from_h1_2(waist, numbers, motions, tmp_path, monkeypatch):
    names = ("left_hip_yaw", "left_hip_pitch", "left_knee", "right_hip_yaw", waist, "left_elbow")
    all_names = [*LEGS, "left_ankle_roll", "right_ankle_roll", waist, "left_elbow"]
    motion = motions["unitree"]
    joints = (replace(joint, name=f"{n}_joint") for joint, n in zip(motion.robot.joints, all_names, strict=True))
    motion = replace(motion, robot=replace(motion.robot, joints=tuple(joints)))
    if numbers is None:
        with pytest.raises(OptionError, match="do not tell which"):
            write(motion, tmp_path / "motion.unitree.py")
        return
    plan = Trial("unitree", motion, tmp_path, monkeypatch).script.Plan
    assert plan.messages == "unitree_hg" and tuple(plan.motors[f"{name}_joint"][0] for name in names) == numbers


def test_a_package_that_is_missing_is_named(trial, monkeypatch, capsys):
    each = trial("franka")
    monkeypatch.setitem(sys.modules, "pylibfranka", None)
    assert each.play() == 2 and "pip install pylibfranka" in capsys.readouterr().out


def test_existing_files_stay(trial, capsys):
    each = trial("feetech")
    each.out.write_text("mine")
    assert each.play() == 2 and each.out.read_text("utf-8") == "mine"


def test_joints_that_an_interface_does_not_take_are_refused(motions, tmp_path):
    with pytest.raises(OptionError, match=r"franka.*takes 7 revolute joints; of 'puma560' joint1, .* joint6 move"):
        write(motions["ur_rtde"], tmp_path / "motion.franka.py")
    with pytest.raises(OptionError, match=r"takes 6 revolute joints; of 'panda' panda_joint1"):
        write(motions["franka"], tmp_path / "motion.ur_rtde.py")
    assert not list(tmp_path.iterdir())


def test_the_command_line_writes_a_script_and_says_which_players_there_are(tmp_path):
    puma = files("steelyard.model") / "data" / "puma560.urdf"
    arguments = [
        "excite",
        str(puma),
        "--duration",
        "3",
        "--no-geometry",
        "--time",
        "0.2",
        "-o",
        str(tmp_path / "motion"),
    ]
    found = CliRunner().invoke(app, [*arguments, "--player", "dynamixel", "--player", "ur_rtde"])
    assert found.exit_code == 0, found.output
    written = {path.name for path in (tmp_path / "motion").iterdir()}
    assert {"motion.csv", "motion.dynamixel.py", "motion.ur_rtde.py"} <= written and "motion.franka.py" not in written
    text = (tmp_path / "motion" / "motion.ur_rtde.py").read_text("utf-8")
    assert str(puma) in text and "steelyard" not in {
        line.split()[1] for line in text.splitlines() if "import" in line[:7]
    }
    failed = CliRunner().invoke(app, [*arguments, "--player", "kuka"])
    assert failed.exit_code == 2 and "No player 'kuka'; there are dynamixel" in " ".join(failed.output.split())
    shown = " ".join(CliRunner().invoke(app, ["excite", "--help-all"]).output.split())
    listed = re.search(r"records it, too: (.*?); repeatable", shown)[1]
    assert sorted(re.split(", | or ", listed)) == sorted(NAMES)
    without = CliRunner().invoke(app, [*arguments[:-2], "--player", "dynamixel"])
    assert without.exit_code == 2 and "give -o" in without.output


def test_the_command_to_run_next_has_what_the_log_lacks(motions, tmp_path):
    """Joints that stay still are locked where they are, those that the model was loaded without, too."""
    text = write(motions["franka"], tmp_path / "motion.franka.py").read_text("utf-8")
    assert "'--lock', 'panda_finger_joint1=0'" in text and "--fixed" not in text
    robot = motions["ur_rtde"].robot
    source = replace(robot.source, locked={"jaw": np.array([0.02])}, folders=(*robot.source.folders, tmp_path))
    text = write(replace(motions["ur_rtde"], robot=replace(robot, source=source)), tmp_path / "motion.ur_rtde.py")
    text = " ".join(text.read_text("utf-8").split())
    assert "'--lock', 'jaw=0.02'" in text and f"'--folder', '{tmp_path}']" in text


FREE = '<link name="world"/><joint name="free" type="floating"><parent link="world"/><child link="{root}"/></joint>'


@pytest.mark.parametrize("name", ["arm.urdf", "arm.xml"])
@pytest.mark.parametrize("free", [True, False])
def test_a_free_base_that_was_held_is_fixed(name, free, motions, tmp_path):
    puma, path = sy.library.puma560(), tmp_path / name
    text = puma.source.path.read_text("utf-8")
    if name == "arm.xml":
        text = mjcf_text(sy.load(puma.source.path, floating=free))
    elif free:
        text = text.replace("</robot>", FREE.format(root=puma.links[0].name) + "</robot>")
    path.write_text(text)
    assert sy.load(path).floating == free
    motion = replace(motions["ur_rtde"], robot=sy.load(path, floating=False, gravity=(0, 0, 9.81)))
    text = " ".join(write(motion, tmp_path / "motion.ur_rtde.py").read_text("utf-8").split())
    fixed = "'--fixed', " if free else ""
    assert f"{name}', {fixed}'--gravity', '0', '0', '9.81']" in text


def test_names_in_a_model_do_not_become_code(trial, motions, tmp_path):
    bad = 'x"""\nraise SystemExit("ran")\n"""%d'
    robot = motions["ur_rtde"].robot
    joints = tuple(replace(joint, name=f"{joint.name}{bad}") for joint in robot.joints)
    motion = replace(motions["ur_rtde"], robot=replace(robot, name=bad, joints=joints))
    path = write(motion, tmp_path / "motion%s.ur_rtde.py")
    script = ModuleType("script")
    exec(compile(path.read_text("utf-8"), str(path), "exec"), vars(script))
    assert list(script.Plan.joints) == [joint.name for joint in joints] and "\n" not in script.Plan.robot
