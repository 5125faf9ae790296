"""Several logs in one file, one after another: which rows belong to which, and one time for those that are read."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.raw_channels import Raw

INDEX = ("log", "episode", "episode_index")  # arrays that number the log of each row
EPISODE = INDEX[1:]  # columns of tables, where a column called log may be anything
NAMES = ("log_names", "episode_names")
PAUSE = 1.0  # s put between logs, each of which counts from zero: a gap, which nothing is interpolated across
_STEPS = 10.0  # of the file's own, that the pause is at least, and that an episode may start late
FOLLOWING = "episodes follow each other, with a gap between them"
SHORTEST = 20  # samples of an episode: stamps that go back more often are out of order


def one_time(t: NDArray, starts: NDArray) -> NDArray[np.float64]:
    """Time over several logs: each starts a pause after the end of the one before.

    Args:
        t: (n,) times of all rows, s, each log's from its own zero.
        starts: (k,) rows, other than the first, with which a log starts.

    Returns:
        (n,) s, rising where each log's own times do.
    """
    if not len(starts):
        return t
    steps, bounds = np.diff(t), np.asarray(starts) - 1
    within = np.delete(steps, bounds)
    step = float(np.median(within)) if len(within) else 0.0
    steps[bounds] = step + max(PAUSE, _STEPS * step)
    return t[0] + np.concatenate([[0.0], np.cumsum(steps)])


def changes(index: NDArray) -> NDArray[np.int64]:
    """Rows, other than the first, whose number differs from that of the row before."""
    return np.flatnonzero(np.diff(index)) + 1


def episodes_of(index: NDArray) -> NDArray[np.int64]:
    """The same of a column that may number episodes; none where it changes too often for that."""
    starts = changes(index)
    return starts if np.diff(np.array([0, *starts, len(index)])).min() >= SHORTEST else starts[:0]


def restarted(raw: Raw) -> Raw:
    """A log whose time starts anew for each of several episodes: they follow each other, with a gap between them.

    raw: as read. Returned as it is where time never goes back, or back to elsewhere than the start.
    """
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
    return f"t: {count} {FOLLOWING}"


def chosen(raw: Raw, index: NDArray, names: Sequence[str], wanted: Sequence[str]) -> Raw:
    """The logs of a file that are wanted, in their order.

    Args:
        raw: all rows of the file.
        index: (n,) number of the log of each row.
        names: of the logs by number; empty where they have none but their numbers.
        wanted: names or numbers; empty: all.

    Returns:
        Their rows, with gaps between them.

    Raises:
        LogError: a log that the file does not have, which lists those that it has.
    """
    called = {int(k): names[k] if 0 <= k < len(names) else str(k) for k in np.unique(index)}
    numbers = {name: k for k, name in called.items()}
    if lost := [name for name in wanted if name not in numbers]:
        raise LogError(f"there is no log {choices(lost)} in it; it has {choices(numbers)}")
    order = [numbers[name] for name in wanted] or list(dict.fromkeys(index.tolist()))
    rows = np.concatenate([np.flatnonzero(index == k) for k in order])
    said = choices(called[k] for k in order)
    note = f"read of {len(called)} logs in the file: {said}" + " one after another, with gaps" * (len(order) > 1)
    if not wanted and len(order) > 1:
        note += f'; --channels \'{{"log": "{called[order[0]]}"}}\' reads one alone'
    channels = {key: replace(channel, values=channel.values[rows]) for key, channel in raw.channels.items()}
    wrenches = {link: wrench[rows] for link, wrench in raw.wrenches.items()}
    t = one_time(raw.t[rows], changes(index[rows]))
    by_frame = raw.by_frame.at(rows)
    return replace(raw, t=t, channels=channels, wrenches=wrenches, by_frame=by_frame, notes=(*raw.notes, note))
