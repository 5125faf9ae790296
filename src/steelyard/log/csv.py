"""Comma-, semicolon-, tab- or space-separated tables: with a header line, without one, or with empty cells.

Without a header the numbers themselves prove which columns are what: the first is the time, then follow blocks of one
column a joint. A block is the velocity of another one where its integral gives that one's changes, and so is an
acceleration; what is left is the torque. Plotters export topics of several clocks as a row a stamp, with cells empty
where a signal has no sample.
"""

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.channels import HELD, sampled
from steelyard.log.csv_header import (
    TableHead,
    has_commas,
    head_of,
    is_mixed,
    is_number,
    is_time,
    seconds_of,
    with_comma,
)
from steelyard.log.raw_channels import HOW, Raw, ReadRequest
from steelyard.log.stamps import FITS, NONE_FITS, integral, windows
from steelyard.log.table_columns import Layout, layout
from steelyard.numbers import to_float

ENCODINGS = ("utf-8-sig", "cp1252")  # what programs write now, and what those of Windows in the West used to
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks, as spreadsheets write them before "Unicode text"
DAY = 86400.0  # s
LARGE = 2**20  # bytes from which on Arrow's parser is worth loading: five times as fast as NumPy's

Table = TypeVar("Table")


def read(path: Path, request: ReadRequest) -> Raw:
    """Read a table. Encoding, delimiter, decimal comma and header are found. Raises LogError naming line and column of
    the first cell that is no number."""
    return decoded(path, lambda head: _read(head, request))


def decoded(path: Path, use: Callable[[TableHead], Table]) -> Table:
    """What `use` makes of the head of a table, read in the first encoding that fits. Raises LogError for what is no
    table."""
    with path.open("rb") as file:
        marked = file.read(2) in UTF_16
    refusal: UnicodeError | None = None
    for encoding in ("utf-16",) if marked else ENCODINGS:
        try:
            return use(head_of(path, encoding))
        except UnicodeError as error:
            refusal = refusal or error
        except csv.Error as error:
            raise LogError(f"{path} is not a table that can be read: {error}") from error
    reason = f"{refusal.reason} at byte {refusal.start}" if isinstance(refusal, UnicodeDecodeError) else refusal
    raise LogError(f"{path} is not a UTF-8 text file ({reason})")


def _read(head: TableHead, request: ReadRequest) -> Raw:
    told: tuple[str, ...] = ()
    try:
        if head.bare and not request.channels and request.known:
            columns, _ = numbers(head, list(range(len(head.headers))))
            request = replace(request, channels=channels_of_columns(np.stack(columns, axis=1), request.known))
            told = (f"no header: {', '.join(request.channels)} as the numbers themselves show",)
        plan = layout(head.headers, request)
    except LogError as error:
        raise LogError(f"{head.path}: {error}") from error
    try:
        plan, (columns, notes) = _numbered(head, plan)
    except LogError:
        plan = replace(plan, index=None)
        found = sparse_columns(head, plan)
        if found is None:
            raise
        columns, notes = found[0], [*_notes(head, has_commas(head, plan.indices)), found[1]]
    raw = replace(plan, notes=(*head.notes, *told, *plan.notes, *notes)).build(columns)
    return replace(raw, bandwidth=head.bandwidth)


def _numbered(head: TableHead, plan: Layout):
    """The plan and its columns; without episodes where these are called by words."""
    try:
        return plan, numbers(head, plan.indices)
    except LogError:
        if plan.index is None:
            raise
        plan = replace(plan, index=None)
        return plan, numbers(head, plan.indices)


def numbers(head: TableHead, used: list[int]) -> tuple[list[NDArray[np.float64]], list[str]]:
    """Used columns (n,) of a table by a compiled parser, and notes. used: their indices. Raises LogError for lines that
    are no numbers, UnicodeError for another encoding."""
    comma = has_commas(head, used)
    notes, times = _notes(head, comma), _times(head, used, comma)
    if head.delimiter is not None and not times and (comma or head.path.stat().st_size > LARGE):
        found = _by_arrow(head, used, comma)
        if found is not None:
            return found, notes
    converters: dict[int | str, Callable[[str], float]] = dict.fromkeys(times, seconds_of)
    if comma:
        converters = dict.fromkeys(used, with_comma) | converters
    try:
        found = np.loadtxt(
            head.path,
            delimiter=head.delimiter,
            skiprows=head.skip,
            usecols=used,
            ndmin=2,
            encoding=head.encoding,
            quotechar='"',
            converters=converters,
        )
        for column in (used.index(index) for index in times):
            if found[:, column].max() < DAY:  # times of day, which go on behind midnight
                found[:, column] = np.unwrap(found[:, column], period=DAY)
            notes.append(f"{head.headers[used[column]]}: times as text, read as seconds")
        return list(found.T), notes
    except UnicodeError:
        raise
    except ValueError as error:
        raise LogError(_first_fault(head, used, comma, times) or f"{head.path}: {error}") from error


