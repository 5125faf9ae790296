"""`inspect`: everything that can be said about a log before anything is identified from it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from steelyard.diagnose import Fault, case_of, delays, diagnose, position_offsets
from steelyard.errors import FitError, LogError
from steelyard.fit import consistent
from steelyard.information import accumulate
from steelyard.log import (
    Finding,
    Log,
    acceleration_noise,
    checks,
    cutoff_for,
    filters,
    gaps,
    highest_cutoff,
    masked,
    saturated,
    torque_cutoff_for,
)
from steelyard.model import Robot
from steelyard.pipeline.cutoff_costs import costs
from steelyard.pipeline.excitation import idle_ends, shares
from steelyard.pipeline.signal import Signal, signals

NOISY = 0.04  # RMS of noise in an acceleration over its motion, at the cutoff that `identify` takes by itself
SLOW = 1e-2  # rad/s or m/s: below, a joint counts as standing still
UNUSABLE = ("not_finite", "time_order", "time_duplicate", "few_samples", "no_velocity")  # no filter takes such logs


@dataclass(frozen=True)
class Motion:
    """How a joint moved. span: rad or m. speed, acceleration: RMS of the filtered motion. moving: share of the time
    above 0.01 rad/s or m/s. reversals: changes of direction. tenths: RMS speed in each tenth of the log, over
    `speed`."""

    joint: str
    span: float
    speed: float
    acceleration: float
    moving: float
    reversals: int
    tenths: tuple[float, ...]


@dataclass(frozen=True)
class Inspection:
    """name, samples, duration [s], rate [Hz], jitter (spread of the steps over their median), gaps (start, length), s.

    cutoff: Hz that the spectrum asks for, torque_cutoff: Hz of torques beside it; None when they cannot be told. With a
    model, of the joints whose torques tell, with standard deviations: delays, s, positive for torque that comes late;
    zeros, rad or m that positions lack. findings: mistakes in words with what to do; faults: those that a model
    shows.
    """

    name: str
    samples: int
    duration: float
    rate: float
    jitter: float
    gaps: tuple[tuple[float, float], ...]
    cutoff: float | None
    torque_cutoff: float | None
    signals: tuple[Signal, ...]
    motion: tuple[Motion, ...]
    delays: dict[str, tuple[float, float]]
    zeros: dict[str, tuple[float, float]]
    findings: tuple[Finding, ...]
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict:
        """Plain numbers, texts, lists and dictionaries."""
        return asdict(self)


def inspect(log: Log, robot: Robot | None = None) -> Inspection:
    """Inspect a log; with a robot also delays, zeros of joints and mistakes that only a model shows.

    Never refuses a log for its content: what cannot be computed is left out and said in the notes. Raises LogError for
    a log of fewer than two samples.
    """
    findings, notes = tuple(checks.check(log, robot)), []
    ready, shown = None, {}
    cutoff = cutoff_of(log, findings)
    if cutoff is not None:
        try:
            ready = filters.differentiate(log, cutoff=cutoff, torque_cutoff=torque_cutoff_for(log))
        except LogError as error:
            notes.append(f"motion not analysed: {error}")
    if ready is not None and cutoff is not None and robot is not None and log.tau is not None:
        band = torque_cutoff_for(log)
        clear = masked(ready, log, saturated(log), band)  # clipped torques look like many other mistakes
        if len(clear):
            shown = _against(robot, log, ready, clear, findings, notes)
    found = health(log, findings=findings, ready=ready, cutoff=cutoff)
    return replace(found, **shown, notes=(*found.notes, *notes))


def health(log: Log, *, findings: Sequence[Finding], ready: Log | None = None, cutoff: float | None = None):
    """What can be said of a log without a model, as an Inspection. findings: of `checks.check`; ready: the log with
    filtered v and a, whose motion is described; cutoff: of `cutoff_of`. Raises LogError for fewer than two samples."""
    rate, steps, usable = log.rate, np.diff(log.t), _usable(findings)
    holes = gaps(log.t) if usable else np.zeros(0, dtype=int)
    channels = signals(log) if usable else ()
    moved = _motion(ready) if ready is not None and ready.nq == ready.nv else ()
    return Inspection(
        name=log.name,
        samples=len(log),
        duration=log.duration,
        rate=rate,
        jitter=float(np.std(np.delete(steps, holes)) * rate),
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


def cutoff_of(log: Log, findings: Sequence[Finding]) -> float | None:
    """Hz that the spectrum of a log asks for; None where it cannot be told."""
    return cutoff_for(log) if _usable(findings) else None


def _usable(findings: Sequence[Finding]) -> bool:
    return not any(each.code in UNUSABLE for each in findings)


def _motion(log: Log) -> tuple[Motion, ...]:
    q, v, a = log.require("q", "v", "a")
    span = np.max(q, axis=0) - np.min(q, axis=0)
    speed, change = (np.sqrt(np.einsum("nk,nk->k", x, x) / len(x)) for x in (v, a))
    spread, found = shares(v), []
    for j, joint in enumerate(log.labels):
        column = np.ascontiguousarray(v[:, j])
        forward = column[np.abs(column) > SLOW] > 0
        found.append(
            Motion(
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


def _against(
    robot: Robot, raw: Log, ready: Log, clear: Log, findings: Sequence[Finding], notes: list[str]
) -> dict[str, Any]:
    """Delay of each joint's torque, zeros of the joints, and the faults that a physically consistent fit shows. ready:
    the log with v and a; clear: away from clipped torques."""
    try:
        estimate = consistent(accumulate(robot, clear, armature=True))
        case = case_of(estimate, [clear])
        faults = diagnose(estimate, clear, case=case).faults
        late = delays(case).by_name(robot.dof_names)
        if not any(fault.severity == "fatal" for fault in faults):
            faults = (*faults, *costs(estimate, raw, ready, findings))
    except FitError as error:
        notes.append(f"not compared with the model: {error}")
        return {}
    meaningless = any(fault.severity == "fatal" for fault in faults)
    off = {} if meaningless else position_offsets(case).by_name(robot.dof_names)
    return {
        "delays": late,
        "zeros": off,
        "faults": faults,
    }


def _resolution(
    log: Log, channels: Sequence[Signal], moved: Sequence[Motion], cutoff: float | None, findings: Sequence[Finding]
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
