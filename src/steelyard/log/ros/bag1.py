"""ROS 1 bags, version 2.0: records of `rosbags`, read from the front, so that bags without an index are read, too.

Format: http://wiki.ros.org/Bags/Format/2.0.
"""

from io import BytesIO
from mmap import mmap
from pathlib import Path
from typing import BinaryIO

import numpy as np

from steelyard.extras import extra
from steelyard.log.ros.messages import Broken, MessageFile, Topic, decompressed, mapped

with extra("Reading bags of ROS"):
    from rosbags.rosbag1.reader import Header, ReaderError, RecordType, read_bytes, read_uint32

MAGIC = b"#ROSBAG V2.0\n"


def scan(path: Path, recording: MessageFile) -> None:
    """Add the messages of a bag. What is damaged is noted and left out. Raises LogError for what is no bag."""
    scanner = _RecordScanner(recording)
    recording.begin()
    with mapped(path, MAGIC, "a ROS 1 bag of version 2.0") as data:
        data.seek(len(MAGIC))
        try:
            scanner.records(data, len(data), "the file")
        except Broken as error:
            recording.damaged(f"{error}; what comes before was read")
    recording.end(scanner.stated or None)
    if scanner.chunks is None:
        recording.damaged("has no index: it was not closed")
    elif scanner.chunks != scanner.chunks_found:
        recording.damaged(f"states {scanner.chunks} chunks, but {scanner.chunks_found} were found")


class _RecordScanner:
    """Walks records, chunks included."""

    def __init__(self, recording: MessageFile):
        self.recording = recording
        self.chunks: int | None = None
        self.chunks_found = 0
        self.stated = 0

    def records(self, source: BinaryIO | mmap, end: int, where: str, *, inside: bool = False) -> None:
        while (start := source.tell()) < end:
            try:
                head = Header.read(source)  # pyright: ignore[reportArgumentType]  # of a map, `read` is all it calls
                body = read_bytes(source, read_uint32(source))  # pyright: ignore[reportArgumentType]
                self._record(head, body, start, inside)
            except (ReaderError, ValueError) as error:
                raise Broken(f"has a broken record at byte {start} of {where} ({error})") from error

    def _record(self, head: Header, body: bytes, place: int, inside: bool) -> None:
        code = head.get_uint8("op")
        if code == RecordType.MSGDATA:
            topic = self.recording.message(head.get_uint32("conn"))
            if topic is not None:
                self.recording.keep(topic, [head.get_time("time")], [body])
        elif code == RecordType.CHUNK and not inside:
            self._chunk(head, body, place)
        elif code == RecordType.CONNECTION:
            said = Header.read(BytesIO(len(body).to_bytes(4, "little") + body))
            definition = said.get_string("message_definition")
            topic = Topic(head.get_string("topic"), said.get_string("type"), definition, cdr=False)
            self.recording.add_topic(head.get_uint32("conn"), topic)
        elif code == RecordType.BAGHEADER and head.get_uint32("chunk_count"):
            self.chunks = head.get_uint32("chunk_count")
        elif code == RecordType.CHUNK_INFO:
            self.stated += int(np.frombuffer(body, "<u4")[1::2].sum())

    def _chunk(self, head: Header, body: bytes, place: int) -> None:
        self.chunks_found += 1
        try:
            size = head.get_uint32("size")
            self.recording.expand(size)
            plain = decompressed(body, head.get_string("compression"), size)
            self.records(BytesIO(plain), size, f"the chunk at byte {place}", inside=True)
        except (Broken, ReaderError) as error:
            self.recording.damaged(f"has a chunk at byte {place} that was left out: it {error}")
