"""Motion of feet, and checks of the contacts that logs flag.

The ground is a plane whose height and slope are found from the frames themselves: where they are slow, they stand. A
frame counts as touching once it is slow and low, until it is fast or high (hysteresis).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.dynamics import frame_velocity, inverse_dynamics, jacobian
from steelyard.dynamics.frames import frame_position
from steelyard.errors import choices
from steelyard.log import Finding, Log
from steelyard.log.findings import fatal, warning
from steelyard.log.stamps import segments
from steelyard.model import Robot
from steelyard.numbers import ROUNDS
from steelyard.spatial import TWIST

SLOW, FAST = 0.15, 0.25  # m/s: a foot that rolls on its edge is slow, one that swings fast
LOW, HIGH = 0.008, 0.016  # m above the ground, with what soft ground and estimators of poses leave open
WIDE = 0.05  # m that standing frames must be apart for the ground to show its slope
FLAT = 1e-3  # m, lever below which a torque tells no force


@dataclass(frozen=True)
class FootMotion:
    """Motion of frames over a log, and the ground below them."""

    frames: tuple[str, ...]  # their names
    position: NDArray[np.float64]  # (f, n, 3) m
    speed: NDArray[np.float64]  # (f, n) m/s
    height: NDArray[np.float64]  # (f, n) m above the ground
    slope: NDArray[np.float64]  # (2,) of the ground, its rise per metre along x and y
    touching: NDArray[np.bool_]  # (f, n) whether each rests on it, by its motion alone


def foot_motion(robot: Robot, log: Log, frames: Sequence[str]) -> FootMotion:
    """The motion of frames that touch the ground now and then. Raises ModelError for an unknown frame, LogError for a
    log without v."""
    q, v = log.require("q", "v")
    position = np.stack([frame_position(robot, q, frame) for frame in frames])
    speed = np.stack([np.linalg.norm(frame_velocity(robot, q, v, frame)[:, :3], axis=1) for frame in frames])
    height, slope = above_ground(position, speed)
    return FootMotion(tuple(frames), position, speed, height, slope, _touching(speed, height))


def above_ground(position: NDArray, speed: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(f, n) m above the plane that slow frames lie in, and its slope (2,). position: (f, n, 3) m; speed: (f, n)
    m/s."""
    slow = position[speed < SLOW]
    if not len(slow):
        slow = position.reshape(-1, 3)
    below, slope = slow, np.zeros(2)
    for _ in range(ROUNDS):
        slope, level = _plane(below)
        off = slow[:, 2] - slow[:, :2] @ slope - level
        near = np.abs(off) < max(LOW, 3 * float(np.median(np.abs(off))))
        below = slow[near & (off < HIGH)] if np.any(near & (off < HIGH)) else below
    slope, level = _plane(below)
    return position[..., 2] - position[..., :2] @ slope - level, slope


def _plane(points: NDArray) -> tuple[NDArray[np.float64], float]:
    """Slope (2,) and height of the plane through points (k, 3), level along directions in which they are not apart."""
    middle = points.mean(axis=0)
    x, z = points[:, :2] - middle[:2], points[:, 2] - middle[2]
    spread, axes = np.linalg.eigh(x.T @ x / len(x))
    wide = spread > WIDE**2
    slope = axes @ np.where(wide, axes.T @ (x.T @ z) / len(x) / np.where(wide, spread, 1.0), 0.0)
    return slope, float(middle[2] - middle[:2] @ slope)


def _touching(speed: NDArray, height: NDArray) -> NDArray[np.bool_]:
    on, off = (speed < SLOW) & (height < LOW), (speed > FAST) | (height > HIGH)
    decided = on | off
    last = np.maximum.accumulate(np.where(decided, np.arange(on.shape[1]), 0), axis=1)
    return np.take_along_axis(on, last, axis=1)


def estimated_forces(robot: Robot, log: Log, frames: Sequence[str]) -> NDArray[np.float64]:
    """(f, n) N, vertical forces of the ground on frames, roughly: by least squares over the torques of all joints, with
    nominal masses. log: filtered, with v, a and tau."""
    q, v, a, tau = log.require("q", "v", "a", "tau")
    missing = (inverse_dynamics(robot, q, v, a) - tau)[:, TWIST:]
    levers = np.concatenate([jacobian(robot, q, frame)[:, :3, TWIST:] for frame in frames], axis=1)
    square = levers @ np.swapaxes(levers, 1, 2) + FLAT**2 * np.eye(3 * len(frames))
    force = np.linalg.solve(square, levers @ missing[:, :, None])[:, :, 0]
    return force.reshape(len(log), -1, 3)[:, :, 2].T


