"""Several series of one signal, paths, ranges of columns, and several episodes in one table."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import LogError
from steelyard.log import checks, read_log
from steelyard.log.stamps import gaps

T = np.arange(300) * 0.01
Q = np.sin(T[:, None] * np.array([1.0, 2.0]) + np.array([0.2, 0.7]))


def table(path, columns, header=True):
    head = ",".join(columns) if header else ""
    np.savetxt(path, np.column_stack(list(columns.values())), delimiter=",", header=head, comments="", fmt="%.17g")
    return path


def numbered(prefix, values, first=1):
    return {f"{prefix}{i + first}": x for i, x in enumerate(values.T)}


@pytest.mark.parametrize("words", [("_meas", "_filt", "_des"), ("_actual_", "_filtered_", "_cmd_")])
def test_the_measured_series_is_read(tmp_path, words):
    meas, filt, des = words
    columns = {"time": T} | numbered(f"pos{meas}", Q) | numbered(f"vel{meas}", 2 * Q)
    columns |= numbered(f"pos{filt}", 0.9 * Q) | numbered(f"vel{filt}", 1.9 * Q)
    columns |= numbered(f"tau{meas}", 3 * Q) | numbered("tau_fric", 0 * Q)
    torque = read_log(table(tmp_path / "torque.csv", columns | numbered("tau_con", 4 * Q)))
    assert np.array_equal(torque.q, Q) and np.array_equal(torque.v, 2 * Q) and np.array_equal(torque.tau, 3 * Q)
    assert np.array_equal(torque.command, 4 * Q)
    asked = numbered(f"pos{des}", 1.1 * Q) | numbered(f"vel{des}", 2.1 * Q)
    position = read_log(table(tmp_path / "position.csv", columns | asked))
    assert np.array_equal(position.command, 1.1 * Q) and np.array_equal(position.v, 2 * Q)
    both = read_log(table(tmp_path / "both.csv", columns | asked | numbered("tau_con", 4 * Q)))
    assert both.command is None and any(note.startswith("command: not read") for note in both.notes)
    assert np.array_equal(both.q, Q) and np.array_equal(both.tau, 3 * Q)


def test_a_filtered_series_alone_is_read_and_joints_keep_their_names(tmp_path, fake_robot):
    alone = read_log(table(tmp_path / "filt.csv", {"t": T} | numbered("pos_filt", Q) | numbered("tau", 3 * Q)))
    assert np.array_equal(alone.q, Q) and np.array_equal(alone.tau, 3 * Q)
    robot = fake_robot(joint_names=("filt1", "filt2"), nq=2, nv=2)
    named = read_log(
        table(tmp_path / "named.csv", {"t": T} | numbered("q_filt", Q) | numbered("tau_filt", 3 * Q)), robot
    )
    assert np.array_equal(named.q, Q) and np.array_equal(named.tau, 3 * Q)


def test_a_measured_double_pendulum_as_recorded(measured):
    folder = measured("double_pendulum")
    robot = sy.load(folder / "double_pendulum.urdf")
    for path in sorted(folder.glob("trajectory_0*.csv")):
        log, columns = read_log(path, robot), np.genfromtxt(path, delimiter=",", names=True)
        for channel, word in {"q": "pos_meas", "v": "vel_meas", "tau": "tau_meas", "command": "tau_con"}.items():
            assert np.array_equal(getattr(log, channel), np.stack([columns[f"{word}{j}"] for j in (1, 2)], axis=1))
        assert log.joint_names == robot.joint_names


@pytest.mark.parametrize("group", ["observations", "run/sim"])
def test_known_names_below_a_path(tmp_path, group):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file[f"{group}/qpos"], file[f"{group}/qvel"], file[f"{group}/effort"] = Q, 2 * Q, 3 * Q
        file[f"{group}/time"] = T
        file["action"] = 1.1 * Q
    log = read_log(tmp_path / "run.h5")
    assert np.array_equal(log.q, Q) and np.array_equal(log.v, 2 * Q) and np.array_equal(log.tau, 3 * Q)
    assert np.array_equal(log.command, 1.1 * Q) and np.array_equal(log.t, T)


def test_columns_without_header_by_their_numbers(tmp_path):
    columns = {"t": T} | numbered("q", Q) | numbered("v", 2 * Q) | numbered("tau", 3 * Q)
    path = table(tmp_path / "bare.csv", columns, header=False)
    for channels in (
        {"t": 0, "q": [1, 2], "v": [3, 4], "tau": [5, 6]},
        {"t": "0", "q": "1-2", "v": "3-4", "tau": "5-6"},
    ):
        log = read_log(path, channels=channels)
        assert np.array_equal(log.q, Q) and np.array_equal(log.v, 2 * Q) and np.array_equal(log.tau, 3 * Q)
    with pytest.raises(LogError, match="8"):
        read_log(path, channels={"t": "0", "q": "8-9"})


def in_episodes(count, lengths=(100, 120, 80)):
    """Times that start anew for each episode, and the number of each row's."""
    return np.concatenate([np.arange(n) * 0.01 for n in lengths[:count]]), np.repeat(np.arange(count), lengths[:count])


@pytest.mark.parametrize("index", [None, "episode_index", "episode"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_episodes_follow_each_other(tmp_path, suffix, index):
    t, number = in_episodes(3)
    columns = {"t": t} | numbered("q", Q) | numbered("tau", 3 * Q) | ({} if index is None else {index: number})
    path = tmp_path / f"run.{suffix}"
    if suffix == "csv":
        table(path, columns)
    elif suffix == "npz":
        np.savez(path, t=t, q=Q, tau=3 * Q, **({} if index is None else {index: number}))
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table(columns), path)
    log = read_log(path)
    assert gaps(log.t).tolist() == [99, 219] and np.array_equal(log.q, Q) and np.array_equal(log.tau, 3 * Q)
    assert not [finding for finding in checks.check(log) if finding.severity == "fatal"]
    assert sum("one after another" in note or "follow each other" in note for note in log.notes) == 1


def test_a_counted_episode_is_a_gap_though_time_goes_on(tmp_path):
    _, number = in_episodes(3)
    columns = {"t": T} | numbered("q", Q) | numbered("tau", 3 * Q) | {"episode_index": number}
    assert gaps(read_log(table(tmp_path / "run.csv", columns)).t).tolist() == [99, 219]


def test_words_and_other_numbers_are_no_episodes(tmp_path):
    words = "t,q1,q2,tau1,tau2,episode\n" + "\n".join(
        f"{t!r},{q[0]!r},{q[1]!r},{q[0]!r},{q[1]!r},ep_{t > 1}" for t, q in zip(T.tolist(), Q.tolist(), strict=True)
    )
    (tmp_path / "run.csv").write_text(words + "\n", encoding="utf-8")
    log = read_log(tmp_path / "run.csv")
    assert np.array_equal(log.t, T) and np.array_equal(log.q, Q)
    counted = {"t": T} | numbered("q", Q) | numbered("tau", Q) | {"episode": np.arange(len(T))}
    assert np.array_equal(read_log(table(tmp_path / "count.csv", counted)).t, T)


def test_time_that_goes_back_elsewhere_is_a_fault(tmp_path):
    for t in (np.concatenate([T[:150], T[100:250]]), np.roll(T, 2)):
        log = read_log(table(tmp_path / "run.csv", {"t": t} | numbered("q", Q) | numbered("tau", Q)))
        assert np.array_equal(log.t, t)
        assert "time_order" in [finding.code for finding in checks.check(log)]
