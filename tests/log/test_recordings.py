"""Recordings of ROS: topics, clocks, fields, and files made to do harm."""

import json
import re
import sqlite3
import struct

import numpy as np
import pytest

import log_files as files
from steelyard.errors import LogError
from steelyard.log import checks, read_log
from steelyard.log.ros.definitions import parse, stock

pytestmark = pytest.mark.claim("logs.formats")


def test_wrenches_and_topics_that_are_not_used(motion, tmp_path):
    log = motion(a=None)
    found = read_log(files.mcap(log, tmp_path))
    assert np.array_equal(found.wrenches["flange"], files.wrench_of(log))
    assert any("topics not used: /chatter" in note for note in found.notes)


def test_fields_by_path(motion, tmp_path):
    log = motion(a=None)
    path = files.mcap(log, tmp_path)
    wanted = {"q": "/joint_states.position", "v": None, "tau": {"elbow": "/ft.wrench.torque.y"}}
    found = read_log(path, channels=wanted | {"q": {"elbow": "/joint_states.velocity[1]"}})
    assert np.array_equal(found.q[:, 0], log.v[:, 1]) and found.v is None
    assert np.array_equal(found.tau[:, 0], log.q[:, 1])
    with pytest.raises(LogError, match=r"/joint_states\.position"):
        read_log(path, channels={"q": "/joint_states.angle"})
    with pytest.raises(LogError, match="which has 3 elements"):
        read_log(path, channels={"q": "/joint_states.position[3]"})


def test_time_of_receipt(motion, tmp_path):
    path = files.mcap(motion(a=None), tmp_path, lag=0.25)
    stamped, received = read_log(path), read_log(path, channels={"t": "received"})
    assert np.allclose(received.t, stamped.t)  # both count from their first
    assert any("seconds from the first receipt" in note for note in received.notes)


def test_clocks_that_drift_or_differ_are_named(motion, tmp_path):
    from mcap_ros2.writer import Writer

    log, path = motion(a=None), tmp_path / "drift.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        joints = writer.register_msgdef("sensor_msgs/msg/JointState", files.JOINT_STATE)
        for i, tick in enumerate(files.stamps(log)):
            late = files.START + round((tick - files.START) * (1 + 400e-6)) + 1_000_000
            writer.write_message("/joint_states", joints, files._state(log, i, tick), int(late))
        writer.finish()
    note = next(note for note in read_log(path).notes if "ppm" in note)
    assert "/joint_states runs 400 ppm slow" in note
    assert not any("ppm" in note for note in read_log(files.mcap(log, tmp_path)).notes)


def test_a_clock_that_drifts_is_set_by_the_recorders(motion, tmp_path):
    """Torques from a drive whose clock is 30 ms off and 2000 ppm slow, received with jitter and a few late messages."""
    from mcap_ros2.writer import Writer

    log, path, rng = motion(a=None), tmp_path / "drives.mcap", np.random.default_rng(0)
    with path.open("wb") as file:
        writer = Writer(file)
        joints = writer.register_msgdef("sensor_msgs/msg/JointState", files.JOINT_STATE)
        for i, tick in enumerate(files.stamps(log)):
            own = round(files.START + (tick - files.START) * (1 - 2000e-6)) - 30_000_000
            late = int(tick) + 1_000_000 + round(3e5 * rng.random()) + 40_000_000 * (i % 97 == 5)
            drive = files._state(log, i, own) | {"position": [], "velocity": []}
            writer.write_message("/drives", joints, drive, late)
            writer.write_message("/joint_states", joints, files._state(log, i, tick) | {"effort": []}, late)
        writer.finish()
    wanted = {"tau": "/drives.effort"}
    errors = {}
    for clock in ("stamped", "received", "corrected"):
        found = read_log(path, channels=wanted | {"t": clock})
        exact = np.stack([np.interp(found.t, log.t - log.t[0], x) for x in log.q.T], axis=1)
        torque = np.stack([np.interp(found.t, log.t - log.t[0], x) for x in log.tau.T], axis=1)
        errors[clock] = [np.abs(found.q - exact).max(), np.abs(found.tau - torque).max()]
    assert errors["corrected"][1] < 0.05 * errors["stamped"][1]  # the torque's clock
    assert errors["corrected"][0] < 0.05 * errors["received"][0]  # late messages
    finding = next(found for found in checks.check(read_log(path, channels=wanted)) if found.code == "clock_drift")
    assert re.search("/drives runs (199|200)[0-9] ppm slow", finding.message) and '"corrected"' in finding.message
    assert not any("ppm" in note for note in read_log(path, channels=wanted | {"t": "corrected"}).notes)
    with pytest.raises(LogError, match="of a recording one of stamped, received, corrected, not 'sent'"):
        read_log(path, channels={"t": "sent"})


