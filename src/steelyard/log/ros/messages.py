"""What every container of ROS messages hands on, and the limits that hold for all of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError

CHUNK = 2**30  # bytes uncompressed, of one chunk
KEPT = 2**32  # bytes of messages that are kept
EXPANSION = 50  # all chunks together, over the size of the file
ALLOWANCE = 2**31  # bytes that any file may expand to


@dataclass
class Topic:
    """Messages of one topic in the order of the file. definition: text of the message type, empty when not recorded.
    cdr: encoding of ROS 2, else of ROS 1. received: ns of each message, by the recorder's clock. data: messages of one
    size behind one another, as many as `counts` says."""

    name: str
    kind: str
    definition: str
    cdr: bool = True
    received: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


@dataclass
class Recording:
    """Topics of a file or of several parts. wanted: decides by a topic whether its messages are kept."""

    path: Path
    wanted: Callable[[Topic], bool]
    topics: dict[tuple[str, str], Topic] = field(default_factory=dict)
    """By name and type, over all parts."""
    kept: dict[int, Topic] = field(default_factory=dict)
    """Those wanted, by their number in the present part."""
    known: set[int] = field(default_factory=set)
    """Numbers of all topics of the present part."""
    strays: int = 0
    """Messages of no topic that the part declares."""
    notes: list[str] = field(default_factory=list)
    """What was damaged."""
    seen: int = 0
    """Messages of all topics."""
    expanded: int = 0
    bytes_kept: int = 0

    def add_topic(self, number: int, topic: Topic) -> None:
        self.known.add(number)
        known = self.topics.setdefault((topic.name, topic.kind), topic)
        if known.cdr == topic.cdr and self.wanted(known):
            self.kept[number] = known

    def message(self, number: int, count: int = 1) -> Topic | None:
        """Count messages. Returns their topic if they are to be kept."""
        self.seen += count
        topic = self.kept.get(number)
        if topic is None and number not in self.known:
            self.strays += count
        return topic

    def begin(self) -> None:
        """A new part: topics are numbered anew."""
        self.kept, self.known, self.strays = {}, set(), 0

    def end(self) -> None:
        if self.strays:
            self.damaged(f"has {self.strays} messages of topics that it does not declare; they were left out")

    def damaged(self, what: str) -> None:
        """Note, once each, that something could not be read."""
        note = f"damaged: {self.path.name} {what}"
        if len(self.notes) < 20 and note not in self.notes:
            self.notes.append(note)

    def expand(self, size: int) -> None:
        """Account for a chunk of `size` bytes. Raises LogError when the file expands to more than any recording."""
        self.expanded += size
        limit = ALLOWANCE + EXPANSION * self.path.stat().st_size
        if size > CHUNK or self.expanded > limit:
            raise LogError(f"{self.path} expands to over {min(limit, CHUNK):,} bytes; a recording does not")

    def keep(self, topic: Topic, received: list[int], data: bytes) -> None:
        """Keep as many messages of one size as there are times in `received`."""
        self.bytes_kept += len(data)
        if self.bytes_kept > KEPT:
            raise LogError(f"{self.path} holds over {KEPT:,} bytes of joint messages; split the recording")
        topic.received += received
        topic.data.append(data)
        topic.counts.append(len(received))


def run_of_equals(data: memoryview, start: int, size: int, same: NDArray[np.int_]) -> NDArray[np.uint8]:
    """(k, size) records of `size` bytes from `start` on that have the bytes `same` in common with the first."""
    count = (len(data) - start) // size
    matrix = np.frombuffer(data, dtype=np.uint8, count=count * size, offset=start).reshape(count, size)
    differ = np.flatnonzero((matrix[:, same] != matrix[0, same]).any(axis=1))
    return matrix[: differ[0]] if len(differ) else matrix


class Broken(Exception):
    """A stretch of a file that cannot be read; what was wrong with it."""


def decompressed(data: memoryview, how: str, size: int) -> bytes:
    """Exactly `size` bytes out of a chunk. Raises Broken; never asks for more memory than `size`."""
    import bz2

    import lz4.frame
    import zstandard

    try:
        if how in ("", "none"):
            result = bytes(data)
        elif how == "lz4":
            result = lz4.frame.LZ4FrameDecompressor().decompress(bytes(data), max_length=size + 1)
        elif how == "zstd":
            reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(bytes(data))
            result = reader.read(size + 1)
        elif how == "bz2":
            result = bz2.BZ2Decompressor().decompress(bytes(data), max_length=size + 1)
        else:
            raise Broken(f"is compressed by {how[:20]!r}; known are lz4, zstd and bz2")
    except (RuntimeError, OSError, EOFError, ValueError, MemoryError, zstandard.ZstdError) as error:
        raise Broken(f"does not decompress ({str(error)[:80]})") from error
    if len(result) != size:
        raise Broken(f"holds {len(result):,} bytes where it states {size:,}")
    return result
