"""One log in every format, each written with the format's own library."""

from csv import writer as writer_of

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io

NAMES = ("shoulder", "elbow", "wrist")
KEYS = ("q", "v", "tau")


def csv(log, folder):
    path = folder / "run.csv"
    titles = ["t", *(f"{key}_{name}" for key in KEYS for name in NAMES)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = writer_of(file)
        writer.writerow(titles)
        writer.writerows(np.column_stack([log.t, *(getattr(log, key) for key in KEYS)]).tolist())
    return path


def npz(log, folder):
    path = folder / "run.npz"
    np.savez_compressed(path, **{key: getattr(log, key) for key in ("t", *KEYS)}, joint_names=np.array(NAMES))
    return path


def parquet(log, folder):
    path = folder / "run.parquet"
    columns = {"t": log.t} | {f"{key}_{n}": getattr(log, key)[:, j] for key in KEYS for j, n in enumerate(NAMES)}
    pq.write_table(pa.table(columns), path, write_page_checksum=True, row_group_size=400)
    return path


def parquet_of_lists(log, folder):
    path = folder / "lists.parquet"
    lists = {
        word: pa.array(list(getattr(log, key)))
        for key, word in zip(KEYS, ("position", "velocity", "effort"), strict=True)
    }
    inner = pa.StructArray.from_arrays(list(lists.values()), names=list(lists))
    pq.write_table(pa.table({"timestamp": log.t, "arm": inner}), path)
    return path


def mat(log, folder):
    path = folder / "run.mat"
    arrays = {key: getattr(log, key) for key in ("t", *KEYS)}
    scipy.io.savemat(path, {**arrays, "joint_names": np.array(NAMES, dtype=object)}, do_compression=True)
    return path


def mat_of_structures(log, folder):
    path = folder / "structures.mat"
    arrays = {"pos": log.q.T, "vel": log.v.T, "effort": log.tau.T}  # samples along columns, as Simulink has them
    scipy.io.savemat(path, {"run": {"time": log.t, "arm": arrays}})
    return path


def hdf5(log, folder):
    path = folder / "run.h5"
    with h5py.File(path, "w") as file:
        file["joint_names"] = list(NAMES)
        for key in ("t", *KEYS):
            file.create_dataset(f"arm/{key}", data=getattr(log, key), compression="gzip", fletcher32=True)
    return path


def matlab_hdf5(log, folder):
    """What MATLAB 7.3 writes: a header of 512 bytes, dimensions in reverse order."""
    path = folder / "run73.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        for key in ("t", *KEYS):
            data = file.create_dataset(key, data=np.atleast_2d(getattr(log, key).T))
            data.attrs["MATLAB_class"] = np.bytes_("double")
        cells = [file.create_dataset(f"#refs#/{n}", data=np.array([list(map(ord, n))], np.uint16).T) for n in NAMES]
        names = np.array([[cell.ref] for cell in cells], dtype=h5py.ref_dtype)
        file.create_dataset("joint_names", data=names, dtype=h5py.ref_dtype).attrs["MATLAB_class"] = np.bytes_("cell")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return path


JOINT_STATE = """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
"""
WRENCH = """std_msgs/Header header
geometry_msgs/Wrench wrench
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: geometry_msgs/Wrench
geometry_msgs/Vector3 force
geometry_msgs/Vector3 torque
================================================================================
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""
NESTED = """# Everything of an arm in one message
uint8 MODE_IDLE=0
string<=8 version
std_msgs/Header header
uint8 mode  # one odd byte, so that alignment matters
Arm actual
===
MSG: my_msgs/Arm
float64[3] position
float32[<=8] velocity
float64[] effort
===
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
"""
NESTED_IDL = """================================================================================
IDL: my_msgs/msg/State
// generated
#include "std_msgs/msg/Header.idl"
#include "my_msgs/msg/Arm.idl"
module my_msgs {
  module msg {
    module State_Constants { const uint8 MODE_IDLE = 0; };
    @verbatim (language="comment", text="Everything")
    struct State {
      string<8> version;
      std_msgs::msg::Header header;
      uint8 mode;
      my_msgs::msg::Arm actual;
    };
  };
};
================================================================================
IDL: my_msgs/msg/Arm
module my_msgs { module msg {
    typedef double double__3[3];
    struct Arm {
      double__3 position;
      sequence<float, 8> velocity;
      sequence<double> effort;
    };
  };
};
================================================================================
IDL: std_msgs/msg/Header
#include "builtin_interfaces/msg/Time.idl"
module std_msgs { module msg { struct Header { builtin_interfaces::msg::Time stamp; string frame_id; }; }; };
================================================================================
IDL: builtin_interfaces/msg/Time
module builtin_interfaces { module msg { struct Time { int32 sec; uint32 nanosec; }; }; };
"""
START = 1_700_000_000_000_000_000  # ns


def stamps(log):
    return START + np.round(log.t * 1e9).astype(np.int64)


def _header(tick, frame="base"):
    return {"stamp": {"sec": int(tick) // 10**9, "nanosec": int(tick) % 10**9}, "frame_id": frame}


def _state(log, i, tick):
    lists = {"position": log.q[i], "velocity": log.v[i], "effort": log.tau[i]}
    return {"header": _header(tick), "name": list(NAMES), **{key: x.tolist() for key, x in lists.items()}}


def wrench_of(log):
    return np.concatenate([log.tau, log.q], axis=1)


def mcap(log, folder, name="run.mcap", lag=0.001, **options):
    """Joint states, and a wrench on a topic of its own, with the stamps of both."""
    from mcap_ros2.writer import Writer

    path = folder / name
    with path.open("wb") as file:
        writer = Writer(file, **{"chunk_size": 16_000, **options})
        joints = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        wrench = writer.register_msgdef("geometry_msgs/msg/WrenchStamped", WRENCH)
        other = writer.register_msgdef("std_msgs/msg/String", "string data")
        for i, tick in enumerate(stamps(log)):
            late = int(tick) + round(lag * 1e9)
            writer.write_message("/joint_states", joints, _state(log, i, tick), late)
            f, n = (
                {axis: float(x) for axis, x in zip("xyz", row, strict=True)}
                for row in (wrench_of(log)[i, :3], wrench_of(log)[i, 3:])
            )
            writer.write_message(
                "/ft", wrench, {"header": _header(tick, "flange"), "wrench": {"force": f, "torque": n}}, late
            )
            if i % 50 == 0:
                writer.write_message("/chatter", other, {"data": "x" * (i % 7)}, late)
        writer.finish()
    return path


def mcap_of_nested(log, folder, name="nested.mcap"):
    """Structures in structures, lists of fixed, bounded and free length, float32."""
    from mcap_ros2.writer import Writer

    path = folder / name
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=20_000)
        kind = writer.register_msgdef("my_msgs/msg/State", NESTED)
        for i, tick in enumerate(stamps(log)):
            arm = {"position": log.q[i].tolist(), "velocity": log.v[i].tolist(), "effort": log.tau[i].tolist()}
            message = {"version": "1.2", "header": _header(tick), "mode": i % 3, "actual": arm}
            writer.write_message("/arm", kind, message, int(tick))
        writer.finish()
    return path


def mcap_of_idl(log, folder):
    """The nested messages, defined in OMG IDL and in nothing else."""
    from mcap.reader import make_reader
    from mcap.writer import Writer

    source, path = mcap_of_nested(log, folder, "as_messages.mcap"), folder / "idl.mcap"
    with source.open("rb") as messages, path.open("wb") as file:
        writer = Writer(file, chunk_size=20_000)
        writer.start()
        schema = writer.register_schema("my_msgs/msg/State", "ros2idl", NESTED_IDL.encode())
        channel = writer.register_channel("/arm", "cdr", schema)
        for _, _, message in make_reader(messages).iter_messages():
            writer.add_message(channel, message.log_time, message.data, message.publish_time)
        writer.finish()
    source.unlink()
    return path


def _typed(store, log, i, tick, sequence=()):
    types = store.types
    time = types["builtin_interfaces/msg/Time"](sec=int(tick) // 10**9, nanosec=int(tick) % 10**9)
    header = types["std_msgs/msg/Header"](*sequence, stamp=time, frame_id="base")
    arrays = {"position": log.q[i], "velocity": log.v[i], "effort": log.tau[i]}
    return types["sensor_msgs/msg/JointState"](header=header, name=list(NAMES), **arrays)


def bag1(log, folder):
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store, path = get_typestore(Stores.ROS1_NOETIC), folder / "run.bag"
    writer = Writer(path)
    writer.set_compression(Writer.CompressionFormat.LZ4)
    writer.chunk_threshold = 16_000
    with writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for i, tick in enumerate(stamps(log)):
            message = _typed(store, log, i, tick, (i,))
            writer.write(connection, int(tick), store.serialize_ros1(message, connection.msgtype))
    return path


def bag2(log, folder, name="run2", version=9, compression=None, topic="/joint_states", **options):
    """A folder with metadata and SQLite. version 8: without message definitions, as before Iron. compression: of each
    MESSAGE, or of the FILE."""
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, Writer
    from rosbags.typesys import Stores, get_typestore

    store, path = get_typestore(Stores.ROS2_HUMBLE), folder / name
    writer = Writer(path, version=version, **options)
    if compression:
        writer.set_compression(CompressionMode[compression], CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection(topic, "sensor_msgs/msg/JointState", typestore=store)
        for i, tick in enumerate(stamps(log)):
            writer.write(connection, int(tick), store.serialize_cdr(_typed(store, log, i, tick), connection.msgtype))
    return path


def bag2_of_mcap(log, folder):
    from rosbags.rosbag2 import StoragePlugin

    return bag2(log, folder, "run2mcap", storage_plugin=StoragePlugin.MCAP)


def bag2_of_mcap_compressed(log, folder):
    from rosbags.rosbag2 import StoragePlugin

    return bag2(log, folder, "run2mcapz", storage_plugin=StoragePlugin.MCAP, compression="FILE")


def bag2_of_mcap_of_compressed_messages(log, folder):
    from rosbags.rosbag2 import StoragePlugin

    return bag2(log, folder, "run2mcapm", storage_plugin=StoragePlugin.MCAP, compression="MESSAGE")


def bag2_of_compressed_messages(log, folder):
    return bag2(log, folder, "run2messages", compression="MESSAGE")


def bag2_compressed(log, folder):
    return bag2(log, folder, "run2file", compression="FILE")


def db3(log, folder):
    return next(bag2(log, folder, "alone", version=8).glob("*.db3"))
