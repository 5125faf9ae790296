"""The head of a table: its encoding, what separates its cells, its header, and the first line of numbers.

Spreadsheets and recorders put titles above the header and units below it; both are told from the header by the line of
numbers that follows, which has as many cells as the header.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from itertools import islice
from pathlib import Path

from steelyard.errors import LogError
from steelyard.log.channels import is_unit
from steelyard.numbers import to_float

_DELIMITERS = ",;\t"
_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")  # a decimal as much of Europe writes it
_WORDS = re.compile(r"[^\s\[(]+(?:\s*[\[(][^\])]{0,99}[\])])?")  # a word and the bracketed unit behind it
BANDWIDTH = re.compile(
    r"#\s*bandwidth ([1-9]\d{0,5}(?:\.\d{1,17})?|0\.\d{0,20}[1-9]\d{0,17}) Hz"
)  # a comment of `write_csv`


@dataclass(frozen=True)
class TableHead:
    """How a table is to be read."""

    path: Path
    encoding: str
    headers: list[str]
    delimiter: str | None  # None is white space
    skip: int  # lines before the first one of numbers
    notes: tuple[str, ...] = ()
    bandwidth: float | None = None  # Hz of torques, where a comment says it, as `write_csv` does
    bare: bool = False  # whether there is no header, and the headers only count

    def lines(self):
        """The file, line by line, ends of lines as they are."""
        return self.path.open(encoding=self.encoding, newline="")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Number, from 1, and cells of each line of numbers, without comments."""
        with self.lines() as file:
            for number, line in enumerate(file, start=1):
                text = line.split("#")[0].strip("\r\n")
                if number > self.skip and text.strip():
                    yield number, _cells(text, self.delimiter)


@dataclass
class _Above:
    """Lines of text above the numbers, as far as they were read."""

    texts: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    comment: str | None = None
    bandwidth: float | None = None


def head_of(path: Path, encoding: str) -> TableHead:
    """The head of a table. Lines that start with `#` are comments, and the last of them is the header if numbers follow
    it. Raises LogError for a table without samples."""
    above = _Above()
    with path.open(encoding=encoding, newline="") as file:
        for number, line in enumerate(file):
            text = line.strip()
            if not text or text == "#":
                continue
            if said := BANDWIDTH.fullmatch(text):
                above.bandwidth = float(said[1])
            elif text.startswith("#"):
                above.comment = text.lstrip("# ")
            elif above.texts and _holds_numbers(text, above.texts[-1]):
                return replace(_chosen(path, encoding, above, text, number), bandwidth=above.bandwidth)
            elif not above.texts and all(map(is_number, cells_of(text, delimiter_of(text)))):
                return replace(_bare(path, encoding, above.comment, text, number), bandwidth=above.bandwidth)
            elif not above.texts and (echoed := _echoed(text)):
                return TableHead(path, encoding, echoed, ",", number, ("written by ros2 topic echo --csv",))
            elif len(above.texts) < 100:  # lines of text that may stand above the numbers
                above.texts.append(text)
                above.places.append(number)
            else:
                break
    if len(above.texts) < 2:
        raise LogError(
            f"{path} holds no samples; expected a header line such as t,q_joint1,tau_joint1 and lines of numbers"
        )
    delimiter = delimiter_of(above.texts[0])  # no numbers anywhere: the fault is that of the second line
    return TableHead(path, encoding, cells_of(above.texts[0], delimiter), delimiter, above.places[0] + 1)


def _bare(path: Path, encoding: str, comment: str | None, text: str, number: int) -> TableHead:
    """A table whose first line holds nothing but numbers: a comment above it is the header, or there is none."""
    delimiter = delimiter_of(text)
    named = [str(i) for i in range(len(cells_of(text, delimiter)))]
    headers = named if comment is None else cells_of(comment, delimiter_of(comment))
    return TableHead(path, encoding, headers, delimiter, number, bare=comment is None)


