"""Mistakes of a log, undone between reading and filtering: conventions, order of joints, signs, gears, offsets, stamps,
delays, and gravity that a controller took off."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.corrections import Corrections, pair_of
from steelyard.diagnose.torque_curves import Curves
from steelyard.drives.drive import Drive
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import OptionError, choices
from steelyard.job_options import AUTO
from steelyard.log import Log
from steelyard.log.free_base import convention_of, from_convention
from steelyard.log.masks import clipped_sides
from steelyard.log.motion_checks import full_turns
from steelyard.log.stamps import even_stamps
from steelyard.log.stated_units import told_alike
from steelyard.model import Robot, load
from steelyard.model.joint import ENDLESS, screw
from steelyard.numbers import SAME, to_float

ALL, STAMPS = "all", "t:all"
TOLD = ("command", "duty", "current")  # what drives say that has the sign of a joint
MOVED = {None: ("q", "v", "a", "tau", *TOLD), "q": ("q", "v", "a"), "v": ("v",), "tau": ("tau",)}
MOVED |= {key: (key,) for key in TOLD}
UR_JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
UR_LIFTING = ("shoulder_lift", "elbow")  # that carry weight in all mountings on a floor
PUBLISHED = "tau: read from"  # how readers start the note on torques whose name is not ours
SHOWN = 0.2  # N m of change of gravity, from which on it shows
CORRELATED = 0.5  # with gravity, beside friction, from which on a torque has it
IN_TORQUES = 0.5, 2.0  # times the gravity torque of the nominal model


def corrected(
    robot: Robot | None, log: Log, corrections: Corrections, drives: Mapping[str, Drive] | None = None
) -> Log:
    """A log of a robot as read, with mistakes undone: all but `unit` and `saturation` (of reading and filtering) and
    `delay="auto"` (needs a fit); joints without limits are unwrapped. Commands of position servos count from where
    positions do. Raises OptionError for words that cannot be read, or unknown joints."""
    if corrections.base is not None:
        log = from_convention(log, convention_of(corrections.base))
    for word in corrections.order:
        log = _ordered(log, word)
    for word in corrections.scale:
        log = _scaled(log, word)
    for joint in corrections.unwrap:
        _require_positions(log, joint)
        log = _unwrapped(log, np.flatnonzero(_columns(log, joint)), joint)
    log = log if robot is None else _endless_unwrapped(robot, log)
    for word in corrections.offset:
        left, text = pair_of(word, "offset", "joint2=0.1")
        told = left.startswith("command:")  # alone
        joint = left.removeprefix("command:")
        _require_positions(log, word)
        more = number_of(text, word) * _columns(log, joint)
        if not told:
            log = log.replace(q=log.q + more, v=log.v, a=log.a)
        if log.command is not None and (told or drives):
            servos = [name for name, drive in (drives or {}).items() if drive.features.follows_q]
            servo = [told or name in servos for name in log.labels]
            log = log.replace(command=log.command + more * servo)
        log = log.noted(f"{'command' if told else 'q'} of {joint}: {text} added")
    if corrections.even_stamps:
        log = even_stamps(log)
    late = delays_of(log, [word for word in corrections.delay if word != AUTO])
    log = shifted(log, late) if late.any() else log
    if corrections.gravity_compensated and corrections.gravity_model is not None:
        raise OptionError(
            "Either the nominal model's gravity was taken off the torques or another's: name one of them."
        )
    if corrections.gravity_compensated:
        if robot is None:
            raise OptionError("Adding gravity to torques takes the model of the robot.")
        log = with_gravity(robot, log)
    if corrections.gravity_model is not None:
        log = with_gravity_of(corrections.gravity_model, robot, log)
    return without(log, corrections.leave_out)


def without(log: Log, words: Sequence[str]) -> Log:
    """The log with torques that do not count between times: `FROM:TO` in s, or `NAME=FROM:TO`. Raises OptionError for
    words that cannot be read, or between whose times there is no sample."""
    for span, gone in left_out(log.name, log.t, words):
        weights = np.ones((len(log), log.nv)) if log.weights is None else log.weights.copy()
        weights[gone] = 0.0
        log = log.replace(weights=weights).noted(f"tau: {span} s left out, {gone.mean():.1%} of the samples")
    return log


def left_out(name: str, t: np.ndarray, words: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Spans `FROM:TO` in s, and (n,) which samples at times t (n,) of the log of this name are within. Raises as
    `without`."""
    for word in words:
        owner, _, span = word.rpartition("=")
        begin, colon, end = span.partition(":")
        if not colon:
            raise OptionError(f"leave-out {word!r} cannot be read; write it as 3.2:5, or run2=3.2:5.")
        if owner and owner != name:
            continue
        gone = (t >= number_of(begin, word)) & (t <= number_of(end, word))
        if not gone.any():
            raise OptionError(
                f"leave-out {word!r}: log {name!r} has no sample there; its are from {t[0]:.2f} to "
                f"{t[-1]:.2f} s. For another log, name it: OTHER={span}."
            )
        yield span, gone


