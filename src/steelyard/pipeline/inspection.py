"""`inspect`: everything that can be said about a log before anything is identified from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.cards import Card
from steelyard.decisions.fit_plan import FitPlan
from steelyard.decisions.rules import shapes, standstill
from steelyard.diagnose import Fault, delays, diagnose, position_offsets
from steelyard.diagnose.case import case_of
from steelyard.diagnose.hypotheses.delay import UNSURE
from steelyard.errors import FitError, LogError
from steelyard.fit import consistent, posterior
from steelyard.information import accumulate
from steelyard.job import Job
from steelyard.log import Finding, Log
from steelyard.log.automatic_cutoff import acceleration_noise, highest_cutoff, quantum, torque_cutoff_for
from steelyard.log.stamps import gaps, segments
from steelyard.model import Robot
from steelyard.pipeline.posterior_of_logs import tried
from steelyard.pipeline.recording_costs import costs
from steelyard.prepare import Prepared, prepare
from steelyard.prepare.prepared import filterable

#: Third difference of white noise of unit variance has this standard deviation: 1 + 9 + 9 + 1 under the root.
_THIRD = np.sqrt(20.0)
LONG = 100_000  # samples that show noise and steps; of a longer log no more are looked at for these
_NORMAL = 0.6745  # median absolute value of a normal variable


@dataclass(frozen=True)
class Signal:
    """channel: q, v, a or tau. smallest, largest, rms, noise, quantum: in SI units; quantum is None for a signal
    without steps. noise: standard deviation of what changes from sample to sample."""

    channel: str
    joint: str
    smallest: float
    largest: float
    rms: float
    noise: float
    quantum: float | None


def signals(log: Log) -> tuple[Signal, ...]:
    """Every column of a log, channel by channel."""
    part = max(segments(log.t), key=lambda part: part.stop - part.start)
    found = []
    for channel in ("q", "v", "a", "tau"):
        values = getattr(log, channel)
        if values is None:
            continue
        labels = log.labels if values.shape[1] == log.nv else [f"column {i + 1}" for i in range(values.shape[1])]
        values = np.asarray(values)[part]
        ends = values.min(axis=0), values.max(axis=0), np.sqrt(np.einsum("nk,nk->k", values, values) / len(values))
        shown = np.ascontiguousarray(values[:LONG].T)
        found += [
            Signal(channel, label, float(low), float(high), float(rms), white_noise(x), quantum(x))
            for label, low, high, rms, x in zip(labels, *ends, shown, strict=True)
        ]
    return tuple(found)


def white_noise(x: NDArray[np.float64]) -> float:
    """Standard deviation of white noise in x (n,): the median size of its third differences, which smooth motion does
    not reach. A quantised signal that moves slowly looks better than it is: see `quantum`."""
    if len(x) < 4:
        return 0.0
    return float(np.median(np.abs(np.diff(x, n=3))) / (_NORMAL * _THIRD))


PARTS = 10  # stretches of equal number of samples
STILL = 0.05  # of a joint's RMS speed, below which it hardly moves
SHORTEST = 0.05  # share of a log that an idle end must take to be worth a word


def shares(v: ArrayLike) -> NDArray[np.float64]:
    """(parts, nv) RMS speed in each tenth of a log over that of the whole, 1 for even motion. v: (n, nv)."""
    v = np.asarray(v, dtype=np.float64)
    whole = np.sqrt(np.mean(v**2, axis=0))
    parts = np.array([np.sqrt(np.mean(part**2, axis=0)) for part in np.array_split(v, min(PARTS, len(v)))])
    return parts / np.where(whole > 0, whole, 1.0)


def idle_ends(log: Log) -> Iterator[Finding]:
    """A start or an end in which no joint moves, which fits do not mind, but splits do. log: with v."""
    (v,) = log.require("v")
    rms = np.sqrt(np.mean(v**2, axis=0))
    moving = np.flatnonzero((np.abs(v) > STILL * rms).any(axis=1))
    if not len(moving):
        return
    first, last = log.t[moving[0]], log.t[moving[-1]]
    for code, place, length in (("idle_start", "first", first - log.t[0]), ("idle_end", "last", log.t[-1] - last)):
        if length > SHORTEST * log.duration:
            held = " It is what --validation holds out: give a smaller share, or cut it off." if place == "last" else ""
            yield Finding(
                code,
                "warning",
                f"No joint moves in the {place} {length:.3g} s of {log.duration:.3g} s: "
                f"cut them off with log[(log.t >= {first:.6g}) & (log.t <= {last:.6g})].{held}",
            )


NOISY = 0.04  # RMS of noise in an acceleration over its motion, at the cutoff that `identify` takes by itself
SLOW = 1e-2  # rad/s or m/s: below, a joint counts as standing still


@dataclass(frozen=True, repr=False)
class RecordedMotion(Card):
    """How a joint moved. speed, acceleration: RMS of the filtered motion."""

    joint: str
    span: float  # rad or m
    speed: float
    acceleration: float
    moving: float  # share of the time above 0.01 rad/s or m/s
    reversals: int  # changes of direction
    tenths: tuple[float, ...]  # RMS speed in each tenth of the log, over `speed`


@dataclass(frozen=True, repr=False)
class Inspection(Card):
    """name, samples, duration [s], rate [Hz], jitter (spread of the steps over their median), gaps (start, length), s;
    None where time stamps do not tell.

    torque_cutoff: Hz of torques beside it; None when they cannot be told. With a model, of the joints whose torques
    tell, with standard deviations: delays, s, positive for torque that comes late; zeros, rad or m that positions lack.
    """

    name: str
    samples: int
    duration: float | None
    rate: float | None
    jitter: float | None
    gaps: tuple[tuple[float, float], ...]
    cutoff: float | None  # Hz that the spectrum asks for
    torque_cutoff: float | None
    signals: tuple[Signal, ...]
    motion: tuple[RecordedMotion, ...]
    delays: dict[str, tuple[float, float]]
    zeros: dict[str, tuple[float, float]]
    findings: tuple[Finding, ...]  # mistakes in words with what to do
    faults: tuple[Fault, ...]  # those that a model shows
    notes: tuple[str, ...]


def inspect(log: Log, robot: Robot | None = None) -> Inspection:
    """Inspect a log; with a robot also delays, zeros of joints and mistakes that only a model shows.

    Never refuses a log for its content: what cannot be computed is left out and said in the notes. Raises LogError for
    a log of fewer than two samples.
    """
    found = prepare(log, robot, refuse=False)
    notes = list(found.notes)
    shown = _against(robot, found, notes) if robot is not None and log.tau is not None and found.filtered else {}
    seen = health(log, findings=found.findings, ready=found.filtered, cutoff=found.cutoff)
    return replace(seen, **shown, notes=(*seen.notes, *notes))


def health(log: Log, *, findings: Sequence[Finding], ready: Log | None = None, cutoff: float | None = None):
    """What can be said of a log without a model. findings: of `checks.check`; ready: filtered, whose motion is
    described; cutoff: of `spectral_cutoff`. Raises LogError for fewer than two samples."""
    if len(log) < 2:
        raise LogError(f"log {log.name!r} has {len(log)} samples; at least 2 are needed to say anything of it")
    usable, steps = filterable(findings), np.diff(log.t[np.isfinite(log.t)])
    step = float(np.median(steps)) if len(steps) else 0.0
    rate = 1 / step if step > 0 else None
    holes = gaps(log.t) if usable else np.zeros(0, dtype=int)
    channels = signals(log) if usable else ()
    moved = _motion(ready) if ready is not None and ready.nq == ready.nv else ()
    return Inspection(
        name=log.name,
        samples=len(log),
        duration=float(np.sum(steps)) if len(steps) else None,
        rate=rate,
        jitter=None if rate is None else float(np.std(np.delete(steps, holes)) * rate),
        gaps=tuple((float(log.t[i]), float(steps[i])) for i in holes),
        cutoff=cutoff,
        torque_cutoff=None if cutoff is None else torque_cutoff_for(log),
        signals=channels,
        motion=moved,
        delays={},
        zeros={},
        findings=(
            *findings,
            *_resolution(log, channels, moved, cutoff, findings),
            *(idle_ends(ready) if ready else ()),
        ),
        faults=(),
        notes=tuple(log.notes),
    )


def _motion(log: Log) -> tuple[RecordedMotion, ...]:
    q, v, a = log.require("q", "v", "a")
    span = np.max(q, axis=0) - np.min(q, axis=0)
    speed, change = (np.sqrt(np.einsum("nk,nk->k", x, x) / len(x)) for x in (v, a))
    spread, found = shares(v), []
    for j, joint in enumerate(log.labels):
        column = np.ascontiguousarray(v[:, j])
        forward = column[np.abs(column) > SLOW] > 0
        found.append(
            RecordedMotion(
                joint=joint,
                span=float(span[j]),
                speed=float(speed[j]),
                acceleration=float(change[j]),
                moving=len(forward) / len(v),
                reversals=int(np.count_nonzero(forward[1:] != forward[:-1])),
                tenths=tuple(spread[:, j].tolist()),
            )
        )
    return tuple(found)


def _against(robot: Robot, found: Prepared, notes: list[str]) -> dict[str, Any]:
    """Delay of each joint's torque, zeros of the joints, and the faults that a physically consistent fit shows."""
    if any(finding.severity == "fatal" for finding in found.findings):
        notes.append("not compared with the model: the log cannot be used as it is")
        return {}
    if not len(found.clear):
        return {}
    try:
        estimate = consistent(accumulate(robot, found.clear, armature=True))
        case = case_of(estimate, [found.clear])
        faults = diagnose(estimate, found.clear, case=case).faults
        late = delays(case).by_name(robot.dof_names, UNSURE)
        plan = FitPlan(Job("", ()), robot, (replace(found, log=found.clear),), posterior)
        faults, unworthy = tried(faults, plan.decided((standstill, shapes)))
        notes.extend(unworthy)
        if not any(fault.severity == "fatal" for fault in faults):
            faults = (*faults, *costs(estimate, found))
    except FitError as error:
        notes.append(f"not compared with the model: {error}")
        return {}
    meaningless = any(fault.severity == "fatal" for fault in faults)
    off = {} if meaningless else position_offsets(case).by_name(robot.dof_names)
    return {"delays": late, "zeros": off, "faults": faults}


