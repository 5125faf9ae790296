"""What drives are told and say of themselves: read, written and carried with the motion, and never smoothed."""

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io

import log_files as files
from steelyard.errors import LogError
from steelyard.log import checks, filters, joined, read_log, write_csv, write_npz
from steelyard.log.channels import held
from steelyard.log.stamps import gaps

TOLD = ("command", "duty", "voltage", "current", "enable", "temperature")


@pytest.fixture
def told(motion):
    """told(): a log without torques whose drives say everything; commands in steps, one bus voltage."""

    def make(**changes):
        log, rng = motion(v=None, a=None, tau=None), np.random.default_rng(3)
        n = len(log)
        signals = {
            "command": np.round(log.q, 1),
            "duty": rng.uniform(-1, 1, (n, 3)),
            "voltage": rng.uniform(11, 12, n),
            "current": rng.normal(size=(n, 3)),
            "enable": rng.integers(0, 2, (n, 3)),
            "temperature": rng.uniform(30, 40, (n, 3)),
        }
        return log.replace(**(signals | changes))

    return make


def same(found, log, keys=TOLD):
    for key in keys:
        assert np.array_equal(getattr(found, key), getattr(log, key)), key


def parquet(log, folder):
    columns = {"t": log.t} | {f"q_{n}": log.q[:, j] for j, n in enumerate(files.NAMES)}
    columns |= {
        f"{key}_{n}": getattr(log, key)[:, j] for key in TOLD if key != "voltage" for j, n in enumerate(files.NAMES)
    }
    path = folder / "told.parquet"
    pq.write_table(pa.table(columns | {"vbus": log.voltage[:, 0]}), path)
    return path


def arrays_of(log):
    return {key: getattr(log, key) for key in ("t", "q", *TOLD)}


def mat(log, folder):
    path = folder / "told.mat"
    scipy.io.savemat(path, {**arrays_of(log), "joint_names": np.array(files.NAMES, dtype=object)})
    return path


def hdf5(log, folder):
    path = folder / "told.h5"
    with h5py.File(path, "w") as file:
        file["joint_names"] = list(files.NAMES)
        for key, value in arrays_of(log).items():
            file[f"arm/{key}"] = value
    return path