def delays_of(log: Log, words: Sequence[str]) -> np.ndarray:
    """(nv,) s by which torques come late."""
    late = np.zeros(log.nv)
    for word in words:
        joint, text = pair_of(word, "delay", "joint3=0.012, or auto")
        late = np.where(_columns(log, joint), number_of(text, word), late)
    return late


def shifted(log: Log, delay: np.ndarray) -> Log:
    """The log with torques that came `delay` (nv,) s late put back to their time, by cubic splines within each stretch
    without a gap. Samples whose torque lies beyond the end of a stretch keep the last one. Torques beside a sample that
    is clipped stay at the limit and count as clipped, and those between weights of zero get none."""
    text = ", ".join(f"{name} {1000 * x:.1f} ms" for name, x in zip(log.labels, delay, strict=True) if x)
    (tau,) = log.require("tau")
    moved, side = Curves([log], 1).at(delay), clipped_sides(log)
    weights, clipped = None if log.weights is None else log.weights.copy(), side.copy()
    limited = side.any(axis=0)  # beyond whose extremes splines shoot
    moved[:, limited] = np.clip(moved, tau.min(axis=0), tau.max(axis=0))[:, limited]
    for dof in np.flatnonzero(delay):
        before, after = _beside(log.t, log.t + delay[dof])
        clipped[:, dof] = np.where(side[after, dof], side[after, dof], side[before, dof])
        for near in (before, after):
            at = side[near, dof] != 0
            moved[at, dof] = tau[near, dof][at]
        if weights is not None and log.weights is not None:
            weights[:, dof] = np.minimum(log.weights[before, dof], log.weights[after, dof])
    return log.replace(tau=moved, weights=weights, clipped=clipped).noted(f"tau taken later: {text}")


def _beside(t, at) -> tuple[np.ndarray, np.ndarray]:
    """Samples before and after each of some times, one and the same where a time is that of a sample."""
    near = SAME * np.median(np.diff(t))
    before, after = np.searchsorted(t, at + near, side="right") - 1, np.searchsorted(t, at - near)
    return np.clip(before, 0, len(t) - 1), np.clip(after, 0, len(t) - 1)


def _ordered(log: Log, word: str) -> Log:
    channel, names = channel_of(word)
    joints = [name.strip() for name in names.split(",")]
    if sorted(joints) != sorted(log.labels):
        raise OptionError(f"order {word!r} must name each joint of the log once: {choices(log.labels)}.")
    if channel in (None, "q"):
        _require_positions(log, word)
    source = [joints.index(label) for label in log.labels]
    moved = {key: x[:, source] for key in MOVED[channel] if (x := getattr(log, key)) is not None}
    return log.replace(**moved).noted(f"{', '.join(moved)}: columns taken for {names}")


