"""MATLAB files of version 5 to 7: variables as of an archive of arrays; fields of a structure are `run.q`.

Version 7.3 is HDF5 with dimensions in reverse order, and read as such. The format is read here and not by SciPy, whose
reader can end the process on a damaged file. Format: MathWorks, "MAT-File Format", chapter 1.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from struct import Struct, error

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log import hdf5
from steelyard.log.arrays import EXPANSION, build, require_size
from steelyard.log.raw_channels import DEEPEST, Raw, ReadRequest

_CODES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _CHAR, _NUMERIC = 1, 2, 4, range(6, 16)


def read(path: Path, request: ReadRequest) -> Raw:
    """Read a MATLAB file. Raises LogError for one that is damaged, declares absurd sizes or is of version 4."""
    with path.open("rb") as file:
        start = file.read(128)
    if start[:19] == b"MATLAB 7.3 MAT-file" or start[:8] == hdf5.MAGIC:
        return hdf5.read(path, request)
    if len(start) < 128 or start[126:128] not in (b"IM", b"MI"):
        raise LogError(f"{path} is not a MATLAB file of version 5 to 7.3; save it with save(..., '-v7')")
    require_size(path.stat().st_size, str(path))
    return build(_Variables(path, "<" if start[126:128] == b"IM" else ">"), request)


class _Variables:
    """The real numeric and the text variables of a file, structures flattened."""

    def __init__(self, path: Path, order: str):
        self.path, self.order = path, order
        self.arrays: dict[str, NDArray] = {}
        self.tag, self.expanded = Struct(order + "II"), 0
        data = memoryview(path.read_bytes())
        try:
            for kind, body in self._elements(data[128:]):
                if kind == _COMPRESSED:
                    kind, body = next(self._elements(memoryview(self._plain(body))))
                if kind == _MATRIX:
                    self._matrix(body, "", DEEPEST)
        except (ValueError, error, StopIteration, LookupError, zlib.error) as fault:
            raise LogError(
                f"{path} is not a whole MATLAB file: {str(fault)[:200] or 'an element is missing'}"
            ) from fault

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.arrays)

    def __getitem__(self, key: str) -> NDArray:
        return self.arrays[key]

    def _plain(self, body: memoryview) -> bytes:
        limit = min(EXPANSION * len(body) + 1024, 2**31)
        stream = zlib.decompressobj()
        result = stream.decompress(body, limit)
        self.expanded += len(result)
        require_size(self.expanded, str(self.path))
        if not stream.eof:
            raise ValueError("a compressed variable is cut short")
        return result

    def _elements(self, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """(type, content) of one element after the other. Small ones share their eight bytes with their content."""
        place = 0
        while place + 8 <= len(data):
            kind, size = self.tag.unpack_from(data, place)
            small = kind >> 16
            start = place + 4 if small else place + 8
            kind, size = (kind & 0xFFFF, small) if small else (kind, size)
            stop = start + size
            if stop > len(data) or small > 4:
                raise ValueError(f"an element states {size:,} bytes, {len(data) - start:,} are left")
            yield kind, data[start:stop]
            place = place + 8 if small else stop if kind == _COMPRESSED else start + -(-size // 8) * 8
        if place < len(data):
            raise ValueError("it ends within an element")

    def _matrix(self, body: memoryview, path: str, depth: int) -> None:
        if not len(body) or not depth:
            return
        parts = self._elements(body)
        flags, shape, name = self._numbers(*next(parts)), self._numbers(*next(parts)), _text(*next(parts))
        kind, path = int(flags[0]) & 0xFF, path or name
        count = int(np.prod(shape.astype(object)))
        if kind == _STRUCT:
            width = int(self._numbers(*next(parts))[0])
            names = bytes(next(parts)[1])
            if count == 1 and width > 0:
                fields = [names[i : i + width].split(b"\0")[0].decode("latin-1") for i in range(0, len(names), width)]
                for field, (_, inner) in zip(fields, parts, strict=True):
                    self._matrix(inner, f"{path}.{field}", depth - 1)
        elif kind == _CELL:
            words = [self._word(inner) for _, inner in parts]
            if words and all(words):
                self.arrays[path] = np.array(words, dtype=np.str_)
        elif kind == _CHAR:
            text = _text(*next(parts))
            rows = int(shape[0])
            if len(text) == count and rows > 0:  # a matrix of characters, column by column
                self.arrays[path] = np.array([text[i::rows].rstrip() for i in range(rows)], dtype=np.str_)
        elif kind in _NUMERIC and not int(flags[0]) & 0x0800:  # complex
            values = self._numbers(*next(parts))
            if len(values) != count or not 1 < len(shape) < 33 or min(shape) < 0:
                raise ValueError(f"variable {path!r} states the shape {tuple(shape)}, but holds {len(values)} numbers")
            self.arrays[path] = values.reshape(shape, order="F")

    def _word(self, body: memoryview) -> str:
        parts = self._elements(body)
        flags = self._numbers(*next(parts))
        _, _, content = (next(parts) for _ in range(3))  # behind shape and name
        return _text(*content) if int(flags[0]) & 0xFF == _CHAR else ""

    def _numbers(self, kind: int, data: memoryview) -> NDArray:
        if kind not in _CODES:
            raise ValueError(f"an element of type {kind} stands where numbers belong")
        found = np.frombuffer(data, dtype=self.order + _CODES[kind])
        if not len(found) and len(data):
            raise ValueError("an element without numbers")
        return found.astype(found.dtype.newbyteorder("="))


def _text(kind: int, data: memoryview) -> str:
    if kind not in _TEXTS:
        raise ValueError(f"an element of type {kind} stands where text belongs")
    return bytes(data).decode(_TEXTS[kind])
