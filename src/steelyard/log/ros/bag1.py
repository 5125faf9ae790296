"""ROS 1 bags, version 2.0, read from the front: the index is not trusted, and not needed.

Format: http://wiki.ros.org/Bags/Format/2.0. Records are a header of `name=value` fields and data, each behind its
length; chunks hold compressed records.
"""

from pathlib import Path
from struct import Struct

import numpy as np

from steelyard.errors import LogError
from steelyard.log.ros.messages import Broken, Recording, Topic, decompressed, run_of_equals

MAGIC = b"#ROSBAG V2.0\n"
MESSAGE, BAG, INDEX, CHUNK, CHUNK_INFO, CONNECTION = 2, 3, 4, 5, 6, 7
_SIZE = Struct("<I")


def scan(path: Path, recording: Recording) -> None:
    """Add the messages of a bag. What is damaged is noted and left out. Raises LogError for what is no bag."""
    with path.open("rb") as file:
        start = file.read(len(MAGIC))
    if start != MAGIC:
        raise LogError(f"{path} is not a ROS 1 bag of version 2.0: it starts with {start!r}")
    data = np.memmap(path, dtype=np.uint8, mode="r").data
    scanner = _Scanner(recording)
    before = recording.seen
    recording.begin()
    try:
        scanner.records(data, len(MAGIC), "the file")
    except Broken as error:
        recording.damaged(f"{error}; what comes before was read")
    recording.end()
    if scanner.chunks is None:
        recording.damaged("has no index: it was not closed")
    elif scanner.chunks != scanner.chunks_found:
        recording.damaged(f"states {scanner.chunks} chunks, but {scanner.chunks_found} were found")
    if scanner.stated not in (0, recording.seen - before):
        recording.damaged(f"states {scanner.stated} messages, but {recording.seen - before} were found")


class _Scanner:
    """Walks records, chunks included."""

    def __init__(self, recording: Recording):
        self.recording = recording
        self.chunks: int | None = None
        self.chunks_found = 0
        self.stated = 0

    def records(self, data: memoryview, place: int, where: str, *, inside: bool = False) -> None:
        end = len(data)
        while place < end:
            start = place
            head, place = _sized(data, place, end, start, where)
            body, place = _sized(data, place, end, start, where)
            try:
                fields = _fields(head)
                if fields[b"op"][0] == MESSAGE:
                    place = self._messages(data, start, place, head, fields)
                else:
                    self._record(fields, body, start, inside)
            except (KeyError, ValueError, IndexError) as error:
                raise Broken(f"has a broken record at byte {start} of {where} ({error})") from error

    def _messages(self, data: memoryview, start: int, stop: int, head: memoryview, fields: dict) -> int:
        """Keep a message, and those behind it that differ in time and content only. Returns where they end."""
        first = 4 + bytes(head).index(b"time=") + 5  # of the eight bytes of time
        behind = 4 + len(head) + 4  # bytes in front of the content
        if len(fields[b"time"]) != 8:
            raise ValueError("a time that is none")
        same = np.r_[0:first, first + 8 : behind]
        rows = run_of_equals(data, start, stop - start, same)
        topic = self.recording.message(_int(fields[b"conn"]), len(rows))
        if topic is not None:
            parts = np.ascontiguousarray(rows[:, first : first + 8]).view("<u4").astype(np.int64)
            self.recording.keep(topic, (parts[:, 0] * 10**9 + parts[:, 1]).tolist(), rows[:, behind:].tobytes())
        return start + rows.size

    def _record(self, head: dict[bytes, bytes], body: memoryview, place: int, inside: bool) -> None:
        code = head[b"op"][0]
        if code == CHUNK and not inside:
            self._chunk(head, body, place)
        elif code == CONNECTION:
            said = _fields(body)
            topic = Topic(
                head[b"topic"].decode(), said[b"type"].decode(), said[b"message_definition"].decode(), cdr=False
            )
            self.recording.add_topic(_int(head[b"conn"]), topic)
        elif code == BAG and _int(head[b"chunk_count"]):
            self.chunks = _int(head[b"chunk_count"])
        elif code == CHUNK_INFO:
            counts = np.frombuffer(body, "<u4")
            self.stated += int(counts[1::2].sum())

    def _chunk(self, head: dict[bytes, bytes], body: memoryview, place: int) -> None:
        self.chunks_found += 1
        try:
            size, how = _int(head[b"size"]), head[b"compression"].decode()
            self.recording.expand(size)
            plain = memoryview(decompressed(body, how, size))
            self.records(plain, 0, f"the chunk at byte {place}", inside=True)
        except (Broken, KeyError, ValueError) as error:
            self.recording.damaged(f"has a chunk at byte {place} that was left out: it {error}")


def _sized(data: memoryview, place: int, end: int, start: int, where: str) -> tuple[memoryview, int]:
    """Bytes behind their length, and where they end."""
    stop = place + 4
    if stop <= end:
        stop += _SIZE.unpack_from(data, place)[0]
    if stop > end:
        raise Broken(f"ends within the record at byte {start} of {where}")
    return data[place + 4 : stop], stop


def _fields(head: memoryview) -> dict[bytes, bytes]:
    result, place, text = {}, 0, bytes(head)
    while place + 4 <= len(text):
        stop = place + 4 + _SIZE.unpack_from(text, place)[0]
        name, _, value = text[place + 4 : stop].partition(b"=")
        result[name] = value
        place = stop
    return result


def _int(value: bytes) -> int:
    return int.from_bytes(value, "little")
