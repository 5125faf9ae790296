"""From the streams of a recording to the channels of a log.

`sensor_msgs/JointState` is found by its type and `geometry_msgs/WrenchStamped` becomes wrenches; of other messages the
fields are taken whose names say what they are, or those that `channels=` asks for as `TOPIC.field.path`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.raw import Channel, Raw, Request
from steelyard.log.ros import bag1, bag2, mcap
from steelyard.log.ros.definitions import leaves, short
from steelyard.log.ros.messages import Recording, Topic
from steelyard.log.ros.streams import (
    CLOCKS,
    CORRECTED,
    RECEIVED,
    STAMPED,
    Stream,
    clock_notes,
    definitions_of,
    streams,
)
from steelyard.log.units import SI, factor, is_si
from steelyard.log.vocabulary import WORDS

JOINT_STATE, WRENCH = "sensor_msgs/JointState", "geometry_msgs/WrenchStamped"
COVERED = 0.9  # share of a log that a wrench must span to be used
_FORCE = tuple(f"wrench.{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz")
_FIELDS = {"q": "position", "v": "velocity", "tau": "effort"}


@dataclass(frozen=True)
class Part:
    """Columns of a channel that one stream has."""

    stream: Stream
    values: NDArray
    names: tuple[str, ...] | None


def read_mcap(path: Path, request: Request) -> Raw:
    """Read an MCAP file of ROS messages."""
    return _read(path, request, mcap.scan)


def read_bag1(path: Path, request: Request) -> Raw:
    """Read a ROS 1 bag."""
    return _read(path, request, bag1.scan)


def read_bag2(path: Path, request: Request) -> Raw:
    """Read a ROS 2 bag: a folder, or a part in SQLite."""
    return _read(path, request, bag2.scan_folder if path.is_dir() else bag2.scan)


def _read(path: Path, request: Request, scan: Callable[[Path, Recording], None]) -> Raw:
    asked = list(_asked(request))
    recording = Recording(path, lambda topic: _wanted(topic, asked))
    try:
        scan(path, recording)
        found = [stream for topic in recording.topics.values() for stream in streams(topic, recording)]
        parts = _parts(found, request, recording)
        return _raw(found, parts, request, recording)
    except LogError as error:
        damage = f" ({'; '.join(recording.notes[:3])})" if recording.notes else ""
        raise LogError(f"{path}: {str(error).removeprefix(f'{path}: ')}{damage}") from error


def _asked(request: Request) -> Iterator[str]:
    """Every `TOPIC.field.path` of `channels=`."""
    for key, wanted in request.channels.items():
        items = (
            wanted.values() if isinstance(wanted, Mapping) else [wanted] if isinstance(wanted, str) else wanted or ()
        )
        for item in items:
            if not isinstance(item, str):
                raise LogError(f"channels= wants {item!r} for {key}; of a recording, name fields: TOPIC.field.path")
            yield item


def _wanted(topic: Topic, asked: Iterable[str]) -> bool:
    """Whether messages of a topic could be needed."""
    if short(topic.kind) in (JOINT_STATE, WRENCH) or any(_path_in(topic.name, item) is not None for item in asked):
        return True
    try:
        said = {path.rsplit(".", 1)[-1].lower() for path, _ in leaves(short(topic.kind), definitions_of(topic))}
    except LogError:  # not to be decoded, and not asked for
        return False
    return bool(said & set(WORDS["q"])) and bool(said & (set(WORDS["v"]) | set(WORDS["tau"])))


def _path_in(topic: str, item: str) -> str | None:
    """Field path of `TOPIC.field.path`, or None for one of another topic."""
    return item[len(topic) + 1 :] if item.startswith(f"{topic}.") else None


def _parts(found: list[Stream], request: Request, recording: Recording) -> dict[str, list[Part]]:
    """What makes each channel."""
    result = {}
    for key, wanted in request.channels.items():
        if key != "t" and wanted is not None:
            items = wanted if isinstance(wanted, Mapping) else [wanted] if isinstance(wanted, str) else list(wanted)
            named = items.items() if isinstance(items, Mapping) else [(None, item) for item in items]
            result[key] = [_explicit(key, joint, item, found, recording) for joint, item in named]
    left = [key for key in SI if key != "t" and key not in request.channels]
    beside = {part.stream.topic for part in result.get("q", ())}  # where q was asked for, the rest is looked for
    states = [s for s in found if short(s.kind) == JOINT_STATE and (not beside or s.topic in beside)]
    states = _chosen(states, request) if left else []
    if states:
        inferred = {key: [_part(s, path) for s in states if path in s.numbers] for key, path in _FIELDS.items()}
    else:
        inferred = _by_words(found) if "q" in left else {}
    result |= {key: inferred[key] for key in left if inferred.get(key)}
    if "q" not in result:
        listed = choices(f"{topic.name} ({topic.kind})" for topic in recording.topics.values()) or "nothing"
        raise LogError(
            f'no joint positions in it; topics are {listed}. Say which field they are: channels={{"q": "TOPIC.field"}}'
        )
    return result


def _part(stream: Stream, path: str, names: tuple[str, ...] | None = None) -> Part:
    values = stream.numbers[path]
    if names is None and len(stream.names) == values.shape[1]:
        names = stream.names
    return Part(stream, values, names)


def _explicit(key: str, joint: str | None, item: str, found: list[Stream], recording: Recording) -> Part:
    """The part that `TOPIC.field.path` or `TOPIC.field.path[2]` names."""
    path, _, place = item.partition("[")
    for stream in found:
        field = _path_in(stream.topic, path)
        if field is None or field not in stream.numbers:
            continue
        part = _part(stream, field)
        if place:
            column = int(place.rstrip("]")) if place.rstrip("]").isdecimal() else -1
            if not 0 <= column < part.values.shape[1]:
                raise LogError(f"channels= wants {item!r} for {key}, which has {part.values.shape[1]} elements")
            part = Part(stream, part.values[:, [column]], part.names and (part.names[column],))
        return part if joint is None else Part(stream, part.values, (joint,))
    fields = [f"{stream.topic}.{path}" for stream in found for path in stream.numbers]
    known = choices(fields) or choices(f"{topic.name} ({topic.kind})" for topic in recording.topics.values())
    raise LogError(f"channels= wants {item!r} for {key}, which the file does not have; it has {known}")


def _chosen(states: list[Stream], request: Request) -> list[Stream]:
    """The joint states that are the robot's: those with its joints, and measured ones rather than commands. Raises
    LogError when topics contend for the same joint."""
    known = set(request.known)
    states = [stream for stream in states if not known or known & set(stream.names)] or states
    topics = list(dict.fromkeys(stream.topic for stream in states))
    measured = [topic for topic in topics if topic.rsplit("/", 1)[-1] == "joint_states"]
    states = [stream for stream in states if stream.topic in (measured or topics)]
    chosen: list[Stream] = []
    for stream in states:
        rival = next((other for other in chosen if set(other.names) & set(stream.names)), None)
        if rival is None:
            chosen.append(stream)
        elif rival.topic != stream.topic:
            raise LogError(
                f"{rival.topic} and {stream.topic} both have joints {choices(set(rival.names) & set(stream.names))}; "
                f'choose: channels={{"q": "{rival.topic}.position", "tau": "{rival.topic}.effort"}}'
            )
    return chosen


def _by_words(found: list[Stream]) -> dict[str, list[Part]]:
    """Fields of one message whose names say what they are."""
    result: dict[str, list[Part]] = {}
    for key in _FIELDS:
        hits = [
            (stream, path)
            for stream in found
            for path, values in stream.numbers.items()
            if path.rsplit(".", 1)[-1].lower() in WORDS[key] and values.dtype.kind == "f"
        ]
        if len({(stream.topic, path) for stream, path in hits}) > 1:
            listed = choices(f"{stream.topic}.{path}" for stream, path in hits)
            raise LogError(f'several fields look like {key}: {listed}; choose with channels={{"{key}": "TOPIC.field"}}')
        if hits:
            result[key] = [_part(*hits[0])]
    return result


def _raw(found: list[Stream], parts: dict[str, list[Part]], request: Request, recording: Recording) -> Raw:
    kind = request.channels.get("t") or STAMPED
    if kind not in CLOCKS:
        raise LogError(f"channels= t: of a recording one of {choices(CLOCKS)}, not {kind!r}")
    base = max((part.stream for part in parts["q"]), key=len)
    used = list({id(part.stream): part.stream for group in parts.values() for part in group}.values())
    clock = {id(stream): (stream.ticks(kind) - base.ticks(kind)[0]) * 1e-9 for stream in found}
    t = clock[id(base)] * factor("t", request.units.get("t", "s"))
    wrenches = [s for s in found if short(s.kind) == WRENCH and all(path in s.numbers for path in _FORCE)]
    spans = {id(s): _span(clock[id(s)]) for s in (*used, *wrenches)}
    start, stop = (f(spans[id(s)][i] for s in used) for i, f in ((0, max), (1, min)))
    notes = list(recording.notes)
    covering = [
        s for s in wrenches if min(stop, spans[id(s)][1]) - max(start, spans[id(s)][0]) > COVERED * (stop - start)
    ]
    notes += _left_out(found, used)
    notes += [f"wrench of {s.topic} not used: it does not span the log" for s in wrenches if s not in covering]
    start, stop = (f([x, *(spans[id(s)][i] for s in covering)]) for i, f, x in ((0, max, start), (1, min, stop)))
    keep = (t >= start) & (t <= stop)
    if not keep.any():
        raise LogError(f"topics {choices(s.topic for s in used)} were not recorded at the same time")
    grid = _Grid(t[keep], base, keep, clock)
    channels = {key: _channel(key, group, grid, request, notes) for key, group in parts.items()}
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
    rest = [topic.name for topic in recording.topics.values() if topic.name not in reached]
    if rest:
        notes.append(f"topics not used: {choices(rest)}")
    return Raw(t[keep], channels, tuple(notes), forces)


def _left_out(found: list[Stream], used: list[Stream]) -> Iterator[str]:
    """Messages of topics that are used, with other joints or lengths than those that are."""
    for topic in dict.fromkeys(stream.topic for stream in used):
        chosen = sum(len(stream) for stream in used if stream.topic == topic)
        whole = sum(len(stream) for stream in found if stream.topic == topic)
        if chosen < whole:
            yield f"{whole - chosen} of {whole} messages of {topic} have other joints or lengths: left out"


def _span(t: NDArray) -> tuple[float, float]:
    return float(t.min()), float(t.max())


@dataclass(frozen=True)
class _Grid:
    """Samples of a log: those of the stream that has the positions."""

    t: NDArray[np.float64]
    base: Stream
    keep: NDArray[np.bool_]
    clock: Mapping[int, NDArray[np.float64]]

    def at(self, stream: Stream, values: NDArray) -> NDArray[np.float64]:
        """(n, k) of a stream at the samples, between its own by straight lines."""
        if stream is self.base:
            return np.asarray(values if self.keep.all() else values[self.keep], dtype=np.float64)
        own, first = np.unique(self.clock[id(stream)], return_index=True)
        columns = np.asarray(values[first], dtype=np.float64).T
        return np.stack([np.interp(self.t, own, column) for column in columns], axis=1)


def _channel(key: str, group: list[Part], grid: _Grid, request: Request, notes: list[str]) -> Channel:
    values = [grid.at(part.stream, part.values) for part in group]
    whole = values[0] if len(values) == 1 else np.concatenate(values, axis=1)
    named = [part.names for part in group]
    names = tuple(name for each in named for name in each or ()) if all(named) else None
    topics = choices(dict.fromkeys(part.stream.topic for part in group))
    moved = [part.stream for part in group if part.stream is not grid.base]
    how = f"{key}: read from {topics}" + (f", interpolated to the stamps of {grid.base.topic}" if moved else "")
    unit = request.units.get(key, SI[key])
    if not is_si(key, unit):
        whole, how = whole * factor(key, unit), f"{how}; converted from {unit} to {SI[key]}, as units= says"
    notes.append(how)
    return Channel(np.ascontiguousarray(whole), names)


def _wrenches(found: list[Stream], grid: _Grid, notes: list[str]) -> dict[str, NDArray[np.float64]]:
    result: dict[str, NDArray[np.float64]] = {}
    for stream in found:
        name: Any = stream.frame if stream.frame and stream.frame not in result else stream.topic
        result[name] = grid.at(stream, np.concatenate([stream.numbers[path] for path in _FORCE], axis=1))
        notes.append(f"wrench of {name}: {stream.topic} as published, taken to act on the robot in the axes of {name}")
    return result
