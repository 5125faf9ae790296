"""First contacts: files as programs leave them go in, nothing is edited, and what the robot really weighs comes out."""

import mujoco
import numpy as np
import pinocchio as pin
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import steelyard as sy
from first_contacts import arm, by_index, lerobot, mujoco_arrays, quadruped, swing, table, truth
from robots import urdf
from steelyard.app import app
from steelyard.errors import LogError, SteelyardError

FINGER = "panda_finger_joint1"
CLEAN = 0.01  # error of torques on fresh motion that recordings without noise may leave: filters


def fresh_error(result, path, held) -> float:
    """Torque error of a result on another motion, over the torque's size, by Pinocchio's truth."""
    model = truth(path, held)
    rng = np.random.default_rng(77)
    lower, upper = np.maximum(model.lowerPositionLimit, -2.0), np.minimum(model.upperPositionLimit, 2.0)
    _, q, v, a = swing(rng, (lower + upper) / 2, 0.4 * (upper - lower), 4.0)
    data = model.createData()
    expected = np.array([pin.rnea(model, data, *state) for state in zip(q, v, a, strict=True)])
    order = [list(model.names)[1:].index(name) for name in result.robot.joint_names]
    found = sy.inverse_dynamics(result.robot, q[:, order], v[:, order], a[:, order])
    return float(np.linalg.norm(found - expected[:, order]) / np.linalg.norm(expected))


@pytest.fixture(scope="module")
def panda():
    return arm(urdf("panda"), 1, held={FINGER: 0.02, "panda_finger_joint2": 0.02})


HELD = {FINGER: 0.02, "panda_finger_joint2": 0.02}


def libfranka(folder, seen):
    columns = {"time": seen.t} | by_index("q", seen.q) | by_index("dq", seen.v) | by_index("tau_J", seen.tau)
    return table(folder / "panda.csv", columns | by_index("tau_ext_hat_filtered", 0 * seen.tau))


def joint_states(folder, seen):
    columns = {"time": seen.t}
    for word, values in (("position", seen.q), ("velocity", seen.v), ("effort", seen.tau)):
        columns |= {f"{name}_{word}": values[:, j] for j, name in enumerate(seen.names)}
    return table(folder / "panda.csv", columns)


def without_header(folder, seen):
    blocks = {"t": seen.t} | by_index("q", seen.q) | by_index("v", seen.v) | by_index("tau", seen.tau)
    return table(folder / "panda.csv", blocks, header=False)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("written", [libfranka, joint_states, without_header])
def test_an_arm_whose_gripper_was_not_recorded(panda, written, tmp_path):
    """The gripper is locked and said to be; its own links keep their masses."""
    log = written(tmp_path, panda)
    done = CliRunner().invoke(app, ["identify", str(urdf("panda")), str(log), "-o", str(tmp_path / "out")])
    assert done.exit_code in (0, 1), done.output
    said = " ".join(done.output.split())
    assert f"{FINGER} is not in the log and taken to stand still (--lock {FINGER}=0)" in said
    result = sy.identify(urdf("panda"), log, lock=f"{FINGER}=0.02")
    assert fresh_error(result, urdf("panda"), HELD) < CLEAN
    nominal = sy.load(urdf("panda"), lock={FINGER: 0.02})
    assert fresh_error(type("Nominal", (), {"robot": nominal}), urdf("panda"), HELD) > 5 * CLEAN


def test_a_ur_by_its_own_names(tmp_path):
    seen = arm(urdf("ur10_robot"), 2)
    columns = {"timestamp": seen.t} | by_index("actual_q", seen.q, "{}_{}") | by_index("actual_qd", seen.v, "{}_{}")
    columns |= by_index("actual_current", seen.tau / 9, "{}_{}") | by_index("target_moment", seen.tau, "{}_{}")
    log = table(tmp_path / "ur.csv", columns, delimiter=" ")
    result = sy.identify(urdf("ur10_robot"), log)
    assert "recognised as written by UR RTDE" in " ".join(result.notes)
    assert "computed_torque" in [finding.code for finding in result.findings]
    assert fresh_error(result, urdf("ur10_robot"), {}) < CLEAN
    patterned = sy.read_log(log, sy.load(urdf("ur10_robot")), channels={"tau": "actual_current_*"})
    np.testing.assert_allclose(patterned.tau, seen.tau / 9)


def test_a_bag_of_a_ur(tmp_path):
    import log_files

    seen = arm(urdf("ur10_robot"), 3)
    log = sy.Log(t=seen.t, q=seen.q, v=seen.v, tau=seen.tau, joint_names=seen.names)
    bag = log_files.bag2(log, tmp_path)
    assert fresh_error(sy.identify(urdf("ur10_robot"), bag), urdf("ur10_robot"), {}) < CLEAN


def test_a_quadruped_on_a_stand_as_mujoco_has_it(tmp_path):
    """Its legs are in the air and the stand's force is in no array: the base is taken as held."""
    model = tmp_path / "quadruped.xml"
    model.write_text(quadruped(1.0))
    np.savez(tmp_path / "run.npz", **mujoco_arrays(quadruped(1.2), 4, held=True, seconds=8.0))
    result = sy.identify(model, tmp_path / "run.npz")
    assert "The base stands still although gravity acts" in " ".join(result.notes)
    assert result.robot.nv == 12 and not result.robot.floating
    fresh = mujoco_arrays(quadruped(1.2), 5, held=True, seconds=3.0)
    log = sy.filters.differentiate(
        sy.Log(t=fresh["time"], q=fresh["qpos"][:, 7:], v=fresh["qvel"][:, 6:], tau=fresh["qfrc_actuator"][:, 6:])
    )
    assert sy.validate(result.robot, log).relative_error < CLEAN
    assert sy.validate(result.prior, log).relative_error > 5 * CLEAN


