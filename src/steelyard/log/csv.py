"""Comma-, semicolon-, tab- or space-separated tables with a header line."""

import csv
import os
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log.columns import Layout, layout
from steelyard.log.raw import Raw, Request

_ENCODING = "utf-8-sig"
_DELIMITERS = ",;\t"
LARGE = 2**20  # bytes from which on Arrow's parser is worth loading: five times as fast as NumPy's
SEARCHED = 10_000  # lines in which decimals are looked for
_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")  # a decimal as much of Europe writes it
_WORDS = re.compile(r"[^\s\[(]+(?:\s*[\[(][^\])]*[\])])?")  # a word and the bracketed unit behind it


def read(path: Path, request: Request) -> Raw:
    """Read a table. The delimiter is found from the header; lines starting with `#` are comments, and the last of them
    is the header if numbers follow it. Raises LogError naming line and column of the first cell that is no number."""
    try:
        headers, delimiter, skip = _header(path)
        plan = layout(headers, request)
        comma = delimiter != "," and _has_commas(path, plan, delimiter, skip)
        notes = ["decimals are written with a comma"] if comma else []
        notes += ["damaged: the last line has no end, so its last number may be cut short"] if _is_cut(path) else []
        plan = replace(plan, notes=(*plan.notes, *notes))
        return plan.build(_numbers(path, plan, delimiter, skip, len(headers), comma))
    except UnicodeDecodeError as error:
        raise LogError(f"{path} is not a UTF-8 text file ({error.reason} at byte {error.start})") from error
    except csv.Error as error:
        raise LogError(f"{path} is not a table that can be read: {error}") from error


def _header(path: Path) -> tuple[list[str], str | None, int]:
    """(headers, delimiter or None for white space, number of lines before the first data line)."""
    with path.open(encoding=_ENCODING, newline="") as file:
        candidates: list[str] = []
        for number, line in enumerate(file):
            text = line.strip()
            if not text or text == "#":
                continue
            delimiter = _delimiter(text)
            if text.startswith("#"):
                candidates = [text.lstrip("# ")]
            elif all(map(_is_number, _cells(text, delimiter))):
                if candidates:
                    return _cells(candidates[0], _delimiter(candidates[0])), delimiter, number
                return [str(i) for i in range(len(_cells(text, delimiter)))], delimiter, number
            elif any(line.strip() for line in islice(file, 100)):
                return _cells(text, delimiter), delimiter, number + 1
            else:
                break
    raise LogError(
        f"{path} holds no samples; expected a header line such as t,q_joint1,tau_joint1 and lines of numbers"
    )


def parse_header(line: str) -> tuple[list[str], str | None]:
    """(headers, delimiter) of a header line; delimiter None is white space."""
    delimiter = _delimiter(line.strip())
    return _cells(line.strip(), delimiter), delimiter


def _delimiter(line: str) -> str | None:
    outside = re.sub(r'"[^"]*"|[\[(][^\])]*[\])]', "", line)
    best = max(_DELIMITERS, key=outside.count)
    return best if outside.count(best) else None


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return _WORDS.findall(line)
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]


def _with_comma(cell: str) -> float:
    """A number whose point may separate thousands, and so must not be there."""
    return float(cell.replace(".", "?").replace(",", "."))


def _is_number(cell: str, comma: bool = False) -> bool:
    try:
        _with_comma(cell) if comma else float(cell)
    except ValueError:
        return False
    return True


def _is_cut(path: Path) -> bool:
    """Whether the file ends within a line, as one does that was not written to its end."""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) not in b"\r\n"


def _has_commas(path: Path, plan: Layout, delimiter: str | None, skip: int) -> bool:
    """Whether decimals are written with a comma: the first number that has any decides."""
    with path.open(encoding=_ENCODING, newline="") as file:
        for line in islice(file, skip, skip + SEARCHED):
            text = line.strip("\r\n")
            cells = text.split() if delimiter is None else _cells(text, delimiter) if text else []
            for cell in (cells[index] for index in plan.indices if index < len(cells)):
                if "." in cell or _COMMA.fullmatch(cell):
                    return "." not in cell
    return False


def _numbers(
    path: Path, plan: Layout, delimiter: str | None, skip: int, width: int, comma: bool
) -> list[NDArray[np.float64]]:
    """The used columns, each (n,), by a compiled parser."""
    if delimiter is not None and (comma or path.stat().st_size > LARGE):
        found = _by_arrow(path, plan, delimiter, skip, width, comma)
        if found is not None:
            return found
    try:
        found = np.loadtxt(
            path,
            delimiter=delimiter,
            skiprows=skip,
            usecols=plan.indices,
            ndmin=2,
            encoding=_ENCODING,
            quotechar='"',
            converters=_with_comma if comma else None,
        )
        return list(found.T)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise LogError(_first_fault(path, plan, delimiter, skip, comma) or f"{path}: {error}") from error


def _by_arrow(
    path: Path, plan: Layout, delimiter: str, skip: int, width: int, comma: bool
) -> list[NDArray[np.float64]] | None:
    """The same, by Arrow's parser; None for a table with comments or with lines that differ, which it does not know."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    with path.open(encoding=_ENCODING, newline="") as file:
        start = sum(len(line.encode()) for line in islice(file, skip))
    with pa.memory_map(str(path)) as file:
        whole = file.read_buffer()
        data = whole.slice(start + 3 * (bytes(whole.slice(0, 3)) == b"\xef\xbb\xbf"))
        if re.search(b"#", memoryview(data)):
            return None
        names = [str(i) for i in range(width)]
        used = [names[index] for index in plan.indices]
        try:
            table = arrow.read_csv(
                pa.BufferReader(data),
                arrow.ReadOptions(column_names=names),
                arrow.ParseOptions(delimiter=delimiter),
                arrow.ConvertOptions(
                    include_columns=list(dict.fromkeys(used)),
                    column_types=dict.fromkeys(used, pa.float64()),
                    null_values=[],
                    decimal_point="," if comma else ".",
                ),
            )
        except pa.ArrowInvalid:
            return None
        return [table[name].to_numpy() for name in used]


def _first_fault(path: Path, plan: Layout, delimiter: str | None, skip: int, comma: bool) -> str | None:
    """Line and column of the first cell that is no number. Slow, and only run once something went wrong."""
    with path.open(encoding=_ENCODING, newline="") as file:
        for number, line in enumerate(file, start=1):
            text = line.split("#")[0].strip("\r\n")
            if number <= skip or not text.strip():
                continue
            cells = text.split() if delimiter is None else _cells(text, delimiter)
            for column in plan.columns:
                if column.index >= len(cells):
                    return (
                        f"{path}, line {number}: {len(cells)} cells, but column {column.header!r} is number "
                        f"{column.index + 1}; the line is cut short"
                    )
                cell = cells[column.index]
                if not _is_number(cell, comma):
                    what = "an empty cell" if not cell else f"{cell[:40]!r}"
                    mixed = "; decimals need a point" if _COMMA.fullmatch(cell) else ""
                    return f"{path}, line {number}, column {column.header!r}: {what} is not a number{mixed}"
    return None
