"""Decoding of messages in blocks: those of one layout are rows of a matrix of bytes, a field is some of its columns.

The layout of one message (where its numbers, lengths and texts lie) is found by walking its definition once. Every
other message whose lengths and texts are the same has it, too, and is decoded without looking at it on its own.

Definitions and containers are read by libraries; messages are not: objects of rosbags, one a message, take 40 us each,
and a whole identification of a minute at 1 kHz takes 1.5 times as long with them.

Messages in JSON, as web recorders write them, are such blocks, too: a field is a path of keys.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log.channels import WORDS
from steelyard.log.csv_header import is_time, seconds_of
from steelyard.log.raw_channels import DEEPEST
from steelyard.log.ros.definitions import PRIMITIVES, SEQUENCE, Definitions, fields_of
from steelyard.log.ros.messages import LARGEST

MOST = 64  # layouts of one topic
PARTS = 1_000_000  # fields and texts of the messages that are walked, of one topic


@dataclass(frozen=True)
class LayoutMessages:
    """Messages of one layout."""

    rows: NDArray[np.int_]  # (n,) their numbers among those of the topic
    numbers: dict[str, NDArray]  # field path -> (n, k)
    texts: dict[str, tuple[str, ...]]  # field path -> what all of them say


def blocks(
    data: Sequence[bytes], kind: str, definitions: Definitions, *, cdr: bool
) -> tuple[list[LayoutMessages], int]:
    """Blocks of the messages of one topic, and how many messages were damaged.

    cdr: encoding of ROS 2, else of ROS 1. Raises LogError for messages of too many layouts.
    """
    sizes = np.fromiter(map(len, data), dtype=np.int64, count=len(data))
    found: list[LayoutMessages] = []
    damaged, left = 0, PARTS
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        same = data if len(rows) == len(data) else [data[i] for i in rows.tolist()]
        matrix = np.frombuffer(b"".join(same), dtype=np.uint8).reshape(len(rows), size)
        while len(rows):
            if len(found) == MOST:
                raise LogError(f"messages of {kind} have over {MOST} layouts (texts or lengths that change)")
            walk = _MessagePass(matrix[0].tobytes(), definitions, cdr, left)
            try:
                layout = walk.layout(kind)
            except _Damaged:
                left -= walk.parts
                damaged += 1
                rows, matrix = rows[1:], matrix[1:]
                if damaged > MOST:
                    raise LogError(f"over {MOST} messages of {kind} do not match its definition") from None
                continue
            left -= walk.parts
            match = layout.matches(matrix)
            whole = bool(match.all())
            found.append(layout.block(rows if whole else rows[match], matrix if whole else matrix[match]))
            rows, matrix = rows[~match], matrix[:0] if whole else matrix[~match]
    return found, damaged


class _Damaged(Exception):
    """A message that its definition does not fit."""


@dataclass(frozen=True)
class _MessageLayout:
    numbers: dict[str, tuple[str, list[int], int]] = field(default_factory=dict)
    """path -> (dtype, offsets of its parts, numbers in each)."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    fixed: list[tuple[int, int]] = field(default_factory=list)
    """Stretches of bytes (start, stop) that messages of this layout have in common."""

    def matches(self, matrix: NDArray[np.uint8]) -> NDArray[np.bool_]:
        same = np.zeros(matrix.shape[1], dtype=bool)
        for start, stop in self.fixed:
            same[start:stop] = True
        result = np.ones(len(matrix), dtype=bool)
        for start in range(0, len(matrix), 512):  # messages that stay in the cache
            differs = matrix[start : start + 512] != matrix[0]
            differs &= same
            if differs.any():  # seldom, and one look at all of them is faster than one at each
                result[start : start + 512] = ~differs.any(axis=1)
        return result

    def block(self, rows: NDArray[np.int_], matrix: NDArray[np.uint8]) -> LayoutMessages:
        numbers = {}
        for path, (dtype, offsets, count) in self.numbers.items():
            width = count * np.dtype(dtype).itemsize
            parts = [np.ascontiguousarray(matrix[:, start : start + width]).view(dtype) for start in offsets]
            numbers[path] = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return LayoutMessages(rows, numbers, {path: tuple(words) for path, words in self.texts.items()})


