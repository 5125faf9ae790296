"""The measured torque is taken wherever there is one; a computed one is named, by every way into a log."""

import numpy as np
import pytest

import log_files
import steelyard as sy
from first_contacts import arm, by_index, table
from robots import urdf
from steelyard.log import Log, checks, read_log
from steelyard.log.channels import Kind
from steelyard.log.signals import COMPUTED, torque_of
from steelyard.prepare import prepare
from steelyard.report.identification_report import summary

T = np.arange(0, 2, 0.01)
ELSE = -5.0  # of torques that must not be taken
JOINTS = {"named": ("yaw", "lift"), "numbered": ("1", "2"), "like words": ("set_arm", "j2")}


def columns(stems, joints, behind):
    """Arrays of a table: positions, and torques whose size says which of `stems` they are."""
    found = {"t": T}
    for k, stem in enumerate(("q", *stems)):
        found |= {f"{joint}_{stem}" if behind else f"{stem}_{joint}": np.sin(T) + 10 * k for joint in joints}
    return found


def is_computed(log) -> bool:
    return any(finding.code == "computed_torque" for finding in checks.check(log))


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("joints", JOINTS.values(), ids=list(JOINTS))
@pytest.mark.parametrize(
    ("best", "other"),
    [
        ("tau", "tau_cmd"),
        ("tau", "tau_des"),
        ("effort", "target_effort"),
        ("effort", "desired_joint_effort"),
        ("torque_measured", "torque"),
        ("actual_torque", "torque_current"),
        ("tau_J", "tau_J_d"),
        ("tau_est", "tau_ff"),
        ("current_as_torque", "target_moment"),
        ("tau", "tau_ext"),
    ],
)
def test_the_measured_torque_is_taken(best, other, joints, behind):
    for stems in ((best, other), (other, best)):
        log = read_log(columns(stems, joints, behind))
        assert log.tau.shape == (len(T), 2)
        assert np.allclose(log.tau, np.sin(T)[:, None] + 10 * (1 + stems.index(best)))
        assert not is_computed(log)
        assert not log.joint_names or set(log.joint_names) == set(joints)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("joints", JOINTS.values(), ids=list(JOINTS))
@pytest.mark.parametrize("word", ["tau_cmd", "effort_des", "target_moment", "tau_rnea", "model_torque", "tau_J_d"])
def test_a_computed_torque_is_named(word, joints, behind):
    assert is_computed(read_log(columns((word,), joints, behind)))


@pytest.mark.parametrize("word", ["tau", "effort", "torque_filtered", "motor_torque", "moment", "tau_d"])
def test_other_torques_are_not_accused(word):
    assert torque_of(word)[0] == Kind.PLAIN
    assert torque_of(f"{word}_target", ("target",))[0] == Kind.PLAIN  # a joint's name


@pytest.mark.parametrize("word", ["ft_torque_x", "wrench.torque.y", "torque_z", "force_cmd", "q_cmd", "current"])
def test_what_is_no_torque_of_joints(word):
    assert torque_of(word) is None


def test_arrays_and_asked_channels():
    q, tau = np.stack([np.sin(T)] * 2, axis=1), np.ones((len(T), 2))
    log = read_log({"t": T, "q": q, "torque_target": ELSE * tau, "torque_sensed": tau})
    assert np.array_equal(log.tau, tau)
    assert not is_computed(log)
    assert is_computed(read_log({"t": T, "q": q, "run/tauDesired": tau}))
    asked = read_log(columns(("tau", "tau_cmd"), ("a", "b"), False), channels={"tau": "tau_cmd_*"})
    assert np.allclose(asked.tau, np.sin(T)[:, None] + 20)
    assert is_computed(asked)
    other = read_log(columns(("tau", "tau_cmd"), ("a", "b"), False), channels={"tau": ["tau_cmd_b", "tau_cmd_a"]})
    assert other.joint_names == ("a", "b")


def test_kinova_computes_its_torque():
    q, tau = np.stack([np.sin(T)] * 2, axis=1), np.ones((len(T), 2))
    arrays = {"t": T, "q": q, "torque": ELSE * tau, "torque_sensor": 0 * tau}
    assert is_computed(read_log(arrays))
    log = read_log(arrays | {"tau_current": tau})
    assert np.array_equal(log.tau, tau)
    assert not is_computed(log)


def test_measured_kinova(measured):
    path = measured("kinova_RunTrajectory1.npz")
    with np.load(path) as arrays:
        assert np.array_equal(read_log(path).tau, arrays["tau_current"])


@pytest.mark.parametrize("topic", ["/joint_states", "/arm/joint_commands"])
def test_joint_states_that_are_commands(motion, tmp_path, topic):
    log = motion(joint_names=log_files.NAMES)
    read = read_log(log_files.bag2(log, tmp_path, topic=topic))
    assert is_computed(read) == (topic != "/joint_states")


@pytest.fixture(scope="module")
def ur():
    return arm(urdf("ur10_robot"), 2)


def rtde(folder, seen, **torques):
    found = {"timestamp": seen.t} | by_index("actual_q", seen.q, "{}_{}") | by_index("actual_qd", seen.v, "{}_{}")
    found |= by_index("actual_current", seen.tau / 9, "{}_{}")
    for name, tau in torques.items():
        found |= by_index(name, tau, "{}_{}")
    return table(folder / "rtde.csv", found, delimiter=" ")


def test_rtde_takes_the_torque_of_currents(ur, tmp_path):
    log = read_log(rtde(tmp_path, ur, target_moment=ELSE * ur.tau, actual_current_as_torque=ur.tau))
    np.testing.assert_allclose(log.tau, ur.tau)
    assert not is_computed(log)


def test_a_computed_torque_is_never_good(ur, tmp_path):
    log = rtde(tmp_path, ur, target_moment=ur.tau)
    result = sy.identify(urdf("ur10_robot"), log)
    assert result.after.relative_error < 1e-3  # however well it fits
    verdict = summary(result)["verdict"]
    assert verdict["level"] != "good"
    assert any("target_moment_0" in reason and "--drive-gains" in reason for reason in verdict["reasons"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda seen, gravity: seen.tau, "joint torques, with gravity"),
        (lambda seen, gravity: seen.tau - gravity, "torques without gravity"),
        (lambda seen, gravity: seen.tau / 11, "motor currents"),
    ],
)
def test_effort_of_a_ur_is_told_by_its_gravity(ur, change, said):
    robot = sy.load(urdf("ur10_robot"))
    tau = change(ur, 1.2 * sy.inverse_dynamics(robot, ur.q, 0 * ur.q, 0 * ur.q))
    note = "tau: read from /joint_states"
    log = Log(t=ur.t, q=ur.q, v=ur.v, tau=tau, joint_names=ur.names, notes=(note,))
    assert any(said in each for each in prepare(log, robot).raw.notes)
    assert not any("effort of" in each for each in prepare(log.replace(notes=()), robot).raw.notes)


def test_logs_of_this_library_are_measured(motion, tmp_path):
    for read in (read_log(sy.write_csv(motion(), tmp_path / "a.csv")), read_log(log_files.npz(motion(), tmp_path))):
        assert not any(note.startswith(COMPUTED) for note in read.notes)
