"""Do the motion signals of a wrench log belong together? Tests that need neither the wrench nor a payload.

Angular velocity is integrated and compared with the turns of the rotation stream, accelerations with the changes of the
twist, over windows of a fraction of a second, in which gravity adds up and noise does not. A signal that does not fit
is read in the other ways that users have of writing it; the one that fits is named with its remedy.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.log import Finding
from steelyard.log.findings import fatal
from steelyard.log.kalman import SHORTEST
from steelyard.log.stamps import segments
from steelyard.payload.motion_signals import motion_from_poses
from steelyard.payload.thresholds import IN_A_ROW, THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.spatial import cross, rotate, rotation_vector

STREAM = 0.2  # s between samples of one motion; slower lists are poses held at rest
WINDOW = 0.15  # s, of the integrals: a turn at 2 rad/s stays a small one, and 50 N s of gravity per kg stand out
TURNS, PUSHES, SPINS = (0.1, "rad/s"), (0.3, "m/s^2"), (0.5, "rad/s^2")  # slower motions are not compared

_OF_THE_POINT = "`cross(angular velocity, velocity)` off"
_IMU = "contains gravity, as accelerometers (IMUs) measure it: add log.gravity_in_sensor"
_LINEAR = {  # readings of the linear acceleration: times gravity to add, times the velocity's turning to take off
    f"is that of the point (classical): take {_OF_THE_POINT}, or use WrenchLog.from_world_axes": (0, 1),
    f"{_IMU}, and take {_OF_THE_POINT}": (1, 1),
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
        t, R = log.t[part], log.rotation[part]
        first, last = np.searchsorted(t, t - WINDOW / 2), np.searchsorted(t, t + WINDOW / 2, "right") - 1
        span = np.maximum(t[last] - t[first], 1e-9)
        rate[part] = np.linalg.norm(_turn(R[first], R[last]), axis=1) / span
    return rate


def with_motion(log: WrenchLog, fewest: int) -> WrenchLog:
    """A log that may be fitted: a list of poses as it is; of a stream in which the sensor turns the motion comes from
    its poses, or the samples at rest are left. Raises LogError where fewer than `fewest` are."""
    if log.moving or not streamed(log):
        return log
    rate = turning_rate(log)
    still = rate < TURNS[0]  # half a metre from the axis, stopping within a second is half a per cent of gravity
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
    """What in rotation, twist and acceleration does not belong together, over windows within the log."""
    log = log[:IN_A_ROW]
    twist, acceleration = log.twist, log.acceleration
    if twist is None or acceleration is None or not streamed(log):
        return
    reach = max(2, round(WINDOW / float(np.median(np.diff(log.t)))))
    parts = [part for part in segments(log.t) if part.stop - part.start > 2 * reach]
    if not parts:
        return
    first = np.concatenate([np.arange(part.start, part.stop - reach) for part in parts])
    last = first + reach

    def integral(x):
        trapezes = np.diff(log.t)[:, None] * (x[1:] + x[:-1]) / 2
        total = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(trapezes, axis=0)])
        return total[last] - total[first]

    def against(other: str, signal: str, slowest, expected, given, readings: dict[str, np.ndarray]) -> list[Finding]:
        """What is to say of a signal whose integral does not fit; slowest: motion that is compared."""
        window, (least, unit) = float(np.mean(log.t[last] - log.t[first])), slowest
        if max(_rms(expected), _rms(given)) < least * window or _apart(expected, given) < THRESHOLDS.same_motion:
            return []
        left = {words: _rms(expected - reading) for words, reading in readings.items()}
        best, wrong = min(left, key=lambda words: left[words]), _apart(expected, given)
        if left[best] < THRESHOLDS.other_reading * _rms(expected - given):
            return [fatal("misread", f"the {signal} {best} (it is {100 * wrong:.0f} % off the change of {other})")]
        if wrong < (THRESHOLDS.unrelated_rate if other == "the rotations" else THRESHOLDS.unrelated_acceleration):
            return []
        return [
            fatal(
                "motion",
                f"the {signal} is not that of {other}, which change by {_rms(expected) / window:.3g} {unit}: they "
                f"differ by {100 * wrong:.0f} %. Are they of one frame and one clock, in rad, m and s?",
            )
        ]

    R = log.rotation
    spun, pushed, sped = integral(twist[:, 3:]), integral(acceleration[:, :3]), integral(acceleration[:, 3:])
    readings = {
        "is in world axes: use WrenchLog.from_world_axes (--axes world)": rotate(R[first].transpose(0, 2, 1), spun),
        "is in degrees per second: multiply by pi / 180": np.radians(spun),
        "has its sign turned, or rotation is sensor_from_world: pass its transpose": -spun,
    }
    if turns := against("the rotations", "angular velocity", TURNS, _turn(R[first], R[last]), spun, readings):
        yield from turns
        return
    change = twist[last] - twist[first]
    gravity, turning = integral(log.gravity_in_sensor), integral(cross(twist[:, 3:], twist[:, :3]))
    readings = {words: pushed + g * gravity - c * turning for words, (g, c) in _LINEAR.items()}
    readings["has its sign turned"] = -pushed
    yield from against("the velocity", "linear acceleration", PUSHES, change[:, :3], pushed, readings)
    readings = {
        "is in degrees per second squared: multiply by pi / 180": np.radians(sped),
        "has its sign turned": -sped,
    }
    yield from against("the angular velocity", "angular acceleration", SPINS, change[:, 3:], sped, readings)


def _turn(R, S):
    """(n, 3) rotation vectors from rotations R to S, in axes of R."""
    return rotation_vector(R.transpose(0, 2, 1) @ S)


def _apart(a, b) -> float:
    return _rms(a - b) / max(_rms(a), _rms(b), 1e-300)


def _rms(x) -> float:
    return float(np.sqrt(np.mean(np.sum(x * x, axis=1))))
