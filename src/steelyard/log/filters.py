"""Low-pass filtering and differentiation of logs. Cutoffs are in Hz and mean Hz: the -3 dB point of the whole filter.

Every channel goes through the same zero-phase filter (`smoothers`), so both sides of `tau = Y theta` see the same one
and the equation still holds after it ("parallel filtering"; Gautier 1997).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.arguments import require_type
from steelyard.errors import LogError, OptionError
from steelyard.log import checks
from steelyard.log.automatic_cutoff import cutoff_for, torque_cutoff_for
from steelyard.log.decimate import decimate
from steelyard.log.frame_channels import changed
from steelyard.log.log import Log
from steelyard.log.motion_checks import FOLLOWS, RIGHT, velocity_over_slope
from steelyard.log.smoothers import BUTTERWORTH, derivatives, describe, order_of
from steelyard.log.stamps import restamp, segments
from steelyard.terms import COULOMB_WIDTH, motor_of, ratios_of

__all__ = ["cutoff_for", "decimate", "differentiate", "lowpass", "restamp", "torque_cutoff_for"]

_WRENCHES = ("wrenches", "external")  # filtered like torques, among other channels as "wrenches:LINK"


def lowpass(
    x: ArrayLike, t: ArrayLike | float, cutoff: float, *, smoother: str = BUTTERWORTH, order: int | None = None
) -> NDArray[np.float64]:
    """Zero-phase low-pass.

    x: (n,) or (n, k); t: time stamps (n,) in s, increasing, regular or not, or one number, the sampling rate in Hz;
    cutoff: -3 dB frequency, Hz; smoother, order: as for `differentiate`. Returns an array like x. Stretches between
    gaps are filtered each on its own. Raises LogError for a cutoff the sampling rate does not allow, or a stretch of
    fewer than `order + 2` samples.
    """
    x = np.asarray(x, dtype=np.float64)
    stamps = np.asarray(t, dtype=np.float64)
    stamps = np.arange(len(x)) / stamps if stamps.ndim == 0 else stamps
    if stamps.shape != x.shape[:1] or not np.all(np.diff(stamps) > 0):
        raise LogError(f"t must increase and have one stamp a sample; found shape {stamps.shape} for x {x.shape}")
    order = order_of(smoother, order)
    _require_cutoff(stamps, cutoff)
    result = np.empty_like(x)
    for part in segments(stamps):
        if part.stop - part.start < order + 2:
            raise LogError(f"only {part.stop - part.start} samples between gaps near t = {stamps[part][0]:.6g} s")
        columns = x[part].reshape(part.stop - part.start, -1)
        result[part] = derivatives(smoother, stamps[part], columns, cutoff, order, 0)[0].reshape(x[part].shape)
    return result


def differentiate(
    log: Log,
    cutoff: float | None = None,
    *,
    smoother: str = BUTTERWORTH,
    order: int | None = None,
    drop: int | None = None,
    filter_torque: bool = True,
    torque_cutoff: float | None = None,
    coulomb_width: float = COULOMB_WIDTH,
    coupling=(),
) -> Log:
    """Filter a log and fill in velocity and acceleration, at the log's own time stamps.

    cutoff: -3 dB frequency, Hz, of positions and velocities; None chooses it from the log (`cutoff_for`).
    smoother: "butterworth", "kalman" or "savgol". order: of the Butterworth filter, run both ways (4); degree of the
        Savitzky-Golay filter's polynomials (6).
    drop: samples left out at either end of every stretch between gaps (steps over 5 median steps), where the filter has
        only one side to look at; by default one period of the cutoff, `round(rate / cutoff)`.
    filter_torque: False leaves tau and wrenches as measured. torque_cutoff: Hz, of tau, wrenches and the direction of
        motion; None: `cutoff`, or, where the log chooses that, 10 Hz and at most a sixth of the rate
        (`torque_cutoff_for`). Torques hold harmonics of the motion, which a cutoff close above it takes from them and
        not from the regressor.
    coulomb_width: half-width of standstill for the direction of motion.
    coupling: joints that share a motor, as in `accumulate`, so that its direction is filtered, too.

    q and inertial sensors are filtered; v is the filtered measurement if the log has one that is its rate, else the
    derivative of the filtered q; a is the derivative of that v, and replaces an acceleration in the log. The direction
    of motion, `tanh(v / coulomb_width)`, passes the same filter as the torque, so that Coulomb friction is compared
    like with like. With quaternions in q (nq != nv) the log must have v, and q stays as measured. Raises LogError for
    data that cannot be filtered (see `checks`), a cutoff of half the sampling rate or more, or when no stretch is long
    enough.
    """
    require_type(Log, log=log)
    require_type(Real | None, cutoff=cutoff, torque_cutoff=torque_cutoff)
    _require_filterable(log)
    order = order_of(smoother, order)
    torque_cutoff = torque_cutoff_for(log, cutoff, torque_cutoff)
    cutoff = cutoff_for(log, cutoff, smoother=smoother, order=order)
    _require_cutoff(log.t, cutoff)
    _require_cutoff(log.t, torque_cutoff)
    shared = _shared(log, coupling)
    drop = round(log.rate / cutoff) if drop is None else drop
    if drop < 0:
        raise OptionError(f"drop={drop}: the number of samples to leave out at each end is 0 or more")
    stretches = segments(log.t)
    usable = [part for part in stretches if part.stop - part.start > max(2 * drop, 2 * order)]
    if not usable:
        longest = max(part.stop - part.start for part in stretches)
        raise LogError(
            f"log {log.name!r}: the longest stretch without a gap has {longest} samples; filtering at {cutoff:g} Hz "
            f"needs more than {max(2 * drop, 2 * order)}. Use a higher cutoff or a longer log"
        )
    kept = [slice(part.start + drop, part.stop - drop) for part in usable]
    filtering = partial(derivatives, smoother, order=order)
    motions = [_motions(log, part, partial(filtering, cutoff=cutoff)) for part in usable]
    unlike = _unlike(log, motions)
    options = ("q" if unlike or log.v is None else "v", partial(filtering, cutoff=torque_cutoff), coulomb_width, shared)
    parts = [_filtered(log, *each, *options) for each in zip(usable, kept, motions, strict=True)]
    whole = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    rows = np.concatenate([np.arange(keep.start, keep.stop) for keep in kept])
    wrenches = {key: {link: whole.pop(f"{key}:{link}") for link in getattr(log, key)} for key in _WRENCHES}
    sensors = {"imu": {frame: whole.pop(f"imu:{frame}") for frame in log.imu}}
    bandwidth = log.bandwidth
    if filter_torque:
        bandwidth = log.narrowed(torque_cutoff)
    else:
        whole.pop("tau", None)
        whole.pop("direction")
        whole.pop("shared_direction", None)
        wrenches = changed(log, lambda wrench: wrench[rows], _WRENCHES)
    ends = "each end" if len(usable) == 1 else f"each end of {len(usable)} stretches"
    left_out = f"{len(log) - len(rows)} of {len(log)} samples left out ({drop} at {ends})"
    if len(usable) < len(stretches):
        left_out += f"; {len(stretches) - len(usable)} stretches between gaps were too short"
    apart = f" ({torque_cutoff:.6g} Hz for torques)" if filter_torque and torque_cutoff != cutoff else ""
    filtered = ", ".join(key for key in ("q", "v", "tau") if key in whole)
    how = f"{filtered}: {describe(smoother, order)}, -3 dB at {cutoff:.6g} Hz{apart}; {left_out}"
    whole |= wrenches | sensors | {"direction_width": coulomb_width, "bandwidth": bandwidth}
    motors = shared if "shared_direction" in whole else ()
    return log[rows].replace(**whole, shared=motors).noted(how, *_origin(log, unlike))


def _motions(log: Log, part: slice, filtering: Callable[..., NDArray]) -> dict[str, NDArray[np.float64]]:
    """(3, n, k) signals of motion of a stretch, smoothed, and their first two derivatives."""
    signals = {"q": log.q if log.nq == log.nv else None, "v": log.v} | {f"imu:{at}": x for at, x in log.imu.items()}
    signals = {key: np.asarray(value[part]) for key, value in signals.items() if value is not None}
    return _split(signals, filtering(log.t[part], np.concatenate(list(signals.values()), axis=1), count=2))


def _split(signals: Mapping[str, NDArray], together: NDArray) -> dict[str, NDArray[np.float64]]:
    """Signals made together, side by side, each under its name again."""
    ends = np.cumsum([value.shape[1] for value in signals.values()])[:-1]
    return dict(zip(signals, np.split(together, ends, axis=-1), strict=True))


def _filtered(
    log: Log,
    part: slice,
    keep: slice,
    motions: Mapping[str, NDArray[np.float64]],
    moving: str,
    torque_filtering: Callable[..., NDArray],
    coulomb_width: float,
    shared,
) -> dict[str, NDArray[np.float64]]:
    """moving: "v" or "q", of which acceleration is a derivative."""
    inner = slice(keep.start - part.start, keep.stop - part.start)
    torques = {"tau": log.tau} | {f"{key}:{link}": x for key in _WRENCHES for link, x in getattr(log, key).items()}
    torques = {key: np.asarray(value[part]) for key, value in torques.items() if value is not None}
    speed, acceleration = motions[moving][:2] if moving == "v" else motions[moving][1:]
    result = {key: value[0][inner] for key, value in motions.items()} | {"v": speed[inner], "a": acceleration[inner]}
    motors = [sum(ratio * speed[:, log.column(joint)] for joint, ratio in motor) for motor in shared]
    torques["direction"] = np.tanh(np.column_stack([speed, *motors]) / coulomb_width)
    values = torque_filtering(log.t[part], np.concatenate(list(torques.values()), axis=1), count=0)[0][inner]
    result |= _split(torques, values)
    if motors:
        result["direction"], result["shared_direction"] = np.split(result["direction"], [log.nv], axis=1)
    return result


def _shared(log: Log, coupling) -> tuple[tuple[tuple[str, float], ...], ...]:
    """Motors of `Log.shared`. Raises OptionError, or LogError for a joint that the log does not have."""
    groups = (coupling,) if isinstance(coupling, str | Mapping) else coupling
    motors = tuple(motor_of(ratios_of(group, log.labels)) for group in groups)
    for motor in motors:
        for joint, _ in motor:
            log.column(joint)
    return motors


def _require_filterable(log: Log) -> None:
    checks.require_filterable(log, "filtered")
    if log.nq != log.nv and log.v is None:
        raise LogError(
            f"log {log.name!r}: q has {log.nq} columns for {log.nv} freedoms, so it holds quaternions, whose "
            "derivative is not a velocity. Give v (body-frame angular velocity for ball and floating joints) in the log"
        )


def _require_cutoff(t: NDArray[np.float64], cutoff: float) -> None:
    highest = 0.5 / float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    if not 0 < cutoff < highest:
        raise LogError(
            f"cutoff {cutoff:g} Hz: at a sampling rate of {2 * highest:.6g} Hz it must lie above 0 and below "
            f"{highest:.6g} Hz"
        )


def _unlike(log: Log, motions: list[dict[str, NDArray[np.float64]]]) -> str:
    """How velocities are no rate of positions: late, as of a driver that filters differences of them, or off by a
    factor; "" where they are, or are late by no more than a sample, as those of simulations, or else apart."""
    if log.v is None or log.q is None or log.nq != log.nv:
        return ""
    ratio, correlation = velocity_over_slope(log)
    off = (np.abs(correlation) > FOLLOWS) & ~((ratio > RIGHT[0]) & (ratio < RIGHT[1]))
    if off.any():
        return f"is {ratio[int(np.argmax(off))]:.4g} times as large"
    change = np.concatenate([each["q"][2] for each in motions])
    behind = np.concatenate([each["q"][1] - each["v"][0] for each in motions])
    moving, apart = np.sum(change**2, axis=0), np.sum(behind**2, axis=0)
    shared = np.sum(change * behind, axis=0)
    seen = (moving > 0) & (apart > 0)
    if not seen.any() or np.mean(shared[seen] ** 2 / (moving[seen] * apart[seen])) < 0.5:  # that a delay explains
        return ""
    late = float(np.median(shared[seen] / moving[seen]))
    return f"comes {1000 * late:.2g} ms late" if late > 1 / log.rate else ""


def _origin(log: Log, unlike: str) -> Iterator[str]:
    if unlike:
        yield f"v: derivative of the filtered q, as that of the log {unlike}"
    else:
        yield "v: filtered measurement" if log.v is not None else "v: derivative of the filtered q"
    yield "a: derivative of v" + ("; the logged acceleration was not used" if log.a is not None else "")
    if log.nq != log.nv:
        yield "q: holds quaternions and was left as measured"
