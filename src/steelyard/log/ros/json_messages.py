"""Messages in JSON, as web recorders write them: a field is a path of keys, as in the messages of ROS."""

import json
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log.ros.decoding import MOST, LayoutMessages
from steelyard.log.ros.definitions import DEEPEST
from steelyard.log.ros.messages import LARGEST

_STAMP = {"secs": "sec", "nsec": "nanosec", "nsecs": "nanosec"}  # as ROS 1 and others call them
_UNREAD = (ValueError, TypeError, OverflowError, RecursionError)

_Key = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, tuple[str, ...]], ...]]


def blocks(data: Sequence[bytes], topic: str) -> tuple[list[LayoutMessages], int]:
    """Blocks of the messages of one topic, and how many messages were damaged.

    Raises LogError for messages of too many layouts, or too many that are no JSON.
    """
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
            last = str(_STAMP.get(name, name) if path.endswith("stamp") else name)
            _walk(each, f"{path}.{last}" if path else last, depth + 1, numbers, texts)
    elif isinstance(value, list):
        for each in value:
            _walk(np.nan if each is None else each, path, depth + 1, numbers, texts)  # JSON has no NaN
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