class _MessagePass:
    """One pass over one message."""

    def __init__(self, data: bytes, definitions: Definitions, cdr: bool, most: int):
        self.most = most
        self.data, self.definitions, self.cdr = data, definitions, cdr
        self.found = _MessageLayout()
        self.place, self.parts, self.order = 0, 0, "<"

    def layout(self, kind: str) -> _MessageLayout:
        if self.cdr:
            if len(self.data) < 4 or self.data[0] != 0 or self.data[1] > 1:
                raise _Damaged
            self.order = "<" if self.data[1] else ">"
            self._fix(0, 2)
            self.place = 4
        self._message(kind, "", 0)
        self._merge()
        return self.found

    def _message(self, kind: str, path: str, depth: int) -> None:
        fields = fields_of(kind, self.definitions, depth)
        if not fields and self.cdr:
            self._take(1)  # CDR has no empty structures
        for each in fields:
            where = f"{path}.{each.name}" if path else each.name
            count = 1 if each.count is None else self._length() if each.count == SEQUENCE else each.count
            if count > len(self.data):
                raise _Damaged
            if each.type in PRIMITIVES:
                self._numbers(each.type, where, count)
                continue
            for _ in range(count):
                if each.type == "string":
                    self._string(where)
                elif each.type == "wstring":
                    raise LogError(f"field {where} is a wide string, which is not read")
                else:
                    self._message(each.type, where, depth + 1)

    def _numbers(self, kind: str, path: str, count: int) -> None:
        dtype = np.dtype(self.order + PRIMITIVES[kind])
        if not count:
            return
        start = self._take(dtype.itemsize * count, align=dtype.itemsize)
        known = self.found.numbers.setdefault(path, (dtype.str, [], count))
        if known[2] != count:
            raise LogError(f"field {path} is a list of lists of varying length, which is not read")
        known[1].append(start)

    def _string(self, path: str) -> None:
        length = self._length()
        start = self._take(length)
        self._fix(start, start + length)
        text = self.data[start : start + length].rstrip(b"\0") if self.cdr else self.data[start : start + length]
        self.found.texts.setdefault(path, []).append(text.decode("utf-8", "replace"))

    def _length(self) -> int:
        start = self._take(4, align=4)
        self._fix(start, start + 4)
        return int.from_bytes(self.data[start : start + 4], "little" if self.order == "<" else "big")

    def _take(self, size: int, align: int = 1) -> int:
        """Start of the next `size` bytes."""
        start = self.place
        if self.cdr:  # alignment counts from behind the header of 4 bytes
            start += -(start - 4) % align
        self.parts += 1
        if start + size > len(self.data):
            raise _Damaged
        if self.parts > self.most:
            raise LogError(f"messages of over {PARTS:,} fields and texts are not read")
        self.place = start + size
        return start

    def _fix(self, start: int, stop: int) -> None:
        if stop > start:
            self.found.fixed.append((start, stop))

    def _merge(self) -> None:
        """Stretches that touch are one: fewer comparisons."""
        merged: list[tuple[int, int]] = []
        for start, stop in self.found.fixed:
            if merged and merged[-1][1] == start:
                merged[-1] = (merged[-1][0], stop)
            else:
                merged.append((start, stop))
        self.found.fixed[:] = merged


_JSON_STAMP = {"secs": "sec", "nsec": "nanosec", "nsecs": "nanosec"}  # as ROS 1 and others call them
_UNREAD = (ValueError, TypeError, OverflowError, RecursionError)

_Key = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, tuple[str, ...]], ...]]


def json_blocks(data: Sequence[bytes], topic: str) -> tuple[list[LayoutMessages], int]:
    """Blocks of one topic's messages, and how many were damaged. Raises LogError: too many layouts, or messages that
    are no JSON."""
    groups: dict[_Key, tuple[list[int], list[NDArray[np.float64]]]] = {}
    damaged = 0
    for row, text in enumerate(data):
        try:
            key, numbers = _flat(text)
        except _UNREAD as error:
            damaged += 1
            if damaged > MOST:
                raise LogError(f"over {MOST} messages of {topic} are no JSON objects ({str(error)[:80]})") from error
            continue
        rows, values = groups.setdefault(key, ([], []))
        rows.append(row)
        values.append(numbers)
        if len(groups) > MOST:
            raise LogError(f"messages of {topic} have over {MOST} layouts (texts or lengths that change)")
    return [_block(key, rows, np.stack(values)) for key, (rows, values) in groups.items()], damaged


def _flat(text: bytes) -> tuple[_Key, NDArray[np.float64]]:
    """Layout of a message, and its numbers behind one another. Raises one of `_UNREAD`."""
    if len(text) > LARGEST:
        raise ValueError(f"{len(text):,} bytes")
    whole = json.loads(text)
    if not isinstance(whole, dict):
        raise ValueError(f"a {type(whole).__name__}")
    numbers: dict[str, list[float]] = {}
    texts: dict[str, list[str]] = {}
    _walk(whole, "", 0, numbers, texts)
    key = (
        tuple((path, len(each)) for path, each in sorted(numbers.items())),
        tuple((path, tuple(each)) for path, each in sorted(texts.items())),
    )
    return key, np.array(list(chain.from_iterable(each for _, each in sorted(numbers.items()))), dtype=np.float64)


def _walk(value: object, path: str, depth: int, numbers: dict[str, list[float]], texts: dict[str, list[str]]) -> None:
    if depth > DEEPEST:
        raise ValueError(f"nested over {DEEPEST} deep")
    if isinstance(value, dict):
        for name, each in value.items():
            last = str(_JSON_STAMP.get(name, name) if path.endswith("stamp") else name)
            _walk(each, f"{path}.{last}" if path else last, depth + 1, numbers, texts)
    elif isinstance(value, list):
        for each in value:
            _walk(np.nan if each is None else each, path, depth + 1, numbers, texts)  # JSON has no NaN
    elif isinstance(value, str) and path.rpartition(".")[2] in WORDS["t"] and is_time(value):
        numbers.setdefault(path, []).append(seconds_of(value))
    elif isinstance(value, str):
        texts.setdefault(path, []).append(value)
    elif isinstance(value, int | float):
        if path.endswith((".stamp.sec", ".stamp.nanosec")) and not (isinstance(value, int) and abs(value) < 2**32):
            raise ValueError(f"a stamp of {value}")
        numbers.setdefault(path, []).append(float(value))


def _block(key: _Key, rows: list[int], values: NDArray[np.float64]) -> LayoutMessages:
    fields, texts = key
    ends = np.cumsum([count for _, count in fields])
    numbers = {path: values[:, end - count : end] for (path, count), end in zip(fields, ends.tolist(), strict=True)}
    return LayoutMessages(np.array(rows, dtype=np.int_), numbers, dict(texts))
