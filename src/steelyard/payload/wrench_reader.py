"""`read_wrench_log`: NPZ archives, tables and ROS bags with a wrist sensor's wrench, and its pose or the arm's joint
states."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.corrections import NOTHING, Corrections
from steelyard.errors import LogError, OptionError, choices
from steelyard.log.channels import WORDS, factor
from steelyard.log.csv import decoded, numbers
from steelyard.log.csv_header import TableHead
from steelyard.log.npz import members
from steelyard.log.ros.recording import wrench_and_pose
from steelyard.log.table_columns import split_unit
from steelyard.model import Robot
from steelyard.payload.carried import carried_log
from steelyard.payload.motion_consistency import streamed
from steelyard.payload.motion_signals import motion_from_poses
from steelyard.payload.wrench_log import WrenchLog
from steelyard.prepare.reading import read_undone
from steelyard.prepare.undo import corrected, left_out
from steelyard.spatial import GRAVITY, rotation_from_rpy, rotation_from_vector

# Our name first, then what others write. Three-vectors and columns are joined in the order given.
ARRAYS = {
    "t": ("t", "time", "stamp", "timestamp"),
    "wrench": ("wrench", "ft", "ft_wrench", "force_torque"),
    "force": ("force", "forces"),
    "torque": ("torque", "torques", "moment"),
    "rotation": ("rotation", "world_from_sensor", "orientation"),
    "quaternion": ("quaternion", "quat"),
    "rotvec": ("rotvec", "rotation_vector"),
    "rpy": ("rpy", "roll_pitch_yaw"),
    "pose": ("pose", "ft_pose", "sensor_pose"),
    "position": ("position", "sensor_position"),
    "twist": ("twist", "ft_vel", "sensor_twist"),
    "acceleration": ("acceleration", "ft_acc", "sensor_acceleration"),
    "q": ("q", "joint_position", "joint_positions"),
    "v": ("v", "qd", "dq", "joint_velocity"),
    "a": ("a", "qdd", "ddq", "joint_acceleration"),
    "gravity": ("gravity",),
}
COLUMNS = {
    "t": tuple((word,) for word in WORDS["t"]),
    "wrench": (
        ("fx", "fy", "fz", "nx", "ny", "nz"),
        ("fx", "fy", "fz", "tx", "ty", "tz"),
        ("fx", "fy", "fz", "mx", "my", "mz"),
        ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z"),
    ),
    "quaternion": (("qx", "qy", "qz", "qw"),),
    "rotvec": (("rx", "ry", "rz"),),
    "rpy": (("roll", "pitch", "yaw"),),
    "position": (("px", "py", "pz"), ("x", "y", "z")),
    "twist": (("vx", "vy", "vz", "wx", "wy", "wz"),),
    "acceleration": (("ax", "ay", "az", "alx", "aly", "alz"), ("ax", "ay", "az", "alphax", "alphay", "alphaz")),
}
UNIT_OF = {"t": "t", "wrench": "tau", "twist": "v", "acceleration": "a"}  # channel with its units
UNIT_OF |= dict.fromkeys(("position", "rotvec", "rpy"), "q")
TABLES, BAGS = (".csv", ".tsv", ".txt"), (".mcap", ".bag", ".db3")
AXES = ("sensor", "world")
JOINTS = ("t", "q", "v", "a")  # signals that are read as of other logs
FORCES = ("force", "f")
SPELLED = re.compile(r"(.*?)(force|f|torque|moment|t|m|n)([xyz])")
_SEPARATORS = re.compile(r"[^a-z0-9]")
_NUMBER = re.compile(r"(.*?)[_.]?\[?(\d+)\]?")


@dataclass(frozen=True)
class ArmController:
    """What a controller of an arm writes: names of a wrench that the world exerts on the robot, and of the pose. axes:
    those of the wrench."""

    name: str
    wrench: str
    pose: str
    axes: str


CONTROLLERS = (
    ArmController("UR RTDE", "actual_tcp_force", "actual_tcp_pose", "world"),
    ArmController("libfranka", "k_f_ext_hat_k", "o_t_ee", "sensor"),
)


@dataclass(frozen=True)
class _WrenchFile:
    """Signals (n, k) of a file, notes on them, and the controller that wrote them."""

    signals: Mapping[str, np.ndarray]
    notes: tuple[str, ...] = ()
    by: ArmController | None = None


def read_wrench_log(
    path: str | Path,
    robot: Robot | None = None,
    *,
    frame: str | None = None,
    axes: str = "sensor",
    gravity=None,
    negate: bool = False,
    channels: Mapping[str, Any] | None = None,
    corrections: Corrections = NOTHING,
) -> WrenchLog:
    """Read a wrench log.

    Args:
        path: NPZ with arrays `t`, `wrench` (n, 6) or `force` and `torque`, and `rotation` (n, 3, 3), `quaternion`
            (n, 4) xyzw, `rotvec` (n, 3), `rpy` (n, 3) or `pose` (n, 4, 4), (n, 7) or (n, 6), with `position`, `twist`,
            `acceleration` as far as there are; or CSV with columns `t, fx, fy, fz, nx, ny, nz, qx, qy, qz, qw` (or
            `rx, ry, rz`; `roll, pitch, yaw`) and perhaps `px, ...`, `vx, ..., wx, ...`, `ax, ..., alx, ...`; or a ROS
            bag with WrenchStamped, and PoseStamped or TransformStamped; or what UR RTDE and libfranka call them.
        robot: arm of a log with joint states `q, v, a` (NPZ) or `q_JOINT, ...` (CSV) in the place of poses.
        frame: its link that is the sensor, the last body by default.
        axes: "sensor", or "world" for wrench, twist and (classical) acceleration in world axes at the sensor origin.
        gravity: (3,) in the world, m/s^2; by default the file's or the robot's, else -9.81 along z.
        negate: whether the sensor reports the reaction.
        channels: which column or array is which signal: `wrench` (six), `force`, `torque`, `quaternion`, `position`,
            `twist`, `acceleration`, `t`, and those of joints as of `read_log`.
        corrections: units such as `force=mN`, `torque=Nmm`, `position=mm`, `q=deg`, the order of joints, and times
            left out.

    Returns:
        The log, without samples that are not numbers; where there are no twist and acceleration they come from the
        poses by a Kalman smoother when there are positions, else the log is static.

    Raises:
        LogError: a file that cannot be read, or says nothing of wrench, time or pose.
        OptionError: other axes.
    """
    path = Path(path)
    if axes not in AXES:
        raise OptionError(f"axes is one of {choices(AXES)}; got {axes!r}")
    if not path.exists():
        raise LogError(f"no wrench log at {path}")
    readers = {".npz": _npz} | dict.fromkeys(TABLES, _table) | dict.fromkeys(BAGS, _bag)
    reader = _bag if path.is_dir() else readers.get(path.suffix.lower())
    if reader is None:
        raise LogError(f"{path}: suffix {path.suffix!r} is not a wrench log; known: {', '.join(readers)}")
    read = reader(path, robot, dict(channels or {}), corrections)
    if "t" not in read.signals:
        raise LogError(f"{path} has no time stamps (t)")
    found, notes = _finite(read.signals, np.size(read.signals["t"]))
    notes, by = (*read.notes, *notes), read.by
    if by is not None:
        axes, negate = by.axes, True
        notes += (f"recognised as written by {by.name}: {by.wrench} on the robot, in axes of the {by.axes}; {by.pose}",)
    wrench = _scaled(_wrench(path, found), corrections.units) * (-1.0 if negate else 1.0)
    t = np.ravel(found["t"])
    if robot is not None and "q" in found:
        log = _from_joints(path, robot, found, t, wrench, frame, axes)
        return _without(log.noted(*notes), path.stem, corrections.leave_out)
    rotation, position = _pose(path, found)
    if position is not None and (unit := corrections.units.get("position")) is not None:
        position = position * factor("q", unit)
    fields = {"t": t, "rotation": rotation, "position": position, "name": path.name}
    fields["gravity"] = found.get("gravity", GRAVITY) if gravity is None else gravity
    motion = {key: found[key] for key in ("twist", "acceleration") if key in found}
    made = WrenchLog.from_world_axes if axes == "world" else WrenchLog
    log = made(wrench=wrench, **(motion if len(motion) == 2 else {}), **fields)
    if not log.moving and position is not None and len(log) >= 10 and streamed(log):
        log = motion_from_poses(log)
    return _without(log.noted(*notes), path.stem, corrections.leave_out)


def _without(log: WrenchLog, name: str, words) -> WrenchLog:
    """The log without the samples of some times, after motion came from all of them. words: as of `--leave-out`."""
    kept = np.ones(len(log), dtype=bool)
    for span, gone in left_out(name, log.t, words):
        kept &= ~gone
        log = log.noted(f"{span} s left out, {gone.mean():.1%} of the samples")
    return log if kept.all() else log[kept]


def _finite(found: Mapping[str, np.ndarray], count: int) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """The samples of which every signal is a number, and a note where some are not."""
    samples = {
        key: value for key, value in found.items() if np.ndim(value) and len(value) == count and key != "gravity"
    }
    known = np.all([np.isfinite(x).reshape(count, -1).all(axis=1) for x in samples.values()], axis=0)
    if known.all():
        return dict(found), ()
    kept = {key: value[known] for key, value in samples.items()}
    return {**found, **kept}, (f"{np.count_nonzero(~known)} of {count} samples left out: not every signal is a number",)


def _scaled(wrench, units: Mapping[str, str]) -> np.ndarray:
    """A wrench (n, 6) in N and N m. units: of `force` and `torque` (or `tau`), where they are stated."""
    moment = units.get("torque", units.get("tau"))
    scale = [1.0 if unit is None else factor("tau", unit) for unit in (units.get("force"), moment)]
    return np.asarray(wrench) * np.repeat(scale, 3)


def _from_joints(path, robot, found, t, wrench, frame, axes):
    if axes == "world":
        raise OptionError("axes: 'world' is for logs with poses; with joint states the wrench is in the sensor's axes")
    still = np.zeros((len(t), robot.nv))
    known = "v" in found and "a" in found
    v, a = (found["v"], found["a"]) if known else (still, still)
    log = carried_log(robot, t=t, q=found["q"], v=v, a=a, wrench=wrench, frame=frame, name=path.name)
    return log if known or len(log) < 10 else motion_from_poses(log)


def _wrench(path, found):
    if "wrench" in found:
        return found["wrench"]
    if "force" in found and "torque" in found:
        return np.concatenate([found["force"], found["torque"]], axis=1)
    raise LogError(
        f"{path} has no wrench; expected `wrench` (n, 6), `force` and `torque`, or columns fx ... nz. "
        "For a log of joint torques without a sensor: --torques --arm MODEL"
    )


def _pose(path, found):
    """Rotations (n, 3, 3) or quaternions (n, 4), and positions (n, 3) or None."""
    position = found.get("position")
    turned = dict.fromkeys(("rotation", "quaternion"), np.asarray)
    turned |= {"rotvec": rotation_from_vector, "rpy": rotation_from_rpy}
    for key, rotation in turned.items():
        if key in found:
            return rotation(found[key]), position
    pose = found.get("pose")
    shape = () if pose is None else pose.shape[1:]
    if pose is not None and shape == (16,):  # by columns
        pose, shape = pose.reshape(-1, 4, 4).swapaxes(1, 2), (4, 4)
    if pose is not None and shape == (4, 4):
        return pose[:, :3, :3], pose[:, :3, 3]
    if pose is not None and shape == (7,):
        return pose[:, 3:], pose[:, :3]
    if pose is not None and shape == (6,):
        return rotation_from_vector(pose[:, 3:]), pose[:, :3]
    raise LogError(
        f"{path} says nothing of how the sensor was turned; expected rotation (n, 3, 3), quaternion (n, 4) xyzw, "
        "rotvec (n, 3) or columns rx, ry, rz, rpy (n, 3) or columns roll, pitch, yaw, pose (n, 4, 4), (n, 7) [x y z, "
        "qx qy qz qw] or (n, 6) [x y z, rx ry rz], or joint states q with robot="
    )


def _written_by(names: Iterable[str]) -> tuple[ArmController, dict[str, list[str]]] | None:
    """The controller whose names a file has, and its columns of each, in order."""
    signals: dict[str, dict[int, str]] = {}
    for name in names:
        stem, number = match.groups() if (match := _NUMBER.fullmatch(name)) else (name, 0)
        signals.setdefault(stem.lower(), {})[int(number)] = name
    for each in CONTROLLERS:
        if each.wrench in signals and each.pose in signals:
            return each, {
                key: [signals[word][i] for i in sorted(signals[word])]
                for key, word in (("wrench", each.wrench), ("pose", each.pose))
            }
    return None


def _bag(path, robot, channels, corrections) -> _WrenchFile:
    """Of a recording: its one wrench, with joint states of an arm, or with poses."""
    if robot is None:
        return _WrenchFile(*wrench_and_pose(path, channels))
    log = corrected(robot, read_undone(path, robot, corrections=corrections), corrections)
    if len(log.wrenches) != 1:
        raise LogError(f"{path} has wrenches of {choices(log.wrenches) or 'nothing'} beside its joints; expected one")
    (wrench,) = log.wrenches.values()
    given = {key: value for key in ("q", "v", "a") if (value := getattr(log, key)) is not None}
    return _WrenchFile(given | {"t": log.t, "wrench": wrench}, log.notes)


def _npz(path, robot, channels, corrections) -> _WrenchFile:
    words = ARRAYS | {key: (word,) for key, word in channels.items() if key in ARRAYS and isinstance(word, str)}
    with members(path) as arrays:
        by = None if "wrench" in channels else _written_by(arrays.keys)
        words |= {} if by is None else {key: tuple(names) for key, names in by[1].items()}
        chosen = {key: next((word for word in each if word in arrays.keys), None) for key, each in words.items()}
        found = {key: arrays[word] for key, word in chosen.items() if word is not None}
    for key, array in found.items():
        if array.dtype.kind not in "fiu":
            raise LogError(f"{path}, array {chosen[key]!r}: expected real numbers, found {array.dtype}")
    return _WrenchFile({key: array.astype(float) for key, array in found.items()}, by=by and by[0])


def _table(path, robot, channels, corrections) -> _WrenchFile:
    read = decoded(path, lambda head: _columns(head, channels))
    if robot is None or read.by is not None:
        return read
    of_joints = {key: word for key, word in channels.items() if key in JOINTS}
    reading = Corrections(unit=tuple(w for w in corrections.unit if w.split("=")[0] in JOINTS), order=corrections.order)
    try:  # the wrench's own torques are none of joints
        log = read_undone(path, robot, channels=of_joints | {"tau": None}, corrections=reading)
        log = corrected(robot, log, reading)
    except LogError:
        if read.signals.keys() & {"quaternion", "rotvec", "rpy"}:  # poses will do
            return read
        raise
    if len(log) != (count := np.size(read.signals["t"])):
        raise LogError(f"{path}: {len(log)} samples of joints beside {count} of the wrench")
    joints = {key: value for key in ("q", "v", "a") if (value := getattr(log, key)) is not None}
    return _WrenchFile({**read.signals, **joints})


def _columns(head: TableHead, channels: Mapping[str, Any]) -> _WrenchFile:
    """The columns of a table that are named, or known by name, each signal (n, k) in SI."""
    named = [split_unit(header) for header in head.headers]
    at = {name.lower(): i for i, (name, _) in reversed(list(enumerate(named)))}
    words = {
        key: next((each for each in spelled if all(word in at for word in each)), ())
        for key, spelled in COLUMNS.items()
    }
    words["wrench"] = words["wrench"] or _spelled_wrench(at)
    by = None if words["wrench"] or "wrench" in channels else _written_by(at)
    words |= {} if by is None else {key: tuple(names) for key, names in by[1].items()}
    words |= _named_columns(head, channels, at)
    used = {key: [at[word] for word in each] for key, each in words.items() if each}
    if "wrench" not in used:
        raise LogError(
            f"{head.path} has no wrench: expected columns fx, fy, fz, nx, ny, nz (also tx or mx; force_x, torque_x; "
            f"with other words about them), found {choices(head.headers)}. Name them: --channels "
            '\'{"wrench": ["column", ...]}\'. For a log of joint torques without a sensor: --torques --arm MODEL'
        )
    columns = sorted({index for each in used.values() for index in each})
    values = dict(zip(columns, numbers(head, columns)[0], strict=True))
    for key, channel in UNIT_OF.items():
        for index in used.get(key, ()):
            unit = named[index][1]
            values[index] = values[index] * (1.0 if unit is None else factor(channel, unit))
    return _WrenchFile(
        {key: np.stack([values[index] for index in each], axis=1) for key, each in used.items()}, by=by and by[0]
    )


def _spelled_wrench(at: Mapping[str, int]) -> tuple[str, ...]:
    """Six columns whose names end in a force and a moment along x, y, z behind the same words, such as `ft_raw_Fx` or
    `wrench.force.x`: those with the fewest such words."""
    found: dict[str, dict[str, str]] = {}
    for name in at:
        if spelled := SPELLED.fullmatch(_SEPARATORS.sub("", name)):
            before, kind, axis = spelled.groups()
            found.setdefault(before, {}).setdefault(("f" if kind in FORCES else "n") + axis, name)
    whole = [each for _, each in sorted(found.items(), key=lambda pair: len(pair[0])) if len(each) == 6]
    return tuple(whole[0][channel] for channel in ("fx", "fy", "fz", "nx", "ny", "nz")) if whole else ()


def _named_columns(head: TableHead, channels: Mapping[str, Any], at: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Columns that the user names, by signal. Raises LogError for one that is not there."""
    given = {key: [each] if isinstance(each, str) else each for key, each in channels.items() if each is not None}
    if "force" in given and "torque" in given:
        given["wrench"] = [*given.pop("force"), *given.pop("torque")]
    found = {}
    for key in given.keys() & COLUMNS.keys():
        words = tuple(split_unit(str(word))[0].lower() for word in given[key])
        if missing := [word for word in words if word not in at]:
            raise LogError(f"{head.path} has no column {choices(missing)}; it has {choices(head.headers)}")
        found[key] = words
    return found
