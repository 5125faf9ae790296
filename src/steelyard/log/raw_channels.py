"""What every reader hands on: channels in SI units as the file had them, before joints are matched to a robot.

Of several logs in one file, one after another: which rows belong to which, and one time for those that are read.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, OptionError, choices
from steelyard.log.channels import SI, step
from steelyard.log.frame_channels import WORDS, ByFrame

HOW = """--channels '{"t": "column", "q": ["column", ...], "tau": [...]}', in Python channels={"t": "column", ...}"""
"""How to say which column is which, for the end of a message."""
STEADY = (
    "Samples at a steady rate need none: state the step in s, --unit t=0.02 at 50 Hz, in Python units={'t': '0.02'}."
)
"""What to do about a file without time stamps."""


def counted(step: float) -> str:
    """The note on a file whose samples were counted."""
    return f"t: no stamps; samples counted, {step:g} s each, as units= says"


def asked(wanted: Any, names: Sequence[str] = ()) -> list[tuple[str | None, Any]]:
    """(joint, name) of each column that `channels=` says of a channel, the joint None where none is said. wanted: a
    name, a number, a list of them, or a mapping from joints to them. names: of the file; patterns with `*` or `?`
    become those that they fit, and a range such as `1-7` of columns without names their numbers."""
    if wanted is None:
        return []
    if isinstance(wanted, Mapping):
        return [(str(joint), name) for joint, name in wanted.items()]
    each = [wanted] if isinstance(wanted, str | int) else wanted
    if not isinstance(each, Iterable):
        raise OptionError(f"channels names columns, by names, numbers or lists of them; got {wanted!r}.")
    return [(None, name) for one in each for name in (_meant(one, names) if isinstance(one, str) else [one])]


_RANGE = re.compile(r"(\d{1,6})-(\d{1,6})")


def _meant(text: str, names: Sequence[str]) -> list[str]:
    if not names or text in names:
        return [text]
    if (ends := _RANGE.fullmatch(text)) and all(name.isdecimal() for name in names):
        return [str(i) for i in range(int(ends[1]), int(ends[2]) + 1)]
    return matching(text, names) if "*" in text or "?" in text else [text]


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Names that fit a pattern with `*` or `?`, numbers in them counted as numbers."""
    found = [name for name in names if fnmatchcase(name, pattern)]
    return sorted(found, key=lambda name: [int(s) if s.isdigit() else s for s in re.split(r"(\d+)", name)])


@dataclass(frozen=True)
class ReadRequest:
    """What the caller asked of a reader."""

    channels: Mapping[str, Any] = field(default_factory=dict)
    """Explicit mapping channel -> column or key; None switches a channel off."""
    units: Mapping[str, str] = field(default_factory=dict)  # unit of a channel, over anything the file says
    known: tuple[str, ...] = ()  # joint names expected, to read ambiguous headers rightly
    logs: tuple[str, ...] = ()
    """Of a file with several logs, those that are wanted; empty for all."""
    rows: tuple[int, int] | None = None  # first sample and the one after the last that are wanted; None for all

    @property
    def step(self) -> float | None:
        """s a sample, where the unit of time is a number: samples without stamps are counted by it."""
        return step(self.units.get("t", ""))

    def __post_init__(self):
        for option, mapping in (("channels", self.channels), ("units", self.units)):
            known = (*SI, *WORDS) if option == "channels" else tuple(SI)
            unknown = sorted(set(mapping) - set(known))
            if unknown:
                raise LogError(f"{option}= has no channel {choices(unknown)}; channels are {choices(known)}")


@dataclass(frozen=True)
class Channel:
    """One signal of all joints the file has."""

    values: NDArray[np.float64]  # (n, k), SI
    names: tuple[str, ...] | None = None  # (k,) joint of each column, or None when the file only gives an order


@dataclass(frozen=True)
class Raw:
    """A log as read, joints in the file's order."""

    t: NDArray[np.float64]  # (n,) s
    channels: Mapping[str, Channel]  # `q`, `v`, `a`, `tau` and what drives say, as far as the file has them
    notes: tuple[str, ...] = ()
    bandwidth: float | None = None  # cutoff that tau was filtered at, Hz, where the file says it
    base: str | None = None  # convention of a free base, where it is known; None for Steelyard's own
    by_frame: ByFrame = field(default_factory=ByFrame)


