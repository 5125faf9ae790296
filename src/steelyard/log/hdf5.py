"""HDF5 files: data sets as of an archive of arrays; those in groups are `arm/q`. MATLAB 7.3 files are such files.

Nothing outside the file is opened: links to other files, external and virtual storage are not followed.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.extras import extra
from steelyard.log.arrays import EXPANSION, Arrays, build, require_size
from steelyard.log.frame_channels import leaf
from steelyard.log.raw_channels import DEEPEST, GROUPS, Raw, ReadRequest, asked

if TYPE_CHECKING:
    from h5py import Dataset, Group

MAGIC = b"\x89HDF\r\n\x1a\n"
MOST = 10_000  # data sets and groups
_GROUP = re.compile(rf"(?P<group>(?:.*?/)?(?:{'|'.join(GROUPS)})_?(?P<number>\d{{1,9}}))/(?P<rest>.+)", re.IGNORECASE)
_BROKEN = (OSError, RuntimeError, ValueError, KeyError, TypeError, NotImplementedError, MemoryError, OverflowError)


def read(path: Path, request: ReadRequest) -> Raw:
    """Read an HDF5 file. Raises LogError for one that is damaged, oversized or stored elsewhere."""
    with extra("Reading HDF5"):
        import h5py

    try:
        with h5py.File(path, "r", locking=False) as file:
            return build(_in_episodes(_Datasets(path, file), request), request)
    except LogError:
        raise
    except _BROKEN as error:
        raise LogError(f"{path} is not a whole HDF5 file: {str(error)[:300]}") from error


class _Datasets:
    """The data sets of a file that lie in it, by their path."""

    def __init__(self, path: Path, file: "Group"):
        self.path = path
        self.found: dict[str, Dataset] = {}
        self.seen = 0
        self._collect(file, "", 0)

    def _collect(self, group: "Group", prefix: str, depth: int) -> None:
        import h5py

        for name in map(str, group):
            self.seen += 1
            if self.seen > MOST or depth > DEEPEST:
                raise LogError(f"{self.path} has more than {MOST} objects or groups nested over {DEEPEST} deep")
            if name.startswith("#") or not isinstance(group.get(name, getlink=True), h5py.HardLink):
                continue  # MATLAB's own, and links that may lead anywhere
            member = group[name]
            if isinstance(member, h5py.Dataset):
                self.found[prefix + name] = member
            elif isinstance(member, h5py.Group):
                self._collect(member, f"{prefix}{name}/", depth + 1)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.found)

    def __getitem__(self, key: str) -> NDArray[Any]:
        import h5py

        data, where = self.found[key], f"{self.path}, data set {key!r}"
        if data.external or data.is_virtual:
            raise LogError(f"{where} is stored in other files, which are not opened; copy the data into one file")
        text = h5py.check_string_dtype(data.dtype) is not None
        if data.dtype.hasobject and not text:
            return _cell(data, where)
        size = _count(data) * data.dtype.itemsize
        require_size(size, where)
        stored = int(data.id.get_storage_size())
        if size > EXPANSION * stored:
            raise LogError(f"{where} declares {size:,} bytes, but {stored:,} are stored")
        if data.chunks:
            require_size(int(np.prod(data.chunks, dtype=object)) * data.dtype.itemsize, where + ", chunk")
        values = np.asarray(data.asstr()[()], dtype=np.str_) if text else np.asarray(data[()])
        return values.T if "MATLAB_class" in data.attrs else values


def _in_episodes(found: _Datasets, request: ReadRequest) -> Arrays:
    """The data sets; those of groups that hold an episode each are joined, but where one of them was asked for."""
    named = [name for wanted in request.channels.values() for _, name in asked(wanted, found.keys)]
    groups: dict[tuple[int, str], set[str]] = {}
    for match in filter(None, map(_GROUP.match, found.keys)):
        groups.setdefault((int(match["number"]), match["group"]), set()).add(match["rest"])
        if match[0] in named:
            return found
    return _Episodes(found, groups) if groups else found


class _Episodes:
    """Data sets that all groups of a file have, one after another, and `log`, the number of each row's group."""

    def __init__(self, found: _Datasets, groups: Mapping[tuple[int, str], set[str]]):
        self.path, self._found, self._groups = found.path, found, [name for _, name in sorted(groups)]
        self._lengths: list[int] = []  # of the array that was read first: time or positions
        outside = (key for key in found.keys if not _GROUP.match(key))
        shared = sorted(key for key in set.intersection(*groups.values()) if not key.startswith("next_"))  # a step on
        self.keys = tuple(dict.fromkeys((*shared, *outside, "log", "log_names")))

    def __getitem__(self, key: str) -> NDArray[Any]:
        if key in self._found.found:
            return self._found[key]
        if key == "log_names":
            return np.array([leaf(name) for name in self._groups])
        if key == "log":
            return np.repeat(np.arange(len(self._lengths)), self._lengths)
        parts: list[NDArray[Any]] = []
        for group in self._groups:
            parts.append(self._found[f"{group}/{key}"])
            require_size(sum(part.nbytes for part in parts), f"{self.path}, data sets {key!r}")
        if not parts[0].ndim or len({part.shape[1:] for part in parts}) > 1:
            raise LogError(f"{self.path}: data sets {key!r} of {choices(self._groups)} differ in shape")
        self._lengths = self._lengths or [len(part) for part in parts]
        return np.concatenate(parts)


def _cell(data: "Dataset", where: str) -> NDArray[Any]:
    """Text of a MATLAB cell array: references to data sets of UTF-16 characters."""
    import h5py

    references = np.asarray(data[()]).ravel() if _count(data) <= MOST else np.zeros(0)
    if h5py.check_ref_dtype(data.dtype) is not h5py.Reference or not len(references):
        raise LogError(f"{where} holds {data.dtype}, neither numbers nor text")
    cells = [data.file[reference] for reference in references]
    words = []
    for cell in cells:
        if not isinstance(cell, h5py.Dataset) or cell.dtype != np.uint16 or _count(cell) > MOST:
            raise LogError(f"{where} is a cell array of other things than text")
        words.append("".join(map(chr, np.asarray(cell[()]).ravel())))
    return np.array(words)


def _count(data: "Dataset") -> int:
    return int(np.prod(data.shape or (), dtype=object))
