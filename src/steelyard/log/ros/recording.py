"""From the streams of a recording, each with stamps of its own, to the channels of a log: one clock, and the samples of
the positions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.channels import HELD, SI, factor, is_si, sampled
from steelyard.log.frame_channels import ByFrame
from steelyard.log.raw_channels import Channel, Raw, ReadRequest
from steelyard.log.ros import bag1, bag2, mcap
from steelyard.log.ros.definitions import short
from steelyard.log.ros.messages import MessageFile
from steelyard.log.ros.streams import (
    CLOCKS,
    CORRECTED,
    RECEIVED,
    STAMPED,
    MessageStream,
    clock_notes,
    streams,
    with_points,
)
from steelyard.log.ros.topics import (
    JOINT_STATE,
    WRENCH,
    TopicPart,
    computed_torques,
    is_needed,
    parts_of,
    requested_fields,
)

_POSES = {  # fields of position and orientation
    "geometry_msgs/PoseStamped": ("pose.position", "pose.orientation"),
    "geometry_msgs/TransformStamped": ("transform.translation", "transform.rotation"),
}
KINDS = {"wrench": "WrenchStamped", "pose": "PoseStamped or TransformStamped"}
_FORCE = tuple(f"wrench.{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz")


def read(path: Path, request: ReadRequest) -> Raw:
    """Read a recording: an MCAP file of ROS messages, a ROS 1 bag, or a ROS 2 bag, a folder or a part in SQLite."""
    requested = list(requested_fields(request))
    recording = MessageFile(path, lambda topic: is_needed(topic, requested))
    try:
        _scan(path, recording)
        found = [stream for topic in recording.topics.values() for stream in streams(topic, recording)]
        if not any(short(stream.kind) == JOINT_STATE for stream in found):
            found = with_points(found, asked="q" in request.channels)
        return _on_one_grid(found, parts_of(found, request, recording), request, recording)
    except LogError as error:
        damage = f" ({'; '.join(recording.notes[:3])})" if recording.notes else ""
        raise LogError(f"{path}: {str(error).removeprefix(f'{path}: ')}{damage}") from error


def _scan(path: Path, recording: MessageFile) -> None:
    """Add the messages of a recording of any kind."""
    by_suffix = {".mcap": mcap.scan, ".bag": bag1.scan}
    (bag2.scan_folder if path.is_dir() else by_suffix.get(path.suffix.lower(), bag2.scan))(path, recording)


def wrench_and_pose(path: Path, channels: Mapping[str, str]) -> tuple[dict[str, NDArray[np.float64]], tuple[str, ...]]:
    """Of a recording: t (n,) s, position (n, 3) and quaternion (n, 4) at the stamps of the poses, wrench (n, 6) between
    its own by straight lines, and notes. channels: topics of `wrench` and `pose`, where there are several. Raises
    LogError for a recording that has none."""
    recording = MessageFile(path, lambda topic: short(topic.kind) in (WRENCH, *_POSES))
    _scan(path, recording)
    found = [stream for topic in recording.topics.values() for stream in streams(topic, recording)]
    wrench, pose = (
        _only(key, [each for each in found if short(each.kind) in kinds], channels.get(key), recording)
        for key, kinds in (("wrench", (WRENCH,)), ("pose", tuple(_POSES)))
    )
    start = pose.ticks()[0]
    t, at = (1e-9 * (each.ticks() - start) for each in (pose, wrench))
    kept = (t >= at.min()) & (t <= at.max())
    if not kept.any():
        raise LogError(f"{path}: {pose.topic} and {wrench.topic} were not recorded at the same time")
    position, orientation = _POSES[short(pose.kind)]
    read = {
        "position": np.concatenate([pose.numbers[f"{position}.{axis}"] for axis in "xyz"], axis=1),
        "quaternion": np.concatenate([pose.numbers[f"{orientation}.{axis}"] for axis in "xyzw"], axis=1),
    }
    force = np.concatenate([wrench.numbers[each] for each in _FORCE], axis=1)
    read = {key: np.asarray(value[kept], dtype=np.float64) for key, value in read.items()}
    notes = (f"wrench from {wrench.topic} as published, poses from {pose.topic}", *recording.notes)
    notes += tuple(clock_notes([pose, wrench]))
    return read | {"t": t[kept], "wrench": sampled(t[kept], at, force, holds=False)}, notes


def _only(key: str, found: list[MessageStream], topic: str | None, recording: MessageFile) -> MessageStream:
    """The one stream of a kind, or that of a topic."""
    longest: dict[str, MessageStream] = {}
    for each in found:
        if topic in (None, each.topic):
            longest.setdefault(each.topic, each)
    if len(longest) == 1:
        return next(iter(longest.values()))
    if longest:
        raise LogError(
            f"{recording.path}: several topics may be the {key}: {choices(longest)}. Name one: --channels "
            f'\'{{"{key}": "{next(iter(longest))}"}}\''
        )
    raise LogError(f"{recording.path} has no {key} of a sensor ({KINDS[key]}); {recording.listed}")


def _on_one_grid(
    found: list[MessageStream], parts: dict[str, list[TopicPart]], request: ReadRequest, recording: MessageFile
) -> Raw:
    """The log that parts of streams make, with all wrenches that span it. Raises LogError where they do not overlap."""
    kind = request.channels.get("t") or STAMPED
    if kind not in CLOCKS:
        raise LogError(f"channels= t: of a recording one of {choices(CLOCKS)}, not {kind!r}")
    base = max((part.stream for part in parts["q"]), key=len)
    used = list({id(part.stream): part.stream for group in parts.values() for part in group}.values())
    unit = 1e-9 * factor("t", request.units.get("t", "s"))
    clock = {id(stream): (stream.ticks(kind) - base.ticks(kind)[0]) * unit for stream in found}
    t = clock[id(base)]
    wrenches = [s for s in found if short(s.kind) == WRENCH and all(path in s.numbers for path in _FORCE)]
    span = {id(s): (float(clock[id(s)].min()), float(clock[id(s)].max())) for s in (*used, *wrenches)}
    whole = _overlap(span[id(s)] for s in used)
    # share of a log that a wrench must span to be used
    covering = [s for s in wrenches if _length(_overlap([whole, span[id(s)]])) > 0.9 * _length(whole)]
    notes = [*recording.notes, *_left_out(found, used)]
    notes += [f"wrench of {s.topic} not used: it does not span the log" for s in wrenches if s not in covering]
    start, stop = _overlap([whole, *(span[id(s)] for s in covering)])
    keep = (t >= start) & (t <= stop)
    if not keep.any():
        raise LogError(f"topics {choices(s.topic for s in used)} were not recorded at the same time")
    grid = _SampleGrid(t[keep], base, keep, clock)
    channels = {key: _channel(key, group, grid, request, notes) for key, group in parts.items()}
    notes += computed_torques(parts.get("tau", []))
    forces = _wrenches(covering, grid, notes)
    of = "receipt" if kind == RECEIVED or base.stamped is None else "stamp"
    notes.append(
        f"t: seconds from the first {of} of {base.topic}"
        + (", set by the recorder's clock" if kind == CORRECTED else "")
        + ("" if keep.all() else f"; {int((~keep).sum())} samples that other topics do not span were left out")
    )
    if kind == STAMPED:
        notes += clock_notes([*used, *covering])
    reached = {s.topic for s in (*used, *wrenches)}
    rest = [topic.name for topic in recording.topics.values() if topic.name not in reached] + [*recording.foreign]
    if rest:
        notes.append(f"topics not used: {choices(rest)}")
    return Raw(t[keep], channels, tuple(notes), by_frame=ByFrame(wrenches=forces))


def _left_out(found: list[MessageStream], used: list[MessageStream]) -> Iterator[str]:
    """Messages of topics that are used, with other joints or lengths than those that are."""
    for topic in dict.fromkeys(stream.topic for stream in used):
        chosen = sum(len(stream) for stream in used if stream.topic == topic)
        whole = sum(len(stream) for stream in found if stream.topic == topic)
        if chosen < whole:
            yield f"{whole - chosen} of {whole} messages of {topic} have other joints or lengths: left out"


def _overlap(spans: Iterable[tuple[float, float]]) -> tuple[float, float]:
    starts, stops = zip(*spans, strict=True)
    return max(starts), min(stops)


def _length(span: tuple[float, float]) -> float:
    return span[1] - span[0]


@dataclass(frozen=True)
class _SampleGrid:
    """Samples of a log: those of the stream that has the positions."""

    t: NDArray[np.float64]
    base: MessageStream
    keep: NDArray[np.bool_]
    clock: Mapping[int, NDArray[np.float64]]

    def at(self, stream: MessageStream, values: NDArray, *, holds: bool = False) -> NDArray[np.float64]:
        """(n, k) of a stream at the samples, between its own by straight lines, or the last one that holds."""
        if stream is self.base:
            return np.asarray(values if self.keep.all() else values[self.keep], dtype=np.float64)
        return sampled(self.t, self.clock[id(stream)], values, holds=holds)


def _channel(key: str, group: list[TopicPart], grid: _SampleGrid, request: ReadRequest, notes: list[str]) -> Channel:
    holds = key in HELD
    values = [grid.at(part.stream, part.values, holds=holds) for part in group]
    whole = values[0] if len(values) == 1 else np.concatenate(values, axis=1)
    named = [part.names for part in group]
    names = tuple(name for each in named for name in each or ()) if all(named) else None
    topics = choices(dict.fromkeys(part.stream.topic for part in group))
    moved = [part.stream for part in group if part.stream is not grid.base]
    taken = "its last value at" if holds else "interpolated to"
    how = f"{key}: read from {topics}" + (f", {taken} the stamps of {grid.base.topic}" if moved else "")
    unit = request.units.get(key, SI[key])
    if not is_si(key, unit):
        whole, how = whole * factor(key, unit), f"{how}; converted from {unit} to {SI[key]}, as units= says"
    notes.append(how)
    return Channel(np.ascontiguousarray(whole), names)


def _wrenches(found: list[MessageStream], grid: _SampleGrid, notes: list[str]) -> dict[str, NDArray[np.float64]]:
    result: dict[str, NDArray[np.float64]] = {}
    for stream in found:
        name = stream.frame if stream.frame and stream.frame not in result else stream.topic
        result[name] = grid.at(stream, np.concatenate([stream.numbers[path] for path in _FORCE], axis=1))
        notes.append(f"wrench of {name}: {stream.topic} as published, taken to act on the robot in the axes of {name}")
    return result
