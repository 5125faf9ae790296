"""From channels as a file has them to a `Log` in the order of a robot's joints."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.errors import LogError, UnrecordedJoints, choices
from steelyard.log.channels import COMMON, DRIVE, count
from steelyard.log.frame_channels import require_frames
from steelyard.log.free_base import OWN, convention_of, from_convention
from steelyard.log.log import Log
from steelyard.log.raw_channels import HOW, Channel, Raw, RobotNames
from steelyard.spatial import POSE, TWIST

MOTION = ("q", "v", "a", "tau")


def to_log(
    raw: Raw, robot: RobotNames | None, joint_names: Sequence[str] | None, name: str, base: str | None = None
) -> Log:
    """Name, select and order the columns; `joint_names` and `base` count over what the file has. Raises LogError
    listing both sets of names when the file lacks a joint of the robot."""
    notes: list[str] = list(raw.notes)
    channels = dict(raw.channels)
    shared = {key: channels.pop(key) for key in COMMON if key in channels and channels[key].values.shape[1] == 1}
    _leave_out_odd(channels, robot, joint_names is not None, notes)
    if joint_names is not None:
        channels = {key: _renamed(key, channel, tuple(joint_names), notes) for key, channel in channels.items()}
    if frames := getattr(robot, "frames", None):
        require_frames(frames, raw.by_frame)
    _leave_out_rates(channels, () if robot is None else tuple(robot.joint_names), notes)
    _add_base(channels, robot, raw.by_frame.imu, notes)
    if robot is None:
        channels, names = _agreed(channels, notes)
    else:
        channels, names = _matched(channels, robot, notes)
    joints: dict[str, Any] = {key: channel.values for key, channel in (channels | shared).items()}
    if "q" not in joints:
        raise LogError("the log has no joint positions (q)")
    for values in (raw.t, *joints.values()):
        values.flags.writeable = False  # made by a reader for this log alone, so it need not be copied
    log = Log(
        t=raw.t,
        **joints,
        joint_names=names,
        **vars(raw.by_frame),
        bandwidth=raw.bandwidth,
        name=name,
        notes=tuple(notes),
    )
    if base is None and getattr(robot, "floating", True) and log.nq == log.nv + 1:
        base = raw.base
    convention = OWN if base is None else convention_of(base)
    return log if convention == OWN else from_convention(log, convention)


def _leave_out_odd(channels: dict[str, Channel], robot: RobotNames | None, in_order: bool, notes: list[str]):
    """What drives say of other joints than those that were measured is not used, and nothing is refused for it."""
    q, joints = channels.get("q"), set(_on_base(robot))
    widths = {channels[key].values.shape[1] for key in MOTION if key in channels}
    if joints and q is not None and q.values.shape[1] == len(joints) + POSE:
        widths |= {len(joints), len(joints) + TWIST}
    for key in DRIVE:
        if q is None or (told := channels.get(key)) is None:
            continue
        if in_order or not told.names:
            fits = told.values.shape[1] in widths
        else:
            fits = set(q.names or joints or ("",)) <= set(told.names)
        if not fits:
            del channels[key]
            notes.append(f"{key}: not used, as it does not have the joints that were measured")


def _leave_out_rates(channels: dict[str, Channel], known: Collection[str], notes: list[str]):
    """Velocities and accelerations of fewer joints than the positions are not used: a joint without was recorded, and
    moved."""
    measured = channels["q"].names if "q" in channels else None
    for key in ("v", "a"):
        if measured and (told := channels.get(key)) is not None and told.names:
            lacking = [name for name in measured if name not in told.names and (not known or name in known)]
            if lacking and set(told.names) & set(measured):
                del channels[key]
                notes.append(f"{key}: not used, as it lacks joints {choices(lacking)}, whose positions were recorded")


def _add_base(channels: dict[str, Channel], robot: RobotNames | None, sensors: Collection[str], notes: list[str]):
    """Columns of a free base that a log does not have: zero for what drives are told and do; and, in a log with a
    sensor on the base and no pose, not finite for its motion, which is found later (`prepare.base_states`)."""
    joints = _on_base(robot)
    if not joints or "q" not in channels:
        return
    found = _respelled(channels, joints, notes)
    fits = [
        key
        for key, x in found.items()
        if (set(joints) <= set(x.names) if x.names else x.values.shape[1] == len(joints))
    ]
    whole = sensors and "q" in fits
    for key in fits if whole else [key for key in fits if key in DRIVE and key not in MOTION and "q" not in fits]:
        x = _picked(found[key], joints) if found[key].names else found[key]
        empty = np.full((len(x.values), POSE if key == "q" else TWIST), np.nan if key in ("q", "v", "a") else 0.0)
        channels[key] = Channel(np.concatenate([empty, x.values], axis=1))
    if whole:
        notes.append(f"base: not recorded, found from the inertial sensor {choices(sensors)} and the legs")


def _on_base(robot: RobotNames | None) -> tuple[str, ...]:
    joints = tuple(getattr(robot, "dof_names", ()))[TWIST:]
    free = getattr(robot, "floating", False) and len(joints) + POSE == getattr(robot, "nq", 0)
    return joints if free else ()


def _renamed(key: str, channel: Channel, names: tuple[str, ...], notes: list[str]) -> Channel:
    width = channel.values.shape[1]
    if width != len(names):
        if key == "q":  # a quaternion has more positions than freedoms
            return Channel(channel.values)
        raise LogError(f"joint_names= has {len(names)} names, but {key} has {width} columns")
    if channel.names and channel.names != names:
        notes.append(f"{key}: the file's names {choices(channel.names)} replaced by joint_names=")
    return Channel(channel.values, names)


def _picked(channel: Channel, names: Sequence[str]) -> Channel:
    held = channel.names or ()
    if held == tuple(names):
        return channel
    return Channel(channel.values[:, [held.index(name) for name in names]], tuple(names))


def _agreed(channels: dict[str, Channel], notes: list[str]) -> tuple[dict[str, Channel], tuple[str, ...]]:
    """Without a robot: the joints that every named channel has, in the order of the first of them."""
    named = {key: channel for key, channel in channels.items() if channel.names}
    if not named:
        return channels, ()
    sets = {key: set(channel.names or ()) for key, channel in named.items()}
    common = set.intersection(*sets.values())
    every = list(dict.fromkeys(name for channel in named.values() for name in channel.names or ()))
    if not common:
        listed = "; ".join(f"{key}: {choices(channel.names or ())}" for key, channel in named.items())
        raise LogError(f"no joint has all of {choices(named)}. Found {listed}. Choose with {HOW}")
    partial = [name for name in every if name not in common]
    if partial and len(named) < len(channels):
        bare = choices(key for key in channels if key not in named)
        raise LogError(f"{bare} has no joint names, and joints {choices(partial)} lack some channel; use {HOW}")
    if partial:
        notes.append(f"joints not used, as not every channel has them: {choices(partial)}")
    order = tuple(name for name in every if name in common)
    return {key: _picked(c, order) if c.names else c for key, c in channels.items()}, order


def _expected(channels: dict[str, Channel], robot: RobotNames, notes: list[str]) -> tuple[tuple[str, ...], int, int]:
    """Joint names, nq and nv that the log should have: with closed loops, the joints with motors will do."""
    names, driven = tuple(robot.joint_names), tuple(getattr(robot, "actuated", ()))
    lacking = any(set(names) - set(c.names) for c in channels.values() if c.names)
    if not (getattr(robot, "loops", ()) and driven and lacking):
        return names, robot.nq, robot.nv
    passive = [name for name in names if name not in driven]
    notes.append(f"joints {choices(passive)} not read, as closed loops make them follow the others")
    return driven, len(driven), len(driven)


def _matched(
    channels: dict[str, Channel], robot: RobotNames, notes: list[str]
) -> tuple[dict[str, Channel], tuple[str, ...]]:
    names, nq, nv = _expected(channels, robot, notes)
    per_freedom = len(names) == nv  # otherwise a joint has several columns, and only their order can be used
    matched: dict[str, Channel] = {}
    in_order: list[str] = []
    reported: set[str] = set()
    for key, channel in _respelled(channels, names, notes).items():
        width = nq if key == "q" else nv
        if channel.names and per_freedom and width == nv:
            matched[key] = _by_name(key, channel, names, robot, notes, reported)
            continue
        found = channel.values.shape[1]
        if found == width and channel.names:
            matched[key] = Channel(channel.values[:, _by_freedom(key, channel.names, robot, notes)])
            continue
        if found != width:
            hint = f" {STILL}" if found < width and per_freedom else "" if per_freedom else f" {SEVERAL}"
            if getattr(robot, "floating", False) and width - found == (7 if key == "q" else 6):
                hint = f" The base of the model flies. If the robot stands, say so: --fixed (floating=False). {WALK}"
            message = (
                f"{key} has {found} columns without usable joint names, the robot needs {width} "
                f"({choices(names)}); name the columns, or choose them with {HOW}.{hint}"
            )
            if series := _series(names, found) if per_freedom else ():
                raise UnrecordedJoints(message, tuple(name for name in names if name not in series))
            raise LogError(message)
        in_order.append(key)
        matched[key] = Channel(channel.values)
    if in_order:
        notes.append(f"{', '.join(in_order)}: columns taken in the order of the robot's joints")
    return matched, names if per_freedom else ()


def _series(names: Sequence[str], size: int) -> tuple[str, ...]:
    """The joints that unnamed columns can only mean: as many as there are, counted one by one behind a common name, as
    in arm_joint1 .. arm_joint7, and no other joint shares that name."""
    by_stem: dict[str, list[str]] = {}
    for name in names:
        by_stem.setdefault(re.sub(r"\d+$", "", name), []).append(name)
    fitting = [group for group in by_stem.values() if len(group) == size and _in_count(group) == group]
    return tuple(fitting[0]) if len(fitting) == 1 and size > 1 else ()


def _by_freedom(key: str, held: Sequence[str], robot: RobotNames, notes: list[str]) -> list[int]:
    """Column of each position, or freedom, of a robot with joints of several: simple joints and freedoms by their
    names, what is left in its order."""
    simple = getattr(robot, "scalar_positions", {})
    names: list[str] = list(getattr(robot, "dof_names", ()))
    places = {(simple[dof] if key == "q" else dof): names[dof] for dof in simple}
    if key != "q" and set(held) == set(names):
        places = dict(enumerate(names))
    missing = [name for name in places.values() if name not in held]
    if missing:
        raise LogError(
            f"{key} of joints {choices(missing)} is not in the log. The log has {choices(held)}; the robot has "
            f"{choices(robot.joint_names)}. Rename columns, or list those of each channel in the robot's order: {HOW}"
        )
    others = [column for column, name in enumerate(held) if name not in places.values()]
    if others:
        notes.append(f"{key}: columns {choices(held[column] for column in others)} taken in their order")
    rest = iter(others)
    return [held.index(places[place]) if place in places else next(rest) for place in range(len(held))]


STILL = "If a joint stood still and was not recorded, such as that of a gripper, lock it: --lock NAME=VALUE."
WALK = "Of a walk, record an inertial sensor on the base (columns imu_FRAME_wx ... _az) or the base's pose."
SEVERAL = (
    "A joint with several freedoms has as many columns, without names: a free base has its position and quaternion "
    "x y z w in q, its twist in v, and in tau the wrench on it from outside, zeros in flight."
)
AXES = ("axis", "achse", "a")
"""Words that only say which axis in order is meant; `joint1` may be the name of another robot's joint."""