def test_topics_of_other_rates_are_interpolated(motion, tmp_path):
    from mcap_ros2.writer import Writer

    log, path = motion(a=None), tmp_path / "rates.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        joints = writer.register_msgdef("sensor_msgs/msg/JointState", files.JOINT_STATE)
        for i, tick in enumerate(files.stamps(log)):
            state = files._state(log, i, tick)
            if i % 2 == 0 and i >= 100:  # torques at half the rate, and later
                writer.write_message("/torques", joints, state | {"position": [], "velocity": []}, int(tick))
            writer.write_message("/joint_states", joints, state | {"effort": []}, int(tick))
        writer.finish()
    found = read_log(path, channels={"tau": "/torques.effort"})
    assert len(found) == len(log) - 101  # nothing before the first torque or after the last
    assert np.abs(found.tau - log.tau[100:-1]).max() < 1e-2 * np.abs(log.tau).max()
    assert np.array_equal(found.tau[::2], log.tau[100:-1:2])
    assert any("interpolated to the stamps of /joint_states" in note for note in found.notes)
    slow = read_log(path, channels={"tau": "/torques.effort"}, units={"t": "ms"})  # all stamps, not those of q alone
    np.testing.assert_allclose(slow.t, 1e-3 * found.t, atol=1e-12)
    np.testing.assert_allclose(slow.tau, found.tau)


def test_contending_topics_are_listed(motion, tmp_path):
    from mcap_ros2.writer import Writer

    log, path = motion(a=None), tmp_path / "two.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        joints = writer.register_msgdef("sensor_msgs/msg/JointState", files.JOINT_STATE)
        for i, tick in enumerate(files.stamps(log)[:50]):
            for topic in ("/a/filtered", "/a/measured"):
                writer.write_message(topic, joints, files._state(log, i, tick), int(tick))
        writer.finish()
    with pytest.raises(LogError, match="/a/filtered and /a/measured both have joints"):
        read_log(path)
    assert len(read_log(path, channels={"q": "/a/measured.position", "tau": None, "v": None})) == 50


@pytest.mark.parametrize("several", [2, 3])
def test_messages_that_list_their_joints_in_other_orders_are_all_read(motion, tmp_path, several):
    from mcap_ros2.writer import Writer

    log, path = motion(a=None), tmp_path / "orders.mcap"
    orders = [[0, 1, 2], [2, 0, 1], [1, 0, 2]][:several]
    with path.open("wb") as file:
        writer = Writer(file)
        joints = writer.register_msgdef("sensor_msgs/msg/JointState", files.JOINT_STATE)
        for i, tick in enumerate(files.stamps(log)):
            state, order = files._state(log, i, tick), orders[i % several]
            moved = {key: [state[key][j] for j in order] for key in ("name", "position", "velocity", "effort")}
            writer.write_message("/joint_states", joints, state | moved, int(tick))
        writer.finish()
    found = read_log(path)
    assert found.joint_names == files.NAMES and not any("left out" in note for note in found.notes)
    for key in ("q", "v", "tau"):
        assert np.array_equal(getattr(found, key), getattr(log, key))


