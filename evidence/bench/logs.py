"""Reading logs: MB/s of read + check + accumulate (q, v, a, tau of an arm as float64), of reading alone for CSV (beside
Arrow's own table, MB/s of text), and decoding of ROS messages in
blocks beside a loop over the messages with each format's own library.
"""

import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import steelyard as sy
from evidence.bench.timing import median_seconds, seconds
from steelyard.information import accumulate
from steelyard.log import checks

ROWS = 400_000
CSV_ROWS = 60_000
MESSAGES = 20_000
REPEATS = 5


def run():
    """MB/s of each array format; microseconds a message and the ratio of each container."""
    with tempfile.TemporaryDirectory() as folder:
        return {**arrays(Path(folder)), **messages(Path(folder))}


def arrays(folder: Path) -> dict[str, dict]:
    robot = sy.library.puma560()
    path = folder / "run"
    channels, rows = motion(ROWS, robot.nv), {}
    write_parquet(channels, robot.joint_names, path.with_suffix(".parquet"))
    np.savez(path.with_suffix(".npz"), **channels, joint_names=np.array(robot.joint_names))
    size = sum(x.nbytes for x in channels.values()) / 1e6
    for suffix in (".npz", ".parquet"):
        rows[suffix] = {"MB/s": size / median_seconds(partial(use, path.with_suffix(suffix), robot))}
    return rows | {".csv": tables(folder / "run.csv", {key: x[:CSV_ROWS] for key, x in channels.items()}, robot)}


def tables(path: Path, channels, robot) -> dict:
    """MB/s of text, to a log and to an Arrow table; interleaved."""
    from pyarrow.csv import read_csv

    sy.write_csv(sy.Log(**channels, joint_names=robot.joint_names), path)
    size, ours, theirs = path.stat().st_size / 1e6, [], []
    for _ in range(REPEATS + 1):
        ours.append(seconds(lambda: sy.read_log(path, robot)))
        theirs.append(seconds(lambda: read_csv(path)))
    us, them = size / median(ours[1:]), size / median(theirs[1:])
    return {"MB/s": us, "its library": them, "ratio": us / them, "library": "pyarrow"}


def use(path: Path, robot) -> None:
    """What every identification does with a log."""
    log = sy.read_log(path, robot)
    checks.require_usable(log, robot)
    accumulate(robot, log, engine="native")


def messages(folder: Path) -> dict[str, dict]:
    from rosbags.rosbag2 import StoragePlugin

    q = motion(MESSAGES, 7)["q"]
    rows = {}
    for name, path in {
        "rosbag2 (SQLite)": write_bag2(q, folder / "sqlite"),
        "rosbag2 (MCAP)": write_bag2(q, folder / "mcap", storage_plugin=StoragePlugin.MCAP),
        "ROS 1 bag": write_bag1(q, folder / "run.bag"),
    }.items():
        rows[name] = compared(path, message_by_message, "rosbags")
    part = next((folder / "mcap").glob("*.mcap"))
    rows["MCAP"] = compared(part, mcap_message_by_message, "mcap-ros2-support")
    return rows


def compared(path: Path, loop, library: str) -> dict:
    """Interleaved medians of a format's own library and of `read_log`."""
    ours, theirs = [], []
    sy.read_log(path)
    for _ in range(REPEATS):
        ours.append(seconds(lambda: sy.read_log(path)))
        theirs.append(seconds(lambda: loop(path)))
    us, them = median(ours) / MESSAGES * 1e6, median(theirs) / MESSAGES * 1e6
    return {"us/message": us, "its library": them, "ratio": them / us, "library": library}


def message_by_message(path: Path):
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    found = []
    with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        for connection, _, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            found.append((message.header.stamp.sec, message.position, message.velocity, message.effort))
    return np.array([each[1] for each in found])


def mcap_message_by_message(path: Path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    found = []
    with path.open("rb") as file:
        for decoded in make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            message = decoded.decoded_message
            found.append((message.header.stamp.sec, message.position, message.velocity, message.effort))
    return np.array([list(each[1]) for each in found])


def motion(n: int, nv: int) -> dict[str, np.ndarray]:
    t = np.arange(n) * 1e-3
    w = np.linspace(0.5, 3.0, nv)
    q = np.sin(t[:, None] * w)
    v, a = w * np.cos(t[:, None] * w), -(w**2) * q
    return {"t": t, "q": q, "v": v, "a": a, "tau": 3 * a + 10 * np.cos(q)}


def write_parquet(channels, names, path: Path) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    columns = {"t": channels["t"]}
    columns |= {f"{key}_{n}": channels[key][:, j] for key in ("q", "v", "a", "tau") for j, n in enumerate(names)}
    write_table(pa.table(columns), path, use_dictionary=False, compression="none")


def _state(store, q, i: int, *sequence):
    time_of = store.types["builtin_interfaces/msg/Time"](sec=i // 500, nanosec=i % 500 * 2_000_000)
    header = store.types["std_msgs/msg/Header"](*sequence, stamp=time_of, frame_id="base")
    names = [f"joint{j}" for j in range(q.shape[1])]
    kind = store.types["sensor_msgs/msg/JointState"]
    return kind(header=header, name=names, position=q[i], velocity=q[i], effort=q[i])


def write_bag2(q, path: Path, **options) -> Path:
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(path, version=9, **options) as writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for i in range(len(q)):
            writer.write(connection, i * 2_000_000, store.serialize_cdr(_state(store, q, i), connection.msgtype))
    return path


def write_bag1(q, path: Path) -> Path:
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    with Writer(path) as writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for i in range(len(q)):
            data = store.serialize_ros1(_state(store, q, i, i), connection.msgtype)
            writer.write(connection, (i + 1) * 2_000_000, data)
    return path
