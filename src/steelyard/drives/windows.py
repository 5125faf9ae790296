"""Pieces of logs that a simulation starts anew: short ones, in which small errors have no time to grow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.drives.arrays import DriveArrays, commanded, told
from steelyard.drives.drive import Drive
from steelyard.drives.free_base import apart, moved, of_joints
from steelyard.log import Log
from steelyard.log.stamps import runs, segments
from steelyard.log.walk_states import BaseStates
from steelyard.model import Robot
from steelyard.spatial import POSE, TWIST

SHIFT = 0.2  # of its length, by which a window may begin sooner or later
NEAR = 0.1  # s from where a recording is to be cut
STILL = 1e-5  # rad or m, added to what a quadratic leaves
SLIDING = 0.15  # s, of a foot that slips from which on: as they land, all slip a little, in simulations, too
LANDING = 2.0, 5.0  # times the spread of positions and speeds of walking joints, which a quadratic smooths as feet land
SMOOTHED = 7  # samples of the quadratic that a window starts from: noise of positions makes no speed


@dataclass(frozen=True, eq=False)
class Recorded:
    """Positions (n, nq) at times t (n,), and commands (n, nv) that hold from their time on. twist: (n, 6) of a free
    base, in its own axes, None: the base stands; and covariance (n, 12, 12) of its pose and twist."""

    t: np.ndarray
    q: np.ndarray
    command: np.ndarray
    off: np.ndarray | None = None  # (nv,) joints whose drive is switched off, None: of none
    twist: np.ndarray | None = None
    covariance: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, part: slice) -> "Recorded":
        base = {name: None if (own := getattr(self, name)) is None else own[part] for name in ("twist", "covariance")}
        return Recorded(self.t[part], self.q[part], self.command[part], self.off, **base)

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.command.shape[1]

    @property
    def on(self) -> np.ndarray:
        """(nv,) joints whose drive is on."""
        return np.ones(self.nv, dtype=bool) if self.off is None else ~self.off

    @property
    def walking(self) -> bool:
        """Whether the base is free."""
        return self.twist is not None

    @property
    def joints(self) -> np.ndarray:
        """(n, nv) positions of joints, zero in the place of a base."""
        return of_joints(self.q, self.nv)


def stretches(
    robot: Robot, logs: Sequence[Log], drives: Mapping[str, Drive], bases: Sequence[BaseStates | None] | None = None
) -> list[Recorded]:
    """What logs recorded of motion and commands: stretches without gaps in which all drives are on, long enough to
    start from; of a walking robot they end where a foot slips for long. bases: states of a free base, one of each log;
    None: bases stand. Raises LogError: a log lacks what a drive takes."""
    found = []
    for log, base in zip(logs, bases or [None] * len(logs), strict=True):
        own = Recorded(np.asarray(log.t), np.asarray(log.q), told(robot, log, drives))
        on = np.ones(len(log), dtype=bool) if log.enable is None else (log.enable != 0).all(axis=1)
        if base is not None:
            q = np.concatenate([base.q[:, :POSE], own.q[:, POSE:]], axis=1)
            own = replace(own, q=q, twist=base.v[:, :TWIST], covariance=base.covariance)
            for slips in base.slips.values():
                for a, b in runs(slips):
                    on[a:b] &= own.t[b - 1] - own.t[a] < SLIDING
        for part in segments(own.t):
            found += [own[part.start + a : part.start + b] for a, b in runs(on[part])]
    return [each for each in found if len(each) > SMOOTHED]


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of recordings, all of `steps` steps of a simulation."""

    recordings: tuple[Recorded, ...]
    source: np.ndarray  # (k,) the recording of each
    first: np.ndarray  # (k,) its first sample
    counts: np.ndarray  # (k,) samples that it covers
    q: np.ndarray  # and `v`: (k, nq), (k, nv) smoothed state at its beginning, and a its acceleration
    v: np.ndarray
    a: np.ndarray
    spread: np.ndarray  # (2, k, nv) standard deviations of the state
    step: float
    steps: int
    lead: float = 0.0  # steps by which positions of the simulation are ahead of their time

    def __len__(self) -> int:
        return len(self.source)

    @property
    def begin(self) -> np.ndarray:
        """(k, nq) positions that a simulation begins with."""
        return moved(self.q, self.lead * self.step * self.v)

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.v.shape[1]

    @property
    def walking(self) -> bool:
        """Whether the base is free: then all joints move each other through it."""
        return self.recordings[0].walking

    @property
    def base(self) -> int:
        """Degrees of freedom of a free base, 0 where it stands."""
        return TWIST if self.walking else 0

    @property
    def idle(self) -> np.ndarray:
        """(m, nv) errors of a robot whose joints stay where windows begin, and whose base moves on as it does there."""
        speed = np.repeat(self.v, self.counts, axis=0)
        speed[:, self.base :] = 0.0
        since = self.times - np.repeat(self._of_first("t"), self.counts)
        stays = moved(np.repeat(self.q, self.counts, axis=0), since[:, None] * speed)
        return apart(stays, self.measured, self.nv)

    @property
    def goes(self) -> np.ndarray:
        """(m, nv) errors of a robot whose joints are where they are told to be, and whose base moves on."""
        found = self.commanded - self.joints
        found[:, : self.base] = self.idle[:, : self.base]
        return found

    def _of_first(self, name: str) -> np.ndarray:
        """(k, ...) of the sample that each window begins with."""
        spans = zip(self.source, self.first, strict=True)
        return np.stack([getattr(self.recordings[s], name)[i] for s, i in spans])

    @property
    def information(self) -> np.ndarray:
        """(k, 2 nv, 2 nv) inverse covariance of the state at the beginning: positions, then speeds."""
        found = np.zeros((len(self), 2 * self.nv, 2 * self.nv))
        every = np.arange(2 * self.nv)
        found[:, every, every] = 1 / np.concatenate(self.spread, axis=1) ** 2
        if self.walking:
            base = np.r_[:TWIST, self.nv : self.nv + TWIST]
            found[:, base[:, None], base] = np.linalg.inv(self._of_first("covariance"))
        return found

    def __getitem__(self, chosen) -> "Windows":
        """Some of the windows: indices or a mask (k,)."""
        names = ("source", "first", "counts", "q", "v", "a")
        own = {name: getattr(self, name)[chosen] for name in names}
        return replace(self, **own, spread=self.spread[:, chosen])

    @property
    def measured(self) -> np.ndarray:
        """(m, nq) positions at the samples of all windows."""
        return self._rows("q")

    @property
    def joints(self) -> np.ndarray:
        """(m, nv) positions of joints at the samples of all windows, zero in the place of a base."""
        return self._rows("joints")

    @property
    def commanded(self) -> np.ndarray:
        """(m, nv) commands at the samples of all windows."""
        return self._rows("command")

    @property
    def on(self) -> np.ndarray:
        """(m, nv) bool: drives that are on, at the samples of all windows."""
        return np.repeat(np.array([self.recordings[s].on for s in self.source]), self.counts, axis=0)

    def asked(self, drives: DriveArrays) -> np.ndarray:
        """(m, nv) what drives make their torque of, at the samples of all windows; zero where they are off."""
        return (self.commanded - drives.follows_q * self.joints) * self.on

    @property
    def speeds(self) -> np.ndarray:
        """(m, nv) smoothed speeds at the samples of all windows."""
        return self._rows([smoothed(each)[1] for each in self.recordings])

    @property
    def times(self) -> np.ndarray:
        """(m,) of the samples of all windows, s."""
        return self._rows("t")

    def _rows(self, of: str | Sequence[np.ndarray]) -> np.ndarray:
        """At the samples of all windows, a signal of the recordings by name, or one of each."""
        every = [getattr(own, of) for own in self.recordings] if isinstance(of, str) else of
        spans = zip(self.source, self.first, self.counts, strict=True)
        return np.concatenate([every[s][i : i + n] for s, i, n in spans])

    def sums(self, rows) -> np.ndarray:
        """(k, ...) over each window, of rows (m, ...)."""
        return np.add.reduceat(rows, np.cumsum(self.counts) - self.counts)

    def begun(self, change) -> "Windows":
        """Windows that begin elsewhere: (2, k, nv) added to positions and speeds."""
        return replace(self, q=moved(self.q, change[0]), v=self.v + change[1])

    def driven(self, simulation, drives: DriveArrays) -> list:
        """The robot with these drives, of each window."""
        kinds = {own.on.tobytes(): own.on for own in self.recordings}
        found = {key: simulation.driven(drives, on) for key, on in kinds.items()}
        return [found[self.recordings[s].on.tobytes()] for s in self.source]

    def controls(self, drives: DriveArrays) -> np.ndarray:
        """(k, steps, nv) what the drives follow."""
        return commanded(drives, self.recordings, self.source, self.first, self.step, self.steps)

    @property
    def lengths(self) -> np.ndarray:
        """(k,) steps up to the last sample of each."""
        last = np.cumsum(self.counts) - 1
        spans = (self.times[last] - self._of_first("t")) / self.step - self.lead
        return np.clip(np.floor(spans).astype(int) + 1, 1, self.steps)

    def errors(self, q) -> np.ndarray:
        """(m, nv) simulated minus measured positions at the samples of all windows. q: (k, steps + 1, nq)."""
        window = np.repeat(np.arange(len(self)), self.counts)
        place = (self.times - self._of_first("t")[window]) / self.step - self.lead
        before = np.clip(np.floor(place), 0, self.steps - 1).astype(int)
        share = (place - before)[:, None]
        return apart((1 - share) * q[window, before] + share * q[window, before + 1], self.measured, self.nv)


