"""Samples that were not measured, though they stand in the log: values that a driver repeated, zeros and spikes of lost
messages, torques that are no numbers.

A healthy joint may stand, torques may be zero, and both have noise and peaks. So a stretch counts as frozen only where
everything repeats and then jumps to where the motion would be by now, a zero or a spike only where it is alone and far
beyond all that happens around it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import choices
from steelyard.log.channels import DRIVE
from steelyard.log.findings import Finding, warning
from steelyard.log.log import Log
from steelyard.log.stamps import runs, segments

Mask = NDArray[np.bool_]
SHORT = 3  # samples in a row that are interpolated
NEIGHBOURS = 5  # samples on either side whose medians a value is compared with; they bear two more false ones
AROUND = 25  # samples on either side whose own distances tell what is usual there
RARE = 0.03  # share of false values in a column; more are a signal of its own
# Distances of false values: over noise, usual size and step of the column, and over that of the samples around them
# from their neighbours. Gross: of samples so far apart that one alone may see a peak of a motor; closer: spikes of a
# column with several.
FAR = {
    "zero": (8.0, 0.05, 10.0, 8.0),
    "spike": (30.0, 1.0, 10.0, 8.0),
    "gross": (1e3, 1e3, 1e3, 8.0),
    "closer": (10.0, 0.1, 10.0, 3.0),
}


@dataclass(frozen=True)
class False_:
    """Samples of one kind. channel: of the log; code: of the finding; mask: (n, k); what: they are, in words."""

    channel: str
    code: str
    mask: Mask
    what: str


def believable(log: Log) -> tuple[Log, tuple[Finding, ...]]:
    """The log without what was not measured, and what that was: up to three false samples in a row are interpolated,
    longer stretches cut out, which leaves a gap, and torques that are no numbers for longer have weight 0. A healthy
    log is returned as it is."""
    found = list(false_samples(log))
    findings = tuple(_finding(log, each) for each in found)
    frozen = np.zeros(len(log), dtype=bool)
    for each in found:
        if each.code == "frozen_stretch":
            frozen |= each.mask.any(axis=1)
            continue
        parts = {key: getattr(log, key) for key in ("v", "a") if each.channel == "q"}  # a new q keeps them
        parts |= {each.channel: _interpolated(log.t, getattr(log, each.channel), each.mask)}
        if (lasting := _long(each.mask)).any():
            parts["weights"] = np.where(lasting, 0.0, 1.0 if log.weights is None else log.weights)
        log = log.replace(**parts).noted(f"{each.channel}: {each.what} interpolated")
    if frozen.any():
        log = log[~frozen].noted(f"{int(frozen.sum())} frozen samples cut out")
    return log, findings


def false_samples(log: Log) -> Iterator[False_]:
    """All kinds of them. Nothing of a log that is short or whose time does not increase."""
    finite = np.isfinite(log.t).all() and np.isfinite(log.q).all()
    if len(log) < 50 or not finite or not np.all(np.diff(log.t) > 0):  # samples of a log that is looked at
        return
    if (frozen := _frozen(log)).any():
        yield False_("q", "frozen_stretch", frozen, "everything repeats while the robot moves")
    for channel in ("q", "v", "tau"):
        x = getattr(log, channel)
        if x is None or (channel == "q" and log.nq != log.nv) or np.isinf(x).any():
            continue
        if np.isnan(x).any() and channel != "tau":
            continue
        # a column with a larger share of torques that are no numbers is none
        missing = np.isnan(x) & (np.isnan(x).mean(axis=0) < 0.5)
        if missing.any():
            yield False_(channel, "missing_torque", missing, "values that are no numbers")
        x = _interpolated(log.t, x, np.isnan(x))
        zero = _zeros(log.t, x) & ~frozen[:, :1]
        if zero.any():
            yield False_(channel, "zero_dropout", zero, "zeros far from the values beside them")
        if channel == "tau" and not (log.contacts or log.external or log.nq != log.nv):  # impacts are spikes, too
            spike = _spikes(log.t, _interpolated(log.t, x, zero), ~zero & ~missing) & ~frozen[:, :1]
            if spike.any():
                yield False_(channel, "spike", spike, "single values far from those on either side")


def _finding(log: Log, each: False_) -> Finding:
    columns, rows = each.mask.any(axis=0), each.mask.any(axis=1)
    labels = log.labels if each.mask.shape[1] == log.nv else tuple(f"column {i + 1}" for i in range(log.nq))
    of = "all joints" if columns.all() else choices(np.array(labels)[columns])
    what = "q and tau" if each.code == "frozen_stretch" else each.channel
    return warning(
        each.code,
        f"{what} of {of} has {int(rows.sum())} of {len(log)} samples that were not measured, the first at "
        f"t = {log.t[np.argmax(rows)]:.6g} s: {each.what}. They are left out. Look for lost messages in driver and "
        "recorder.",
    )


def _long(mask: Mask, most: int = SHORT) -> Mask:
    result = np.zeros_like(mask)
    for j in np.flatnonzero(mask.any(axis=0)):
        for start, stop in runs(mask[:, j]):
            result[start:stop, j] = stop - start > most
    return result


def _interpolated(t: NDArray, x: NDArray, mask: Mask) -> NDArray:
    """Columns with masked values on straight lines between those beside them; zero where there are none."""
    if not mask.any():
        return x
    x = np.array(x)
    for j in np.flatnonzero(mask.any(axis=0)):
        bad = mask[:, j]
        x[bad, j] = np.interp(t[bad], t[~bad], x[~bad, j]) if not bad.all() else 0.0
    return x


def _zeros(t: NDArray, x: NDArray) -> Mask:
    """(n, k) zeros of lost messages; where a column or a sample has one, all its lone zeros are."""
    alone = (x == 0) & ~_long(x == 0)
    alone &= alone.mean(axis=0) <= RARE
    sure = _lost(t, x, alone, FAR["zero"], SHORT)
    return alone & (np.any(sure, axis=0) | np.any(sure, axis=1, keepdims=True))


def _spikes(t: NDArray, x: NDArray, may: Mask) -> Mask:
    """(n, k) spikes; a column that has some for sure is looked at more closely."""
    # up to 12 ms between samples, a peak of a motor is seen by more than one
    sure = _lost(t, x, may, FAR["spike" if np.median(np.diff(t)) < 0.012 else "gross"], 1)
    several = sure.sum(axis=0) >= 3
    return np.where(several, sure | _lost(t, x, may & several, FAR["closer"], 1), sure) if several.any() else sure


def _lost(t: NDArray, x: NDArray, may: Mask, far: tuple[float, float, float, float], most: int) -> Mask:
    """(n, k) values that may be false, at most `most` in a row, and lie beyond all around them by the distances of
    `far`."""
    result = np.zeros(x.shape, dtype=bool)
    for part in segments(t):
        if part.stop - part.start > 2 * AROUND and may[part].any():
            beyond = _beyond(x[part])
            least = np.max([a * b for a, b in zip(far, _scales(x[part]), strict=False)], axis=0)
            result[part] = _outstanding(beyond, may[part] & (beyond > least), far[3])
    result &= ~_long(result, most)
    return result & (result.mean(axis=0) <= RARE)


def _scales(x: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """(k,) deviation of what changes from sample to sample, largest usual distance from the middle, and least step."""
    noise = 1.4826 * np.median(np.abs(x[1:-1] - (x[:-2] + x[2:]) / 2), axis=0) / np.sqrt(1.5)
    size = np.quantile(np.abs(x - np.median(x, axis=0)), 1 - RARE, axis=0)
    steps = np.abs(np.diff(x, axis=0))
    return noise, size, np.min(np.where(steps > 0, steps, np.inf), axis=0, initial=np.inf)


def _beyond(x: NDArray) -> NDArray:
    """(n, k) distance of each value from what lies between the medians of its neighbours before and after."""
    n = len(x)
    padded = np.pad(x, ((NEIGHBOURS, NEIGHBOURS), (0, 0)), mode="reflect")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, NEIGHBOURS, axis=0), axis=-1)
    before, after = medians[:n], medians[NEIGHBOURS + 1 : NEIGHBOURS + 1 + n]
    beyond = np.maximum(np.maximum(x - np.maximum(before, after), np.minimum(before, after) - x), 0.0)
    beyond[[0, -1]] = 0.0  # one side alone tells nothing
    return beyond


def _outstanding(beyond: NDArray, candidates: Mask, times: float) -> Mask:
    """(n, k) candidates as many times beyond their neighbours as the others around them are, or more."""
    result = np.zeros(beyond.shape, dtype=bool)
    for j in np.flatnonzero(candidates.any(axis=0)):
        places = np.flatnonzero(candidates[:, j])
        if len(places) > RARE * len(beyond):
            continue
        others = np.where(candidates[:, j], 0.0, beyond[:, j])
        for i in places:
            result[i, j] = beyond[i, j] > times * others[max(i - AROUND, 0) : i + AROUND + 1].max()
    return result


def _frozen(log: Log) -> Mask:
    """(n, nq) samples in which everything stands still and then jumps to where it would be by now."""
    held = np.all(log.q[1:] == log.q[:-1], axis=1)
    for x in (log.v, log.tau, *(getattr(log, key) for key in DRIVE)):
        if x is not None:
            held &= np.all((x[1:] == x[:-1]) | np.isnan(x[1:]), axis=1)
    steps = np.abs(np.diff(log.q, axis=0))
    result = np.zeros(log.q.shape, dtype=bool)
    for start, stop in runs(held):
        if any(_jumps(steps[:, j], start, stop) for j in range(log.nq)):
            result[start + 1 : stop + 1] = True
    return result


def _jumps(steps: NDArray, start: int, stop: int) -> bool:
    """Whether steps (n - 1,) that are zero from `start` to `stop` follow motion, and end in a jump that makes up for
    them: of a joint that really stands, the first step is no larger than the next."""
    # repeats in a row that may be a frozen stretch
    if stop - start < 8 or start == 0 or stop >= len(steps) - 1 or not steps[start - 1]:
        return False
    before, after = (part[part > 0][-3:] for part in (steps[max(start - 20, 0) : start], steps[stop + 20 : stop : -1]))
    if not len(before) or not len(after):
        return False
    jump, typical = steps[stop], 0.5 * (np.median(before) + np.median(after)) * (stop - start + 1)
    # over the steps beside it, and over what the motion beside it makes in its time
    return bool(jump > 4.0 * max(before.max(), after.max()) and 0.3 < jump / typical < 3.0)
