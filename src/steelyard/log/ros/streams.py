"""Streams: the messages of one topic that have one layout, as arrays over time, and the clocks they are stamped by."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.channels import NAME_WORDS
from steelyard.log.checks import CLOCK
from steelyard.log.ros.decoding import LayoutMessages, blocks, json_blocks
from steelyard.log.ros.definitions import Definitions, parse, short, stock
from steelyard.log.ros.messages import MessageFile, Topic

STAMPED, RECEIVED, CORRECTED = "stamped", "received", "corrected"
CLOCKS = (STAMPED, RECEIVED, CORRECTED)
STAMP = ("header.stamp.sec", "header.stamp.nanosec")
LONG = 100  # messages that a clock is compared by
_FRAME = "header.frame_id"
_POINTS = "points."
_FROM_START = ("points.time_from_start.sec", "points.time_from_start.nanosec")


@dataclass(frozen=True)
class MessageStream:
    """numbers: field path -> (n, k). texts: field path -> what all messages say. received, stamped: (n,) ns; None
    without stamps."""

    topic: str
    kind: str
    received: NDArray[np.int64]
    stamped: NDArray[np.int64] | None
    numbers: dict[str, NDArray]
    texts: dict[str, tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.received)

    def ticks(self, clock: str = STAMPED) -> NDArray[np.int64]:
        """(n,) ns: the stamps of the messages, when they were received, or the stamps set by the recorder's clock:
        shifted and stretched so that on the whole they are when messages were received."""
        if clock == RECEIVED or self.stamped is None:
            return self.received
        if clock == STAMPED or len(self) < LONG:
            return self.stamped
        late, slope = self.lateness()
        elapsed = self.stamped - self.stamped[0]
        return self.stamped + np.round(1e9 * late + slope * elapsed).astype(np.int64)

    def lateness(self) -> tuple[float, float]:
        """By how much the first message was received after its stamp, s, and by how much that grows a second: a line
        through medians of stretches, in which single late messages do not count."""
        if self.stamped is None or len(self) < LONG:
            return 0.0, 0.0
        seconds, lag = (self.stamped - self.stamped[0]) * 1e-9, (self.received - self.stamped) * 1e-9
        pieces = zip(*(np.array_split(z, 20) for z in (seconds, lag)), strict=True)
        x, y = np.array([(np.median(x), np.median(y)) for x, y in pieces]).T
        if not np.ptp(x) > 0:
            return float(np.median(lag)), 0.0
        slope, late = np.polyfit(x, y, 1)
        return float(late), float(slope)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of joints, when the messages carry any."""
        return next((self.texts[path] for path in NAME_WORDS if path in self.texts), ())

    @property
    def frame(self) -> str:
        return next(iter(self.texts.get(_FRAME, ())), "")


def definitions_of(topic: Topic) -> Definitions:
    """Definition of a topic's messages: as recorded, else as every ROS has it. Raises LogError when there is none."""
    found = parse(topic.definition, topic.kind) if topic.definition.strip() else stock(topic.kind)
    if found is None:
        raise LogError(f"{topic.name}: the file does not define its type {topic.kind}; record in MCAP, which does")
    return found


def streams(topic: Topic, recording: MessageFile) -> list[MessageStream]:
    """The streams of a topic, the longest first."""
    if not topic.data:
        return []
    if topic.json:
        found, damaged = json_blocks(topic.data, topic.name)
    else:
        found, damaged = blocks(topic.data, short(topic.kind), definitions_of(topic), cdr=topic.cdr)
    if damaged:
        recording.damaged(f"has {damaged} messages of {topic.name} that do not match their type")
    received = np.array(topic.received, dtype=np.int64)
    return sorted((_merged(topic, group, received) for group in _groups(found)), key=len, reverse=True)


def _groups(found: list[LayoutMessages]) -> list[list[LayoutMessages]]:
    groups: dict[tuple, list[LayoutMessages]] = {}
    for block in _in_one_order(found):
        shape = tuple((path, values.shape[1]) for path, values in block.numbers.items())
        texts = tuple(item for item in block.texts.items() if item[0] != _FRAME)
        groups.setdefault((shape, texts), []).append(block)
    return list(groups.values())


