"""MATLAB files: variables as of an archive of arrays; fields of a structure are `run.q`.

Version 7.3 is HDF5 with dimensions in reverse order, and read as such.
"""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log import hdf5
from steelyard.log.arrays import build, require_size
from steelyard.log.raw import Raw, Request

DEEPEST = 8  # structures in structures that are looked into
EXPANSION = 1100  # zlib cannot make more out of a byte


def read(path: Path, request: Request) -> Raw:
    """Read a MATLAB file of version 4 to 7.3. Raises LogError for one that is damaged or declares absurd sizes."""
    with path.open("rb") as file:
        start = file.read(128)
    if start[:19] == b"MATLAB 7.3 MAT-file" or start[:8] == hdf5.MAGIC:
        return hdf5.read(path, request)
    return build(_Variables(path), request)


class _Variables:
    """The numeric and text variables of a file, structures flattened."""

    def __init__(self, path: Path):
        from scipy.io import loadmat, whosmat
        from scipy.io.matlab import MatReadError

        self.path = path
        self.arrays: dict[str, NDArray[Any]] = {}
        try:
            with np.errstate(all="ignore"):
                for name, shape, _ in whosmat(path):
                    size = 8 * int(np.prod([abs(int(n)) for n in shape], dtype=object))
                    require_size(size, f"{path}, variable {name!r}")
                    if size > 8 * EXPANSION * path.stat().st_size:
                        raise LogError(f"{path}, variable {name!r} declares {size:,} bytes, more than the file can hold")
                found = loadmat(path, squeeze_me=False, chars_as_strings=True, struct_as_record=True)
        except (
            *(MatReadError, zlib.error, struct.error, EOFError, OSError, ValueError, TypeError, KeyError, IndexError),
            *(NotImplementedError, MemoryError, OverflowError, AttributeError, SystemError, RuntimeError),
            *(AssertionError, UnboundLocalError, ArithmeticError),
        ) as error:
            raise LogError(f"{path} is not a whole MATLAB file: {type(error).__name__} {str(error)[:200]}") from error
        for name, value in found.items():
            if not name.startswith("__"):
                self._add(name, value, DEEPEST)

    def _add(self, name: str, value: Any, depth: int) -> None:
        if not isinstance(value, np.ndarray) or depth == 0:
            return
        if value.dtype.names:
            for field in value.dtype.names if value.size == 1 else ():
                self._add(f"{name}.{field}", value.ravel()[0][field], depth - 1)
        elif value.dtype.kind == "O":  # a cell array, such as names of joints
            words = [cell.ravel()[0] for cell in value.ravel() if getattr(cell, "dtype", None) is not None and cell.size]
            if len(words) == value.size and all(isinstance(word, str) for word in words):
                self.arrays[name] = np.array(words)
        elif value.dtype.kind == "U":
            self.arrays[name] = np.char.rstrip(value)
        else:
            self.arrays[name] = value

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.arrays)

    def __getitem__(self, key: str) -> NDArray[Any]:
        return self.arrays[key]
