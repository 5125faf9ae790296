"""Channels of frames instead of joints: flags of contact, wrenches from outside and of sensors, and inertial sensors.

In tables they are columns `contact_FRAME`, `external_FRAME_fx` ... `_nz`, `wrench_LINK_fx` ... `_nz` and
`imu_FRAME_wx` ... `_az`, in files of arrays `contact_FRAME` (n,), others (n, 6) without such ends.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices

WORDS = {"contacts": "contact", "external": "external", "imu": "imu", "wrenches": "wrench"}  # channel -> start of names
SIX = ("fx", "fy", "fz", "nx", "ny", "nz")
PARTS = {  # as columns end
    "contacts": ("",),
    "external": SIX,
    "imu": ("wx", "wy", "wz", "ax", "ay", "az"),
    "wrenches": SIX,
}
_COLUMN = {
    channel: re.compile(
        rf"{word}_(?P<frame>.+)" + (rf"_(?P<part>{'|'.join(PARTS[channel])})" if channel != "contacts" else "")
    )
    for channel, word in WORDS.items()
}
_ARRAY = {channel: re.compile(rf"{word}_(?P<frame>.+)") for channel, word in WORDS.items()}


def leaf(name: str) -> str:
    """The last part of a path."""
    return re.split("[/.]", name)[-1]


@dataclass(frozen=True)
class FrameChannel:
    """What a file has of one frame. columns: headers or keys, one or six."""

    channel: str
    frame: str
    columns: tuple[str, ...]

    def filled(self, values: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """(n,) flags or (n, 6) of others, of columns (n,) or of one array of all."""
        parts = [np.asarray(each, dtype=np.float64) for each in values]
        if len(parts) > 1:
            return np.stack([part.ravel() for part in parts], axis=1)
        one = parts[0]
        return one.ravel() if self.channel == "contacts" and 1 in one.shape[-2:] and one.ndim == 2 else one


@dataclass(frozen=True)
class ByFrame:
    """Arrays of a log by frame, as a reader hands them on, SI."""

    contacts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    external: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    imu: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    wrenches: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def at(self, rows) -> "ByFrame":
        """Some samples of them."""
        return ByFrame(**changed(self, lambda x: x[rows]))


def changed(log, change: Callable[[NDArray], NDArray], channels: Iterable[str] = tuple(WORDS)) -> dict[str, Any]:
    """What `log.replace` takes to change every array by frame, of a Log or a ByFrame."""
    return {key: {name: change(x) for name, x in getattr(log, key).items()} for key in channels}


def found_by_frame(names: Sequence[str], wanted: Mapping[str, Any], *, whole: bool) -> list[FrameChannel]:
    """One FrameChannel for each frame whose components are all among the columns of a table, or (`whole`) the arrays of
    a file. wanted: `channels=` of a request, by kind and frame. Raises LogError for columns that are asked for and are
    not there, or are not one or six."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for name in names:
        for channel, pattern in (_ARRAY if whole else _COLUMN).items():
            if channel not in wanted and (hit := pattern.fullmatch(leaf(name) if whole else name)):
                parts = found.setdefault((channel, hit["frame"], name if whole else ""), {})
                parts[hit.groupdict().get("part", "")] = name
    return _asked_for(names, wanted) + [
        FrameChannel(channel, frame, tuple(parts[part] for part in (("",) if whole else PARTS[channel])))
        for (channel, frame, _), parts in found.items()
        if whole or len(parts) == len(PARTS[channel])
    ]


def require_held(channel: str, wanted: Iterable[Any], names: Sequence[str]) -> None:
    """Raises LogError for columns or arrays that `channels=` wants and a file does not have."""
    if lost := [name for name in wanted if name not in names]:
        raise LogError(f"channels= wants {choices(lost)} for {channel}; the file has {choices(names)}")


def _asked_for(names: Sequence[str], wanted: Mapping[str, Any]) -> list[FrameChannel]:
    asked = []
    for channel in WORDS:
        told = wanted.get(channel) or {}
        if not isinstance(told, Mapping):
            raise LogError(
                f'channels= of {channel} names frames: {{"{channel}": {{"FRAME": "column"}}}}; found {told!r}'
            )
        for frame, columns in told.items():
            columns = (columns,) if isinstance(columns, str) else tuple(columns)
            require_held(channel, columns, names)
            if len(columns) not in (1, len(PARTS[channel])):
                raise LogError(
                    f"channels= gives {len(columns)} columns for {channel} of {frame}: it has {len(PARTS[channel])}"
                )
            asked.append(FrameChannel(channel, str(frame), columns))
    return asked


def gathered(arrays: Sequence[tuple[FrameChannel, NDArray[np.float64]]], asked: Mapping[str, Any], samples: int):
    """What was read by frame, less what its numbers show to be something else, unless it was asked for; the columns
    used; and notes."""
    result, used, notes = ByFrame({}, {}, {}, {}), [], []
    for each, x in arrays:
        shape = (samples,) if each.channel == "contacts" else (samples, 6)
        if each.channel not in asked and x.shape != shape:
            continue  # named among what was not used
        known = x[~np.isnan(x)]
        flags = bool(np.all((known >= 0) & (known <= 1)))
        if each.channel == "contacts" and each.channel not in asked and x.size and not flags:
            notes.append(
                f"{each.columns[0]}: not used, as flags of contact are 0 to 1 and it runs from {np.nanmin(x):.4g} to "
                f"{np.nanmax(x):.4g}; forces are columns external_FRAME_fx to _nz"
            )
        else:
            getattr(result, each.channel)[each.frame] = x
        used += each.columns
    return result, used, notes


def headers(log) -> list[tuple[str, NDArray[np.float64]]]:
    """(header, column (n,)) of each column of a table that a log has by frame."""
    flags = [(f"contact_{frame}", flag) for frame, flag in log.contacts.items()]
    return flags + [
        (f"{WORDS[channel]}_{frame}_{part}", values[:, k])
        for channel in ("external", "imu", "wrenches")
        for frame, values in getattr(log, channel).items()
        for k, part in enumerate(PARTS[channel])
    ]


def require_frames(frames: Mapping[str, Any], by_frame: ByFrame) -> None:
    """Raises LogError for a frame that a robot does not have. frames: of the robot, by name."""
    for channel, word in WORDS.items():
        if channel != "wrenches" and (unknown := [name for name in getattr(by_frame, channel) if name not in frames]):
            raise LogError(
                f"{channel} of {choices(unknown)}: the robot has no such frame; it has {choices(frames)}. Rename the "
                f'columns {word}_FRAME, or say which frame is which: channels={{"{channel}": {{"FRAME": "column"}}}}, '
                f"None for none."
            )