def test_a_free_base_as_mujoco_has_it(tmp_path):
    """Pose, twist and torques are converted exactly: MuJoCo's own acceleration gives MuJoCo's own torque."""
    model = tmp_path / "quadruped.xml"
    model.write_text(quadruped(1.0))
    arrays = mujoco_arrays(quadruped(1.0), 6, held=False, seconds=1.2)
    np.savez(tmp_path / "run.npz", **arrays)
    robot = sy.load(model)
    log = sy.read_log(tmp_path / "run.npz", robot)
    assert any("recognised as written by MuJoCo" in note for note in log.notes)
    engine = mujoco.MjModel.from_xml_string(quadruped(1.0))
    data = mujoco.MjData(engine)
    for k in (0, 57, 203):
        data.qpos[:], data.qvel[:], data.ctrl[:] = arrays["qpos"][k], arrays["qvel"][k], arrays["ctrl"][k]
        mujoco.mj_forward(engine, data)
        q, v, a = sy.model.from_mujoco(engine, robot, data.qpos, data.qvel, data.qacc)
        np.testing.assert_allclose(log.q[k], q, atol=1e-12)
        np.testing.assert_allclose(log.v[k], v, atol=1e-12)
        np.testing.assert_allclose(sy.inverse_dynamics(robot, q, v, a), log.tau[k], atol=1e-9)
    assert not [note for note in sy.read_log(arrays, robot).notes if "not used" in note and "qpos" in note]


def test_torques_of_a_learned_policys_recorder(tmp_path):
    seen = arm(urdf("ur5_robot"), 7)
    result = sy.identify(urdf("ur5_robot"), lerobot(tmp_path / "set", seen, effort=True))
    assert fresh_error(result, urdf("ur5_robot"), {}) < CLEAN
    with pytest.raises(SteelyardError, match=r"no joint torques.*this log has commands: add --drive position"):
        sy.identify(urdf("ur5_robot"), lerobot(tmp_path / "bare", seen, effort=False))


def test_arrays_and_frames_in_memory():
    seen = arm(urdf("ur5_robot"), 8, seconds=4.0)
    robot = sy.load(urdf("ur5_robot"))
    back = [5, 4, 3, 2, 1, 0]
    columns = {"t": seen.t}
    for key, values in (("q", seen.q), ("v", seen.v), ("tau", seen.tau)):
        columns |= {f"{key}_{seen.names[j]}": values[:, j] for j in back}
    for source in (
        {"t": seen.t, "q": seen.q, "v": seen.v, "tau": seen.tau},
        columns,
        pa.table(columns),
        Frame(columns),
    ):
        log = sy.read_log(source, robot)
        np.testing.assert_array_equal(log.q, seen.q)
        np.testing.assert_array_equal(log.tau, seen.tau)
    with pytest.raises(LogError, match="column 'tau_wrist_3_joint' is not numbers"):
        sy.read_log(columns | {"tau_wrist_3_joint": np.array(["a"] * len(seen.t))}, robot)


class Frame:
    """What pandas and polars have in common."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return pa.array(self._columns[name])


def test_joints_in_another_order_spelled_otherwise_or_missing(panda, tmp_path):
    seen = arm(urdf("ur5_robot"), 9, seconds=4.0)
    robot = sy.load(urdf("ur5_robot"))

    def written(names, keep=6):
        order = [4, 2, 0, 5, 1, 3][:keep]
        columns = {"t": seen.t}
        for key, values in (("q", seen.q), ("tau", seen.tau)):
            columns |= {f"{key}_{names(seen.names[j])}": values[:, j] for j in order}
        return table(tmp_path / "run.csv", columns)

    for names in (str, lambda name: name.replace("_", " ").title()):
        np.testing.assert_allclose(sy.read_log(written(names), robot).q, seen.q)
    with pytest.raises(LogError, match=r"other_elbow_joint.*Rename columns"):
        sy.read_log(written(lambda name: f"other_{name}"), robot)
    with pytest.raises(LogError, match=r"shoulder_lift_joint, wrist_1_joint is not in the log"):
        sy.identify(urdf("ur5_robot"), written(str, 4))  # others hang on these


def test_a_robot_and_logs_in_memory_are_identified_as_from_files(tmp_path):
    """The same numbers come out, the summary names what was in memory, and a recording given twice counts once."""
    robot = sy.library.scara()
    log = sy.simulate.record(robot, duration=3.0).log
    nominal = robot.with_inertias(1.3 * robot.inertias)
    sy.save(nominal, tmp_path / "scara.urdf")
    sy.write_npz(log, tmp_path / "run.npz")
    of_files = sy.identify(tmp_path / "scara.urdf", tmp_path / "run.npz")
    arrays = {"t": log.t, "q": log.q, "v": log.v, "a": log.a, "tau": log.tau}
    shuffled = log.select(robot.joint_names[::-1])
    for logs in (log, arrays, [shuffled, log.replace(name="again")]):
        found = sy.identify(sy.load(tmp_path / "scara.urdf"), logs, out=tmp_path / "out")
        np.testing.assert_allclose(found.estimate.theta, of_files.estimate.theta, rtol=1e-9, atol=1e-12)
        assert len(found.job.logs) == 1
    assert "<again> is the same recording as <scara simulated>" in " ".join(found.notes)
    with pytest.raises(LogError, match="has no joints"):
        sy.identify(robot, log.replace(joint_names=("a", *log.joint_names[1:])))
    with pytest.raises(LogError, match=r"has 3 positions and 3 freedoms a sample; robot 'scara' has 4 and 4"):
        sy.identify(robot, sy.Log(t=log.t, q=log.q[:, :3], tau=log.tau[:, :3]))