AUTO = ("--contacts", "auto")
LOADED = 0.08  # of the weight, above which a foot carries; torques and masses are only about right
LONGEST = 0.25  # s by which flags may come late
EVEN = 0.02  # s, within which flags and forces begin together as well as they can be told
AGREES = 0.4  # correlation of flags with what they should be, below which no delay is told
HEAVY, CARRIED = 0.2, 0.05  # of the weight, and of the samples without flags in which a foot may carry as much
OFTEN = 0.10  # share of samples above which flags and motion contradict each other
CARRIES = 0.15  # share of a log's samples in which a foot without flags must carry
SOFT = 0.015  # m by which standing feet may rise and sink, by errors of the base's pose
CHANGES = 4  # of a flag, from which on it can be early or late


@dataclass(frozen=True)
class _Seen:
    """flags (f, n) as given, motion of the same frames, and their forces over the weight, where torques tell them."""

    flags: NDArray[np.bool_]
    motion: FootMotion
    force: NDArray[np.float64] | None

    @property
    def loaded(self) -> NDArray[np.bool_] | None:
        """(f, n) whether each frame carries, as far as nominal masses tell."""
        return None if self.force is None else self.force > LOADED

    @property
    def rests(self) -> NDArray[np.bool_]:
        """(f, n) whether each frame touches the ground, as far as can be told without flags."""
        return self.motion.touching if self.loaded is None else self.loaded

    @cached_property
    def sinking(self) -> float:
        """m between the lowest and the highest twentieth of the samples in which a frame is flagged and carries; median
        over frames, so that one with wrong flags does not count. 0 without torques: heights alone cannot tell."""
        stands = [] if self.loaded is None else [(i, on) for i, on in enumerate(self.flags & self.loaded) if on.any()]
        spreads = [np.ptp(np.percentile(self.motion.height[i, on], [5, 95])) for i, on in stands]
        return float(np.median(spreads)) if spreads else 0.0

    @property
    def flies(self) -> NDArray[np.bool_]:
        """(f, n) whether a frame is clear of the ground, and carries nothing."""
        high = self.motion.height > max(HIGH, self.sinking)
        return high if self.loaded is None else high & ~self.loaded


def alike(robot: Robot, frames: Sequence[str]) -> tuple[str, ...]:
    """Frames of a robot that are named as the given ones but for what stands before the last separator: other feet.

    robot: with named frames. frames: such as FL_foot.
    """
    ends = {frame.rpartition("_")[2] for frame in frames if "_" in frame}
    own = {robot.frame(frame).body for frame in frames}
    others = [name for name in robot.frames if "_" in name and name.rpartition("_")[2] in ends and name not in frames]
    size = {len(frame.split("_")) for frame in frames}
    return tuple(name for name in others if robot.frame(name).body not in own and len(name.split("_")) in size)


def contact_faults(robot: Robot, log: Log, *, found: bool = False) -> Iterator[Finding]:
    """What contradicts the flags of a log, asked of torques, too; findings that bias masses are fatal. found: by the
    motion."""
    flagged = tuple(log.contacts)
    if not (robot.floating and flagged):
        return
    frames = (*flagged, *(() if found else alike(robot, flagged)))
    flags = [log.contacts[frame] > 0 if frame in log.contacts else np.zeros(len(log), bool) for frame in frames]
    force = None
    if log.tau is not None and log.a is not None:
        weight = float(robot.inertias[:, 0].sum() * np.linalg.norm(robot.gravity))
        force = estimated_forces(robot, log, frames) / weight
    seen = _Seen(np.stack(flags), foot_motion(robot, log, frames), force)
    rows = list(range(len(flagged)))
    never = [] if found else list(_without_flags(log, seen))
    yield from never
    wrong = {} if found else {frame: share for row, frame in enumerate(flagged) if (share := _flying(seen, row))}
    late = 0 if found else _lag(log, seen, rows)
    if late:
        yield fatal(
            "contact_late",
            f"Flags of contact come about {abs(late)} samples ({1e3 * abs(late) / log.rate:.0f} ms) too "
            f"{'late' if late > 0 else 'early'} for the motion: steps have forces where none are allowed for. Shift "
            "them, or find contacts from the motion: --contacts auto.",
            options=AUTO,
        )
    elif wrong:
        told = ", ".join(f"{frame} {share:.0%}" for frame, share in wrong.items())
        yield fatal(
            "contact_in_flight",
            f"Flags are set while feet fly, of their samples: {told}. Are they of other feet, or is 0 a contact? Or "
            "find contacts from the motion: --contacts auto.",
            options=AUTO,
        )
    else:
        if not never:
            yield from _carrying(log, seen, rows, found=found)
        yield from _ground(log, seen, rows)


