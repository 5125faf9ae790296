"""Write a `Log` so that reading it gives back the same numbers. The file appears whole or not at all."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from steelyard import storage
from steelyard.arguments import require_type
from steelyard.errors import LogError
from steelyard.log.channels import SI
from steelyard.log.csv_header import parse_header
from steelyard.log.frame_channels import WORDS, headers
from steelyard.log.log import Log
from steelyard.log.raw_channels import ReadRequest
from steelyard.log.table_columns import layout


def write_csv(log: Log, path: str | Path, comment: str = "") -> Path:
    """Write columns `t, q_JOINT, v_JOINT, a_JOINT, tau_JOINT, command_JOINT, ...` (`q1` without names), in SI units,
    and `contact_FRAME`, `external_FRAME_fx` ... `_nz`, `wrench_LINK_fx` ... `_nz`, `imu_FRAME_wx` ... `_az`.

    Numbers have 17 digits. A comment above them keeps the bandwidth of filtered torques; notes are not kept.

    Args:
        log: any.
        path: of the file.
        comment: a line above the table.

    Returns:
        The path.
    """
    require_type(Log, log=log)
    present = [key for key in SI if getattr(log, key) is not None]
    header = io.StringIO()
    above = f"# {comment}\n" if comment else ""
    above += "" if log.bandwidth is None else f"# bandwidth {log.bandwidth:.17f} Hz\n"
    of_frames = headers(log)
    titles = [title for key in present for title in _titles(log, key)] + [title for title, _ in of_frames]
    csv.writer(header, lineterminator="\n").writerow(titles)
    _require_readable(log, header.getvalue(), present)
    table = np.column_stack([getattr(log, key) for key in present] + [column for _, column in of_frames])

    def write(file: BinaryIO) -> None:
        file.write((above + header.getvalue()).encode())
        np.savetxt(file, table, fmt="%.17g", delimiter=",")

    return _written(path, ".csv", write)


def write_npz(log: Log, path: str | Path) -> Path:
    """Write keys `t, q, v, a, tau, command, ..., wrench_LINK, contact_FRAME, external_FRAME, imu_FRAME,
    joint_names, bandwidth, notes` that the log has.

    Args:
        log: any.
        path: of the file.

    Returns:
        The path.

    Raises:
        LogError: the file cannot be written.
    """
    require_type(Log, log=log)
    arrays = {key: value for key in SI if (value := getattr(log, key)) is not None}
    for channel, word in WORDS.items():
        arrays |= {f"{word}_{frame}": value for frame, value in getattr(log, channel).items()}
    for key in ("joint_names", "notes"):
        if getattr(log, key):
            arrays[key] = np.array(getattr(log, key), dtype=np.str_)
    if log.bandwidth is not None:
        arrays["bandwidth"] = np.array(log.bandwidth)
    return _written(path, ".npz", lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))


def _named(log: Log, key: str) -> bool:
    return key != "t" and len(log.joint_names) == getattr(log, key).shape[1]


def _titles(log: Log, key: str) -> list[str]:
    if key == "t":
        return ["t"]
    if _named(log, key):
        return [f"{key}_{name}" for name in log.joint_names]
    return [f"{key}{i + 1}" for i in range(getattr(log, key).shape[1])]


def _require_readable(log: Log, line: str, present: list[str]) -> None:
    """The header must read back as the names it was made from."""
    expected = {key: log.joint_names if _named(log, key) else None for key in present}
    try:
        titles = parse_header(line) if len(line.splitlines()) == 1 else []
        found = layout(titles, ReadRequest())
        frames = {channel: {c.frame for c, _ in found.of_frames if c.channel == channel} for channel in WORDS}
        same = found.indices == list(range(len(titles))) and expected.items() <= found.names.items()
        same = same and all(frames[channel] == set(getattr(log, channel)) for channel in WORDS)
    except LogError:
        same = False
    if not same:
        names = (*log.joint_names, *(frame for channel in WORDS for frame in getattr(log, channel)))
        raise LogError(f"names {names} cannot be told apart in a CSV header; write an .npz file instead")


def _written(path: str | Path, suffix: str, write: Callable[[BinaryIO], object]) -> Path:
    path = Path(path)
    if path.suffix.lower() != suffix:
        raise LogError(f"{path}: expected a file name ending in {suffix}")
    try:
        with storage.whole(path) as draft, draft.open("xb") as file:
            write(file)
    except OSError as error:
        raise LogError(f"cannot write {path}: {error.strerror}") from error
    return path
