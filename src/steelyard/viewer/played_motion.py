"""Motions that a view plays."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.errors import OptionError
from steelyard.log import Log, filters
from steelyard.model import Robot
from steelyard.prepare.reading import read_undone
from steelyard.simulate.trajectories import Trajectory

RATE = 30.0  # Hz
MOST = 3000  # samples: of longer motions, fewer a second


@dataclass(frozen=True, eq=False)
class PlayedMotion:
    """t: (n,) s from zero, increasing; q: (n, nq)."""

    t: np.ndarray
    q: np.ndarray


def motion_of(trajectory, robot: Robot) -> PlayedMotion:
    """Samples of a Trajectory (a design is one), a Log, or the path of a log. Raises OptionError, LogError."""
    if isinstance(trajectory, PlayedMotion):
        return _checked(trajectory.t, trajectory.q, robot)
    if isinstance(trajectory, str | Path):
        trajectory = read_undone(trajectory, robot)
    if isinstance(trajectory, Trajectory):
        count = int(np.clip(trajectory.duration * RATE, 2, MOST))
        t = np.linspace(0.0, trajectory.duration, count)
        return _checked(t, np.asarray(trajectory.evaluate(t)[0], dtype=float), robot)
    if not isinstance(trajectory, Log):
        raise OptionError(f"A motion is a trajectory, a log or its path; got {type(trajectory).__name__}.")
    if robot.loops:
        trajectory = _closed(trajectory, robot)
    t = np.asarray(trajectory.t, dtype=float)
    order = np.flatnonzero(np.isfinite(t) & np.isfinite(trajectory.q).all(axis=1))
    order = order[np.unique(t[order], return_index=True)[1]]
    if len(order) < 2:
        raise OptionError(f"Log '{trajectory.name}' has {len(order)} usable samples; a motion needs two.")
    t = t[order] - t[order[0]]
    wanted = np.linspace(0.0, t[-1], int(np.clip(t[-1] * RATE, 2, min(MOST, len(order)))))
    nearest = np.searchsorted((t[1:] + t[:-1]) / 2, wanted)
    return _checked(wanted, np.asarray(trajectory.q)[order[nearest]], robot)


def _closed(log: Log, robot: Robot) -> Log:
    from steelyard.identifiable.loop_completion import on_tree

    return on_tree(robot, log if log.v is not None else filters.differentiate(log, cutoff=log.rate / 10))


def _checked(t, q, robot: Robot) -> PlayedMotion:
    if q.shape != (len(t), robot.nq):
        raise OptionError(f"The motion has {q.shape[1]} coordinates; robot '{robot.name}' has {robot.nq}.")
    return PlayedMotion(t, q)