def windows_of(recordings: Sequence[Recorded], step: float, length: float | None, *, lead: float = 0.0) -> Windows:
    """Windows of recordings, one after the other, of a length in s (None: one a recording). lead: as of `Windows`."""
    parts = []
    for number, own in enumerate(recordings):
        *state, left = smoothed(own)
        edges = _edges(own.t, left.sum(axis=1), length)
        first, counts = edges[:-1], np.diff(edges)
        noise = np.sqrt(np.maximum(left[first], np.median(left, axis=0)) / SMOOTHED) + STILL
        spread = np.stack([noise, noise / np.median(np.diff(own.t))], axis=1)
        if own.covariance is not None:
            spread[..., :TWIST] = np.sqrt(np.einsum("kii->ki", own.covariance[first])).reshape(-1, 2, TWIST)
            spread[..., TWIST:] *= np.array(LANDING)[:, None]
        span = own.t[first + counts - 1] - own.t[first]
        parts.append((np.full(len(first), number), first, counts, *(each[first] for each in state), spread, span))
    *arrays, spread, spans = map(np.concatenate, zip(*parts, strict=True))
    steps = max(1, int(np.ceil(max(spans) / step)))
    spread = np.ascontiguousarray(spread.swapaxes(0, 1))
    return Windows(tuple(recordings), *arrays, spread=spread, step=step, steps=steps, lead=lead)