def _respelled(channels: dict[str, Channel], names: Sequence[str], notes: list[str]) -> dict[str, Channel]:
    """Channels with the robot's spelling of its joints: names that differ by capitals and separators only, and names
    that only count axes (`axis1`, `A1`) where the robot has none of them."""
    held = {name for channel in channels.values() for name in channel.names or ()}
    if not held or held & set(names):
        return channels
    alike = {_folded(name): name for name in names}
    found = {name: alike[_folded(name)] for name in held if _folded(name) in alike}
    if len(alike) == len(names) == len(set(found.values())) == len(found):
        notes.append(f"joints met whatever their capitals and separators: {choices(sorted(found))}")
        return {key: _with_names(channel, found) for key, channel in channels.items()}
    axes = {_folded(name.rstrip("0123456789")) for name in held} <= set(AXES) and len(held) == len(names)
    counted = _in_count(held) if axes else None
    if counted is None or any(c.names is not None and set(c.names) != held for c in channels.values()):
        return channels
    meant = _in_count(names) or list(names)
    notes.append(f"joints {choices(counted)} taken as the robot's, in its order: {choices(meant)}")
    return {key: _with_names(channel, dict(zip(counted, meant, strict=True))) for key, channel in channels.items()}


def _folded(name: str) -> str:
    return re.sub(r"[\s_./:-]", "", name).lower()