def _in_one_order(found: list[LayoutMessages]) -> Iterator[LayoutMessages]:
    """Blocks whose messages name the same joints in another order, as of several publishers, in the order of the first:
    names say which number is whose."""
    orders: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}
    for block in found:
        key = next((path for path in NAME_WORDS if path in block.texts), None)
        names = () if key is None else block.texts[key]
        if key is None or len(set(names)) < len(names):
            yield block
            continue
        first = orders.setdefault((key, frozenset(names)), names)
        source = [names.index(name) for name in first]
        numbers = {
            path: values[:, source] if values.shape[1] == len(names) and path not in STAMP else values
            for path, values in block.numbers.items()
        }
        yield replace(block, numbers=numbers, texts=block.texts | {key: first})


def _merged(topic: Topic, group: list[LayoutMessages], received: NDArray[np.int64]) -> MessageStream:
    rows = np.concatenate([block.rows for block in group])
    order = np.argsort(rows, kind="stable")
    numbers = group[0].numbers
    if len(group) > 1:
        numbers = {path: np.concatenate([block.numbers[path] for block in group])[order] for path in numbers}
    stamped = None
    if all(path in numbers and numbers[path].shape[1] == 1 for path in STAMP):
        seconds, rest = (numbers[path][:, 0].astype(np.int64) for path in STAMP)
        stamped = seconds * 10**9 + rest if np.any(seconds) or np.any(rest) else None
    return MessageStream(topic.name, topic.kind, received[rows[order]], stamped, numbers, group[0].texts)


def clock_notes(used: list[MessageStream]) -> Iterator[str]:
    """How the clocks of topics run against the recorder's, where that matters."""
    behind = {}
    for stream in used:
        if stream.stamped is None or len(stream) < LONG or stream.topic in behind:
            continue
        behind[stream.topic] = float(np.median(stream.received - stream.stamped)) * 1e-9
        seconds, slope = (stream.stamped[-1] - stream.stamped[0]) * 1e-9, stream.lateness()[1]
        if abs(slope) > 5e-5:  # of a clock against the recorder's, above which it is noted
            yield (
                f"{CLOCK} {stream.topic} runs {1e6 * abs(slope):.0f} ppm {'slow' if slope > 0 else 'fast'} "
                f"against the recorder's, {1e3 * abs(slope) * seconds:.1f} ms over the log; "
                'channels={"t": "corrected"} takes that out'
            )
    if behind and max(behind.values()) - min(behind.values()) > 0.01:
        listed = choices(f"{topic} {1e3 * lag:.1f} ms" for topic, lag in behind.items())
        yield (
            f"t: stamps lie behind their receipt by different times: {listed}. If their clocks differ, set them by "
            'the recorder\'s: channels={"t": "corrected"}'
        )


def is_trajectory(stream: MessageStream) -> bool:
    """Whether a stream is of trajectories."""
    return short(stream.kind) == "trajectory_msgs/JointTrajectory"


def with_points(found: list[MessageStream], asked: bool) -> list[MessageStream]:
    """Streams without joint states, with the points of their trajectory as samples; of several, only where `asked`.
    Raises LogError for nothing but several trajectories, or one whose points have no times."""
    planned = [stream for stream in found if is_trajectory(stream)]
    rest = [stream for stream in found if not is_trajectory(stream)]
    count = sum(map(len, planned))
    if count == 1:
        return [*rest, _unrolled(planned[0])]
    if count and not rest and not asked:
        raise LogError(f"{planned[0].topic} holds {count} trajectories; a log is of one: record that one alone")
    return found if asked else rest


def _unrolled(stream: MessageStream) -> MessageStream:
    """Fields `points.*` (n, k) that all n points of the one message have."""
    if not all(path in stream.numbers for path in _FROM_START):
        raise LogError(f"the trajectory of {stream.topic} has no points with times from its start")
    seconds, rest = (stream.numbers[path][0].astype(np.int64) for path in _FROM_START)
    ticks = seconds * 10**9 + rest
    points, joints = len(ticks), len(stream.names)
    numbers = {
        path: values[0].reshape(points, joints)
        for path, values in stream.numbers.items()
        if path.startswith(_POINTS) and path not in _FROM_START and joints and values.shape[1] == points * joints
    }
    return replace(stream, received=stream.received[0] + ticks, stamped=ticks, numbers=numbers)