def _scaled(log: Log, word: str) -> Log:
    left, text = pair_of(word, "scale", "tau:joint3=-1")
    number = number_of(text, word)
    if not number or (left == STAMPS and number < 0):
        raise OptionError(f"scale {word!r}: a factor is not zero, and that of stamps above it.")
    if left == STAMPS:
        return log.replace(t=number * log.t).noted(f"t multiplied by {text}")
    channel, joint = channel_of(left)
    factor = np.where(_columns(log, joint), number, 1.0)
    if channel in (None, "q"):
        _require_positions(log, word)
    changed = {key: x * factor for key in MOVED[channel] if (x := getattr(log, key)) is not None}
    log = log.replace(**changed).noted(f"{', '.join(changed)} of {joint} multiplied by {text}")
    return told_alike(log, factor * _columns(log, joint), f"command of {joint}: as q") if channel == "q" else log


def _endless_unwrapped(robot: Robot, log: Log) -> Log:
    """The log with positions of joints without limits unwrapped."""
    turning = [joint for joint in robot.free_joints if joint.turns and not screw(joint)[2]]
    endless = {joint.name for joint in turning if joint.upper[0] - joint.lower[0] > ENDLESS}
    places = {robot.dof_names[dof]: place for dof, place in robot.scalar_positions.items()}
    names = [name for name in places if name in endless] if log.nq == robot.nq else []
    columns = [places[name] for name in names]
    jumps = np.any(full_turns(log.q[:, columns], 2 * np.pi), axis=0)
    for place in np.flatnonzero(jumps):
        log = _unwrapped(log, [columns[place]], names[place])
    return log


def _unwrapped(log: Log, columns, joint: str) -> Log:
    q = log.q.copy()
    q[:, columns] = np.unwrap(q[:, columns], axis=0)
    command = log.command
    if command is not None and command.shape == q.shape and np.any(full_turns(command[:, columns], 2 * np.pi)):
        command = command.copy()  # of a position, beside which it stays
        turns = np.round((q[:, columns] - command[:, columns]) / (2 * np.pi))
        command[:, columns] += 2 * np.pi * turns
    log = log.replace(q=q, v=log.v, a=log.a, command=command)
    return log.noted(f"q of {joint}: jumps by full turns taken out")


def channel_of(word: str) -> tuple[str | None, str]:
    """Channel that a word speaks of, None for all of a joint's, and the rest of it."""
    head, colon, rest = word.partition(":")
    return (head, rest) if colon and head in MOVED else (None, word)


def number_of(text: str, word: str) -> float:
    try:
        value = to_float(text)
    except ValueError as error:
        raise OptionError(f"{word!r}: {text!r} is not a number.") from error
    if not np.isfinite(value):
        raise OptionError(f"{word!r}: {text!r} is not a finite number.")
    return value


def _columns(log: Log, joint: str) -> np.ndarray:
    if joint != ALL and joint not in log.labels:
        raise OptionError(f"There is no joint {joint!r}; joints of the log are {choices(log.labels)}, or {ALL}.")
    return np.array([joint in (ALL, label) for label in log.labels])


def _require_positions(log: Log, word: str) -> None:
    if log.nq != log.nv:
        raise OptionError(f"{word!r}: q of log {log.name!r} has {log.nq} columns for {log.nv} freedoms.")


def with_gravity(robot: Robot, log: Log) -> Log:
    """The log with the gravity torque of the nominal model added, which its controller had taken off. It remembers
    which torques were clipped before. Raises OptionError for a robot without gravity."""
    return _added(log, _gravity(robot, log.q, "the nominal model"), "the nominal model")