def test_uncompressed_and_unindexed_files(motion, tmp_path):
    from mcap.writer import CompressionType

    log = motion(a=None)
    found = read_log(files.mcap(log, tmp_path, compression=CompressionType.NONE))
    other = read_log(files.mcap(log, tmp_path, "lz4.mcap", compression=CompressionType.LZ4))
    assert np.array_equal(found.q, log.q) and np.array_equal(other.q, log.q)


def test_a_chunk_that_expands_without_end_is_refused(tmp_path):
    path = tmp_path / "bomb.mcap"
    chunk = struct.pack("<QQQIL", 0, 0, 2**40, 0, 4) + b"zstd" + struct.pack("<Q", 8) + bytes(8)
    path.write_bytes(b"\x89MCAP0\r\n" + struct.pack("<BQ", 6, len(chunk)) + chunk)
    with pytest.raises(LogError, match="expands to over"):
        read_log(path)


def test_a_database_that_computes_instead_of_holding_messages_is_refused(tmp_path):
    path = tmp_path / "evil.db3"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 1 AS topic_id FROM n"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)")
        database.execute(f"CREATE VIEW messages AS {endless}")
    database.close()
    with pytest.raises(LogError, match="no table 'messages'"):
        read_log(path)


def test_hdf5_links_to_other_files_are_not_followed(tmp_path, motion):
    import h5py

    secret = files.hdf5(motion(a=None), tmp_path)
    path = tmp_path / "link.h5"
    with h5py.File(path, "w") as file:
        file["t"] = np.arange(10.0)
        file["q"] = h5py.ExternalLink(str(secret), "arm/q")
    with pytest.raises(LogError, match="no array for joint positions"):
        read_log(path)
    with h5py.File(path, "w") as file:
        file["t"] = np.arange(10.0)
        layout = h5py.VirtualLayout((10, 3), dtype=float)
        layout[:] = h5py.VirtualSource(str(secret), "arm/q", (1000, 3))[:10]
        file.create_virtual_dataset("q", layout)
    with pytest.raises(LogError, match="stored in other files"):
        read_log(path)


def test_hdf5_that_declares_more_than_it_holds_is_refused(tmp_path):
    import h5py

    path = tmp_path / "sparse.h5"
    with h5py.File(path, "w") as file:
        file["t"] = np.arange(10.0)
        file.create_dataset("q", shape=(10**7, 3), dtype=float, chunks=(1000, 3))
    with pytest.raises(LogError, match="but 0 are stored"):
        read_log(path)


def test_definitions_agree_with_the_stock_ones():
    for kind, text in (
        ("sensor_msgs/msg/JointState", files.JOINT_STATE),
        ("geometry_msgs/msg/WrenchStamped", files.WRENCH),
    ):
        found, known = parse(text, kind), stock(kind)
        assert known is not None and all(known[name] == fields for name, fields in found.items())


def test_definitions_as_other_programs_write_them():
    plain = parse("float64[] position\nPart part\n", "my_msgs/State")
    told = parse(
        "byte kIdle=0\r\nstring TEXT = a = b # c\r\nfloat64[] position # = rad\r\nPart part\r\n", "my_msgs/State"
    )
    assert told == plain and [field.name for field in told["my_msgs/State"]] == ["position", "part"]


def in_json(path, messages, schema):
    """An MCAP file of JSON messages [bytes] at 250 Hz from 100 s on, under one schema (name, properties)."""
    from mcap.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        name, properties = schema
        text = json.dumps({"type": "object", "properties": {key: {} for key in properties}}).encode()
        number = writer.register_schema(name, "jsonschema", text)
        channel = writer.register_channel("/arm/state", "json", number)
        for k, data in enumerate(messages):
            writer.add_message(channel, 100_000_000_000 + k * 4_000_000, data, 0)
        writer.finish()
    return path


