"""Logs read for a robot, with what lies beside them.

The side file of a log, `run.csv.steelyard.toml`: what the log has wrong, undone by whatever reads it.

It has the words of a channel file: channels by their names, and the table `[corrections]`. The log stays as it is. Logs
come from elsewhere with their side files, so a model that one names is found as files that a model names: in the
folder of the side file or its package, nowhere else.

Logs read for a robot. Joints of it that no log shows to move are locked in the robot: those that were not recorded,
such as of a gripper, and a free base that something holds.
"""

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.corrections import NOTHING, Corrections, corrections_from
from steelyard.errors import LogError, OptionError, UnrecordedJoints, choices
from steelyard.job_options import INSPECT, options_of, toml, words_of
from steelyard.log import Log, read_log
from steelyard.log.channels import DRIVE
from steelyard.model import Robot
from steelyard.model.locking import locked, resting_position
from steelyard.model.references import Relocation, allowed_folders, resolve
from steelyard.numbers import to_float
from steelyard.prepare.undo import corrected
from steelyard.spatial import POSE, TWIST
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
    """Where the side file of a log (a file or folder) is looked for: `run.csv.steelyard.toml` beside `run.csv`."""
    log = Path(log)
    log = log.resolve() if log.name in ("", "..") else log  # the folder one stands in
    return log.with_name(log.name + SUFFIX)


def log_side(log: str | Path) -> LogSide:
    """What the side file of a log says, nothing where there is none. Raises OptionError for what cannot be read."""
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
    """A log as recorded, and what its side file (or `beside` in its place) says, which `undone` does; channels and what
    corrections say of reading count more. Others as of `read_log`."""
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
    return all(each.gravity_compensated or each.gravity_model is not None for each in (one, other))


def undone(robot: Robot | None, log: Log, beside: LogSide) -> Log:
    """A log with the corrections of its side file, of `read_recorded`, made, and a note that says so."""
    if not beside.said:
        return log
    return corrected(robot, log, beside.corrections).noted(f"{beside.path.name} beside the log: {beside.said}")


def read_undone(path: Any, robot: Robot | None = None, **options) -> Log:
    """A log with the corrections of its side file made. path, robot, options: of `read_recorded`."""
    log, beside = read_recorded(path, robot, **options)
    return undone(robot, log, beside)


def write_log_side(beside: LogSide, why: Mapping[str, str] | None = None) -> None:
    """Write a side file, whole or not at all, with the reason of a correction by its word, such as `tau:joint3=-1`.
    Raises OptionError for a model outside of its folder and package, which could not be read back."""
    if beside.corrections.gravity_model is not None:
        folder = beside.path.parent
        named = Relocation(folder, folder).seen(
            _reached(beside.path, str(Path(beside.corrections.gravity_model).absolute()))
        )
        beside = replace(beside, corrections=replace(beside.corrections, gravity_model=named))
    lines = ["# What the log beside this file has wrong. Every command that reads the log undoes it."]
    lines += [f"{name} = {toml(value)}" for name, value in beside.channels.items()]
    lines += ["", f"[{TABLE}]"]
    for name in OF_A_LOG:
        value = getattr(beside.corrections, name)
        if value != getattr(NOTHING, name):
            reasons = [text for word, text in (why or {}).items() if value is True or word in value]
            lines += [*(f"# {text}" for text in reasons), f"{name} = {toml(value)}"]
    write_bytes(beside.path, "\n".join([*lines, ""]).encode())


def _spoken(corrections: Corrections) -> list[str]:
    words = " ".join(words_of(corrections, INSPECT)).split("--")
    return [word.strip() for word in words if word.strip()]


STANDS = 5e-3  # m, or part of a quaternion, within which a base that something holds stays: noise of a pose estimate
LONG = 0.5  # s, in which a base that nothing holds falls 1.2 m


def read_logs(
    sources: Iterable[Any],
    robot: Robot,
    *,
    channels: Mapping[str, Any] | None = None,
    corrections: Corrections = NOTHING,
    progress: Callable[[str, float], None] | None = None,
) -> tuple[Robot, list[Log]]:
    """Logs of one robot (paths, Logs, or what else `read_log` takes), but for what side files undo, and the robot as
    they show it: joints locked that no log recorded or whose free base stands. Raises LogError as `read_log`, and for a
    joint between others that was not recorded."""
    sources, logs, beside = list(sources), [], {}
    while len(logs) < len(sources):
        source = sources[len(logs)]
        if progress:
            name = Path(source).name if isinstance(source, str | Path) else "a log"
            progress(f"reading {name}", len(logs) / len(sources))
        try:
            if isinstance(source, Log):
                log = in_order(source, robot)
            else:
                log, beside[len(logs)] = read_recorded(source, robot, channels=channels, corrections=corrections)
        except UnrecordedJoints as error:
            robot, logs = without_unrecorded(robot, error), []  # logs that were read have other columns
            continue
        logs.append(log)
    if logs and all(base_stands(robot, log) for log in logs):
        held = _with_held_base(robot, logs[0])
        robot, logs = held, [_without_base(held, log) for log in logs]
    return robot, [undone(robot, log, beside[k]) if k in beside else log for k, log in enumerate(logs)]