def with_gravity_of(path: str, robot: Robot | None, log: Log) -> Log:
    """The same of the model file that the controller uses, with joints matched by name, in the robot's gravity, or
    the file's. Raises ModelError for a file that cannot be read, OptionError for other joints, or several numbers a
    joint."""
    known = {} if robot is None else {"gravity": robot.gravity, "folders": robot.source.folders if robot.source else ()}
    used = load(path, **known)
    names = log.labels if robot is None else robot.dof_names
    if used.loops or used.nq != used.nv or log.nq != log.nv:
        raise OptionError(
            f"--gravity-model {path}: the gravity of robots with closed loops, ball joints or a free base cannot be "
            "added. Record torques before the controller takes it off."
        )
    missing, unknown = (sorted(set(a) - set(b)) for a, b in ((names, used.dof_names), (used.dof_names, names)))
    if missing or unknown:
        wrong = [f"lacks {choices(missing)}"] * bool(missing) + [f"has {choices(unknown)} besides"] * bool(unknown)
        raise OptionError(
            f"--gravity-model {path} {' and '.join(wrong)}: its joints must be those of the log, {choices(names)}. In "
            "a copy of the file, give them these names, and fix joints that the log does not have."
        )
    there = [used.dof_names.index(name) for name in names]
    gravity = _gravity(used, log.q[:, np.argsort(there)], path)
    return _added(log, gravity[:, there], path)


def _gravity(robot: Robot, q, whose: str) -> NDArray[np.float64]:
    """(n, nv) torque that holds a robot at rest in q (n, nq)."""
    if not np.any(robot.gravity):
        raise OptionError(
            f"The gravity torque of {whose} is to be added, but gravity is zero: leave out one of the two."
        )
    rest = np.zeros((len(q), robot.nv))
    return inverse_dynamics(robot, q, rest, rest)


def _added(log: Log, gravity, whose: str) -> Log:
    (tau,) = log.require("tau")
    clipped = clipped_sides(log)
    return log.replace(tau=tau + gravity, clipped=clipped).noted(f"tau: gravity torque of {whose} added")


def effort_note(robot: Robot, log: Log) -> tuple[str, ...]:
    """The note on what `effort` means in a log of an UR arm, by gravity's share in it; none for other robots, and where
    it cannot be told.

    Motor currents, A, in drivers up to PolyScope 5.22 and 10.10; from then on `actual_current_as_torque`, without
    gravity in some versions (github.com/UniversalRobots/Universal_Robots_ROS2_Driver, #1551).
    """
    ends = [next((joint for joint in UR_JOINTS if joint in name), "") for name in robot.dof_names]
    published = any(note.startswith(PUBLISHED) for note in log.notes)
    if tuple(ends) != UR_JOINTS or log.tau is None or not published or log.nq != robot.nq or not np.any(robot.gravity):
        return ()
    gravity, v = _gravity(robot, log.q, "the nominal model"), np.gradient(log.q, log.t, axis=0)
    found = [_share_of_gravity(log.tau[:, j], gravity[:, j], v[:, j]) for j in map(UR_JOINTS.index, UR_LIFTING)]
    found = [each for each in found if each is not None]
    if not found:
        return ()
    correlation, size = np.median(found, axis=0)
    if correlation < CORRELATED:
        meaning = "torques without gravity, as drivers from PolyScope 5.23 or 10.11 on may publish it"
    elif IN_TORQUES[0] < size < IN_TORQUES[1]:
        meaning = "joint torques, with gravity"
    else:
        meaning = "no torques in N m, but rather motor currents, as drivers before PolyScope 5.23 or 10.11 publish them"
    return (f"effort of a UR arm: {meaning}; gravity is in it {size:.2g} times, with correlation {correlation:.2g}",)


def _share_of_gravity(tau, gravity, v) -> tuple[float, float] | None:
    """Correlation of a torque (n,) with gravity beside friction, and gravity's factor in it."""
    friction = np.stack([np.ones_like(v), v, np.tanh(v / 0.05)], axis=1)
    own, weight = (x - friction @ np.linalg.lstsq(friction, x, rcond=None)[0] for x in (tau, gravity))
    if np.std(weight) < SHOWN or not np.any(own):
        return None
    return float(own @ weight / np.sqrt((own @ own) * (weight @ weight))), float(own @ weight / (weight @ weight))