def _echoed(text: str) -> list[str]:
    """Headers of what `ros2 topic echo --csv` writes of joint states, if a line is of it: seconds, nanoseconds, frame,
    names, and one to three numbers for each; none for another line."""
    sec, _, below = text.partition(",")
    nanosec, _, rest = below.partition(",")
    cells = rest.split(",")[1:]
    names = [cell for cell in cells if not is_number(cell)]
    signals = [f"{channel}_{name}" for channel in ("q", "v", "tau") for name in names]
    numbers = len(cells) - len(names)
    if not (sec.isdecimal() and nanosec.isdecimal() and 0 < len(set(names)) == len(names)) or (
        names != cells[: len(names)] or numbers % len(names) or not 0 < numbers <= len(signals)
    ):
        return []
    return ["sec", "nanosec", "frame", *(f"name of {name}" for name in names), *signals[:numbers]]


def _chosen(path: Path, encoding: str, above: _Above, text: str, number: int) -> TableHead:
    """The header among the lines above the first one of numbers: the last that has as many cells, else the first."""
    texts = above.texts
    ways = [delimiter_of(each) for each in texts]
    fitting = [k for k, way in enumerate(ways) if len(cells_of(texts[k], way)) == len(_cells(text, way))]
    last = fitting[-1] if fitting else 0
    delimiter = ways[last]
    headers, notes = cells_of(texts[last], delimiter), []
    if last and last - 1 in fitting and all(not cell or is_unit(cell) for cell in headers):
        units, last = headers, last - 1
        headers = [f"{h} [{u}]" if u else h for h, u in zip(cells_of(texts[last], delimiter), units, strict=True)]
        notes.append("units are those of the line below the header")
    if last:
        notes.append(f"not read, above the header: {'; '.join(texts[:last])}")
    skip = number if fitting else above.places[0] + 1
    return TableHead(path, encoding, headers, delimiter, skip, tuple(notes))


def _holds_numbers(text: str, header: str) -> bool:
    """Whether a line has a cell that is a number, cells being separated as in it or as in the header."""
    ways = {delimiter_of(text), delimiter_of(header)}
    cells = [cell for way in ways for cell in _cells(text, way)]
    return any(is_number(cell) or _COMMA.fullmatch(cell) for cell in cells)


def _cells(text: str, delimiter: str | None) -> list[str]:
    return text.split() if delimiter is None else cells_of(text, delimiter)


def delimiter_of(line: str) -> str | None:
    """What separates the cells of a header; None is white space."""
    outside = re.sub(r'"[^"]*"|[\[(][^\])]{0,99}[\])]', "", line)
    best = max(_DELIMITERS, key=outside.count)
    return best if outside.count(best) else None


def parse_header(line: str) -> list[str]:
    """Headers of a header line."""
    return cells_of(line.strip(), delimiter_of(line.strip()))


def cells_of(line: str, delimiter: str | None) -> list[str]:
    """Cells of a line."""
    if delimiter is None:
        return _WORDS.findall(line)
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]


def with_comma(cell: str) -> float:
    """A number whose point may separate thousands, and so must not be there."""
    return to_float(cell.replace(".", "?").replace(",", "."))


def seconds_of(text: str) -> float:
    """s of a date and time as of ISO 8601, since 1970, or of a time of day. Raises ValueError for another text."""
    text = text.strip().replace(",", ".")
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = datetime.combine(date(1970, 1, 1), time.fromisoformat(text))
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def is_time(cell: str) -> bool:
    """Whether a cell is a date and time, or a time of day."""
    try:
        seconds_of(cell)
    except ValueError:
        return False
    return True


def is_number(cell: str, comma: bool = False) -> bool:
    """Whether a cell is a number."""
    try:
        with_comma(cell) if comma else to_float(cell)
    except ValueError:
        return False
    return True


def has_commas(head: TableHead, used: list[int]) -> bool:
    """Whether decimals are written with a comma: the first number that has any in a used column decides."""
    if head.delimiter == ",":
        return False
    for _, cells in islice(head.rows(), 10_000):
        for cell in (cells[index] for index in used if index < len(cells)):
            if "." in cell or _COMMA.fullmatch(cell):
                return "." not in cell
    return False


def is_mixed(cell: str) -> bool:
    """Whether a cell is a number with a decimal comma."""
    return _COMMA.fullmatch(cell) is not None
