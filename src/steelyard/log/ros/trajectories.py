"""Planned trajectories: one message holds all samples of a motion, stamped from its start."""

from dataclasses import replace

import numpy as np

from steelyard.errors import LogError
from steelyard.log.ros.definitions import short
from steelyard.log.ros.streams import MessageStream

TRAJECTORY = "trajectory_msgs/JointTrajectory"
_POINTS = "points."
_STAMP = ("points.time_from_start.sec", "points.time_from_start.nanosec")


def is_trajectory(stream: MessageStream) -> bool:
    """Whether a stream is of trajectories."""
    return short(stream.kind) == TRAJECTORY


def with_points(found: list[MessageStream], asked: bool) -> list[MessageStream]:
    """Streams of a recording without joint states, with the points of its trajectory as samples.

    Args:
        found: all streams.
        asked: whether the caller says which field the positions are.

    Returns:
        The streams; of several trajectories, none of which is a log, only where they are asked for.

    Raises:
        LogError: nothing but several trajectories, or one whose points have no times.
    """
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
    if not all(path in stream.numbers for path in _STAMP):
        raise LogError(f"the trajectory of {stream.topic} has no points with times from its start")
    seconds, rest = (stream.numbers[path][0].astype(np.int64) for path in _STAMP)
    ticks = seconds * 10**9 + rest
    points, joints = len(ticks), len(stream.names)
    numbers = {
        path: values[0].reshape(points, joints)
        for path, values in stream.numbers.items()
        if path.startswith(_POINTS) and path not in _STAMP and joints and values.shape[1] == points * joints
    }
    return replace(stream, received=stream.received[0] + ticks, stamped=ticks, numbers=numbers)
