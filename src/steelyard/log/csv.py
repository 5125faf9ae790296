"""Comma-, semicolon-, tab- or space-separated tables with a header line."""

import csv
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log.bare_table import channels_of_columns
from steelyard.log.csv_header import TableHead, has_commas, head_of, is_mixed, is_number, with_comma
from steelyard.log.raw_channels import Raw, ReadRequest
from steelyard.log.sparse_table import sparse_columns
from steelyard.log.table_columns import Layout, layout

ENCODINGS = ("utf-8-sig", "cp1252")  # what programs write now, and what those of Windows in the West used to
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks, as spreadsheets write them before "Unicode text"
LARGE = 2**20  # bytes from which on Arrow's parser is worth loading: five times as fast as NumPy's

Table = TypeVar("Table")


def read(path: Path, request: ReadRequest) -> Raw:
    """Read a table. Encoding, delimiter, decimal comma and header are found. Raises LogError naming line and column of
    the first cell that is no number."""
    return decoded(path, lambda head: _read(head, request))


def decoded(path: Path, use: Callable[[TableHead], Table]) -> Table:
    """What `use` makes of a table, read in the first encoding that fits.

    Args:
        path: of the file.
        use: takes the TableHead of the table.

    Returns:
        Its result.

    Raises:
        LogError: what is no table.
    """
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
            request = _explained(head, request)
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


def _explained(head: TableHead, request: ReadRequest) -> ReadRequest:
    """The request with the channels of a table that has no header."""
    columns, _ = numbers(head, list(range(len(head.headers))))
    return replace(request, channels=channels_of_columns(np.stack(columns, axis=1), request.known))


def numbers(head: TableHead, used: list[int]) -> tuple[list[NDArray[np.float64]], list[str]]:
    """Columns of a table, by a compiled parser.

    Args:
        head: of the table.
        used: indices of the columns.

    Returns:
        Each used column (n,); and notes.

    Raises:
        LogError: lines that are no numbers.
        UnicodeError: another encoding.
    """
    comma = has_commas(head, used)
    notes = _notes(head, comma)
    if head.delimiter is not None and (comma or head.path.stat().st_size > LARGE):
        found = _by_arrow(head, used, comma)
        if found is not None:
            return found, notes
    try:
        found = np.loadtxt(
            head.path,
            delimiter=head.delimiter,
            skiprows=head.skip,
            usecols=used,
            ndmin=2,
            encoding=head.encoding,
            quotechar='"',
            converters=with_comma if comma else None,
        )
        return list(found.T), notes
    except UnicodeError:
        raise
    except ValueError as error:
        raise LogError(_first_fault(head, used, comma) or f"{head.path}: {error}") from error


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
    with head.lines() as file:
        start = sum(
            len(line.encode("utf-8" if head.encoding == ENCODINGS[0] else head.encoding))
            for line in islice(file, head.skip)
        )
    with pa.memory_map(str(head.path)) as file:
        whole = file.read_buffer()
        data = whole.slice(start + 3 * (bytes(whole.slice(0, 3)) == b"\xef\xbb\xbf"))
        if re.search(b"#", memoryview(data)):
            return None
        names = [str(i) for i in range(len(head.headers))]
        chosen = [names[index] for index in used]
        try:
            table = arrow.read_csv(
                pa.BufferReader(data),
                arrow.ReadOptions(column_names=names),
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


def _first_fault(head: TableHead, used: Sequence[int], comma: bool) -> str | None:
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
            if not is_number(cell, comma):
                what = "an empty cell" if not cell else f"{cell[:40]!r}"
                mixed = "; decimals need a point" if is_mixed(cell) else ""
                return f"{head.path}, line {number}, column {name!r}: {what} is not a number{mixed}"
    return None
