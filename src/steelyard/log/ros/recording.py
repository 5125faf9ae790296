"""From the streams of a recording to the channels of a log."""

from collections.abc import Callable
from pathlib import Path

from steelyard.errors import LogError
from steelyard.log.raw_channels import Raw, ReadRequest
from steelyard.log.ros import bag1, bag2, mcap
from steelyard.log.ros.definitions import short
from steelyard.log.ros.grid import on_one_grid
from steelyard.log.ros.messages import MessageFile
from steelyard.log.ros.streams import streams
from steelyard.log.ros.topics import JOINT_STATE, is_needed, parts_of, requested_fields
from steelyard.log.ros.trajectories import with_points


def read_mcap(path: Path, request: ReadRequest) -> Raw:
    """Read an MCAP file of ROS messages."""
    return _read(path, request, mcap.scan)


def read_bag1(path: Path, request: ReadRequest) -> Raw:
    """Read a ROS 1 bag."""
    return _read(path, request, bag1.scan)


def read_bag2(path: Path, request: ReadRequest) -> Raw:
    """Read a ROS 2 bag: a folder, or a part in SQLite."""
    return _read(path, request, bag2.scan_folder if path.is_dir() else bag2.scan)


def _read(path: Path, request: ReadRequest, scan: Callable[[Path, MessageFile], None]) -> Raw:
    requested = list(requested_fields(request))
    recording = MessageFile(path, lambda topic: is_needed(topic, requested))
    try:
        scan(path, recording)
        found = [stream for topic in recording.topics.values() for stream in streams(topic, recording)]
        if not any(short(stream.kind) == JOINT_STATE for stream in found):
            found = with_points(found, asked="q" in request.channels)
        return on_one_grid(found, parts_of(found, request, recording), request, recording)
    except LogError as error:
        damage = f" ({'; '.join(recording.notes[:3])})" if recording.notes else ""
        raise LogError(f"{path}: {str(error).removeprefix(f'{path}: ')}{damage}") from error
