"""Samples that judge and are not fitted: ends of blocks, and the fastest pieces; and the speeds that this proves.

Models are judged by how far they move from where robots moved: in short windows and over whole logs, beside robots that
do nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.rollouts import rms
from steelyard.drives.simulation import Simulation
from steelyard.drives.window_errors import errors_of
from steelyard.drives.windows import Recorded, Windows, cuts, smoothed, windows_of
from steelyard.model import Robot

WINDOW, STRIDE = 0.5, 0.2  # s: servos settle, and small errors do not grow yet; a foot lands
WALKED = 1.0  # s of a walk in one piece: sooner or later, any model falls
COMMANDED, STAYS = "goes where commanded", "stays"
IDLE = (COMMANDED, STAYS)
BLOCK = 10.0  # s of a log, of which the end is held out
PIECE = 2.0  # s of a log that are sorted by their speed
REACHED = 0.99  # quantile of speeds and accelerations that counts as reached
CLEARLY_LIKE = 0.5  # times the error of a robot that does nothing, below which motion is predicted
COARSE = 0.05  # rad or m in windows, above which it is predicted roughly at best


@dataclass(frozen=True, eq=False)
class JudgedMotion:
    """Errors of motion of a model, (nv,) root mean squares in rad or m.

    windows: of pieces that start anew every `WINDOW` (of a walk, `STRIDE`); whole: of each stretch of a log in one
    piece (of a walk, of `WALKED`). Those of a free base are in its own axes, m and rad.
    """

    name: str
    windows: np.ndarray
    whole: np.ndarray

    @property
    def pooled(self) -> tuple[float, float]:
        """Root mean squares over all joints, of windows and of whole stretches."""
        return float(np.sqrt(np.mean(self.windows**2))), float(np.sqrt(np.mean(self.whole**2)))


@dataclass(frozen=True, eq=False)
class Judges:
    """Recordings that models are judged by, in windows and in one piece each."""

    windows: Windows
    whole: Windows

    def motion(self, name: str, simulation: Simulation, drives: DriveArrays) -> JudgedMotion:
        """Errors of a model with its drives."""
        return JudgedMotion(
            name, *(rms(errors_of(simulation, [each], [drives])[0]) for each in (self.windows, self.whole))
        )

    def idle(self, *, positions: bool) -> tuple[JudgedMotion, ...]:
        """Errors of a robot that stays where it is, and, where commands are positions, of one that goes there; a free
        base moves on as it did."""
        both = (self.windows, self.whole)
        stays, told = ([rms(errors) for errors in each] for each in ([w.idle for w in both], [w.goes for w in both]))
        return (*([JudgedMotion(COMMANDED, *told)] if positions else []), JudgedMotion(STAYS, *stays))


def judges_of(recordings: Sequence[Recorded], step: float) -> Judges:
    """Judges of recordings that no fit has seen. step: of the simulation, s."""
    length, whole = (STRIDE, WALKED) if recordings[0].walking else (WINDOW, None)
    return Judges(windows_of(recordings, step, length), windows_of(recordings, step, whole))


def window_of(robot: Robot) -> float:
    """Length of windows of a robot's motion, s."""
    return STRIDE if robot.floating else WINDOW


@dataclass(frozen=True, eq=False)
class Proven:
    """How motion is predicted that is faster than what was fitted, and up to where predictions were tried.

    motion: errors on the faster part of the logs, of a fit to the slower part and of robots that do nothing. slower,
    faster: (2, nv) speeds and accelerations that the parts reach, rad/s and rad/s^2 or m/s and m/s^2.
    """

    motion: tuple[JudgedMotion, ...]
    slower: np.ndarray
    faster: np.ndarray

    @property
    def error(self) -> float:
        """Of the fit, in windows of the faster part."""
        return self.motion[0].pooled[0]

    @property
    def left(self) -> float:
        """Error on the faster part, times that of the better robot that does nothing."""
        return self.error / min(each.pooled[0] for each in self.motion if each.name in IDLE)

    @property
    def beyond(self) -> bool:
        """Whether motion was predicted that was faster than what was fitted."""
        return self.left < CLEARLY_LIKE and self.error < COARSE

    @property
    def range(self) -> np.ndarray:
        """(2, nv) speeds and accelerations up to which predictions hold."""
        return np.maximum(self.slower, self.faster) if self.beyond else self.slower


def reached(recordings: Sequence[Recorded]) -> np.ndarray:
    """(2, nv) speeds and accelerations of recordings, but for the fastest moments."""
    states = [smoothed(each)[1:3] for each in recordings]
    return np.stack([np.quantile(np.abs(np.concatenate(each)), REACHED, axis=0) for each in zip(*states, strict=True)])


def parted(recordings: Sequence[Recorded], share: float) -> tuple[list[Recorded], list[Recorded]]:
    """Recordings to fit, and to judge by: beginning and end of each block, as logs that grow faster have no end like
    their beginning."""
    train, test = [], []
    for own in recordings:
        count = max(1, round((own.t[-1] - own.t[0]) / BLOCK))
        shares = np.add.outer(np.arange(count), [0.0, 1 - share]).ravel() / count
        places = [0, *cuts(own, own.t[0] + (own.t[-1] - own.t[0]) * shares[1:]), len(own)]
        for first, middle, last in zip(places[:-1:2], places[1::2], places[2::2], strict=True):
            train.append(own[first:middle])
            test.append(own[middle:last])
    return [each for each in train if len(each) > 1], [each for each in test if len(each) > 1]


def parted_by_speed(recordings: Sequence[Recorded], share: float) -> tuple[list[Recorded], list[Recorded]]:
    """Recordings to fit, and to judge by: the slower and the faster pieces of all logs; pieces side by side are one."""
    pieces = []
    for number, own in enumerate(recordings):
        count = max(1, round((own.t[-1] - own.t[0]) / PIECE))
        inner = own.t[0] + (own.t[-1] - own.t[0]) * np.arange(1, count) / count
        edges = [0, *cuts(own, inner), len(own)]
        square = smoothed(own)[1] ** 2
        pieces += [(number, a, b, square[a:b].mean(axis=0)) for a, b in pairwise(edges) if b > a]
    squares, sizes = np.array([each[3] for each in pieces]), np.array([b - a for _, a, b, _ in pieces])
    mean = np.maximum(np.average(squares, axis=0, weights=sizes), np.finfo(float).tiny)
    order = np.argsort(np.mean(squares / mean, axis=1), kind="stable")
    fast = np.zeros(len(pieces), dtype=bool)
    fast[order[np.cumsum(sizes[order]) > (1 - share) * sizes.sum()]] = True
    return _joined(recordings, pieces, ~fast), _joined(recordings, pieces, fast)


def _joined(recordings: Sequence[Recorded], pieces: list, chosen) -> list[Recorded]:
    spans: list[list[int]] = []
    for number, a, b in (piece[:3] for piece, own in zip(pieces, chosen, strict=True) if own):
        if spans and spans[-1][0] == number and spans[-1][2] == a:
            spans[-1][2] = b
        else:
            spans.append([number, a, b])
    return [recordings[number][a:b] for number, a, b in spans]
