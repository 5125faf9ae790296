"""ROS 2 bags: a folder with `metadata.yaml` and parts in SQLite or MCAP, or one such part.

The parts are found by listing the folder: the paths that `metadata.yaml` states are not followed.
"""

import sqlite3
import time
from pathlib import Path

from steelyard.errors import LogError, choices
from steelyard.log.ros import mcap
from steelyard.log.ros.messages import Recording, Topic

LONGEST = 300.0  # s that a part of a recording may take to read
TOGETHER = 512  # messages fetched at a time
MOST = 2**28  # bytes of one message


def scan_folder(path: Path, recording: Recording) -> None:
    """Add the messages of all parts in a folder. Raises LogError when there are none."""
    parts = sorted(
        (part for part in path.iterdir() if part.suffix in (".db3", ".mcap") and part.is_file()), key=_number
    )
    if not parts:
        found = choices(sorted(part.name for part in path.iterdir())) or "nothing"
        raise LogError(f"{path} is no ROS 2 bag: expected parts ending in .db3 or .mcap, found {found}")
    for part in parts:
        scan(part, recording)


def scan(path: Path, recording: Recording) -> None:
    """Add the messages of one part."""
    if path.suffix == ".mcap":
        mcap.scan(path, recording)
    else:
        _scan_sqlite(path, recording)


def _number(path: Path) -> tuple[int, str]:
    """Parts are numbered: `run_0.db3`, ..., `run_10.db3`."""
    last = path.stem.rsplit("_", 1)[-1]
    return (int(last) if last.isdecimal() and len(last) < 9 else -1, path.name)


def _scan_sqlite(path: Path, recording: Recording) -> None:
    deadline = time.monotonic() + LONGEST
    before = recording.bytes_kept
    recording.begin()
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True)
    except sqlite3.Error as error:
        raise LogError(f"{path} cannot be opened: {error}") from error
    try:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
        connection.execute("PRAGMA trusted_schema = OFF")
        tables = dict(_tables(connection, path))
        _add_topics(connection, tables, recording)
        for number, count in _counts(connection, recording):
            topic = recording.message(number, count)
            if topic is not None:
                _add_messages(connection, number, topic, recording)
    except (sqlite3.Error, OverflowError, TypeError) as error:
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


def _add_topics(connection: sqlite3.Connection, tables: dict, recording: Recording) -> None:
    texts: dict[str, str] = {}
    if "message_definitions" in tables:  # since Iron
        query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
        texts = {str(kind): str(text) for kind, form, text in connection.execute(query) if form == "ros2msg"}
    for number, name, kind, form in connection.execute("SELECT id, name, type, serialization_format FROM topics"):
        if form == "cdr" and isinstance(number, int):
            recording.add_topic(number, Topic(str(name), str(kind), texts.get(str(kind), "")))


def _counts(connection: sqlite3.Connection, recording: Recording) -> list[tuple[int, int]]:
    """(number of a topic, messages of it); no counts where a damaged file cannot tell."""
    query = "SELECT topic_id, count(*), min(id), max(id) FROM messages GROUP BY topic_id"
    try:
        rows = connection.execute(query).fetchall()
    except sqlite3.DatabaseError as error:
        recording.damaged(f"cannot be counted: {error}")
        return [(number, 0) for number in recording.kept]
    stated = max((row[3] for row in rows), default=0) - min((row[2] for row in rows), default=1) + 1
    if stated != (found := sum(row[1] for row in rows)):
        recording.damaged(f"has {found} messages where their numbers say {stated}")
    return [(number, count) for number, count, *_ in rows]


def _add_messages(connection: sqlite3.Connection, number: int, topic: Topic, recording: Recording) -> None:
    query = "SELECT timestamp, data FROM messages WHERE topic_id = ? ORDER BY id"
    rows = connection.execute(query, (number,))
    while part := rows.fetchmany(TOGETHER):
        received, data = zip(*part, strict=True)
        if set(map(type, received)) != {int} or set(map(type, data)) != {bytes}:
            recording.damaged(f"has messages of {topic.name} without time or content; {len(part)} were left out")
        elif len(sizes := set(map(len, data))) == 1 and sizes != {0}:
            recording.keep(topic, list(received), b"".join(data))
        else:
            for tick, each in part:
                recording.keep(topic, [tick], each)