def _edges(t, rough, length: float | None) -> np.ndarray:
    """First samples of windows, and the end of the last: near their time, where the state is known best."""
    if length is None or t[-1] - t[0] < 1.5 * length:
        return np.array([0, len(t)])
    even = np.arange(t[0], t[-1] - 0.5 * length, length)
    inner = [_calmest(t, rough, time, SHIFT * length) for time in even[1:-1]]
    return np.array([0, *inner, np.searchsorted(t, even[-1])])


def _calmest(t, rough, time: float, reach: float) -> int:
    """The sample near a time where the state is known best."""
    first, last = np.searchsorted(t, [time - reach, time + reach])
    return int(first + np.argmin(rough[first : max(last, first + 1)]))


def cuts(own: Recorded, times) -> list[int]:
    """Samples near some times, s, at which a recording is best begun anew."""
    rough = smoothed(own)[3].sum(axis=1)
    return [_calmest(own.t, rough, time, NEAR) for time in times]


def smoothed(own: Recorded) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions (n, nq), speeds and accelerations (n, nv) at each sample by a quadratic through its neighbours, and the
    sum of squares (n, nv) that it leaves of positions; pose and twist of a free base are smooth already."""
    q, v, a, left = _quadratic(own.t, own.joints)
    if own.twist is not None:
        q = np.concatenate([own.q[:, :POSE], q[:, TWIST:]], axis=1)
        v[:, :TWIST], a[:, :TWIST] = own.twist, _quadratic(own.t, own.twist)[1]
    return q, v, a, left


def _quadratic(t, values) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    half, n = SMOOTHED // 2, len(t)
    start = np.clip(np.arange(n) - half, 0, max(n - SMOOTHED, 0))
    near = start[:, None] + np.arange(min(SMOOTHED, n))
    since = t[near] - t[:, None]
    scale = np.abs(since).max(axis=1, keepdims=True)
    columns = np.stack([np.ones_like(since), since / scale, (since / scale) ** 2], axis=-1)
    found = np.linalg.pinv(columns) @ values[near]
    left = values[near] - columns @ found
    return found[:, 0], found[:, 1] / scale, 2 * found[:, 2] / scale**2, np.sum(left**2, axis=1)
