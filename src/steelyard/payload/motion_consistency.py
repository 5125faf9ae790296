"""Do the motion signals of a wrench log belong together? Tests that need neither the wrench nor a payload.

Angular velocity is integrated and compared with the turns of the rotation stream, accelerations with the changes of the
twist, over windows of a fraction of a second, in which gravity adds up and noise does not. A signal that does not fit
is read in the other ways that users have of writing it; the one that fits is named with its remedy.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.inertia.rotation import to_vector
from steelyard.log import Finding
from steelyard.log.findings import fatal
from steelyard.log.kalman import SHORTEST
from steelyard.log.stamps import segments
from steelyard.payload.motion_signals import motion_from_poses
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.spatial import cross, rotate

STREAM = 0.2  # s between samples of one motion; slower lists are poses held at rest
WINDOW = 0.15  # s, of the integrals: a turn at 2 rad/s stays a small one, and 50 N s of gravity per kg stand out
LOOKED_AT = 4000  # samples of a long log
TURNS, PUSHES, SPINS = 0.1, 0.3, 0.5  # rad/s, m/s^2 and rad/s^2: slower motions are not compared
REST = 0.1  # rad/s: half a metre from the axis, stopping within a second is half a per cent of gravity

_OF_THE_POINT = "`cross(angular velocity, velocity)` off"
_LINEAR = {  # readings of the linear acceleration: times gravity to add, times the velocity's turning to take off
    f"is that of the point (classical): take {_OF_THE_POINT}, or use WrenchLog.from_world_axes": (0, 1),
    f"contains gravity, as accelerometers (IMUs) measure it: add log.gravity_in_sensor, and take {_OF_THE_POINT}": (
        1,
        1,
    ),
    "contains gravity: add log.gravity_in_sensor": (1, 0),
    "contains gravity with the sign turned: take log.gravity_in_sensor off": (-1, 0),
    f"contains gravity with the sign turned: take log.gravity_in_sensor off, and {_OF_THE_POINT}": (-1, 1),
}


def streamed(log: WrenchLog) -> bool:
    """Whether samples are close enough in time to be one motion; a list of poses held at rest has nothing to filter."""
    return len(log) > 2 and float(np.median(np.diff(log.t))) < STREAM


def turning_rate(log: WrenchLog) -> NDArray[np.float64]:
    """(n,) rad/s at which the rotations turn around each sample, from windows that noise of poses does not fill."""
    rate = np.zeros(len(log))
    for part in segments(log.t):
        first, last = _around(log.t[part])
        R = log.rotation[part]
        span = np.maximum(log.t[part][last] - log.t[part][first], 1e-9)
        rate[part] = np.linalg.norm(_turn(R[first], R[last]), axis=1) / span
    return rate


def with_motion(log: WrenchLog, fewest: int) -> WrenchLog:
    """A log that may be fitted. Without motion signals that is a list of poses, taken as it is; of a stream in which
    the sensor turns the motion comes from its poses, and where there are no positions the samples at rest are left.

    Raises LogError where fewer than `fewest` samples are at rest: gravity alone does not explain the others.
    """
    if log.moving or not streamed(log):
        return log
    rate = turning_rate(log)
    still = rate < REST
    if still.all():
        return log
    if log.position is not None and len(log) >= SHORTEST:
        return motion_from_poses(log)
    if np.count_nonzero(still) < fewest:
        raise LogError(
            f"{log.name}: the sensor turns at up to {rate.max():.3g} rad/s, and the log has no twist and acceleration, "
            "without which its samples count as poses at rest. Give them, or the sensor's position "
            "(sy.payload.filter_motion makes them from poses), or stop at each pose"
        )
    return log[still].noted(f"{np.count_nonzero(~still)} of {len(log)} samples left out: the sensor turns there")


def motion_findings(log: WrenchLog) -> Iterator[Finding]:
    """What in rotation, twist and acceleration does not belong together."""
    if log.twist is None or log.acceleration is None or not streamed(log):
        return
    pairs = _pairs(log[:LOOKED_AT])
    if pairs is None:
        return
    turns = list(_turns(*pairs))
    yield from turns or (*_pushes(*pairs), *_spins(*pairs))


def _pairs(log):
    """The log, and starts, ends (k,) and integration from start to end of windows within it; None where none fits."""
    step = float(np.median(np.diff(log.t)))
    reach = max(2, round(WINDOW / step))
    parts = [part for part in segments(log.t) if part.stop - part.start > 2 * reach]
    if not parts:
        return None
    first = np.concatenate([np.arange(part.start, part.stop - reach) for part in parts])
    last = first + reach

    def integral(x):
        trapezes = np.diff(log.t)[:, None] * (x[1:] + x[:-1]) / 2
        total = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(trapezes, axis=0)])
        return total[last] - total[first]

    return log, first, last, integral, float(np.mean(log.t[last] - log.t[first]))


def _turns(log, first, last, integral, window):
    """Angular velocity against the rotations."""
    R = log.rotation
    turned, given = _turn(R[first], R[last]), integral(log.twist[:, 3:])
    if max(_rms(turned), _rms(given)) < TURNS * window or _apart(turned, given) < THRESHOLDS.same_motion:
        return
    to_start = R[first].transpose(0, 2, 1)
    readings = {
        "is in world axes: use WrenchLog.from_world_axes (--axes world)": rotate(to_start, given),
        "is in degrees per second: multiply by pi / 180": np.radians(given),
        "has its sign turned, or rotation is sensor_from_world: pass its transpose": -given,
    }
    size = f"{_rms(turned) / window:.3g} rad/s"
    yield from _mismatch("angular velocity", "the rotations", turned, given, readings, size, THRESHOLDS.unrelated_rate)


def _pushes(log, first, last, integral, window):
    """Linear acceleration against the velocity."""
    twist, acceleration = log.twist, log.acceleration
    change, given = twist[last, :3] - twist[first, :3], integral(acceleration[:, :3])
    if max(_rms(change), _rms(given)) < PUSHES * window or _apart(change, given) < THRESHOLDS.same_motion:
        return
    gravity, turning = integral(log.gravity_in_sensor), integral(cross(twist[:, 3:], twist[:, :3]))
    readings = {words: given + g * gravity - c * turning for words, (g, c) in _LINEAR.items()}
    readings["has its sign turned"] = -given
    size = f"{_rms(change) / window:.3g} m/s^2"
    yield from _mismatch(
        "linear acceleration", "the velocity", change, given, readings, size, THRESHOLDS.unrelated_acceleration
    )


def _spins(log, first, last, integral, window):
    """Angular acceleration against the angular velocity."""
    change, given = log.twist[last, 3:] - log.twist[first, 3:], integral(log.acceleration[:, 3:])
    if max(_rms(change), _rms(given)) < SPINS * window or _apart(change, given) < THRESHOLDS.same_motion:
        return
    readings = {
        "is in degrees per second squared: multiply by pi / 180": np.radians(given),
        "has its sign turned": -given,
    }
    size = f"{_rms(change) / window:.3g} rad/s^2"
    yield from _mismatch(
        "angular acceleration", "the angular velocity", change, given, readings, size, THRESHOLDS.unrelated_acceleration
    )


def _mismatch(signal, other, expected, given, readings, size, unrelated) -> Iterator[Finding]:
    """The reading of a signal that fits the other one; beyond a mismatch of `unrelated`, that it does not fit."""
    left = {words: _rms(expected - reading) for words, reading in readings.items()}
    best, wrong = min(left, key=lambda words: left[words]), _apart(expected, given)
    if left[best] < THRESHOLDS.other_reading * _rms(expected - given):
        yield fatal("misread", f"the {signal} {best} (it is {100 * wrong:.0f} % off the change of {other})")
    elif wrong > unrelated:
        yield fatal(
            "motion",
            f"the {signal} is not that of {other}, which change by {size}: they differ by {100 * wrong:.0f} %. "
            "Are they of one frame and one clock, in rad, m and s?",
        )


def _turn(R, S):
    """(n, 3) rotation vectors from rotations R to S, in axes of R."""
    return to_vector(R.transpose(0, 2, 1) @ S)


def _around(t):
    """For each sample the first and last that are within half a window."""
    return np.searchsorted(t, t - WINDOW / 2), np.searchsorted(t, t + WINDOW / 2, "right") - 1


def _apart(a, b) -> float:
    return _rms(a - b) / max(_rms(a), _rms(b), 1e-300)


def _rms(x) -> float:
    return float(np.sqrt(np.mean(np.sum(x * x, axis=1))))
