"""Logs read for a robot. Joints of it that no log shows to move are locked in the robot: those that were not recorded,
such as of a gripper, and a free base that something holds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.corrections import NOTHING, Corrections
from steelyard.errors import LogError, OptionError, UnrecordedJoints, choices
from steelyard.log import DRIVE, Log
from steelyard.model import Robot, locked, resting_position
from steelyard.numbers import to_float
from steelyard.prepare.log_side import read_recorded, undone

POSE, TWIST = 7, 6  # columns of a free base in q and in v
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
    """Logs of one robot, and the robot as they show it.

    Args:
        sources: of the logs: paths, Logs, or what else `read_log` takes.
        robot: as its file describes it.
        channels: as of `read_log`.
        corrections: what they say of reading.
        progress: called with a stage and the share of files read.

    Returns:
        The robot, with joints locked that no log has recorded or whose free base stands, and its logs as they are, but
        for what their side files undo.

    Raises:
        LogError: as `read_log`, and for a joint between others that was not recorded.
    """
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
    """A Log with the columns of a robot's joints in their order, by name where it has names.

    Raises LogError for other joints or another number of columns.
    """
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
    """Positions by joint, of words such as `finger=0.02` or `finger`, which is at zero or the limit nearest to it.

    Raises OptionError for words that cannot be read, and for joints that the robot does not have.
    """
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
    """Joints with coordinates of their own that a joint carries."""
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
    """The columns of the joints alone."""
    present = {key: x for key in ("v", "a", "tau", *DRIVE) if (x := getattr(log, key)) is not None}
    parts = {key: x[:, TWIST:] if x.shape[1] == log.nv else x for key, x in present.items()}
    names = held.joint_names if len(held.joint_names) == held.nv else ()
    return log.replace(q=log.q[:, POSE:], **parts, joint_names=names)


def _noted(robot: Robot, note: str) -> Robot:
    """The robot with a note in the place of that of `locked`, which says less."""
    return replace(robot, notes=(*robot.notes[:-1], note))
