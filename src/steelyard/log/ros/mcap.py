"""MCAP containers, by the library of the format, read from the front: files without an index are read, too.

Format: https://mcap.dev/spec. Chunks are decompressed here, to no more than they state.
"""

from dataclasses import replace
from pathlib import Path
from struct import error as StructError

from steelyard.extras import extra
from steelyard.log.ros.messages import ENCODINGS, Broken, MessageFile, Topic, decompressed, mapped

with extra("Reading MCAP"):
    from mcap.exceptions import EndOfFile, McapError
    from mcap.records import Channel, Chunk, Footer, McapRecord, Message, Schema, Statistics
    from mcap.stream_reader import StreamReader, breakup_chunk

MAGIC = b"\x89MCAP0\r\n"
LANGUAGES = ("ros2msg", "ros2idl", "ros1msg", "jsonschema")  # of definitions
_DAMAGE = (McapError, EndOfFile, StructError, ValueError, OverflowError, MemoryError, Broken)


def scan(path: Path, recording: MessageFile) -> None:
    """Add the messages of a file. What is damaged is noted and left out. Raises LogError for what is no MCAP file."""
    scanner = _Scanner(recording)
    recording.begin()
    with mapped(path, MAGIC, "an MCAP file") as data:
        records = StreamReader(data, emit_chunks=True, record_size_limit=len(data)).records  # pyright: ignore[reportArgumentType]
        try:
            for record in records:
                scanner.take(record, data.tell())
        except _DAMAGE as error:
            what = f"byte {data.tell()} ({str(error)[:80] or 'the file ends'})"
            recording.damaged(f"cannot be read on from {what}; what comes before was read")
    recording.end(scanner.stated)
    if not scanner.finished:
        recording.damaged("has no footer: the recording was cut off")


class _Scanner:
    """What the records of a file say."""

    def __init__(self, recording: MessageFile):
        self.recording = recording
        self.schemas: dict[int, Schema] = {}
        self.finished = False
        self.stated: int | None = None

    def take(self, record: McapRecord, place: int) -> None:
        """Act on a record that ends at a byte of the file."""
        if isinstance(record, Message):
            topic = self.recording.message(record.channel_id)
            if topic is not None:
                self.recording.keep(topic, [record.log_time], [record.data])
        elif isinstance(record, Chunk):
            self._chunk(record, place)
        elif isinstance(record, Schema):
            self.schemas[record.id] = record
        elif isinstance(record, Channel):
            self._channel(record)
        elif isinstance(record, Statistics):
            self.stated = record.message_count
        elif isinstance(record, Footer):
            self.finished = True

    def _channel(self, record: Channel) -> None:
        self.recording.known.add(record.id)
        encoding, schema = record.message_encoding, self.schemas.get(record.schema_id)
        name = schema.name if schema else ""
        if encoding not in ENCODINGS:
            self.recording.foreign[record.topic] = f"{name}, {encoding}"
            return
        definition = schema.data.decode() if schema and schema.encoding in LANGUAGES else ""
        self.recording.add_topic(
            record.id, Topic(record.topic, name, definition, encoding == "cdr", encoding == "json")
        )

    def _chunk(self, record: Chunk, place: int) -> None:
        self.recording.expand(record.uncompressed_size)
        try:
            plain = decompressed(record.data, record.compression, record.uncompressed_size)
            inside = breakup_chunk(replace(record, compression="", data=plain), validate_crc=True)
        except _DAMAGE as error:
            what = str(error) if isinstance(error, Broken) else f"has broken records ({str(error)[:80]})"
            self.recording.damaged(f"has a chunk before byte {place} that was left out: it {what}")
            return
        for each in inside:
            self.take(each, place)
