"""ROS 2 bags: a folder with `metadata.yaml` and parts in SQLite or MCAP, or one such part; compressed or not.

The parts are found by listing the folder: the paths that `metadata.yaml` states are not followed.
"""

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import LogError, choices
from steelyard.extras import extra
from steelyard.log.ros import mcap
from steelyard.log.ros.messages import MessageFile, Topic

PARTS, PACKED = (".db3", ".mcap"), ".zstd"


def scan_folder(path: Path, recording: MessageFile) -> None:
    """Add the messages of all parts in a folder. Raises LogError when there are none."""
    found = (part for part in path.iterdir() if part.name.removesuffix(PACKED).endswith(PARTS) and part.is_file())
    parts = sorted(found, key=_number)
    if not parts:
        found = choices(sorted(part.name for part in path.iterdir())) or "nothing"
        raise LogError(f"{path} is no ROS 2 bag: expected parts ending in .db3 or .mcap, found {found}")
    for part in parts:
        scan(part, recording)


def scan(path: Path, recording: MessageFile) -> None:
    """Add the messages of one part."""
    if path.suffix == PACKED:
        with _unpacked(path, recording) as plain:
            scan(plain, recording)
    elif path.suffix == ".mcap":
        mcap.scan(path, recording)
    else:
        _scan_sqlite(path, recording)


@contextmanager
def _unpacked(path: Path, recording: MessageFile) -> Iterator[Path]:
    """A compressed part as a temporary file of the same name. What is cut short is kept as far as it goes."""
    with extra("Reading compressed bags"):
        import zstandard

    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder, path.open("rb") as packed:
        plain = Path(folder) / path.with_suffix("").name
        with plain.open("wb") as file:
            reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed)
            try:
                while block := reader.read(2**22):
                    recording.expand(len(block))
                    file.write(block)
            except zstandard.ZstdError as error:
                recording.damaged(f"does not decompress to its end ({str(error)[:80]})")
        try:
            yield plain
        except LogError as error:
            raise LogError(str(error).replace(str(plain), str(path))) from error


def _number(path: Path) -> tuple[int, str]:
    last = path.name.removesuffix(PACKED).rpartition(".")[0].rpartition("_")[2]
    return (int(last) if last.isdecimal() and len(last) < 9 else -1, path.name)


def _scan_sqlite(path: Path, recording: MessageFile) -> None:
    deadline = time.monotonic() + 300.0  # s that a part of a recording may take to read
    before = recording.bytes_kept
    recording.begin()
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True)
    except sqlite3.Error as error:
        raise LogError(f"{path} cannot be opened: {error}") from error
    try:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**28)  # bytes of one message
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
        connection.execute("PRAGMA trusted_schema = OFF")
        tables = dict(_tables(connection, path))
        _add_topics(connection, tables, recording)
        found = sum(_add_messages(connection, number, topic, recording) for number, topic in recording.kept.items())
        if found != _stated(connection):
            _count_others(connection, recording)
    except (sqlite3.Error, OverflowError, TypeError, UnicodeDecodeError) as error:  # the last: names in its messages
        if recording.bytes_kept == before:
            raise LogError(f"{path} is not a whole ROS 2 bag (SQLite): {error}") from error
        recording.damaged(f"cannot be read to its end: {error}")
    finally:
        connection.close()
    recording.end()


def _tables(connection: sqlite3.Connection, path: Path):
    """(name, SQL) of the tables. Raises LogError unless messages and topics are plain tables: views and virtual tables
    could compute for ever, or read other files."""
    found = list(connection.execute("SELECT name, type, sql FROM sqlite_master"))
    for wanted in ("topics", "messages"):
        plain = [row for row in found if row[:2] == (wanted, "table") and str(row[2]).startswith("CREATE TABLE")]
        if not plain:
            raise LogError(
                f"{path} has no table {wanted!r}, so it is no ROS 2 bag; it has {choices(r[0] for r in found)}"
            )
    yield from ((name, sql) for name, kind, sql in found if kind == "table" and str(sql).startswith("CREATE TABLE"))


def _add_topics(connection: sqlite3.Connection, tables: dict, recording: MessageFile) -> None:
    texts: dict[str, str] = {}
    if "message_definitions" in tables:  # since Iron
        query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
        texts = {str(kind): str(text) for kind, form, text in connection.execute(query) if form == "ros2msg"}
    for number, name, kind, form in connection.execute("SELECT id, name, type, serialization_format FROM topics"):
        if form == "cdr" and isinstance(number, int):
            recording.add_topic(number, Topic(str(name), str(kind), texts.get(str(kind), "")))
        else:
            recording.foreign[str(name)] = f"{kind}, {form}"


def _stated(connection: sqlite3.Connection) -> int:
    query = "SELECT (SELECT min(id) FROM messages), (SELECT max(id) FROM messages)"  # by the tree, not by all rows
    first, last = connection.execute(query).fetchone()
    return 0 if first is None else last - first + 1


def _count_others(connection: sqlite3.Connection, recording: MessageFile) -> None:
    """Count the messages that were not kept: of topics that the file does not declare, and those that it lacks."""
    counts = connection.execute("SELECT topic_id, count(*) FROM messages GROUP BY topic_id").fetchall()
    for number, count in counts:
        if number not in recording.kept:
            recording.message(number, count)
    if (stated := _stated(connection)) != (found := sum(count for _, count in counts)):
        recording.damaged(f"has {found} messages where their numbers say {stated}")


def _add_messages(connection: sqlite3.Connection, number: int, topic: Topic, recording: MessageFile) -> int:
    query = "SELECT timestamp, data FROM messages WHERE topic_id = ? ORDER BY id"
    rows, seen = connection.execute(query, (number,)), 0
    while part := rows.fetchmany(512):  # messages fetched at a time
        seen += len(part)
        received, data = zip(*part, strict=True)
        if set(map(type, received)) != {int} or set(map(type, data)) != {bytes}:
            recording.damaged(f"has messages of {topic.name} without time or content; {len(part)} were left out")
        else:
            recording.keep(topic, received, data)
    recording.message(number, seen)
    return seen
