"""Which streams of a recording make the channels of a log.

`sensor_msgs/JointState` is found by its type; of other messages the fields are taken whose names say what they are, or
those that `channels=` asks for as `TOPIC.field.path`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.channels import SI, WORDS
from steelyard.log.raw_channels import ReadRequest, asked
from steelyard.log.ros.definitions import LONGEST, number_names, short
from steelyard.log.ros.messages import MessageFile, Topic
from steelyard.log.ros.streams import MessageStream, definitions_of, is_trajectory
from steelyard.log.signals import COMPUTED, computed_note

JOINT_STATE, WRENCH = "sensor_msgs/JointState", "geometry_msgs/WrenchStamped"
_FIELDS = {"q": "position", "v": "velocity", "tau": "effort"}


@dataclass(frozen=True)
class TopicPart:
    """Columns of a channel that one stream has, of its field at a path."""

    stream: MessageStream
    values: NDArray
    names: tuple[str, ...] | None
    path: str = ""


def requested_fields(request: ReadRequest) -> Iterator[str]:
    """Every `TOPIC.field.path` of `channels=`."""
    for key, wanted in request.channels.items():
        for _, item in asked(wanted):
            if not isinstance(item, str):
                raise LogError(f"channels= wants {item!r} for {key}; of a recording, name fields: TOPIC.field.path")
            yield item


def is_needed(topic: Topic, requested: Iterable[str]) -> bool:
    """Whether messages of a topic could be needed."""
    if short(topic.kind) in (JOINT_STATE, WRENCH) or any(_path_in(topic.name, item) is not None for item in requested):
        return True
    words = set(re.findall(r'"(\w+)"' if topic.json else r"\w+", topic.definition[:LONGEST].lower()))
    if topic.json or (words and not _are_of_joints(words)):
        return _are_of_joints(words)
    try:
        return _are_of_joints(number_names(short(topic.kind), definitions_of(topic)))
    except LogError:  # not to be decoded, and not asked for
        return False


def _are_of_joints(names: set[str]) -> bool:
    """Whether a message whose fields have these names could hold the state of joints."""
    return bool(names & set(WORDS["q"])) and bool(names & (set(WORDS["v"]) | set(WORDS["tau"])))


def _path_in(topic: str, item: str) -> str | None:
    """Field path of `TOPIC.field.path`, or None for one of another topic."""
    return item[len(topic) + 1 :] if item.startswith(f"{topic}.") else None


def parts_of(found: list[MessageStream], request: ReadRequest, recording: MessageFile) -> dict[str, list[TopicPart]]:
    """What makes each channel."""
    result = {}
    for key, wanted in request.channels.items():
        if key != "t" and wanted is not None:
            result[key] = [_explicit(key, joint, item, found, recording) for joint, item in asked(wanted)]
    left = [key for key in SI if key != "t" and key not in request.channels]
    beside = {part.stream.topic for part in result.get("q", ())}  # where q was asked for, the rest is looked for
    states = [s for s in found if short(s.kind) == JOINT_STATE and (not beside or s.topic in beside)]
    orders = [stream for stream in states if _commands(stream)]
    states = [stream for stream in states if not _commands(stream)] or states
    states = _chosen(states, request) if left else []
    if states:
        inferred = {key: [_part(s, path) for s in states if path in s.numbers] for key, path in _FIELDS.items()}
    else:
        inferred = _by_words(found) if "q" in left else {}
    if orders and states and orders[0] not in states:
        inferred["command"] = [_part(s, _FIELDS["q"]) for s in orders if _FIELDS["q"] in s.numbers]
    result |= {key: inferred[key] for key in left if inferred.get(key)}
    if "q" not in result:
        raise LogError(
            f'no joint positions in it; {recording.listed}. Say which field they are: channels={{"q": "TOPIC.field"}}'
        )
    return result


def _part(stream: MessageStream, path: str, names: tuple[str, ...] | None = None) -> TopicPart:
    values = stream.numbers[path]
    if names is None and len(stream.names) == values.shape[1]:
        names = stream.names
    return TopicPart(stream, values, names, path)


def _explicit(key: str, joint: str | None, item: str, found: list[MessageStream], recording: MessageFile) -> TopicPart:
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
            part = replace(part, values=part.values[:, [column]], names=part.names and (part.names[column],))
        return part if joint is None else replace(part, names=(joint,))
    fields = [f"{stream.topic}.{path}" for stream in found for path in stream.numbers]
    known = choices(fields) or recording.listed
    raise LogError(f"channels= wants {item!r} for {key}, which the file does not have; it has {known}")


def computed_torques(group: list[TopicPart]) -> tuple[str, ...]:
    """The note on torques of fields or topics that are no measurements."""
    named = [
        f"{part.stream.topic}.{part.path}" for part in group if _commands(part.stream) or is_trajectory(part.stream)
    ]
    fields = computed_note([part.path.rsplit(".", 1)[-1] for part in group])
    return (f"{COMPUTED} {choices(dict.fromkeys(named))}",) if named else fields


def _commands(stream: MessageStream) -> bool:
    """Whether joint states are what joints are told, by a topic such as `/joint_commands`."""
    words = set(stream.topic.rsplit("/", 1)[-1].lower().split("_"))
    return bool(words & set(WORDS["command"]))


def _chosen(states: list[MessageStream], request: ReadRequest) -> list[MessageStream]:
    """The joint states that are the robot's: those with its joints, measured ones rather than commands, and those with
    efforts where most joints have them. Raises LogError when topics contend for the same joint."""
    known = set(request.known)
    states = [stream for stream in states if not known or known & set(stream.names)] or states
    topics = list(dict.fromkeys(stream.topic for stream in states))
    measured = [topic for topic in topics if topic.rsplit("/", 1)[-1] == "joint_states"]
    states = [stream for stream in states if stream.topic in (measured or topics)]
    chosen: list[MessageStream] = []
    for stream in sorted(states, key=_lacks_effort):  # otherwise the longest first, as they are
        rival = next((other for other in chosen if set(other.names) & set(stream.names)), None)
        if rival is None:
            chosen.append(stream)
        elif rival.topic != stream.topic:
            both = choices(name for name in rival.names if name in stream.names)
            raise LogError(
                f"{rival.topic} and {stream.topic} both have joints {both}; "
                f'choose: channels={{"q": "{rival.topic}.position", "tau": "{rival.topic}.effort"}}'
            )
    whole = [stream for stream in chosen if not _lacks_effort(stream)]
    return whole if 2 * sum(len(s.names) for s in whole) > sum(len(s.names) for s in chosen) else chosen


def _lacks_effort(stream: MessageStream) -> bool:
    return not {_FIELDS["q"], _FIELDS["tau"]} <= set(stream.numbers)


def _by_words(found: list[MessageStream]) -> dict[str, list[TopicPart]]:
    result: dict[str, list[TopicPart]] = {}
    planned = any(is_trajectory(stream) for stream in found)
    for key in (*_FIELDS, "a") if planned else _FIELDS:
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