def _resolution(
    log: Log,
    channels: Sequence[Signal],
    moved: Sequence[RecordedMotion],
    cutoff: float | None,
    findings: Sequence[Finding],
):
    """Positions whose steps or noise would make most of the acceleration, were it not filtered lower than usual."""
    if cutoff is None or not moved or any(finding.code == "degrees" for finding in findings):
        return
    usual = highest_cutoff(log)
    positions = [signal for signal in channels if signal.channel == "q"]
    for signal, motion in zip(positions, moved, strict=True):
        step = signal.quantum or 0.0
        level = max(signal.noise, step / np.sqrt(12))
        noise, own = (acceleration_noise(level, log.rate, each) for each in (usual, cutoff))
        moving = np.sqrt(max(motion.acceleration**2 - own**2, 0.0))
        if noise < NOISY * moving or noise == 0:
            continue
        stepped = step > signal.noise
        what = f"come in steps of {step:.3g}" if stepped else f"have noise of {signal.noise:.3g}"
        yield Finding(
            "coarse_position" if stepped else "noisy_position",
            "warning",
            f"Positions of {signal.joint} {what}: filtered at {usual:.3g} Hz, acceleration has noise of {noise:.2g} "
            f"beside {moving:.2g} of motion, {own:.2g} at {cutoff:.3g} Hz, therefore the cutoff. Log the motor's "
            "encoder rather than rounded values, or move faster.",
        )