class RobotNames(Protocol):
    """All that reading a log needs to know of a robot."""

    @property
    def joint_names(self) -> Iterable[str]: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...


INDEX = ("log", "episode", "episode_index")  # arrays that number the log of each row
EPISODE = INDEX[1:]  # columns of tables, where a column called log may be anything
NAMES = ("log_names", "episode_names")
GROUPS = ("demo", "episode", "ep", "traj", "trajectory", "rollout", "trial")  # with a number, each holds an episode
_STEPS = 10.0  # of the file's own, that the pause is at least, and that an episode may start late
FOLLOWING = "one after another, with a gap between them"
SHORTEST = 20  # samples of a log, or of an episode: stamps that go back more often are out of order
DEEPEST = 16  # groups in groups, structures or messages in others, that are looked into


def one_time(t: NDArray, starts: NDArray) -> NDArray[np.float64]:
    """(n,) s over several logs, each of which counts from its own zero in t (n,) and starts a pause after the end of
    the one before. starts: (k,) rows, other than the first, with which a log starts."""
    if not len(starts):
        return t
    steps, bounds = np.diff(t), np.asarray(starts) - 1
    within = np.delete(steps, bounds)
    step = float(np.median(within)) if len(within) else 0.0
    steps[bounds] = pause(step)
    return t[0] + np.concatenate([[0.0], np.cumsum(steps)])


def pause(step: float) -> float:
    """s from the last sample of a log to the first of the next one, each of which counts from zero: a gap, which
    nothing is interpolated across. step: between samples, s."""
    return step + max(1.0, _STEPS * step)


def changes(index: NDArray) -> NDArray[np.int64]:
    """Rows, other than the first, whose number differs from that of the row before."""
    return np.flatnonzero(np.diff(index)) + 1


def episodes_of(index: NDArray) -> NDArray[np.int64]:
    """The same of a column that may number episodes; none where it changes too often for that."""
    starts = changes(index)
    return starts if np.diff(np.array([0, *starts, len(index)])).min() >= SHORTEST else starts[:0]


def restarted(raw: Raw) -> Raw:
    """A log whose time starts anew for each of several episodes: they follow each other, with a gap between them. As it
    is where time never goes back, or back to elsewhere than the start."""
    if not np.isfinite(raw.t).all():
        return raw
    steps = np.diff(raw.t)
    starts = np.flatnonzero(steps < 0) + 1
    if not len(starts):
        return raw
    within = np.delete(steps, starts - 1)
    near = _STEPS * float(np.median(within)) if len(within) else 0.0
    lengths = np.diff(np.array([0, *starts, len(raw.t)]))
    if np.any(np.abs(raw.t[starts] - raw.t[0]) > near) or lengths.min() < SHORTEST:
        return raw
    return replace(raw, t=one_time(raw.t, starts), notes=(*raw.notes, following(len(starts) + 1)))


def following(count: int) -> str:
    """The note on several episodes."""
    return f"t: {count} episodes {FOLLOWING}"


def chosen(raw: Raw, index: NDArray, names: Sequence[str], wanted: Sequence[str]) -> Raw:
    """The logs of a file that are wanted, by names or numbers, in their order, with gaps between them. index: (n,)
    number of the log of each row. Raises LogError, with the logs that there are, for another one."""
    called = {int(k): names[k] if 0 <= k < len(names) else str(k) for k in np.unique(index)}
    numbers = {name: k for k, name in called.items()}
    if lost := [name for name in wanted if name not in numbers]:
        raise LogError(f"there is no log {choices(lost)} in it; it has {choices(numbers)}")
    order = [numbers[name] for name in wanted] or list(dict.fromkeys(index.tolist()))
    rows = np.concatenate([np.flatnonzero(index == k) for k in order])
    said = choices(called[k] for k in order)
    note = f"read of {len(called)} logs in the file: {said}" + f" {FOLLOWING}" * (len(order) > 1)
    if not wanted and len(order) > 1:
        note += f'; --channels \'{{"log": "{called[order[0]]}"}}\' reads one alone'
    channels = {key: replace(channel, values=channel.values[rows]) for key, channel in raw.channels.items()}
    t = one_time(raw.t[rows], changes(index[rows]))
    return replace(raw, t=t, channels=channels, by_frame=raw.by_frame.at(rows), notes=(*raw.notes, note))
