"""Files of one object a sample: lines of JSON, and documents of YAML as `ros2 topic echo` prints them.

Objects are columns of a table by the path of their keys, `arm.q`; elements of lists by the joint names beside them
(`position.elbow`), or by number.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log.channels import CHANNEL_OF, NAME_WORDS, WORDS
from steelyard.log.csv import UTF_16
from steelyard.log.raw_channels import DEEPEST, Raw, ReadRequest
from steelyard.log.ros.messages import CHUNK, MessageFile, Topic
from steelyard.log.ros.streams import STAMP, MessageStream, streams
from steelyard.log.table_columns import Layout, layout
from steelyard.numbers import to_float

WIDEST = 512  # elements of a list that are columns, and numbers of an object in all
_RULE = re.compile(r"---[ \t]*$", re.MULTILINE)  # between documents, also behind a message of a loss
_LOST = "A message was lost"
_SPELLED = {".nan": "nan", ".inf": "inf", "-.inf": "-inf"}
_WORD = re.compile(r"""'[^']*'|"[^"]*"|[^\s\[\]{},:'"][^\[\]{},:]*""")  # in lists and mappings on one line


def read(path: Path, request: ReadRequest) -> Raw:
    """Read a file of objects; of those of several forms the ones with torques, else the most. Raises LogError."""
    recording = MessageFile(path, lambda _: True)
    if recording.size > CHUNK:
        raise LogError(f"{path} has {recording.size:,} bytes, over the limit of {CHUNK:,}; split the log")
    whole = path.read_bytes()
    text = whole.decode("utf-16" if whole[:2] in UTF_16 else "utf-8-sig", "replace").replace("\r\n", "\n")
    in_json = path.suffix.lower() in (".jsonl", ".ndjson")
    data = [each.encode() for each in (text.split("\n") if in_json else _documents(text)) if each.strip()]
    try:
        found = streams(Topic("the file", "", "", json=True, received=[0] * len(data), data=data), recording)
        stream, columns, plan = _planned(found, request)
    except LogError as error:
        raise LogError(f"{path}: {error}") from error
    raw, rest = plan.build([columns[index] for index in plan.indices]), sum(map(len, found)) - len(stream)
    left_out = (f"{rest} objects of {len(data)} have other keys, joints or lengths: left out",) * (rest > 0)
    return replace(raw, notes=(*recording.notes, *left_out, *raw.notes))


def _planned(found: list[MessageStream], request: ReadRequest) -> tuple[MessageStream, list[NDArray[Any]], Layout]:
    """The stream that is read, its columns, and which of them are what, by keys that stand in others or for joints."""
    plans, refusal = [], LogError('holds no objects, such as {"t": 0.0, "q": [0.1], "tau": [2.0]} on each line')
    for stream, mark in product(found, "./"):
        try:
            columns = {header.replace(".", mark): values for header, values in _columns(stream).items()}
            plans.append((stream, list(columns.values()), layout([*columns], request)))
        except LogError as error:
            refusal = error if stream is found[0] and mark == "." else refusal
    if not plans:
        raise refusal
    return max(plans, key=lambda each: any(column.channel == "tau" for column in each[2].columns))


def _columns(stream: MessageStream) -> dict[str, NDArray[Any]]:
    """Columns (n,) by header; stamps of ROS are s from the first, as an epoch costs digits."""
    found: dict[str, NDArray[Any]] = {}
    stamped = stream.stamped if not set(stream.numbers) & set(WORDS["t"]) else None
    if stamped is not None:
        found["t"] = 1e-9 * (stamped - stamped[0])
    for path, values in stream.numbers.items():
        above, _, last = path.rpartition(".")
        width = values.shape[1]
        named = (stream.texts.get(f"{above}.{word}" if above else word, ()) for word in NAME_WORDS)
        names = next((each for each in named if len(each) == width), ())
        if names and CHANNEL_OF.get(last.lower(), "t") != "t":
            found |= {f"{path}.{name}": values[:, k] for k, name in enumerate(names)}
        elif width <= WIDEST and (stamped is None or path not in STAMP):
            found |= {path if width == 1 else f"{path}[{k}]": values[:, k] for k in range(width)}
    if len(found) > WIDEST:
        raise LogError(f"objects have {len(found):,} numbers; at most {WIDEST:,} are read")
    return found


def _documents(text: str) -> Iterator[str]:
    """Documents of YAML as JSON; what has another form than mappings and lists of one item a line is none."""
    for document in _RULE.split(text):
        try:
            if not document.lstrip().startswith(_LOST) and (found := _mapping(document.strip("\n"))):
                yield json.dumps(found)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            yield "no mapping"


def _mapping(document: str) -> Any:
    if document.startswith("{"):
        return _value(document)
    inside, key = {}, ""
    around: list[tuple[int, Any]] = [(-1, inside)]  # indent of a key, and what it holds
    for line in document.split("\n"):
        text = line.strip()
        if text.startswith("- "):
            inside[key] = inside[key] or []
            inside[key].append(_value(text[2:].strip()))
        elif text and not text.startswith("#"):
            indent = len(line) - len(line.lstrip())
            around = [each for each in around if each[0] < indent]
            inside, (key, colon, said) = around[-1][1], text.partition(":")
            if not colon or len(around) > DEEPEST:
                raise ValueError(text)
            inside[key] = _value(said.strip()) if said.strip() else {}
            around.append((indent, inside[key]))
    return around[0][1]


def _value(text: str) -> Any:
    if text[0] in "[{":
        return json.loads(_WORD.sub(lambda word: json.dumps(_value(word[0].strip())), text))
    if text[0] in "'\"":
        return text[1:-1]
    try:
        return int(text) if text.lstrip("-").isdecimal() else to_float(_SPELLED.get(text.lower(), text))
    except ValueError:
        return text
