"""Files that hold named arrays (NPZ, MAT, HDF5): keys `t, q, v, a, tau, joint_names` or their synonyms, `wrench_LINK`,
`contact_FRAME` and `external_FRAME`, rows are samples; `log` numbers the rows of several logs, `log_names` names them.
Arrays inside groups or structures are called by their path, `arm/q`, `arm.q`. Recordings that are in memory already are
read alike: tables by arrays, and data frames of pandas, polars and Arrow."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.arguments import found as found_words
from steelyard.errors import LogError, choices
from steelyard.log.channels import DRIVE, NAME_WORDS, SI, WORDS, factor, is_si
from steelyard.log.frame_channels import found_by_frame, gathered, leaf, require_held
from steelyard.log.raw_channels import INDEX, NAMES, STEADY, Channel, Raw, ReadRequest, asked, chosen, counted
from steelyard.log.signals import best_torques, computed_note, recognised
from steelyard.log.table_columns import layout

LIMIT = 2**31  # largest array read, in bytes uncompressed: 30 columns at 1 kHz for 2.5 hours
EXPANSION = 1100  # zlib cannot make more out of a byte
BANDWIDTH = "bandwidth"


class Arrays(Protocol):
    """The arrays of a file. Looking one up raises LogError for what cannot be read or is not trusted."""

    @property
    def path(self) -> Path: ...
    @property
    def keys(self) -> tuple[str, ...]: ...
    def __getitem__(self, key: str) -> NDArray[Any]: ...


def require_size(size: int, where: str) -> None:
    """Raises LogError for an array of more bytes than are read."""
    if size > LIMIT:
        raise LogError(f"{where} declares {size:,} bytes, over the limit of {LIMIT:,}; split the log")


def build(arrays: Arrays, request: ReadRequest) -> Raw:
    """Channels of a file of arrays. Raises LogError when it lacks `t` or `q`, listing what it has."""
    keys = arrays.keys
    lower = _by_word(keys)
    request, base, recorder = recognised(keys, request)
    notes = list(recorder)
    used: dict[str, list[str]] = {key: _keys(key, keys, lower, request, notes) for key in SI}
    used = {key: found for key, found in used.items() if found}
    for key, what in (("t", "time"), ("q", "joint positions")):
        if key not in used and not (key == "t" and request.step):
            raise LogError(
                f"{arrays.path} has no array for {what} ({key}); it has {choices(keys)}. "
                f'Say which is which: --channels \'{{"{key}": "key", ...}}\', in Python channels=. '
                f"{STEADY if key == 't' else ''}".rstrip()
            )
    notes += computed_note([leaf(key) for key in used.get("tau", ())])
    values = {key: _numbers(arrays, key, found, request, notes) for key, found in used.items()}
    if request.step and "t" not in values:
        values["t"] = request.step * np.arange(float(len(values["q"])))[:, None]
        notes.append(counted(request.step))
    named = next((lower[word] for word in NAME_WORDS if word in lower), None)
    names = _strings(arrays[named]) if named else None
    if names == ():
        raise LogError(f"{arrays.path}, array {named!r}: expected joint names as an array of strings")
    stored = _strings(arrays["notes"]) if "notes" in keys else ()
    bandwidth = _bandwidth(arrays)
    index, logs = (next((lower[word] for word in words if word in lower), None) for words in (INDEX, NAMES))
    reached = {key for found in used.values() for key in found} | {named, "notes", index, logs}
    if bandwidth is not None:
        reached |= {BANDWIDTH}
    filled = []
    for each in found_by_frame(keys, request.channels, whole=True):
        values_of = [] if reached & set(each.columns) else [arrays[key] for key in each.columns]
        if values_of and all(array.dtype.kind in "fiub" for array in values_of):
            filled.append((each, each.filled(values_of)))
    by_frame, by_frame_used, left_out = gathered(filled, request.channels, values["t"].size)
    notes += left_out
    unused = [key for key in keys if key not in reached | {*by_frame_used}]
    if unused:
        notes.append(f"arrays not used: {choices(unused)}")
    time = values.pop("t")
    time = time.T if len(time) == 1 else time  # MATLAB's vectors are matrices of one row or column
    if time.shape[1] != 1:
        raise LogError(f"{arrays.path}, array {used['t'][0]!r}: time must be (n,), found (n, {time.shape[1]})")
    channels = {}
    for key, x in values.items():
        if len(x) != len(time) and x.shape[1] == len(time):
            notes.append(f"{key}: samples run along the columns of {used[key][0]!r}; transposed")
            x = np.ascontiguousarray(x.T)
        channels[key] = Channel(x, names if names and len(names) == x.shape[1] else None)
    if names and not any(channel.names for channel in channels.values()):
        widths = {key: channel.values.shape[1] for key, channel in channels.items()}
        raise LogError(
            f"{arrays.path}: {len(names)} names in {named!r}, but columns are {widths}. Give one name a column, or "
            "for a robot with joints of several freedoms (a free base) leave the names out: its order is taken."
        )
    raw = Raw(time[:, 0], channels, (*stored, *notes), bandwidth, base, by_frame)
    numbers = np.zeros(0) if index is None else arrays[index].ravel()
    if len(numbers) == len(time) and numbers.dtype.kind in "iu":
        return chosen(raw, numbers, () if logs is None else _strings(arrays[logs]), request.logs)
    if request.logs:
        raise LogError(f"{arrays.path} has no array {INDEX[0]} (n,) that numbers the log of each row: it is one log")
    return raw


def _by_word(keys) -> dict[str, str]:
    """Key of each word: of the whole key, or of the last part of its path where that is unique."""
    leaves = [leaf(key).lower() for key in keys]
    result = {word: key for word, key in zip(leaves, keys, strict=True) if leaves.count(word) == 1}
    return result | {key.lower(): key for key in keys}


def _bandwidth(arrays: Arrays) -> float | None:
    """Hz; None where there is no such array, or it holds no frequency."""
    value = arrays[BANDWIDTH] if BANDWIDTH in arrays.keys else np.array(())
    usable = value.size == 1 and value.dtype.kind in "fiu" and 0 < float(value.item()) < np.inf
    return float(value.item()) if usable else None


def _keys(channel: str, keys, lower, request: ReadRequest, notes: list[str]) -> list[str]:
    """Keys of the arrays that make a channel: as asked for, by its own name, or by one synonym."""
    if channel in request.channels:
        found = [key for _, key in asked(request.channels[channel], keys)]
        require_held(channel, found, keys)
        return found
    measured = []
    if channel == "tau":  # the best measured torques of all joints, by the last part of their path
        plain, beside = best_torques([leaf(key) for key in keys])
        measured = [key for i, key in enumerate(keys) if plain.get(i, "").lower() in WORDS["tau"] and i not in beside]
    if channel in keys and (channel in measured or not measured):
        return [channel]
    found = measured or [lower[word] for word in WORDS[channel] if word in lower]
    if len(found) > 1 and channel in DRIVE:
        notes.append(f"{channel}: not read, as arrays {choices(found)} all look like it; choose with channels=")
        return []
    if len(found) > 1:
        raise LogError(f'arrays {choices(found)} all look like {channel}; choose with channels={{"{channel}": "key"}}')
    if found:
        notes.append(f"{channel}: read from array {found[0]!r}")
    return found


def _numbers(
    arrays: Arrays, channel: str, keys: list[str], request: ReadRequest, notes: list[str]
) -> NDArray[np.float64]:
    """(n, k) in SI; several one-dimensional arrays are columns."""
    parts = []
    for key in keys:
        array = arrays[key]
        if array.dtype.kind not in "fiub" or array.ndim not in (1, 2):
            found = f"{array.dtype} of shape {array.shape}"
            raise LogError(
                f"{arrays.path}, array {key!r}: {channel} must be numbers (n,) or (n, columns), found {found}"
            )
        array = array.T if len(keys) > 1 and array.ndim == 2 and len(array) == 1 else array
        parts.append(array[:, None] if array.ndim == 1 else array)
    if len({len(part) for part in parts}) > 1:
        raise LogError(f"{arrays.path}: arrays {choices(keys)} of {channel} differ in length")
    unit = request.units.get(channel, SI[channel])
    whole = (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)).astype(np.float64, copy=False)
    if is_si(channel, unit):
        return whole
    notes.append(f"{channel}: converted from {unit} to {SI[channel]}, as units= says")
    return whole * factor(channel, unit)


def _strings(array: NDArray[Any]) -> tuple[str, ...]:
    if array.dtype.kind not in "US":
        return ()
    try:
        return tuple(item.decode() if isinstance(item, bytes) else str(item) for item in array.ravel())
    except UnicodeDecodeError as error:
        raise LogError(f"names are not UTF-8 text ({error.reason})") from error


class _NamedArrays:
    """Arrays by name, as a file of arrays has them."""

    def __init__(self, arrays: Mapping[str, Any]):
        self._arrays = arrays
        self.path = Path("the given arrays")

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(map(str, self._arrays))

    def __getitem__(self, key: str) -> NDArray[Any]:
        return np.asarray(self._arrays[key])


def is_frame(source: Any) -> bool:
    """Whether something is a data frame: named columns that become NumPy arrays."""
    return hasattr(source, "columns") and not isinstance(source, Mapping)


def read_given(source: Any, request: ReadRequest) -> Raw:
    """A mapping of names to arrays (n, columns) or (n,) (None: not there), or a data frame. Raises LogError."""
    if isinstance(source, Mapping):
        source = {str(key): value for key, value in source.items() if value is not None}
        if any(np.ndim(value) == 2 for value in source.values()):
            return build(_NamedArrays(source), request)
    elif not is_frame(source):
        raise LogError(
            f"A log is a path, a Log, a data frame, or arrays by name such as {{'t': t, 'q': q, 'tau': tau}}; found "
            f"{found_words(source)}."
        )
    headings = getattr(source, "column_names", None) or getattr(source, "columns", source)
    names = [str(name) for name in headings]
    plan = layout(names, request)
    if plan.index is not None and np.asarray(source[names[plan.index]]).dtype.kind not in "iuf":
        plan = replace(plan, index=None)  # episodes called by words
    return plan.build([_column(source, names[index]) for index in plan.indices])


def _column(source: Any, name: str) -> NDArray[np.float64]:
    try:
        values = source[name]
        found = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LogError(f"column {name!r} is not numbers: {str(error)[:200]}") from error
    if found.ndim != 1:
        raise LogError(f"column {name!r} has shape {found.shape}; give one number a sample, or arrays (n, columns)")
    return found
