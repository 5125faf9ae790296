"""Recordings for viewers that people have open: measured, predicted and residual torques, and the robot that moves.

An `.mcap` holds messages of ROS 2, for Foxglove, Lichtblick and PlotJuggler, and `read_log`; an `.rrd` is for Rerun.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.dynamics.kinematics import motion as tree_motion
from steelyard.errors import ModelError, OptionError
from steelyard.extras import extra, require_extra
from steelyard.fit import Validation
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.model.document import read_bytes
from steelyard.model.formats import BY_NAME, document_of
from steelyard.model.normal_form import normal_form
from steelyard.model.robot import WORLD
from steelyard.spatial import quaternion_of
from steelyard.viewer.played_motion import PlayedMotion, motion_of
from steelyard.viewer.shape import looks

NS = 1e9  # a second
PLAIN = (0.72, 0.75, 0.79, 1.0)  # a shape without colour
ROOT = "world"


@dataclass(frozen=True, eq=False)
class Playback:
    """What is played. q, v, measured: (n, k), rad or m, their rates, N m or N; NaN where a freedom has none."""

    robot: Robot
    t: np.ndarray  # (n,) s from zero
    names: tuple[str, ...]  # (k,) joints
    q: np.ndarray
    v: np.ndarray
    measured: np.ndarray
    predicted: Mapping[str, np.ndarray]  # (n, k) by the name of its model
    motion: PlayedMotion  # of the whole robot


def write_recording(path, robot: Robot, log: Log, models: Mapping[str, Validation]) -> Path:
    """Write torques and motion of a log for other viewers.

    Args:
        path: of the file, `.mcap` or `.rrd`.
        robot: what moved.
        log: the samples that were predicted, in order, with q and v.
        models: predictions of its torques, by the name of the model.

    Returns:
        The path.

    Raises:
        OptionError: another suffix, a library that is missing, a place where nothing can be written.
    """
    path = require_recording(path)
    played = _playback(robot, log, models)
    with storage.placed(path, "Recording"), storage.whole(path) as draft:
        WRITERS[path.suffix.lower()](played, draft)
    return path


def require_recording(path) -> Path:
    """The path of a recording. Raises OptionError for another suffix, or a missing library: before work, not after."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise OptionError(f"'{path}': a recording is a {' or '.join(WRITERS)} file; choose one of these suffixes.")
    require_extra(f"Writing {suffix}", *NEEDS[suffix])
    return path


def _playback(robot: Robot, log: Log, models: Mapping[str, Validation]) -> Playback:
    first = next(iter(models.values()))
    places = {name: i for i, name in enumerate(robot.dof_names)}
    q, v = np.full((2, len(log), len(first.joint_names)), np.nan)
    for k, name in enumerate(first.joint_names):
        i = places[name]
        if i in robot.scalar_positions and log.q.shape[1] == robot.nq:
            q[:, k] = log.q[:, robot.scalar_positions[i]]
        if log.v is not None and log.v.shape[1] == robot.nv:
            v[:, k] = log.v[:, i]
    return Playback(
        robot,
        np.asarray(log.t) - log.t[0],
        tuple(first.joint_names),
        q,
        v,
        first.measured,
        {name: each.predicted for name, each in models.items()},
        motion_of(log, robot),
    )


def body_poses(robot: Robot, q) -> tuple[np.ndarray, np.ndarray]:
    """R (n, nb, 3, 3), p (n, nb, 3) of the bodies in the world. q: (n, nq)."""
    q = np.ascontiguousarray(np.asarray(q, dtype=float).T)
    still = np.zeros((robot.nv, q.shape[1]))
    state = tree_motion(robot, q, still, still)
    return np.moveaxis(np.asarray(state.rotation), -1, 0), np.moveaxis(np.asarray(state.position), -1, 0)


