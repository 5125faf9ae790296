"""The side file of a log, `run.csv.steelyard.toml`: what the log has wrong, undone by whatever reads it.

It has the words of a channel file: channels by their names, and the table `[corrections]`. The log stays as it is. Logs
come from elsewhere with their side files, so a model that one names is found as files that a model names: in the
folder of the side file or its package, nowhere else.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from steelyard.corrections import NOTHING, Corrections, corrections_from
from steelyard.errors import OptionError, choices
from steelyard.job_options import INSPECT, options_of, words_of
from steelyard.log import Log, read_log
from steelyard.model import Relocation, Robot, allowed_folders, resolve
from steelyard.prepare.undo import corrected
from steelyard.storage import write_bytes

SUFFIX = ".steelyard.toml"
TABLE = "corrections"
OF_A_LOG = tuple(options_of(Corrections, INSPECT))  # others belong to a fit of several logs


@dataclass(frozen=True)
class LogSide:
    """What a side file says. path: of the file, whether it is there or not; channels: as of `read_log`."""

    path: Path
    channels: Mapping[str, Any]
    corrections: Corrections = NOTHING

    def __post_init__(self):
        given = [each.name for each in fields(Corrections) if self._states(each.name)]
        if wrong := [name for name in given if name not in OF_A_LOG]:
            raise OptionError(f"{choices(wrong)} belongs to a fit: give it on the command line.")
        if self.corrections.automatic_delay:
            raise OptionError("delay auto takes a fit: give it on the command line, or each delay in s here.")

    def _states(self, name: str) -> bool:
        return getattr(self.corrections, name) != getattr(NOTHING, name)

    @property
    def said(self) -> str:
        """The corrections in one line."""
        channels = [f"channels {', '.join(self.channels)}"] if self.channels else []
        return ", ".join([*channels, *_spoken(self.corrections)])


def log_side_path(log: str | Path) -> Path:
    """Where the side file of a log is looked for: `run.csv.steelyard.toml` beside `run.csv`.

    log: path of a file or a folder.
    """
    log = Path(log)
    log = log.resolve() if log.name in ("", "..") else log  # the folder one stands in
    return log.with_name(log.name + SUFFIX)


def log_side(log: str | Path) -> LogSide:
    """What the side file of a log says, nothing where there is none.

    log: path of a file or a folder. Raises OptionError, which names the file, for what cannot be read.
    """
    path = log_side_path(log)
    if not os.path.isfile(path):  # noqa: PTH113  False for names that cannot be
        return LogSide(path, {})
    try:
        told = tomllib.loads(path.read_text("utf-8"))
        corrections = corrections_from(told.pop(TABLE, {}))
        if corrections.gravity_model is not None:
            corrections = replace(corrections, gravity_model=str(_reached(path, corrections.gravity_model)))
        return LogSide(path, told, corrections)
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from error
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}. Mend or remove it.") from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path}: {error}. Expected TOML with [{TABLE}] and lines as scale = [...].") from error


def _reached(side: Path, named: str) -> Path:
    """The model that a side file names, as seen from its folder. Raises OptionError for one that it may not open."""
    found = resolve(named, [side.parent], allowed_folders(side))
    if found.path is None:
        raise OptionError(
            f"gravity_model: {found.message} A side file names files of its own folder or package. Copy the model "
            f"beside the log, or remove the line and give --gravity-model MODEL on the command line."
        )
    return found.path


def read_recorded(
    path: Any,
    robot: Robot | None = None,
    *,
    channels: Mapping[str, Any] | None = None,
    corrections: Corrections = NOTHING,
    rows: tuple[int, int] | None = None,
    beside: LogSide | None = None,
) -> tuple[Log, LogSide]:
    """A log as recorded, and what its side file says, which `undone` does. Channels and units are of the reading.

    Args:
        path: of the log, or what else `read_log` takes.
        robot: as of `read_log`.
        channels: as of `read_log`; they count more than the side file's.
        corrections: those that will be made besides; what they say of reading counts more, too.
        rows: as of `read_log`.
        beside: what to take for the side file, in the place of the one that is there.
    """
    if beside is None:
        beside = log_side(path) if isinstance(path, str | Path) else LogSide(Path(), {})
    if corrections.base is not None:  # it says of the same log what its base is
        beside = replace(beside, corrections=replace(beside.corrections, base=None))
    both = beside.corrections.joined(corrections)
    if _gravity(beside.corrections, corrections):
        raise OptionError(f"{beside.path} adds gravity to the torques already: leave it out on the command line.")
    log = read_log(path, robot, channels={**beside.channels, **(channels or {})} or None, rows=rows, **both.reading)
    return log, beside


def _gravity(one: Corrections, other: Corrections) -> bool:
    """Whether both add gravity to torques."""
    return all(each.gravity_compensated or each.gravity_model is not None for each in (one, other))


def undone(robot: Robot | None, log: Log, beside: LogSide) -> Log:
    """A log with the corrections of its side file made, and a note that says so.

    robot: whose columns the log has. log, beside: of `read_recorded`.
    """
    if not beside.said:
        return log
    return corrected(robot, log, beside.corrections).noted(f"{beside.path.name} beside the log: {beside.said}")


def read_undone(path: Any, robot: Robot | None = None, **options) -> Log:
    """A log with the corrections of its side file made. path, robot, options: of `read_recorded`."""
    log, beside = read_recorded(path, robot, **options)
    return undone(robot, log, beside)


def write_log_side(beside: LogSide, why: Mapping[str, str] | None = None) -> None:
    """Write a side file, whole or not at all.

    beside: its path and content. why: the reason of a correction by its word, such as `tau:joint3=-1`. Raises
    OptionError for a model outside of its folder and package, which could not be read back.
    """
    if beside.corrections.gravity_model is not None:
        folder = beside.path.parent
        named = Relocation(folder, folder).seen(
            _reached(beside.path, str(Path(beside.corrections.gravity_model).absolute()))
        )
        beside = replace(beside, corrections=replace(beside.corrections, gravity_model=named))
    lines = ["# What the log beside this file has wrong. Every command that reads the log undoes it."]
    lines += [f"{name} = {_toml(value)}" for name, value in beside.channels.items()]
    lines += ["", f"[{TABLE}]"]
    for name in OF_A_LOG:
        value = getattr(beside.corrections, name)
        if value != getattr(NOTHING, name):
            reasons = [text for word, text in (why or {}).items() if value is True or word in value]
            lines += [*(f"# {text}" for text in reasons), f"{name} = {_toml(value)}"]
    write_bytes(beside.path, "\n".join([*lines, ""]).encode())


def _toml(value) -> str:
    """A value of a channel or a correction as TOML has it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _spoken(corrections: Corrections) -> list[str]:
    """`scale tau:joint3=-1`, word by word."""
    words = " ".join(words_of(corrections, INSPECT)).split("--")
    return [word.strip() for word in words if word.strip()]