@pytest.mark.parametrize("stamp", [None, ("secs", "nsecs"), ("sec", "nanosec")])
@pytest.mark.parametrize(
    "schema",
    [("sensor_msgs/msg/JointState", ()), ("State", ("names", "position", "velocity", "effort"))],
)
def test_joint_states_in_json(tmp_path, stamp, schema):
    t = np.arange(50) * 0.004
    q = np.stack([np.sin(t), np.cos(3 * t)], axis=1)
    messages = []
    for k, row in enumerate(q):
        header = {} if stamp is None else {"header": {"stamp": {stamp[0]: 7 + k // 10, stamp[1]: k % 10 * 100_000_000}}}
        order = [1, 0] if k == 20 else [0, 1]  # another publisher's
        said = {"effort": (2 * row)[order].tolist(), "names": [["wrist", "hip"][i] for i in order]}
        messages.append(json.dumps(said | header | {"position": row[order].tolist()}).encode())
    log = read_log(in_json(tmp_path / "run.mcap", [*messages, b'{"position": [1,'], schema))
    assert log.joint_names == ("wrist", "hip")
    np.testing.assert_array_equal(log.q, q)
    np.testing.assert_array_equal(log.tau, 2 * q)
    np.testing.assert_allclose(log.t, t if stamp is None else np.arange(50) * 0.1, atol=1e-9)
    assert any("1 messages of /arm/state that do not match" in note for note in log.notes)


@pytest.mark.parametrize(
    "bad",
    [
        b"[" * 100_000,
        b'{"position": [1' + b"0" * 400 + b"]}",
        b'{"header": {"stamp": {"sec": 1e300}}, "position": [1]}',
        b"\xff\xfe\x00",
        b"[1]",
        b"{" + b'"a": {' * 20 + b"}" * 21,
    ],
)
@pytest.mark.parametrize("count", [3, 100])
def test_bad_json_is_refused(tmp_path, bad, count):
    path = in_json(tmp_path / "run.mcap", [bad] * count, ("sensor_msgs/JointState", ()))
    with pytest.raises(LogError, match="/arm/state"):
        read_log(path)


def planned(path, trajectories):
    """An MCAP file of trajectories: names, (n, k) positions, and which fields the points have."""
    from mcap.writer import Writer
    from rosbags.typesys import Stores, get_typestore

    store, kind = get_typestore(Stores.LATEST), "trajectory_msgs/msg/JointTrajectory"
    types = store.types
    text, _ = store.generate_msgdef(kind, ros_version=2)
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channel = writer.register_channel("/plan", "cdr", writer.register_schema(kind, "ros2msg", text.encode()))
        for k, (names, q) in enumerate(trajectories):
            points = []
            for i, row in enumerate(q):
                since = types["builtin_interfaces/msg/Duration"](sec=i // 500, nanosec=i % 500 * 2_000_000)
                none = np.zeros(0)
                points.append(
                    types["trajectory_msgs/msg/JointTrajectoryPoint"](
                        row, 2 * row, 3 * row, none, time_from_start=since
                    )
                )
            stamp = types["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
            header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="base")
            message = types[kind](header=header, joint_names=list(names), points=points)
            writer.add_message(channel, 10**9 * (k + 1), bytes(store.serialize_cdr(message, kind)), 0)
        writer.finish()
    return path


def test_the_points_of_a_planned_trajectory_are_samples(tmp_path):
    q = np.random.default_rng(3).normal(size=(5_000, 2))
    log = read_log(planned(tmp_path / "plan.mcap", [(("lift", "pan"), q)]))
    assert log.joint_names == ("lift", "pan") and log.tau is None
    np.testing.assert_array_equal(log.q, q)
    np.testing.assert_array_equal(log.v, 2 * q)
    np.testing.assert_array_equal(log.a, 3 * q)
    np.testing.assert_allclose(log.t, np.arange(5_000) * 0.002, atol=1e-12)
    assert not any("damaged" in note for note in log.notes)


def test_several_trajectories_are_no_log(tmp_path):
    q = np.ones((4, 2))
    with pytest.raises(LogError, match="/plan holds 2 trajectories"):
        read_log(planned(tmp_path / "plan.mcap", [(("lift", "pan"), q)] * 2))
