"""`read_log`: any supported file to a `Log`. A new format is a module with `read(path, request)` and a line here."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.arguments import found, shown
from steelyard.errors import LogError, OptionError, UnrecordedJoints, choices
from steelyard.lazy import later
from steelyard.log.log import Log
from steelyard.log.match import to_log
from steelyard.log.raw_channels import Raw, ReadRequest, RobotNames, restarted
from steelyard.log.stated_units import StatedUnits, decoded, in_stated_units, stated

_later = partial(later, "steelyard.log")
_ARRAYS = (_later("npz.read"), _later("mat.read"), _later("hdf5.read"))
_recording, _parquet = _later("ros.recording.read"), _later("parquet.read")
READERS: dict[str, Callable[[Path, ReadRequest], Raw]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".dat"), _later("csv.read")),
    ".npz": _ARRAYS[0],
    **dict.fromkeys((".parquet", ".pq"), _parquet),
    ".mat": _ARRAYS[1],
    **dict.fromkeys((".h5", ".hdf5"), _ARRAYS[2]),
    **dict.fromkeys((".jsonl", ".ndjson", ".yaml", ".yml"), _later("documents.read")),
    **dict.fromkeys((".mcap", ".bag", ".db3", ".zstd"), _recording),
}


def read_log(
    path: str | Path | Mapping[str, Any] | Any,
    robot: RobotNames | None = None,
    *,
    channels: Mapping[str, Any] | None = None,
    joint_names: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    rows: tuple[int, int] | None = None,
    base: str | None = None,
) -> Log:
    """Read a log.

    Args:
        path: of a file, or the folder of a recording or data set; or what is in memory: arrays by name, a data frame.
        robot: puts the columns in the order of its joints (`robot.joint_names`, `nq`, `nv` are used) and insists on all
            of them; joints it does not have are left out and noted.
        channels: which column (CSV, Parquet), array (NPZ, MAT, HDF5) or field of a message (`TOPIC.field.path`) is
            which, such as `{"t": "stamp", "q": ["a", "b"], "tau": "moment_*"}`; others are inferred from their names,
            None leaves one out. `log` names those to read of an archive of several, with gaps between them.
        joint_names: names of the file's joints in its order, when it has none or wrong ones.
        units: units that the file does not state, such as `{"q": "deg", "v": "deg/s"}`; commands that follow positions
            share theirs unless `command` has its own. `{"q:elbow": "deg"}` is of one joint. Servo registers with the
            sign in a bit are told by `bit10`, `bit15`, `int16` or `int32`, in place of a unit or behind one
            (`0.00153398 bit15`), where their numbers do not prove it.
        rows: the first sample and the one after the last to read, of Parquet tables, whose other row groups stay
            unread.
        base: convention of a free base, such as `mujoco` or `wxyz,world,body`; None: that of the program which wrote
            the file where it is recognised, else Steelyard's own.

    Returns:
        A Log in SI units whose `notes` say everything that was inferred, converted or left out.

    Raises:
        LogError: the file cannot be read or does not hold what is needed.
    """
    if robot is not None and not hasattr(robot, "joint_names"):
        raise OptionError(f"robot is a Robot; found {found(robot)}. steelyard.load(path) makes one.")
    known = tuple(joint_names or (tuple(robot.joint_names) if robot is not None else ()))
    channels = dict(channels or {})
    wanted = channels.pop("log", None)
    logs = () if wanted is None else (wanted,) if isinstance(wanted, str | int) else tuple(wanted)
    told = stated(units or {})
    request = ReadRequest(channels, told.units, known, tuple(map(str, logs)), rows)
    finish = partial(_finished, told=told, robot=robot, joint_names=joint_names, base=base)
    if not isinstance(path, str | Path):
        return finish(_later("arrays.read_given")(path, request), "log")
    path = Path(path)
    if not os.path.exists(path):  # noqa: PTH110  False for names that cannot be
        raise LogError(f"There is no log at {shown(path)}. Give the path of a file, or of the folder of a ROS 2 bag.")
    reader = _reader(path)
    if reader is None:
        raise LogError(
            f"{path}: suffix {path.suffix!r} is not a log format that can be read; known: {choices(READERS)}, and "
            "folders of ROS 2 bags and of LeRobot data sets"
        )
    if rows is not None and reader is not _parquet:
        raise LogError(f"{path}: rows= reads parts of Parquet tables; this format is read as a whole. Convert it first")
    if logs and reader not in _ARRAYS:
        raise LogError(f"{path}: channels= log chooses among the logs of an NPZ, MAT or HDF5 file; this is one log")
    raw = reader(path, request)
    try:
        return finish(raw, (path.name if path.is_dir() else path.stem) or path.resolve().name)
    except UnrecordedJoints as error:
        raise UnrecordedJoints(f"{path}: {error}", error.joints) from error
    except LogError as error:
        raise LogError(f"{path}: {error}") from error


def _finished(raw: Raw, name: str, told: StatedUnits, robot, joint_names, base) -> Log:
    log = to_log(decoded(restarted(raw), told), robot, joint_names, name, base)
    return in_stated_units(log, told, base=bool(getattr(robot, "floating", False) and log.nq > log.nv))


def _reader(path: Path) -> Callable[[Path, ReadRequest], Raw] | None:
    """By the suffix, and for folders and tables by what lies in and around them."""
    if (path.is_dir() or path.suffix.lower() in (".parquet", ".pq")) and _later("lerobot.home")(path):
        return _later("lerobot.read")
    return _recording if path.is_dir() else READERS.get(path.suffix.lower())
