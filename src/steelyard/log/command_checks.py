"""Checks of what drives were told and say: is it what it is called, and did the joints obey?"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import choices
from steelyard.log.findings import Finding, warning
from steelyard.log.log import Log
from steelyard.log.raw_channels import RobotNames
from steelyard.log.stamps import runs

STILL = 1e-3  # A joint whose position spans less (rad or m) counts as never moved, and so does a command
COPY_LAG = 10  # samples by which a copy may come late
LONGEST_LAG = 0.3  # s between command and position that is looked for


def told(log: Log, robot: RobotNames | None = None) -> Iterator[Finding]:
    """All checks of commands, currents and switches. robot: its limits are those that stops may be at."""
    if log.nq == log.nv and len(log) > COPY_LAG:
        yield from unsigned_current(log)
        if log.command is not None and _are_positions(log, log.command):
            if (copies := _copies(log, log.command)).any():
                yield warning(
                    "command_is_measured",
                    f"Commands of {_of(log, copies)} are the measured positions, at once or a few samples later: they "
                    "are not what drives were asked for, and tell nothing of them. Record the goals that were sent.",
                )
            else:
                yield from _constant(log, log.command)
                yield from _staggered(log, log.command)
                yield from _stopped(log, log.command, robot)
    yield from _disabled(log)


def unsigned_current(log: Log) -> Iterator[Finding]:
    """Currents have the sign of the torque."""
    if log.current is None:
        return
    step = np.diff(log.q, axis=0)
    travel = np.abs(step).sum(axis=0)
    # a tenth of the travel of a joint, at least, in either direction
    ways = np.minimum(np.maximum(step, 0).sum(axis=0), np.maximum(-step, 0).sum(axis=0)) > 0.1 * travel
    tested = ways & (np.ptp(log.q, axis=0) > STILL) & np.any(log.current, axis=0)
    size = np.abs(log.current)
    alike = (log.current >= 0).all(axis=0) | (log.current <= 0).all(axis=0)
    # a current that changes its sign comes that close to zero, a load alone does not
    if tested.any() and (alike & (size.min(axis=0) <= 0.05 * size.max(axis=0)))[tested].all():
        yield warning(
            "unsigned_current",
            f"Currents of {_of(log, tested)} never change their sign though the joints move to and fro: these are "
            "magnitudes, which do not tell torques. Record signed currents, or identify from commands: --drive "
            "position.",
        )


def _are_positions(log: Log, command: NDArray) -> bool:
    """Whether commands are positions: most joints that move go where they are told. Where none moves, they may be."""
    moves = (np.ptp(log.q, axis=0) > STILL) & (np.ptp(command, axis=0) > STILL)
    # correlation of commands and positions above which commands are taken for positions
    close = [
        np.corrcoef(log.q[:, j], command[:, j])[0, 1] > 0.7
        and np.ptp(log.q[:, j]) < 3 * np.ptp(command[:, j])
        and abs(np.median(log.q[:, j] - command[:, j])) < np.ptp(command[:, j])
        for j in np.flatnonzero(moves)
    ]
    return not close or 2 * sum(close) > len(close)


def _copies(log: Log, command: NDArray) -> NDArray[np.bool_]:
    """(nv,) whether a command is the measured position, at once or some samples later."""
    found = np.zeros(log.nv, dtype=bool)
    for j in np.flatnonzero(np.ptp(log.q, axis=0) > STILL):
        q, told, fine = log.q[:, j], command[:, j], 1e-6 * np.ptp(log.q[:, j])
        for lag in range(COPY_LAG):
            earlier = q[: len(q) - lag]
            moving = np.append(np.abs(np.diff(earlier)) > fine, False)
            same = np.abs(told[lag:] - earlier) <= fine
            found[j] |= bool(moving.any() and same[moving].mean() > 0.9)  # no servo is so exact
    return found


def _constant(log: Log, command: NDArray) -> Iterator[Finding]:
    span, moved = np.ptp(command, axis=0), np.ptp(log.q, axis=0)
    constant = span < STILL
    if constant.any():
        yield warning(
            "command_constant",
            f"The command of {_of(log, constant)} never changes: what the drive does shows in no motion of its own. "
            "Record a motion that it takes part in.",
        )
    # friction and slack leave joints short of a command, but never by that much
    asleep = ~constant & (moved < 0.05 * span)
    if asleep.any():
        yield warning(
            "sleeping_joint",
            f"{_of(log, asleep)} was told to move and did not: is the drive switched on, and the column its own? If "
            "the joint stood still, lock it: --lock JOINT=VALUE.",
        )


def _staggered(log: Log, command: NDArray) -> Iterator[Finding]:
    """Joints read one after another: each answers its command a steady step later than the one before."""
    lags = np.array([_lag(log, command, j) for j in range(log.nv)])
    number = np.flatnonzero(np.isfinite(lags))
    if len(number) < 4:  # joints that show a line
        return
    step, start = np.polyfit(number, lags[number], 1)
    # buses take 0.5 ms or more to read a servo; lags of servos under load scatter by much more than a quarter of a step
    if abs(step) > 5e-4 and np.abs(lags[number] - start - step * number).max() < 0.25 * abs(step):
        yield warning(
            "staggered_readout",
            f"Each joint answers its command {1e3 * abs(step):.2g} ms {'later' if step > 0 else 'sooner'} than the one "
            "before it: joints are read one after another, and stamped alike. Stamp each when it is read, or shift "
            "their positions.",
        )


def _lag(log: Log, command: NDArray, j: int) -> float:
    """s by which a position follows its command best, by a parabola through the best of a grid; NaN where it does not
    move, or the best lies at the end of the grid."""
    q, c, t = log.q[:, j], command[:, j], log.t
    if np.ptp(q) < STILL or np.ptp(c) < STILL or log.duration < 4 * LONGEST_LAG:
        return np.nan
    step = max(1 / log.rate, LONGEST_LAG / 60)
    grid = np.arange(0, LONGEST_LAG, step)
    inner = (t > t[0] + LONGEST_LAG) & (t < t[-1])
    own = q[inner] - q[inner].mean()
    shifted = np.stack([np.interp(t[inner] - lag, t, c) for lag in grid])
    shifted -= shifted.mean(axis=1, keepdims=True)
    energy = np.sum(shifted**2, axis=1)
    if not np.all(energy > 0) or not own @ own:
        return np.nan
    fit = (shifted @ own) / np.sqrt(energy * (own @ own))
    best = int(np.argmax(fit))
    if not 0 < best < len(grid) - 1:
        return np.nan
    before, at, after = fit[best - 1 : best + 2]
    curvature = before - 2 * at + after
    return float(grid[best] + (0.5 * step * (before - after) / curvature if curvature else 0.0))


def _stopped(log: Log, command: NDArray, robot: RobotNames | None) -> Iterator[Finding]:
    """Joints that stand at an extreme while their command goes on beyond it."""
    for j, label in enumerate(log.labels):
        for side, limit in ((1.0, getattr(robot, "upper", None)), (-1.0, getattr(robot, "lower", None))):
            q, c = side * log.q[:, j], side * command[:, j]
            span = np.ptp(q)
            if span < STILL:
                continue
            stands = q > q.max() - 2e-3 * span  # of the span of a joint, within which it stands at its extreme
            usual = float(np.quantile(np.abs(c - q)[~stands], 0.9)) if (~stands).any() else 0.0
            # how far the command goes on, beyond the position, in each stretch in which the joint stands
            rises = [float(np.max(c[a:b]) - max(c[a], q[a])) for a, b in runs(stands) if b - a > 1]
            # rad or m that a command goes on beyond a joint that stands, at least
            beyond = [rise for rise in rises if rise > max(0.02, 2 * usual)]
            at_limit = limit is not None and len(limit) == log.nv and abs(side * limit[j] - q.max()) < 0.01 * span
            if len(beyond) > 1 or (beyond and at_limit):
                yield warning(
                    "hit_end_stop",
                    f"{label} stands at {side * q.max():.4g} while its command goes on by up to {max(beyond):.3g}, "
                    f"{len(beyond)} times: it hit an end stop, whose force is not the drive's. Leave these samples "
                    "out, or command less.",
                )


def _disabled(log: Log) -> Iterator[Finding]:
    if log.enable is None or (log.enable != 0).all():
        return
    off = log.enable == 0
    joints = off.any(axis=0)
    first = float(log.t[np.argmax(off.any(axis=1))])
    yield warning(
        "disabled_stretch",
        f"The drive of {_of(log, joints)} is switched off in {100 * off[:, joints].mean():.3g} % of the samples, first "
        f"at t = {first:.4g} s: it gives no torque there, whatever it was told.",
    )


def _of(log: Log, which: NDArray[np.bool_]) -> str:
    return choices(label for label, said in zip(log.labels, which, strict=True) if said)
