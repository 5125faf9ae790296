"""NumPy archives: keys `t, q, v, a, tau, joint_names` (or their synonyms) and `wrench_LINK`, rows are samples.

Archives come from anywhere, so nothing in them is trusted: no pickles, and what a member declares (size in the archive,
shape in its header) is checked before any memory is asked for.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log.arrays import build, require_size
from steelyard.log.raw_channels import Raw, ReadRequest

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, UnicodeDecodeError)


def read(path: Path, request: ReadRequest) -> Raw:
    """Read an archive. Raises LogError for a file that is damaged, oversized or pickled, or that lacks `t` or `q`."""
    with members(path) as arrays:
        return build(arrays, request)


@contextmanager
def members(path: Path, file: IO[bytes] | None = None) -> Iterator["Members"]:
    """The arrays of an archive while it is open. file: where it is open already, and `path` only names it in messages.
    Raises LogError for what is damaged, oversized or pickled."""
    try:
        with zipfile.ZipFile(file or path) as archive:
            yield Members(path, archive)
    except _BROKEN as error:
        raise LogError(f"{path} is not a whole .npz archive ({error}); write it with numpy.savez") from error


class Members:
    """The arrays of an archive, each checked before it is read."""

    def __init__(self, path: Path, archive: zipfile.ZipFile):
        self.path, self.archive = path, archive
        self.infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.infos)

    def everything(self) -> dict[str, NDArray[Any]]:
        """All arrays by name. Raises LogError where they are too large together, as each may be alone."""
        require_size(sum(info.file_size for info in self.infos.values()), str(self.path))
        return {key: self[key] for key in self.keys}

    def __getitem__(self, key: str) -> NDArray[Any]:
        info, where = self.infos[key], f"{self.path}, array {key!r}"
        require_size(info.file_size, where)
        if info.flag_bits & 1:
            raise LogError(f"{where} is encrypted; save it without a password")
        try:
            with self.archive.open(info) as member:
                _require_honest_header(member, info.file_size, where)
            with self.archive.open(info) as member:
                return np.lib.format.read_array(member, allow_pickle=False)
        except (
            ValueError,
            TypeError,
            NotImplementedError,
            TokenError,
            SyntaxError,
        ) as error:  # the latter from a broken header
            raise LogError(f"{where} cannot be read: {error}") from error


def _require_honest_header(member, size: int, where: str) -> None:
    """The shape in the header must be the bytes that follow it: no allocation on the word of a forged header."""
    version = np.lib.format.read_magic(member)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(member)
    if dtype.hasobject:
        raise LogError(f"{where} holds pickled Python objects, which are not read; save plain numbers or strings")
    declared = dtype.itemsize * int(np.prod(shape, dtype=object))
    if declared != size - member.tell():
        raise LogError(f"{where} declares shape {shape} of {dtype}, but holds {size - member.tell():,} bytes")
