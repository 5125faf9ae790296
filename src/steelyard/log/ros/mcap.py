"""MCAP containers, read from the front: the index at the end is not trusted, and not needed.

Format: https://mcap.dev/spec. Records are `opcode u8, length u64, content`; chunks hold compressed records.
"""

import zlib
from pathlib import Path
from struct import Struct
from struct import error as StructError

import numpy as np

from steelyard.errors import LogError
from steelyard.log.ros.messages import Broken, Recording, Topic, decompressed, run_of_equals

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, STATISTICS = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0B
CODES = {*range(1, 16), *range(128, 256)}  # those of the format, and private ones
_RECORD, _MESSAGE, _CHUNK = Struct("<BQ"), Struct("<HIqQ"), Struct("<QQQIL")
_SIZE = Struct("<I")
_ALIKE = np.arange(11)  # bytes of a message record that say its code, length and channel


def scan(path: Path, recording: Recording) -> None:
    """Add the messages of a file. What is damaged is noted and left out. Raises LogError for what is no MCAP file."""
    if path.stat().st_size < len(MAGIC):
        raise LogError(f"{path} has {path.stat().st_size} bytes; an MCAP file starts with 8 of its own")
    data = np.memmap(path, dtype=np.uint8, mode="r").data
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise LogError(f"{path} is not an MCAP file: it starts with {bytes(data[:8])!r}")
    before = recording.seen
    recording.begin()
    scanner = _Scanner(recording)
    try:
        scanner.records(data, len(MAGIC), "the file")
    except Broken as error:
        recording.damaged(f"{error}; what comes before was read")
    recording.end()
    if not scanner.finished:
        recording.damaged("has no footer: the recording was cut off")
    if scanner.stated is not None and scanner.stated != recording.seen - before:
        recording.damaged(f"states {scanner.stated} messages, but {recording.seen - before} were found")


class _Scanner:
    """Walks records, chunks included."""

    def __init__(self, recording: Recording):
        self.recording = recording
        self.schemas: dict[int, tuple[str, str, str]] = {}
        self.finished = False
        self.stated: int | None = None

    def records(self, data: memoryview, place: int, where: str, *, inside: bool = False) -> None:
        end, unpack = len(data), _RECORD.unpack_from
        parsed, found, keep = _MESSAGE.unpack_from, self.recording.message, self.recording.keep
        while place < end and not self.finished:
            if place + 9 > end:
                raise Broken(f"ends within a record at byte {place} of {where}")
            code, length = unpack(data, place)
            start, place = place + 9, place + 9 + length
            if place > end or code not in CODES:
                raise Broken(f"has a broken record (code {code}, {length:,} bytes) at byte {start - 9} of {where}")
            if code == MESSAGE and length >= 22:
                channel, _, received, _ = parsed(data, start)
                if data[place : place + 11] == data[start - 9 : start + 2]:  # the next is alike, and perhaps many
                    rows = run_of_equals(data, start - 9, 9 + length, _ALIKE)
                    topic, place = found(channel, len(rows)), start - 9 + rows.size
                    if topic is not None:
                        times = np.ascontiguousarray(rows[:, 15:23]).view("<i8")[:, 0]
                        keep(topic, times.tolist(), rows[:, 31:].tobytes())
                    continue
                topic = found(channel)
                if topic is not None:
                    keep(topic, [received], bytes(data[start + 22 : place]))
            elif code == CHUNK and not inside:
                self._chunk(data[start:place], start)
            elif code in (SCHEMA, CHANNEL, STATISTICS, FOOTER):
                self._other(code, data[start:place], start, where)

    def _chunk(self, data: memoryview, place: int) -> None:
        try:
            _, _, size, check, length = _CHUNK.unpack_from(data)
            how = bytes(data[32 : 32 + length]).decode()
            (stored,) = Struct("<Q").unpack_from(data, 32 + length)
            body = data[40 + length :]
            if stored != len(body):
                raise Broken(f"holds {len(body):,} bytes where it states {stored:,}")
            self.recording.expand(size)
            plain = decompressed(body, how, size)
            if check and zlib.crc32(plain) != check:
                raise Broken("does not match its checksum")
            self.records(memoryview(plain), 0, f"the chunk at byte {place}", inside=True)
        except (Broken, StructError, UnicodeDecodeError) as error:
            self.recording.damaged(f"has a chunk at byte {place} that was left out: it {error}")

    def _other(self, code: int, data: memoryview, place: int, where: str) -> None:
        try:
            if code == SCHEMA:
                number, name, encoding, text = _parsed(data, "Hsss")
                self.schemas[number] = (name, encoding, text)
            elif code == CHANNEL:
                number, schema, topic, encoding = _parsed(data, "HHss")
                name, language, text = self.schemas.get(schema, ("", "", ""))
                definition = text if language in ("ros2msg", "ros2idl", "ros1msg", "jsonschema") else ""
                self.recording.known.add(number)
                if encoding in ("cdr", "ros1", "json"):
                    found = Topic(topic, name, definition, encoding == "cdr", encoding == "json")
                    self.recording.add_topic(number, found)
            elif code == STATISTICS:
                (self.stated,) = _parsed(data, "Q")
            else:
                self.finished = True
        except (StructError, UnicodeDecodeError, ValueError) as error:
            raise Broken(f"has a broken record at byte {place} of {where} ({error})") from error


def _parsed(data: memoryview, form: str) -> list:
    """Fields at the start of a record: integers by their `struct` codes, `s` text behind its length."""
    result, place = [], 0
    for code in form:
        if code == "s":
            (length,) = _SIZE.unpack_from(data, place)
            place += 4
            if place + length > len(data):
                raise ValueError(f"a text of {length} bytes")
            result.append(bytes(data[place : place + length]).decode())
            place += length
        else:
            number = Struct("<" + code)
            result += number.unpack_from(data, place)
            place += number.size
    return result