def in_order(log: Log, robot: Robot) -> Log:
    """A Log with the columns of a robot's joints in their order. Raises LogError for other joints or numbers of
    columns."""
    names, held = robot.dof_names, log.joint_names
    if held and held != names and log.nq == log.nv:
        if missing := tuple(name for name in robot.joint_names if name not in held):
            message = f"log {log.name!r} has no joints {choices(missing)}; it has {choices(held)}"
            raise UnrecordedJoints(message, missing) if set(held) & set(names) else LogError(message)
        return log.select(robot.joint_names)
    if log.nq != robot.nq or log.nv != robot.nv:
        raise LogError(
            f"log {log.name!r} has {log.nq} positions and {log.nv} freedoms a sample; robot '{robot.name}' has "
            f"{robot.nq} and {robot.nv} ({choices(robot.joint_names)}). Name its columns with joint_names=."
        )
    return log


def lock_words(words: Sequence[str], robot: Robot) -> dict[str, np.ndarray]:
    """Positions by joint of words such as `finger=0.02` or `finger`: zero or the limit nearest to it. Raises
    OptionError."""
    found = {}
    for word in words:
        name, equals, text = word.partition("=")
        joint = next((each for each in robot.free_joints if each.name == name), None)
        if joint is None:
            raise OptionError(f"--lock {word}: there is no joint {name!r}; joints are {choices(robot.joint_names)}.")
        if not equals and joint.nq != 1:
            raise OptionError(f"--lock {word}: say where it stands, {name}= and {joint.nq} numbers with commas.")
        try:
            numbers = [to_float(number) for number in text.split(",")] if equals else [resting_position(joint)]
        except ValueError as error:
            raise OptionError(f"--lock {word}: {text!r} is no position; write {name}=0.02, rad or m.") from error
        found[name] = np.array(numbers)
    return found


def locks_of(robot: Robot) -> tuple[str, ...]:
    """The words that lock a robot's file as the robot is locked."""
    stands = {} if robot.source is None else robot.source.locked
    return tuple(f"{name}={','.join(repr(float(x)) for x in at)}" for name, at in stands.items())


def without_unrecorded(robot: Robot, error: UnrecordedJoints) -> Robot:
    """The robot with joints locked that a log does not have. Raises the error for joints that others hang on."""
    names = [name for name in error.joints if name in robot.joint_names]
    recorded = set(robot.joint_names) - set(names)
    chain = [joint for name in names for joint in _below(robot, name) if joint in recorded]
    several = [name for name in names if next(j for j in robot.joints if j.name == name).nq != 1]
    if not names or not recorded or chain or several:
        raise error
    stands = {joint.name: resting_position(joint) for joint in robot.free_joints if joint.name in names}
    said = " ".join(f"--lock {name}={position:g}" for name, position in stands.items())
    return _noted(
        locked(robot, stands),
        f"{choices(names)} {'is' if len(names) == 1 else 'are'} not in the log and taken to stand still ({said}). If "
        "not there, say where.",
    )


def _below(robot: Robot, name: str) -> list[str]:
    first = next(i for i, joint in enumerate(robot.joints) if joint.name == name)
    inside = {first}
    for i in range(first + 1, robot.nj):
        if int(robot.parents[i]) in inside:
            inside.add(i)
    return [robot.joints[i].name for i in sorted(inside - {first}) if robot.joints[i].mimics is None]


def base_stands(robot: Robot, log: Log) -> bool:
    """Whether something holds a free base that gravity would make fall, and its force is not among the torques."""
    if not robot.floating or not np.any(robot.gravity) or log.tau is None or log.nq != robot.nq or robot.nv <= TWIST:
        return False
    if log.duration < LONG or log.wrenches or log.contacts or log.external or np.any(log.tau[:, :TWIST]):
        return False
    return bool(np.ptp(log.q[:, :POSE], axis=0).max() < STANDS)


def _with_held_base(robot: Robot, log: Log) -> Robot:
    root = robot.joints[0].name
    pose = np.median(log.q[:, :POSE], axis=0)
    return _noted(
        locked(robot, {root: pose}),
        "The base stands still although gravity acts, and nothing that holds it is among the torques: it is taken as "
        "fixed at its recorded pose, and its own parameters stay as they are.",
    )


def _without_base(held: Robot, log: Log) -> Log:
    present = {key: x for key in ("v", "a", "tau", *DRIVE) if (x := getattr(log, key)) is not None}
    parts = {key: x[:, TWIST:] if x.shape[1] == log.nv else x for key, x in present.items()}
    names = held.joint_names if len(held.joint_names) == held.nv else ()
    return log.replace(q=log.q[:, POSE:], **parts, joint_names=names)


def _noted(robot: Robot, note: str) -> Robot:
    """The robot with a note in the place of that of `locked`, which says less."""
    return replace(robot, notes=(*robot.notes[:-1], note))
