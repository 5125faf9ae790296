"""What every container of ROS messages hands on, and the limits that hold for all of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path

from steelyard.errors import LogError, choices
from steelyard.extras import extra

CHUNK = 2**30  # bytes uncompressed, of one chunk
KEPT = 2**32  # bytes of messages that are kept
DEFINED = 2**21  # characters of all message definitions together
LARGEST = 2**24  # bytes of a compressed message that does not state its size, and of JSON that is read as a whole
ENCODINGS = ("cdr", "ros1", "json")  # of messages
ZSTD = b"\x28\xb5\x2f\xfd"  # what a compressed message starts with; one in CDR starts with a zero


@dataclass
class Topic:
    """Messages of one topic in the order of the file."""

    name: str
    kind: str
    definition: str  # text of the message type, empty when not recorded
    cdr: bool = True  # encoding of ROS 2
    json: bool = False  # of web recorders; else of ROS 1
    received: list[int] = field(default_factory=list)  # ns of each message, by the recorder's clock
    data: list[bytes] = field(default_factory=list)


@dataclass
class MessageFile:
    """Topics of a file or of several parts. wanted: decides by a topic whether its messages are kept."""

    path: Path
    wanted: Callable[[Topic], bool]
    topics: dict[tuple[str, str], Topic] = field(default_factory=dict)  # by name and type, over all parts
    kept: dict[int, Topic] = field(default_factory=dict)  # those wanted, by their number in the present part
    known: set[int] = field(default_factory=set)  # numbers of all topics of the present part
    foreign: dict[str, str] = field(default_factory=dict)  # type and encoding of topics that are not decoded
    undeclared: int = 0  # messages of no topic that the part declares
    notes: list[str] = field(default_factory=list)  # what was damaged
    seen: int = 0  # messages of all topics
    before: int = 0  # those of the parts before the present one
    expanded: int = 0
    defined: int = 0
    bytes_kept: int = 0

    @cached_property
    def size(self) -> int:
        """Bytes of the file, of all in a folder."""
        parts = self.path.iterdir() if self.path.is_dir() else (self.path,)
        return sum(part.stat().st_size for part in parts if part.is_file())

    @property
    def listed(self) -> str:
        """The topics, for the end of a message, and what to do about those in an encoding that is not read."""
        found = choices(f"{topic.name} ({topic.kind})" for topic in self.topics.values()) or "nothing"
        if not self.foreign:
            return f"topics are {found}"
        others = choices(f"{name} ({said})" for name, said in self.foreign.items())
        return (
            f"topics are {found}, and, not decoded, {others}. {choices(ENCODINGS)} are read: record with ROS, or write "
            "these messages as JSON into an MCAP file or one a line (.jsonl)"
        )

    def add_topic(self, number: int, topic: Topic) -> None:
        self.known.add(number)
        if (topic.name, topic.kind) not in self.topics:
            self.defined += len(topic.definition)
            if self.defined > DEFINED:
                raise LogError(f"{self.path} defines its messages in over {DEFINED:,} characters; a recording does not")
        known = self.topics.setdefault((topic.name, topic.kind), topic)
        if (known.cdr, known.json) == (topic.cdr, topic.json) and self.wanted(known):
            self.kept[number] = known

    def message(self, number: int, count: int = 1) -> Topic | None:
        """Count messages. Returns their topic if they are to be kept."""
        self.seen += count
        topic = self.kept.get(number)
        if topic is None and number not in self.known:
            self.undeclared += count
        return topic

    def begin(self) -> None:
        """A new part: topics are numbered anew."""
        self.kept, self.known, self.undeclared, self.before = {}, set(), 0, self.seen

    def end(self, stated: int | None = None) -> None:
        """The end of a part. stated: messages of all topics, where the part says it."""
        if self.undeclared:
            self.damaged(f"has {self.undeclared} messages of topics that it does not declare; they were left out")
        if stated is not None and stated != self.seen - self.before:
            self.damaged(f"states {stated} messages, but {self.seen - self.before} were found")

    def damaged(self, what: str) -> None:
        """Note, once each, that something could not be read."""
        note = f"damaged: {self.path.name} {what}"
        if len(self.notes) < 20 and note not in self.notes:
            self.notes.append(note)

    def expand(self, size: int) -> None:
        """Account for a chunk of `size` bytes. Raises LogError when the file expands to more than any recording."""
        self.expanded += size
        limit = 2**31 + 50 * self.size  # of all chunks together: what any file may expand to, and over its size
        if size > CHUNK or self.expanded > limit:
            raise LogError(f"{self.path} expands to over {min(limit, CHUNK):,} bytes; a recording does not")

    def keep(self, topic: Topic, received: Sequence[int], data: Sequence[bytes]) -> None:
        """Keep messages of a topic, one by one compressed or not."""
        if topic.cdr and data[0][:4] == ZSTD:
            received, data = self._unpacked(topic, received, data)
        self.bytes_kept += sum(map(len, data))
        if self.bytes_kept > KEPT:
            raise LogError(f"{self.path} holds over {KEPT:,} bytes of joint messages; split the recording")
        topic.received += received
        topic.data += data

    def _unpacked(self, topic: Topic, received: Sequence[int], data: Sequence[bytes]) -> tuple[list[int], list[bytes]]:
        with extra("Reading compressed messages"):
            from zstandard import ZstdDecompressor, ZstdError, frame_content_size

        decompressor, times, plain = ZstdDecompressor(max_window_size=2**27), [], []
        for tick, each in zip(received, data, strict=True):
            try:
                size = frame_content_size(each)
                self.expand(max(size, 0))
                plain.append(decompressor.decompress(each, max_output_size=LARGEST if size < 0 else 0))
                times.append(tick)
            except ZstdError as error:
                self.damaged(f"has messages of {topic.name} that do not decompress ({str(error)[:60]})")
        return times, plain


@contextmanager
def mapped(path: Path, magic: bytes, what: str) -> Iterator[mmap]:
    """The bytes of a file behind those that it starts with, to be read like a file: asked for more than there is, it
    gives what there is. Raises LogError where the file starts otherwise. what: it would be."""
    with path.open("rb") as file:
        start = file.read(len(magic))
        if start != magic:
            raise LogError(f"{path} is not {what}: it starts with {start!r}")
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            yield data


class Broken(Exception):
    """A stretch of a file that cannot be read; what was wrong with it."""


def decompressed(data: bytes, how: str, size: int) -> bytes:
    """Exactly `size` bytes out of a chunk. Raises Broken; never asks for more memory than `size`."""
    import bz2

    with extra("Reading compressed recordings"):
        import lz4.frame
        import zstandard

    try:
        if how in ("", "none"):
            result = data
        elif how == "lz4":
            result = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
        elif how == "zstd":
            reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(data)
            result = reader.read(size + 1)
        elif how == "bz2":
            result = bz2.BZ2Decompressor().decompress(data, max_length=size + 1)
        else:
            raise Broken(f"is compressed by {how[:20]!r}; known are lz4, zstd and bz2")
    except (RuntimeError, OSError, EOFError, ValueError, MemoryError, zstandard.ZstdError) as error:
        raise Broken(f"does not decompress ({str(error)[:80]})") from error
    if len(result) != size:
        raise Broken(f"holds {len(result):,} bytes where it states {size:,}")
    return result
