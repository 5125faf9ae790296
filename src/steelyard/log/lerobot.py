"""LeRobot data sets: a folder with `meta/info.json` and Parquet tables of one episode (v2) or of many (v3) each.

Positions are `observation.state`, commands `action` (and `observation.velocity`, `observation.effort`), lists
whose elements `meta/info.json` names. Nothing outside of the folder is opened: tables are found by listing
`data/chunk-*`, the path templates of `meta/info.json` are not followed, and neither are links that lead out.

Layout: https://huggingface.co/docs/lerobot, versions 2.0 to 3.0.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log import parquet
from steelyard.log.channels import CHANNEL_OF
from steelyard.log.raw_channels import FOLLOWING, Channel, Raw, ReadRequest, changes, following, one_time
from steelyard.log.ros.messages import LARGEST
from steelyard.log.signals import LEROBOT

INFO = Path("meta", "info.json")
FEATURES = {key: name for key, (name,) in LEROBOT.channels.items()}
SPLIT = ("q", "v", "tau", "current")  # what the elements of a state may be


def home(path: Path) -> Path | None:
    """Folder of the data set that a path is or lies in, None if there is none."""
    path = path.resolve()
    near = (path,) if path.is_dir() else path.parents[:3]  # data/chunk-000/FILE
    return next((folder for folder in near if (folder / INFO).is_file()), None)


def read(path: Path, request: ReadRequest) -> Raw:
    """Read a data set, or one of its tables. Episodes follow each other in time, with a gap between them.

    Raises LogError for a set without tables, a damaged one, and links that lead out of it.
    """
    root = home(path)
    if root is None:
        raise LogError(f"{path} is no LeRobot data set: it has no {INFO}")
    features = _features(root)
    tables = [_inside(root, path)] if path.is_file() else _tables(root)
    channels = {key: name for key, name in FEATURES.items() if name in features}
    channels |= _interleaved(features) | dict(request.channels)
    request = replace(request, channels=channels)
    number = "episode_index" if "episode_index" in features else None
    parts = [(parquet.read(table, request), number and parquet.column(table, number).astype(int)) for table in tables]
    for table, (part, episodes) in zip(tables, parts, strict=True):
        if len(part.t) == 0 or (episodes is not None and len(episodes) != len(part.t)):
            raise LogError(f"{table} has {len(part.t)} time stamps, not one a sample; download the data set again")
    first = parts[0][0]
    t, starts = _joined([part.t for part, _ in parts], [episodes for _, episodes in parts])
    found = {
        key: Channel(
            np.concatenate([part.channels[key].values for part, _ in parts]),
            _names(features, channels.get(key), channel.values.shape[1]) or channel.names,
        )
        for key, channel in first.channels.items()
    }
    notes = [
        f"{key}: read from {channels[key]!r} of the data set" for key in found if isinstance(channels.get(key), str)
    ]
    if starts > 1:
        notes.append(following(starts))
    return Raw(t, found, (*notes, *(note for note in first.notes if FOLLOWING not in note)))


def _features(root: Path) -> dict[str, Any]:
    """Signals of a set by name: their type, shape and the names of their elements."""
    path = _inside(root, root / INFO)
    if path.stat().st_size > LARGEST:
        raise LogError(f"{path} has {path.stat().st_size:,} bytes, over the limit of {LARGEST:,}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise LogError(f"{path} is not the description of a LeRobot data set: {str(error)[:200]}") from error
    features = found.get("features") if isinstance(found, dict) else None
    if not isinstance(features, dict):
        raise LogError(f"{path} has no table of features; it is not the description of a LeRobot data set")
    return features


def _tables(root: Path) -> list[Path]:
    """Tables in the order of their numbers, which are as wide as they need to be."""
    found = [_inside(root, table) for table in (root / "data").glob("chunk-*/*.parquet")]
    if not found:
        raise LogError(f"{root} has no tables data/chunk-*/*.parquet; download them with the data set")
    return sorted(found, key=lambda table: (len(table.parent.name), table.parent.name, len(table.name), table.name))


def _inside(root: Path, path: Path) -> Path:
    if not path.resolve().is_relative_to(root.resolve()):
        raise LogError(f"{path} leads out of the data set, to {path.resolve()}; copy the file into it")
    return path


def _joined(times: list[NDArray], episodes: list[NDArray | None]) -> tuple[NDArray[np.float64], int]:
    """Time over all episodes, and how many there are: each starts a pause after the end of the one before."""
    ends = np.cumsum([len(part) for part in times])
    inner = [end - len(k) + changes(k) for end, k in zip(ends, episodes, strict=True) if k is not None]
    starts = np.union1d(ends[:-1], np.concatenate(inner)) if inner else ends[:-1]
    return one_time(np.concatenate(times), starts), len(starts) + 1


def _interleaved(features: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Columns by channel and joint, of a state whose elements are positions, speeds and torques in turn (`elbow.pos`,
    `elbow.vel`, `elbow.torque`), and of an action with such elements."""
    found: dict[str, dict[str, str]] = {}
    for signal, own in ((FEATURES["q"], None), (FEATURES["command"], "command")):
        places = _elements(features, signal)
        kinds = [CHANNEL_OF.get(name.rpartition(".")[2].lower(), "") for name in places]
        if "q" not in kinds or set(kinds) <= {"q"}:
            continue
        for place, (name, kind) in enumerate(zip(places, kinds, strict=True)):
            if kind in SPLIT and (own is None or kind == "q"):
                found.setdefault(own or kind, {})[name.rpartition(".")[0]] = f"{signal}[{place}]"
    return found


def _elements(features: dict[str, Any], name: str) -> list[str]:
    """Names of the elements of a signal; none where they are not stated."""
    said = features[name].get("names") if isinstance(features.get(name), dict) else None
    if isinstance(said, dict):  # by group: {"motors": [...]}
        said = [each for group in said.values() for each in (group if isinstance(group, list) else [group])]
    return [str(each) for each in said] if isinstance(said, list) else []


def _names(features: dict[str, Any], name: Any, width: int) -> tuple[str, ...] | None:
    """Names of the elements of a signal, less the kind of value that newer sets put behind them (`elbow.pos`)."""
    said = _elements(features, name) if isinstance(name, str) else []
    if len(said) != width or len(set(said)) != width:
        return None
    ends = {each.rpartition(".")[2] for each in said if "." in each}
    alike = len(ends) == 1 and all("." in each for each in said)
    return tuple(each.rpartition(".")[0] if alike else each for each in said)