def _links(robot: Robot, motion: PlayedMotion) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name of each link that moves, its position (n, 3) m and quaternion x y z w (n, 4) in the world."""
    R, p = body_poses(robot, motion.q)
    for link in robot.links:
        if link.body != WORLD and link.name != ROOT:
            turned, at = R[:, link.body], p[:, link.body]
            yield link.name, at + turned @ link.position, np.asarray(quaternion_of(turned @ link.rotation))


def _mcap(played: Playback, path: Path) -> None:
    with extra("Writing MCAP"):
        from mcap.writer import CompressionType, Writer
        from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_HUMBLE)
    with path.open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD)
        writer.start(profile="ros2", library="steelyard")
        schemas: dict[str, int] = {}

        def topic(name: str, kind: str, **metadata: str) -> int:
            if kind not in schemas:
                text, _ = types.generate_msgdef(kind, ros_version=2)
                schemas[kind] = writer.register_schema(kind, "ros2msg", text.encode())
            return writer.register_channel(name, "cdr", schemas[kind], metadata)

        def write(channel: int, messages: Iterator[tuple[int, bytes]]) -> None:
            for count, (stamp, data) in enumerate(messages):
                writer.add_message(channel, stamp, data, stamp, count)

        lasting = {"offered_qos_profiles": "- history: 3\n  depth: 1\n  reliability: 1\n  durability: 1\n"}
        if text := _urdf(played.robot):
            told = bytes(types.serialize_cdr(types.types["std_msgs/msg/String"](text), "std_msgs/msg/String"))
            write(topic("/robot_description", "std_msgs/msg/String", **lasting), iter([(0, told)]))
        write(topic("/tf", "tf2_msgs/msg/TFMessage"), _transforms(played, types))
        write(topic("/joint_states", "sensor_msgs/msg/JointState"), _states(played, played.measured, types))
        for name, torque in played.predicted.items():
            kind, word = "sensor_msgs/msg/JointState", _word(name)
            write(topic(f"/predicted/{word}", kind), _states(played, torque, types))
            write(topic(f"/residual/{word}", kind), _states(played, played.measured - torque, types))
        writer.finish()


def _urdf(robot: Robot) -> str:
    """Text of a URDF of the robot: its own file where that is one; none where URDF cannot say it."""
    document, urdf = document_of(robot), BY_NAME["urdf"]
    if document is not None and robot.source is not None and robot.source.format == urdf.name and document.exists:
        return read_bytes(document.path).decode(errors="replace")
    assert urdf.new is not None and urdf.abilities is not None
    try:
        return urdf.new(normal_form(robot, urdf.abilities), Path("robot.urdf"), ()).files[-1][1].decode()
    except ModelError:
        return ""


def _word(name: str) -> str:
    return re.sub(r"\W+", "_", Path(name).name).strip("_") or "model"


def _states(played: Playback, effort: np.ndarray, types) -> Iterator[tuple[int, bytes]]:
    """Stamp, ns, and encoded joint state of each sample. All are alike but for stamp and numbers, so one is encoded and
    the others are copies with their own; its three lists end it, each behind a count and padding of eight bytes."""
    stamp, header = types.types["builtin_interfaces/msg/Time"], types.types["std_msgs/msg/Header"]
    zero = np.zeros(len(played.names))
    state = types.types["sensor_msgs/msg/JointState"](header(stamp(0, 0), ""), list(played.names), zero, zero, zero)
    one = np.frombuffer(types.serialize_cdr(state, "sensor_msgs/msg/JointState"), dtype=np.uint8)
    rows = np.tile(one, (len(played.t), 1))
    ns = np.round(played.t * NS).astype(np.int64)
    width, end = 8 * len(played.names), len(one)
    rows[:, 4:12] = np.column_stack([ns // int(NS), ns % int(NS)]).astype("<i4").view(np.uint8)
    for values in (effort, played.v, played.q):
        rows[:, end - width : end] = np.ascontiguousarray(values, dtype="<f8").view(np.uint8)
        end -= width + 8
    for at, row in zip(ns.tolist(), rows, strict=True):
        yield at, row.tobytes()


def _transforms(played: Playback, types) -> Iterator[tuple[int, bytes]]:
    """Stamp, ns, and encoded poses of all links in the world."""
    known = types.types
    stamp, header = known["builtin_interfaces/msg/Time"], known["std_msgs/msg/Header"]
    vector, quaternion = known["geometry_msgs/msg/Vector3"], known["geometry_msgs/msg/Quaternion"]
    pose, placed = known["geometry_msgs/msg/Transform"], known["geometry_msgs/msg/TransformStamped"]
    links = list(_links(played.robot, played.motion))
    for i, at in enumerate(np.round(played.motion.t * NS).astype(np.int64).tolist()):
        head = header(stamp(at // int(NS), at % int(NS)), ROOT)
        found = [placed(head, name, pose(vector(*p[i]), quaternion(*x[i]))) for name, p, x in links]
        yield at, bytes(types.serialize_cdr(known["tf2_msgs/msg/TFMessage"](found), "tf2_msgs/msg/TFMessage"))


def _rerun(played: Playback, path: Path) -> None:
    with extra("Writing a Rerun recording"):
        import rerun as rr  # pyright: ignore[reportMissingImports]
        import rerun.blueprint as rrb  # pyright: ignore[reportMissingImports]

    stream = rr.RecordingStream("steelyard")
    stream.save(path)
    torques = {"measured": played.measured, **{_word(name): each for name, each in played.predicted.items()}}
    errors = {name: played.measured - each for name, each in torques.items() if name != "measured"}
    time = rr.TimeColumn("time", duration=played.t)
    for kind, signals in (("torque", torques), ("residual", errors), ("position", {"measured": played.q})):
        for name, values in signals.items():
            for k, joint in enumerate(played.names):
                entity = rr.new_entity_path([kind, joint, name])
                stream.send_columns(entity, indexes=[time], columns=rr.Scalars.columns(scalars=values[:, k]))
    _model(played, stream, rr)
    views = [rrb.TimeSeriesView(origin=f"/torque/{joint}", name=joint) for joint in played.names]
    stream.send_blueprint(rrb.Horizontal(rrb.Spatial3DView(origin="/model"), rrb.Grid(*views)))
    stream.flush()
    stream.disconnect()


def _model(played: Playback, stream, rr) -> None:
    robot = played.robot
    seen = looks(robot)
    role = "visual" if any(part.role == "visual" for part in seen.parts) else "collision"
    time = rr.TimeColumn("time", duration=played.motion.t)
    links = dict.fromkeys(link.name for link in robot.links)
    for name, p, x in _links(robot, played.motion):
        poses = rr.Transform3D.columns(translation=p, quaternion=x)
        stream.send_columns(rr.new_entity_path(["model", name]), indexes=[time], columns=poses)
    for k, part in enumerate(each for each in seen.parts if each.role == role and each.link in links):
        shape, entity = seen.shapes[part.shape], ["model", part.link, f"{role}_{k}"]
        vertices = shape.vertices @ part.rotation.T + part.position
        color = np.round(255 * np.asarray(part.color or PLAIN)).astype(np.uint8)
        mesh = rr.Mesh3D(vertex_positions=vertices, triangle_indices=shape.faces, albedo_factor=color)
        stream.log(entity, mesh, static=True)


WRITERS: dict[str, Callable[[Playback, Path], None]] = {".mcap": _mcap, ".rrd": _rerun}
NEEDS = {".mcap": ("mcap", "rosbags"), ".rrd": ("rerun",)}  # modules