def _times(head: TableHead, used: Sequence[int], comma: bool) -> list[int]:
    """Used columns whose first cell is a date or a time of day."""
    _, first = next(head.rows(), (0, []))
    cells = {index: first[index] for index in used if index < len(first)}
    return [index for index, cell in cells.items() if not is_number(cell, comma) and is_time(cell)]


def _notes(head: TableHead, comma: bool) -> list[str]:
    notes = [f"the text is in {head.encoding}, not UTF-8"] if head.encoding != ENCODINGS[0] else []
    notes += ["decimals are written with a comma"] if comma else []
    if _is_cut(head.path):
        notes.append("damaged: the last line has no end, so its last number may be cut short")
    return notes


def _is_cut(path: Path) -> bool:
    """Whether the file ends within a line, as one does that was not written to its end."""
    with path.open("rb") as file:
        file.seek(-2, os.SEEK_END)
        end = file.read(2)
    return end not in (b"\n\0", b"\0\n") and end[-1:] not in b"\r\n"


def _by_arrow(head: TableHead, used: list[int], comma: bool) -> list[NDArray[np.float64]] | None:
    """The same, by Arrow's parser; None for a table with comments or with lines that differ, which it
    does not know, and where Arrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow
    except ModuleNotFoundError:  # an extra: NumPy's parser does
        return None
    if head.encoding == "utf-16":
        return None
    with head.path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as whole:
        last = whole.rfind(b"#")
        if last >= 0 and whole[:last].count(b"\n") >= head.skip:  # below the header
            return None
    names = [str(i) for i in range(len(head.headers))]
    chosen = [names[index] for index in used]
    try:
        table = arrow.read_csv(
            head.path,
            arrow.ReadOptions(column_names=names, skip_rows=head.skip),
            arrow.ParseOptions(delimiter=head.delimiter),
            arrow.ConvertOptions(
                include_columns=list(dict.fromkeys(chosen)),
                column_types=dict.fromkeys(chosen, pa.float64()),
                null_values=[],
                decimal_point="," if comma else ".",
            ),
        )
    except pa.ArrowInvalid:
        return None
    return [table[name].to_numpy() for name in chosen]


def _first_fault(head: TableHead, used: Sequence[int], comma: bool, times: Sequence[int]) -> str | None:
    """Line and column of the first cell that is no number. Slow, and only run once something went wrong."""
    for number, cells in head.rows():
        for index in used:
            name = head.headers[index]
            if index >= len(cells):
                return (
                    f"{head.path}, line {number}: {len(cells)} cells, but column {name!r} is number {index + 1}; "
                    "the line is cut short"
                )
            cell = cells[index]
            if not (is_time(cell) if index in times else is_number(cell, comma)):
                what = "an empty cell" if not cell else f"{cell[:40]!r}"
                mixed = "; decimals need a point" if is_mixed(cell) else ""
                return f"{head.path}, line {number}, column {name!r}: {what} is not a number{mixed}"
    return None


def channels_of_columns(columns: NDArray[np.float64], joints: Sequence[str]) -> Mapping[str, list[int] | int]:
    """Column numbers by channel of a table (n, k) of these joints. Raises LogError where the numbers do not tell."""
    count = columns.shape[1]
    t, rest = columns[:, 0], columns[:, 1:]
    if len(t) < 3 or not np.all(np.diff(t) > 0):
        raise _refusal(count, "its first column does not rise, as time does")
    for size in _sizes(joints):
        if rest.shape[1] % size == 0 and 2 <= rest.shape[1] // size <= 4:
            blocks = [rest[:, k : k + size] for k in range(0, rest.shape[1], size)]
            return {"t": 0} | {
                key: [1 + k * size + j for j in range(size)] for key, k in _meanings(t, blocks, count).items()
            }
    raise _refusal(count, f"behind the time it has {count - 1}, not two to four a joint of {choices(joints)}")


def _sizes(joints: Sequence[str]) -> list[int]:
    """How many joints a table may have: all, or those counted behind a common name, without a gripper."""
    stems = Counter(re.sub(r"\d+$", "", name) for name in joints)
    return list(dict.fromkeys([len(joints), *(size for size in stems.values() if 1 < size < len(joints))]))


def _meanings(t: NDArray, blocks: list[NDArray], count: int) -> dict[str, int]:
    missed = {
        (i, j): _missed(t, blocks[i], blocks[j]) for i in range(len(blocks)) for j in range(len(blocks)) if i != j
    }
    rates = {pair for pair, share in missed.items() if share < FITS}
    if len(blocks) == 2 and not rates and min(missed.values()) > NONE_FITS:
        return {"q": 0, "tau": 1}
    starts = [i for i, _ in rates if i not in {j for _, j in rates}]
    found = {"q": starts[0]} if len(starts) == 1 else {}
    for key, before in (("v", "q"), ("a", "v")):
        follows = [j for i, j in rates if i == found.get(before)]
        if len(follows) == 1:
            found[key] = follows[0]
    left = [k for k in range(len(blocks)) if k not in found.values()]
    if "v" not in found or len(left) != 1 or len(rates) != len(found) - 1:
        raise _refusal(count, "no block of columns is clearly the rate of another, and one alone left for torques")
    return found | {"tau": left[0]}


def _missed(t: NDArray, x: NDArray, rate: NDArray) -> float:
    """Share of the energy of the changes of x (n, k) that its supposed rate misses."""
    start, stop = windows(t)
    change, expected = (each[stop] - each[start] for each in (x, integral(t, rate)))
    energy = np.sum(change**2)
    return float(np.sum((change - expected) ** 2) / energy) if energy else np.inf


def _refusal(count: int, why: str) -> LogError:
    return LogError(
        f"the table has no header, and its {count} columns do not tell what they are: {why}. Write a header t,q_JOINT,"
        f"v_JOINT,tau_JOINT above them, or say which is which by their numbers: {HOW}"
    )


def sparse_columns(head: TableHead, plan: Layout) -> tuple[list[NDArray[np.float64]], str] | None:
    """Columns (n,) at the rows of the positions of a table where cells of a signal may be empty together, and a note,
    or None: others lie on lines between their samples, what holds has its last value, NaN where there is none near."""
    signals = _signals(plan)
    cells = _cells(head, plan.indices)
    if cells is None or "t" not in signals or "q" not in signals:
        return None
    values, given = cells
    there = {key: given[:, places] for key, places in signals.items()}
    if any((each.any(axis=1) & ~each.all(axis=1)).any() for each in there.values()):
        return None
    rows = {key: np.flatnonzero(each[:, 0]) for key, each in there.items()}
    t = values[:, signals["t"][0]]
    if min(map(len, rows.values())) < 2 or not there["t"][given.any(axis=1)].all():
        return None
    if not np.all(np.diff(t[rows["t"]]) >= 0):
        return None
    start, stop = (pick(t[each[end]] for each in rows.values()) for pick, end in ((max, 0), (min, -1)))
    base = rows["q"][(t[rows["q"]] >= start) & (t[rows["q"]] <= stop)]
    if len(base) < 2:
        return None
    result = np.empty((len(base), values.shape[1]))
    moved = []
    for key, places in signals.items():
        own = rows[key]
        if np.isin(base, own).all():
            result[:, places] = values[base][:, places]
            continue
        moved.append(key)
        result[:, places] = _at(t[base], t[own], values[own][:, places], holds=key in HELD)
    note = f"rows: {len(base)} of {len(values)} have positions and are the samples"
    return list(result.T), note + (f"; {choices(moved)} interpolated to their stamps" if moved else "")


def _signals(plan: Layout) -> dict[str, list[int]]:
    result: dict[str, list[int]] = {}
    for place, column in enumerate(plan.columns):
        result.setdefault(column.channel, []).append(place)
    place = len(plan.columns)
    for number, (_, indices) in enumerate(plan.of_frames):
        result[f"wrench or sensor {number + 1}"] = list(range(place, place + len(indices)))
        place += len(indices)
    return result


def _cells(head: TableHead, used: list[int]) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """(n, k) numbers and whether there is one; None where a cell is neither empty nor a number."""
    comma = has_commas(head, used)
    number = with_comma if comma else to_float
    values, given = [], []
    for _, cells in head.rows():
        if len(cells) <= max(used):
            return None
        chosen = [cells[index] for index in used]
        if not all(not cell or is_number(cell, comma) for cell in chosen):
            return None
        values.append(np.array([number(cell) if cell else np.nan for cell in chosen]))
        given.append(np.array([bool(cell) for cell in chosen]))
    return (np.stack(values), np.stack(given)) if values else None


def _at(at: NDArray, t: NDArray, values: NDArray, *, holds: bool) -> NDArray[np.float64]:
    result, t = sampled(at, t, values, holds=holds), np.unique(t)
    if not holds and len(t) > 1:  # no line is drawn between samples three median steps apart
        after = np.clip(np.searchsorted(t, at), 1, len(t) - 1)
        result[(t[after] - t[after - 1] > 3 * np.median(np.diff(t))) & ~np.isin(at, t)] = np.nan
    return result