FORMATS = {
    "csv": lambda log, folder: write_csv(log, folder / "told.csv"),
    "npz": lambda log, folder: write_npz(log, folder / "told.npz"),
    "parquet": parquet,
    "mat": mat,
    "hdf5": hdf5,
    "frame": lambda log, folder: pq.read_table(parquet(log, folder)),
    "arrays": lambda log, folder: arrays_of(log),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_back_what_drives_say(name, told, fake_robot, tmp_path):
    log = told()
    found = read_log(FORMATS[name](log, tmp_path), fake_robot())
    same(found, log)
    assert found.joint_names == files.NAMES and found.voltage.shape == (len(log), 1)
    assert not found.command.flags.writeable and found.missing == ("v", "a", "tau")


def test_a_command_on_its_own_topic_holds_until_the_next(motion, tmp_path):
    """Goals at a tenth of the rate of the joint states, half a sample late: a straight line between two is wrong."""
    from mcap_ros2.writer import Writer

    log, path = motion(v=None, a=None), tmp_path / "told.mcap"
    ticks, goals = files.stamps(log), np.round(log.q, 1)
    with path.open("wb") as file:
        writer = Writer(file)
        kind = writer.register_msgdef("sensor_msgs/msg/JointState", files.JOINT_STATE)
        for i, tick in enumerate(ticks):
            if i % 10 == 0:
                at = int(tick) + 5_000_000
                header, goal = files._header(at), goals[i].tolist()
                message = {"header": header, "name": list(files.NAMES), "position": goal, "velocity": [], "effort": []}
                writer.write_message("/joint_commands", kind, message, at)
            writer.write_message("/joint_states", kind, files._state(motion(a=None), i, tick), int(tick))
        writer.finish()
    found = read_log(path)
    kept = len(found)
    rows = 1 + np.arange(kept)  # the first sample has no goal yet
    assert np.array_equal(found.q, log.q[rows])
    assert np.array_equal(found.command, goals[(rows - 1) // 10 * 10])
    assert any("its last value" in note for note in found.notes)


@pytest.mark.parametrize(
    "header",
    [
        "t,state_a,state_b,action_a,action_b",
        "t,state[0],state[1],action[0],action[1]",
        "t,q1,q2,goal_position_1,goal_position_2",
        "t,observation.state.a,observation.state.b,action.a,action.b",
        "time,a.pos,b.pos,a.cmd,b.cmd",
        "t,q_a,q_b,setpoint_a,setpoint_b",
        "t,position_a,position_b,target_position_a,target_position_b",
    ],
)
def test_usual_names_of_commands(header, tmp_path):
    rows = np.column_stack([np.arange(30) / 10, np.random.default_rng(1).normal(size=(30, 4))])
    path = tmp_path / "taught.csv"
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.17g")
    found = read_log(path)
    assert np.array_equal(found.q, rows[:, 1:3]) and np.array_equal(found.command, rows[:, 3:])


def test_goals_of_speed_and_measured_positions_are_no_commands_and_no_currents(tmp_path):
    path = tmp_path / "others.csv"
    header = "t,q_1,q_2,target_velocity_1,target_velocity_2,current_position_1,current_position_2"
    np.savetxt(path, np.random.default_rng(1).normal(size=(30, 7)), delimiter=",", header=header, comments="")
    found = read_log(path)
    assert found.command is None and found.current is None


def test_two_signals_that_look_alike_are_not_read_and_named(motion, tmp_path):
    log = motion(v=None, a=None)
    arrays = {"t": log.t, "q": log.q, "tau": log.tau, "q_cmd": log.q, "action": log.q + 1}
    assert any("q_cmd, action" in note for note in read_log(arrays).notes) and read_log(arrays).command is None
    np.testing.assert_array_equal(read_log(arrays, channels={"command": "action"}).command, log.q + 1)
    columns = {"t": log.t, "q_a": log.q[:, 0], "goal_a": log.q[:, 1], "cmd_a": log.q[:, 2]}
    assert any("several look like the same" in note for note in read_log(columns).notes)
    assert read_log(columns).command is None


def test_units_and_counts(told, tmp_path):
    log = told()
    counted = {"t": np.arange(len(log)), "q": log.q, "command": np.degrees(log.command), "current": 1e3 * log.current}
    found = read_log(counted, units={"t": "0.01", "command": "deg", "current": "mA"})
    np.testing.assert_allclose(found.command, log.command, atol=1e-12)
    np.testing.assert_allclose(found.current, log.current, atol=1e-12)
    assert found.rate == pytest.approx(100) and any("command: converted from deg" in note for note in found.notes)
    ticks = read_log({"t": log.t, "q": np.full((len(log), 1), 1024)}, units={"q": str(2 * np.pi / 4096)})
    assert ticks.q[0, 0] == pytest.approx(np.pi / 2)
    for bad in ("0", "-1", "nan", "inf", "parsec"):
        with pytest.raises(LogError, match="not a unit of q"):
            read_log(counted, units={"q": bad})


def test_they_are_cut_with_the_motion_and_never_filtered(told):
    log = told()
    same(log[10:20], log.replace(**{key: getattr(log, key)[10:20] for key in ("q", *TOLD)}, t=log.t[10:20]))
    picked = log.select(["wrist", "shoulder"])
    assert np.array_equal(picked.command, log.command[:, [2, 0]]) and np.array_equal(picked.voltage, log.voltage)
    for less in (filters.differentiate(log, cutoff=3.0), filters.decimate(log, 4)):
        rows = np.searchsorted(log.t, less.t - 1e-9)
        same(less, log[rows])
    logs = [filters.differentiate(each, cutoff=3.0).replace(tau=np.zeros((len(each) - 66, 3))) for each in (log, log)]
    same(joined(logs)[: len(logs[0])], logs[0])
    assert joined([logs[0], logs[1].replace(duty=None)]).duty is None
    twice = np.repeat(np.arange(500), 2)
    repeating = log.replace(**{key: getattr(log, key)[twice] for key in ("q", *TOLD)})
    same(filters.restamp(repeating), log[:500])


def test_what_was_told_holds():
    t, values = np.array([0.0, 1.0, 2.0]), np.array([[1.0], [5.0], [7.0]])
    assert held([-1, 0, 0.99, 1, 1.5, 9], t, values)[:, 0].tolist() == [1, 1, 1, 5, 5, 7]


def test_shapes(told):
    log = told()
    with pytest.raises(LogError, match="command has shape"):
        log.replace(command=log.command[:, :2], tau=log.q)
    with pytest.raises(LogError, match="voltage has shape"):
        log.replace(voltage=log.q[:, :2])
    with pytest.raises(LogError, match="columns command_JOINT"):
        log.replace(command=None).require("command")


def test_commands_of_other_joints_are_not_used(motion, tmp_path):
    log = motion(v=None, a=None)
    arrays = {"t": log.t, "q": log.q, "tau": log.tau, "command": log.q[:, :2]}
    found = read_log(arrays)
    assert found.command is None and any("command: not used" in note for note in found.notes)
    columns = {"t": log.t, "q1": log.q[:, 0], "q2": log.q[:, 1], "target_moment_1": log.t, "target_moment_2": log.t}
    assert read_log(columns).command is None


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("command", "commands: add --drive position"),
        ("duty", "duty cycles: add --drive voltage"),
        ("current", "motor currents: add --drive current"),
    ],
)
def test_a_log_without_torques_is_told_what_will_do(key, said, told):
    log = told(**{other: None for other in TOLD if other != key})
    (fault,) = [each for each in checks.check(log) if each.code == "no_torque"]
    assert f"this log has {said}" in fault.message


def several(log):
    index = np.repeat([0, 1, 2], [300, 200, 500])
    t = np.concatenate([log.t[:300], log.t[:200], log.t[:500]])
    return {"t": t, "q": log.q, "command": log.command, "log": index, "log_names": np.array(["slow", "fast", "held"])}


@pytest.mark.parametrize("write", [np.savez, scipy.io.savemat])
def test_several_logs_of_one_file(write, told, tmp_path):
    log = told()
    path = tmp_path / ("several.npz" if write is np.savez else "several.mat")
    arrays = several(log)
    write(path, **arrays) if write is np.savez else write(path, arrays)
    whole = read_log(path)
    assert gaps(whole.t).tolist() == [299, 499] and np.array_equal(whole.q, log.q)
    assert any("3 logs in the file: slow, fast, held" in note for note in whole.notes)
    one = read_log(path, channels={"log": "fast"})
    assert (
        np.array_equal(one.command, log.command[300:500]) and np.allclose(one.t, log.t[:200]) and not len(gaps(one.t))
    )
    two = read_log(path, channels={"log": ["held", "slow"]})
    assert np.array_equal(two.q, np.concatenate([log.q[500:], log.q[:300]])) and gaps(two.t).tolist() == [499]
    with pytest.raises(LogError, match="no log quick in it; it has slow, fast, held"):
        read_log(path, channels={"log": "quick"})


def test_a_file_of_one_log_has_none_to_choose(told, tmp_path):
    with pytest.raises(LogError, match="it is one log"):
        read_log(write_npz(told(), tmp_path / "one.npz"), channels={"log": "fast"})
    with pytest.raises(LogError, match="NPZ, MAT or HDF5"):
        read_log(write_csv(told(), tmp_path / "one.csv"), channels={"log": "fast"})


def test_measured_logs_of_drives(measured):
    one = read_log(measured("so101.npz"), channels={"log": "multisine"})
    assert one.command.shape == one.current.shape == (6000, 6) and one.tau is None and one.current.min() >= 0
    air = read_log(measured("go2_air.npz"))
    assert air.command.shape == (2818, 12) and air.rate == pytest.approx(200, rel=1e-3)
    swing = read_log(measured("xl330") / "lift_and_drop_kp100.npz")
    assert {swing.duty.shape, swing.voltage.shape, swing.enable.shape, swing.command.shape} == {(1510, 1)}
    assert set(np.unique(swing.enable)) == {0, 1} and np.abs(swing.duty).max() <= 1


@pytest.mark.parametrize(("unit", "size"), [("deg", np.pi / 180), ("rev", 2 * np.pi), ("0.00153398", 0.00153398)])
def test_commands_share_the_unit_that_is_stated_for_positions(unit, size):
    t = np.arange(400) / 100
    q = np.sin(np.outer(t, [1.0, 1.7, 2.3]))
    told = {"t": t, "q": q / size, "command": (q + 0.02) / size}
    found = read_log(told, units={"q": unit})
    np.testing.assert_allclose(*found.require("command"), q + 0.02)
    assert any(f"command: converted from {unit} as q" in note for note in found.notes)
    apart = read_log(told | {"command": q + 0.02}, units={"q": unit, "command": "rad"})
    np.testing.assert_allclose(*apart.require("command"), q + 0.02)


@pytest.mark.parametrize("name", ["torque", "speed", "radians"])
def test_commands_that_are_no_positions_keep_their_unit(name):
    t = np.arange(400) / 100
    q = np.sin(np.outer(t, [1.0, 1.7, 2.3]))
    command = {"torque": 20 * q, "speed": np.gradient(q, t, axis=0), "radians": q + 0.02}[name]
    found = read_log({"t": t, "q": np.degrees(q), "command": command}, units={"q": "deg"})
    np.testing.assert_allclose(*found.require("command"), command)
