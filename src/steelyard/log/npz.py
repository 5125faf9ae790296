"""NumPy archives: keys `t, q, v, a, tau, joint_names` (or their synonyms) and `wrench_LINK`, rows are samples.

Archives come from anywhere, so nothing in them is trusted: no pickles, and what a member declares (size in the archive,
shape in its header) is checked before any memory is asked for.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.raw import Channel, Raw, Request
from steelyard.log.units import SI, factor, is_si
from steelyard.log.vocabulary import NAME_WORDS, WORDS, WRENCH_WORD

MEMBER_LIMIT = 2**31
"""Largest array read, in bytes uncompressed: 30 columns at 1 kHz for 2.5 hours."""


def read(path: Path, request: Request) -> Raw:
    """Read an archive. Raises LogError for a file that is damaged, oversized or pickled, or that lacks `t` or `q`."""
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = _Members(path, archive)
            return _raw(arrays, request)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise LogError(f"{path} is not a whole .npz archive ({error}); write it with numpy.savez") from error


class _Members:
    """The arrays of an archive, each checked before it is read."""

    def __init__(self, path: Path, archive: zipfile.ZipFile):
        self.path, self.archive = path, archive
        self.infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

    def __getitem__(self, key: str) -> NDArray[Any]:
        info, where = self.infos[key], f"{self.path}, array {key!r}"
        if info.file_size > MEMBER_LIMIT:
            raise LogError(
                f"{where} declares {info.file_size:,} bytes, over the limit of {MEMBER_LIMIT:,}; split the log"
            )
        if info.flag_bits & 1:
            raise LogError(f"{where} is encrypted; save it without a password")
        try:
            with self.archive.open(info) as member:
                _require_honest_header(member, info.file_size, where)
            with self.archive.open(info) as member:
                return np.lib.format.read_array(member, allow_pickle=False)
        except (ValueError, NotImplementedError) as error:
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


def _raw(arrays: _Members, request: Request) -> Raw:
    keys = tuple(arrays.infos)
    lower = {key.lower(): key for key in keys}
    notes: list[str] = []
    used: dict[str, list[str]] = {key: _keys(key, keys, lower, request, notes) for key in SI}
    used = {key: found for key, found in used.items() if found}
    for key, what in (("t", "time"), ("q", "joint positions")):
        if key not in used:
            raise LogError(
                f"{arrays.path} has no array for {what} ({key}); it has {choices(keys)}. "
                f'Say which is which: channels={{"{key}": "key", ...}}'
            )
    values = {key: _numbers(arrays, key, found, request, notes) for key, found in used.items()}
    named = next((lower[word] for word in NAME_WORDS if word in lower), None)
    names = _names(arrays, named) if named else None
    stored = _strings(arrays["notes"]) if "notes" in keys else ()
    wrenches = _wrenches(arrays)
    reached = {key for found in used.values() for key in found} | {named, "notes"}
    reached |= {WRENCH_WORD + link for link in wrenches}
    unused = [key for key in keys if key not in reached]
    if unused:
        notes.append(f"arrays not used: {choices(unused)}")
    channels = {key: Channel(x, names if names and len(names) == x.shape[1] else None) for key, x in values.items()}
    time = channels.pop("t").values
    if time.shape[1] != 1:
        raise LogError(f"{arrays.path}, array {used['t'][0]!r}: time must be (n,), found (n, {time.shape[1]})")
    if names and not any(channel.names for channel in channels.values()):
        widths = {key: channel.values.shape[1] for key, channel in channels.items()}
        raise LogError(f"{arrays.path}: {len(names)} names in {named!r}, but columns are {widths}")
    return Raw(time[:, 0], channels, (*stored, *notes), wrenches)


def _wrenches(arrays: _Members) -> dict[str, NDArray[np.float64]]:
    """Arrays `wrench_LINK` (n, 6), N and N m, by link."""
    found = {key: arrays[key] for key in arrays.infos if key.startswith(WRENCH_WORD)}
    return {
        key.removeprefix(WRENCH_WORD): array.astype(np.float64)
        for key, array in found.items()
        if array.dtype.kind in "fiu" and array.ndim == 2 and array.shape[1] == 6
    }


def _keys(channel: str, keys, lower, request: Request, notes: list[str]) -> list[str]:
    """Keys of the arrays that make a channel: as asked for, by its own name, or by one synonym."""
    if channel in request.channels:
        wanted = request.channels[channel]
        found = [] if wanted is None else [wanted] if isinstance(wanted, str) else list(wanted)
        lost = [key for key in found if key not in keys]
        if lost:
            raise LogError(f"channels= wants {choices(lost)} for {channel}; the file has {choices(keys)}")
        return found
    if channel in keys:
        return [channel]
    found = [lower[word] for word in WORDS[channel] if word in lower]
    if len(found) > 1:
        raise LogError(f'arrays {choices(found)} all look like {channel}; choose with channels={{"{channel}": "key"}}')
    if found:
        notes.append(f"{channel}: read from array {found[0]!r}")
    return found


def _numbers(
    arrays: _Members, channel: str, keys: list[str], request: Request, notes: list[str]
) -> NDArray[np.float64]:
    """(n, k) in SI; several one-dimensional arrays are columns."""
    parts = []
    for key in keys:
        array = arrays[key]
        if array.dtype.kind not in "fiu" or array.ndim not in (1, 2):
            found = f"{array.dtype} of shape {array.shape}"
            raise LogError(
                f"{arrays.path}, array {key!r}: {channel} must be numbers (n,) or (n, columns), found {found}"
            )
        parts.append(array[:, None] if array.ndim == 1 else array)
    if len({len(part) for part in parts}) > 1:
        raise LogError(f"{arrays.path}: arrays {choices(keys)} of {channel} differ in length")
    unit = request.units.get(channel, SI[channel])
    if not is_si(channel, unit):
        notes.append(f"{channel}: converted from {unit} to {SI[channel]}, as units= says")
    return np.concatenate(parts, axis=1).astype(np.float64) * factor(channel, unit)


def _names(arrays: _Members, key: str) -> tuple[str, ...]:
    names = _strings(arrays[key])
    if not names:
        raise LogError(f"{arrays.path}, array {key!r}: expected joint names as an array of strings")
    return names


def _strings(array: NDArray[Any]) -> tuple[str, ...]:
    if array.dtype.kind not in "US":
        return ()
    return tuple(item.decode() if isinstance(item, bytes) else str(item) for item in array.ravel())
