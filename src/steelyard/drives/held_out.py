"""Samples that judge and are not fitted: ends of blocks, and the fastest pieces; and the speeds that this proves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.drives.motion_errors import IDLE, Motion
from steelyard.drives.windows import Recorded, cuts, smoothed

BLOCK = 10.0  # s of a log, of which the end is held out
PIECE = 2.0  # s of a log that are sorted by their speed
REACHED = 0.99  # quantile of speeds and accelerations that counts as reached
CLEARLY_LIKE = 0.5  # times the error of a robot that does nothing, below which motion is predicted
COARSE = 0.05  # rad or m in windows, above which it is predicted roughly at best


@dataclass(frozen=True, eq=False)
class Proven:
    """How motion is predicted that is faster than what was fitted, and up to where predictions were tried.

    Attributes:
        motion: errors on the faster part of the logs, of a fit to the slower part and of robots that do nothing.
        slower, faster: (2, nv) speeds and accelerations that the parts reach, rad/s and rad/s^2 or m/s and m/s^2.
    """

    motion: tuple[Motion, ...]
    slower: np.ndarray
    faster: np.ndarray

    @property
    def left(self) -> float:
        """Error on the faster part, times that of the better robot that does nothing."""
        return self.motion[0].pooled[0] / min(each.pooled[0] for each in self.motion if each.name in IDLE)

    @property
    def beyond(self) -> bool:
        """Whether motion was predicted that was faster than what was fitted."""
        return self.left < CLEARLY_LIKE and self.motion[0].pooled[0] < COARSE

    @property
    def range(self) -> np.ndarray:
        """(2, nv) speeds and accelerations up to which predictions hold."""
        return np.maximum(self.slower, self.faster) if self.beyond else self.slower


def proven_by(motion: tuple[Motion, ...], slow: Sequence[Recorded], fast: Sequence[Recorded]) -> Proven:
    """What a fit to the slower part of logs proves.

    Args:
        motion: its errors on the faster part, the first, and of robots that do nothing.
        slow, fast: the parts.

    Returns:
        The Proven.
    """
    return Proven(motion, _reached(slow), _reached(fast))


def _reached(recordings: Sequence[Recorded]) -> np.ndarray:
    states = [smoothed(each)[1:3] for each in recordings]
    return np.stack([np.quantile(np.abs(np.concatenate(each)), REACHED, axis=0) for each in zip(*states, strict=True)])


def parted(recordings: Sequence[Recorded], share: float) -> tuple[list[Recorded], list[Recorded]]:
    """The beginning and the end of each block of the logs: of many, as logs that grow faster have no end like their
    beginning.

    Args:
        recordings: of a log.
        share: of every block that judges.

    Returns:
        The recordings to fit, and those to judge by.
    """
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
    """The slower and the faster pieces of all logs, as joints move on the whole.

    Args:
        recordings: of all logs.
        share: of the samples that are the faster ones.

    Returns:
        The recordings to fit, and those to judge by; pieces side by side are one.
    """
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
