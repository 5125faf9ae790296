"""Which robot made which log when: from a table, a folder or a pattern."""

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path

from steelyard import storage
from steelyard.errors import OptionError, choices
from steelyard.log.csv_header import is_number, seconds_of
from steelyard.log.read import READERS

COLUMNS = ("robot", "time", "log")
TABLES = ("robots.csv", "robots.toml")  # a folder that holds one is described by it
ONLY_ROBOT = "robot"  # name of the only robot where none is told
HIDDEN = "."


@dataclass(frozen=True)
class Run:
    """One recording. robot: whose; log: path or URL; time: seconds from any origin, or the place in the table; when:
    the time as it was given."""

    robot: str
    log: str
    time: float
    when: str


def runs_of(source) -> tuple[Run, ...]:
    """Runs of a fleet, by robot and time.

    source: a CSV table with the columns robot, time, log; a TOML file of `[[run]]` tables with these keys; a folder
    that holds such a table as robots.csv or robots.toml, else one whose folders are robots and whose logs follow each
    other by name (logs directly inside are those of one robot); a glob pattern (`**` for any depth) or a list of paths,
    all of one robot; or rows as mappings or `Run`s. Logs of a table are relative to it. Times are numbers in seconds or
    ISO dates; where they are left out, the order counts.
    Raises OptionError for what cannot be read or names no logs.
    """
    rows = _of_path(str(source)) if isinstance(source, str | Path) else [_row(each) for each in source]
    if not rows:
        raise OptionError(
            f"{source} names no logs. Give a folder of logs, a pattern such as 'DIR/**/*.parquet' or a table."
        )
    runs = [each if isinstance(each, Run) else _run(each, k) for k, each in enumerate(rows)]
    twice = [log for log, count in Counter(run.log for run in runs).items() if count > 1]
    if twice:
        raise OptionError(f"Named twice, and would count twice: {choices(twice)}. Name each log once.")
    return tuple(sorted(runs, key=lambda run: (run.robot, run.time)))


def one_robot(source) -> tuple[Run, ...]:
    """Runs of a source as those of one robot, in their order."""
    return tuple(replace(run, robot=ONLY_ROBOT) for run in runs_of(source))


def _row(each) -> Run | dict:
    return each if isinstance(each, Run) else dict(each) if isinstance(each, Mapping) else {"log": str(each)}


def _of_path(source: str) -> list[dict]:
    is_file = not storage.is_url(source) and Path(source).is_file()
    if ("*" in source or "?" in source) and not is_file:
        return [{"log": path} for path in storage.find(source) if _is_log(path)]
    suffix = source.rpartition(".")[2].lower()
    if suffix == "toml":
        return _relative(_toml(source), source)
    if suffix == "csv" and (rows := _csv(source)) is not None:
        return _relative(rows, source)
    if is_file:
        return [{"log": source}]
    return _folder(source)


def _folder(folder: str) -> list[dict]:
    for table in TABLES:
        if storage.exists(storage.join(folder, table)):
            return _of_path(storage.join(folder, table))
    if not storage.is_url(folder) and not Path(folder).is_dir():
        raise OptionError(f"{folder} is neither a folder of logs nor a table of runs (.csv or .toml).")
    start = len(folder.rstrip("/")) + 1
    found = [path for path in storage.find(storage.join(folder, "**", "*")) if _is_log(path)]
    parts = [(path[start:].split("/"), path) for path in found]
    return [{"robot": names[0] if len(names) > 1 else ONLY_ROBOT, "log": path} for names, path in parts]


def _is_log(path: str) -> bool:
    name = path.rpartition("/")[2]
    return not name.startswith(HIDDEN) and "." in name and f".{name.rpartition('.')[2].lower()}" in READERS


def _csv(source: str) -> list[dict] | None:
    """Rows of a table of runs, None for a CSV file that is a log."""
    try:
        lines = csv.DictReader(io.StringIO(storage.read_bytes(source).decode("utf-8-sig")))
        if "log" not in (lines.fieldnames or ()):
            return None
        return [dict(line) for line in lines]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OptionError(f"{source} cannot be read as a table of runs: {error}") from error


def _toml(source: str) -> list[dict]:
    try:
        document = tomllib.loads(storage.read_bytes(source).decode())
    except (OSError, ValueError, RecursionError) as error:  # the latter from lists in lists
        raise OptionError(f"{source} cannot be read as a table of runs: {error}") from error
    rows = document.get("run")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise OptionError(f"{source} has no [[run]] tables with {choices(COLUMNS)}.")
    return rows


def _relative(rows: Iterable[dict], table: str) -> list[dict]:
    """Rows whose logs are beside their table, where they are no URLs or absolute paths."""
    folder, found = table.rpartition("/")[0] if storage.is_url(table) else str(Path(table).parent), []
    for row in rows:
        log = str(row.get("log") or "")
        away = not log or storage.is_url(log) or Path(log).is_absolute()
        found.append(row if away else row | {"log": storage.join(folder, log)})
    return found


def _run(row: Mapping, place: int) -> Run:
    unknown = set(row) - set(COLUMNS) - {None}
    if unknown or not row.get("log"):
        problem = f"has {choices(sorted(map(str, unknown)))}" if unknown else "names no log"
        raise OptionError(f"Run {place + 1} of the table {problem}; its columns are {choices(COLUMNS)}.")
    given = row.get("time")
    if given is None or given == "":
        return Run(str(row.get("robot") or ONLY_ROBOT), str(row["log"]), float(place), f"#{place + 1}")
    return Run(str(row.get("robot") or ONLY_ROBOT), str(row["log"]), _seconds(given, place), str(given))


def _seconds(given, place: int) -> float:
    """Seconds of a number or a date. Raises OptionError, for times without an order (NaN, infinity) too."""
    with suppress(ArithmeticError, TypeError, ValueError):
        seconds = float(given) if is_number(str(given)) else seconds_of(str(given))
        if isfinite(seconds):
            return seconds
    raise OptionError(
        f"Run {place + 1} of the table has time {str(given)[:80]!r}; expected seconds or a date such as "
        "2026-03-01T12:00."
    )
