"""`read_log`: any supported file to a `Log`. A new format is a module with `read(path, request)` and a line here."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import LogError, choices
from steelyard.log import csv, npz
from steelyard.log.log import Log
from steelyard.log.match import to_log
from steelyard.log.raw import Raw, Request, RobotNames

READERS: dict[str, Callable[[Path, Request], Raw]] = {
    ".csv": csv.read,
    ".tsv": csv.read,
    ".txt": csv.read,
    ".dat": csv.read,
    ".npz": npz.read,
}


def read_log(
    path: str | Path,
    robot: RobotNames | None = None,
    *,
    channels: Mapping[str, Any] | None = None,
    joint_names: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Log:
    """Read a log.

    robot: puts the columns in the order of its joints (`robot.joint_names`, `nq`, `nv` are used) and insists on all of
        them; joints it does not have are left out and noted.
    channels: which column (CSV) or array (NPZ) is which, such as `{"t": "stamp", "q": ["a", "b"], "tau": [4, 5]}`;
        channels not mentioned are inferred from their names, None leaves one out.
    joint_names: names of the file's joints in its order, when it has none or wrong ones.
    units: units that the file does not state, such as `{"q": "deg", "v": "deg/s"}`.
    Returns a Log in SI units whose `notes` say everything that was inferred, converted or left out.
    Raises LogError when the file cannot be read or does not hold what is needed.
    """
    path = Path(path)
    if not path.exists():
        raise LogError(f"no log at {path}")
    reader = READERS.get(path.suffix.lower())
    if reader is None or path.is_dir():
        found = "a folder" if path.is_dir() else f"suffix {path.suffix!r}"
        raise LogError(f"{path}: {found} is not a log format that can be read; known: {choices(READERS)}")
    known = tuple(joint_names or (tuple(robot.joint_names) if robot is not None else ()))
    raw = reader(path, Request(channels or {}, units or {}, known))
    return to_log(raw, robot, joint_names, path.stem)