def _with_names(channel: Channel, spelled: dict[str, str]) -> Channel:
    if channel.names is None:
        return channel
    return replace(channel, names=tuple(spelled.get(name, name) for name in channel.names))


def _in_count(names: Iterable[str]) -> list[str] | None:
    """Names by the numbers that they end with, if these count from 0 or 1 on."""
    ends = {name: re.search(r"\d+$", name) for name in names}
    numbers = {name: int(end[0]) for name, end in ends.items() if end}
    whole = len(numbers) == len(ends) and count(numbers.values())
    return sorted(numbers, key=lambda name: numbers[name]) if whole else None


def _by_name(key, channel: Channel, names, robot, notes: list[str], reported: set[str]) -> Channel:
    missing = [name for name in names if name not in (channel.names or ())]
    if missing:
        held = channel.names or ()
        fewer = f" {STILL}" if set(held) & set(names) else ""
        message = (
            f"{key} of joints {choices(missing)} is not in the log. The log has {choices(held)}; the robot has "
            f"{choices(names)}.{fewer} Rename columns, or list those of each channel in the robot's order: {HOW}"
        )
        raise UnrecordedJoints(message, tuple(missing)) if fewer else LogError(message)
    extra = [name for name in channel.names or () if name not in names and name not in reported]
    reported.update(extra)
    mimic = [name for name in extra if name in getattr(robot, "mimic_names", ())]
    other = [name for name in extra if name not in mimic]
    if mimic:
        notes.append(f"joints not used, as they follow another joint: {choices(mimic)}")
    if other:
        notes.append(f"joints not used, as the robot does not have them: {choices(other)}")
    return _picked(channel, names)
