"""Comma-, semicolon-, tab- or space-separated tables with a header line."""

import csv
import re
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log.columns import Layout, layout
from steelyard.log.raw import Raw, Request

_ENCODING = "utf-8-sig"
_DELIMITERS = ",;\t"
_WORDS = re.compile(r"[^\s\[(]+(?:\s*[\[(][^\])]*[\])])?")  # a word and the bracketed unit behind it


def read(path: Path, request: Request) -> Raw:
    """Read a table. The delimiter is found from the header; lines starting with `#` are comments, and the last of them
    is the header if numbers follow it. Raises LogError naming line and column of the first cell that is no number."""
    try:
        headers, delimiter, skip = _header(path)
        plan = layout(headers, request)
        return plan.build(list(_numbers(path, plan, delimiter, skip).T))
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


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(path: Path, plan: Layout, delimiter: str | None, skip: int) -> NDArray[np.float64]:
    """(n, used columns), by NumPy's compiled parser."""
    try:
        return np.loadtxt(
            path, delimiter=delimiter, skiprows=skip, usecols=plan.indices, ndmin=2, encoding=_ENCODING, quotechar='"'
        )
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise LogError(_first_fault(path, plan, delimiter, skip) or f"{path}: {error}") from error


def _first_fault(path: Path, plan: Layout, delimiter: str | None, skip: int) -> str | None:
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
                if not _is_number(cell):
                    what = "an empty cell" if not cell else f"{cell[:40]!r}"
                    comma = "; decimals need a point" if re.fullmatch(r"[-+]?\d*,\d+", cell) else ""
                    return f"{path}, line {number}, column {column.header!r}: {what} is not a number{comma}"
    return None
