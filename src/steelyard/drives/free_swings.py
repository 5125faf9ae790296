"""Stretches of logs in which drives are off and their joints swing freely: these show friction and inertia alone.

A joint that is off may as well be guided by hand, or lie on a table. A swing passes where it ends, to both sides, and
loses energy nearly all the time: a hand gives as much as it takes. A joint that gravity does not pull back, such as a
level slide under a pendulum, may end anywhere.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from steelyard.drives.arrays import told
from steelyard.drives.drive import Drive
from steelyard.drives.windows import SMOOTHED, Recorded, smoothed
from steelyard.dynamics import inverse_dynamics
from steelyard.log import Log
from steelyard.log.stamps import segments
from steelyard.model import Robot

PASSED = 0.1  # of the range of a swing, to either side of its end
LOST = 0.5  # of all changes of energy, that have to be losses
PERIOD = 0.05  # s, over which energies are compared: noise of speeds makes some at each sample
MORE = (1.0, 1.3, 1.7, 2.5)  # times the model's kinetic energy, as armature may not be known
SLIGHT = 0.02  # of the fastest speed, below which a swing has ended; rad or m, of its range; and of the most work that
# gravity does at a joint that is off, from which one is pulled back


def swings(robot: Robot, logs: Iterable[Log], drives: Mapping[str, Drive]) -> list[Recorded]:
    """Stretches, in order, in which some drives are off (`enable`) and their joints swing, up to where they rest.
    None of robots that walk. Raises LogError: a log lacks what a drive takes."""
    found = []
    for log in logs:
        if log.enable is None or robot.floating:
            continue
        off = np.broadcast_to(log.enable == 0, log.q.shape)
        own = Recorded(np.asarray(log.t), np.asarray(log.q), told(robot, log, drives))
        for part in segments(own.t):
            changes = np.flatnonzero((off[part][1:] != off[part][:-1]).any(axis=1)) + 1
            for a, b in pairwise([part.start, *(part.start + changes).tolist(), part.stop]):
                if off[a].any() and b - a > SMOOTHED and (swing := _swing(robot, own[a:b], off[a])):
                    found.append(swing)
    return found


def _swing(robot: Robot, own: Recorded, off: np.ndarray) -> Recorded | None:
    q, v, _, _ = smoothed(own)
    speed = np.abs(v[:, off]).max(axis=1)
    own = own[: int(np.flatnonzero(speed >= SLIGHT * speed.max())[-1]) + 1]
    n = len(own)
    if n <= SMOOTHED:
        return None
    motion, height, weight = _energies(robot, q[:n], v[:n])
    aside = q[:n, off] - q[n - 1, off]
    span = np.ptp(aside, axis=0)
    work = span * np.abs(weight[:, off]).max(axis=0)
    moves = (span > SLIGHT) & (work > SLIGHT * work.max())
    if not moves.any() or not (np.minimum(aside.max(axis=0), -aside.min(axis=0)) > PASSED * span)[moves].all():
        return None
    some = np.searchsorted(own.t, np.arange(own.t[0], own.t[-1], PERIOD))
    energies = [(more * motion + height)[some] for more in MORE]
    if max((e[0] - e[-1]) / max(np.abs(np.diff(e)).sum(), np.finfo(float).tiny) for e in energies) < LOST:
        return None
    return Recorded(own.t, own.q, own.command, off)


def _energies(robot: Robot, q, v) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n,) kinetic energy, and potential energy as gravity does work along the way, J; (n, nv) what holds it still."""
    still = np.zeros_like(v)
    weight = inverse_dynamics(robot, q, still, still)
    motion = np.sum(v * (inverse_dynamics(robot, q, still, v) - weight), axis=1) / 2
    steps = np.sum((weight[1:] + weight[:-1]) / 2 * np.diff(q, axis=0), axis=1)
    return motion, np.concatenate([[0.0], np.cumsum(steps)]), weight