def _carrying(log: Log, seen: _Seen, rows: Sequence[int], *, found: bool) -> Iterator[Finding]:
    if seen.force is None:
        return
    free = ~seen.flags[rows] & ~near_changes(log, seen.flags[rows], int(np.ceil(EVEN * log.rate)))
    share = _share(seen.force[rows] > HEAVY, free)
    if share > CARRIED:
        remedy = (
            "the ground is soft, or feet slip, and motion does not show contacts there: record flags"
            if found
            else "look at the flags, or find contacts from the motion: --contacts auto"
        )
        yield fatal(
            "contact_unflagged",
            f"Torques tell that feet carry over {HEAVY:.0%} of the weight in {share:.0%} of the samples in which they "
            f"are taken to be free. These forces would be taken for masses; {remedy}.",
            options=() if found else AUTO,
        )


def _without_flags(log: Log, seen: _Seen) -> Iterator[Finding]:
    rests = dict(zip(seen.motion.frames, zip(seen.flags, seen.rests, seen.motion.touching, strict=True), strict=True))
    carry = {
        f: np.mean(touch) for f, (on, own, touch) in rests.items() if not on.any() and np.mean(own & touch) > CARRIES
    }
    for what, has_flags in (("is never flagged", True), ("has no flags of contact", False)):
        if frames := [f for f in carry if (f in log.contacts) == has_flags]:
            told = ", ".join(f"{f} in {carry[f]:.0%} of the samples" for f in frames)
            yield fatal(
                "contact_never" if has_flags else "contact_missing",
                f"{choices(frames)} {what} but rests on the ground ({told}), so its force would be taken for masses. "
                f"Add columns contact_{frames[0]}, or find contacts from the motion: --contacts auto.",
                options=AUTO,
            )


def _lag(log: Log, seen: _Seen, rows: Sequence[int]) -> int:
    """Samples by which flags come late, by the cross-correlation of all feet; 0 where they do not, or nothing tells."""
    rows = [i for i in rows if np.sum(seen.flags[i, 1:] != seen.flags[i, :-1]) >= CHANGES]
    most = min(int(LONGEST * log.rate), len(log) // 4)
    if not rows or most < 1:
        return 0
    x, y = (each[rows] - each[rows].mean(axis=1, keepdims=True) for each in (seen.rests, seen.flags))
    inner = x[:, most:-most]
    match = [float(np.sum(inner * y[:, most + k : len(log) - most + k])) for k in range(-most, most + 1)]
    best = int(np.argmax(match)) - most
    certain = max(match) > AGREES * np.sqrt(np.sum(inner**2) * np.sum(y[:, most:-most] ** 2))
    return best if certain and abs(best) > max(2.0, EVEN * log.rate) else 0


def _flying(seen: _Seen, row: int) -> float:
    """Share of a frame's flagged samples in which it flies; 0 where it is small enough for late or noisy flags. A flag
    that never goes must not be set in any flight."""
    flags = seen.flags[row]
    share = _share(seen.flies[row], flags)
    return share if share > (OFTEN / 3 if flags.all() else OFTEN) else 0.0


def _ground(log: Log, seen: _Seen, rows: Sequence[int]) -> Iterator[Finding]:
    settled = ~near_changes(log, seen.flags[rows], int(np.ceil(EVEN * log.rate)))
    stands = seen.flags[rows] & seen.rests[rows] & settled
    slides = _share(seen.motion.speed[rows] > SLOW, stands)
    if seen.sinking > SOFT:
        yield warning(
            "contact_soft",
            f"Standing feet rise and sink by {1e3 * seen.sinking:.0f} mm: the ground is soft or uneven. Their forces "
            "are allowed for all the same, but contacts found from the motion are not to be trusted: record flags.",
        )
    if slides > OFTEN:
        yield warning(
            "contact_slip",
            f"Standing feet move faster than {SLOW} m/s in {slides:.0%} of their samples: they slip. These samples are "
            "left out. Walk on ground that holds.",
        )


def standing_faults(robot: Robot, logs: Sequence[Log]) -> Iterator[Finding]:
    """What feet that stand in all samples of all logs, as they are fitted together, keep from sight."""
    flags = [{frame: bool(np.all(flag > 0)) for frame, flag in log.contacts.items()} for log in logs]
    always = [frame for frame in flags[0] if all(own.get(frame) for own in flags)]
    if robot.floating and always:
        yield warning(
            "contact_always",
            f"In all samples {choices(always)} stand{'s' * (len(always) == 1)}, so a mass there, and with it the total "
            "mass, does not show. Lift feet in some samples, measure their forces, or weigh the robot and give "
            "--mass all=KG.",
        )


def near_changes(log: Log, flags: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """(n,) whether any of the flags (f, n) changes within so many samples on either side; gaps part the log."""
    result = np.zeros(len(log), dtype=bool)
    for part in segments(log.t):
        changes = np.any(flags[:, part][:, 1:] != flags[:, part][:, :-1], axis=0)
        for k in np.flatnonzero(changes) + part.start:
            result[max(part.start, k + 1 - reach) : min(part.stop, k + 1 + reach)] = True
    return result


def _share(of, among) -> float:
    count = int(np.count_nonzero(among))
    return np.count_nonzero(of & among) / count if count else 0.0
