"""Motion signals of a wrist: from its poses by a Kalman filter, or measured ones with less noise.

Poses: a quaternion Kalman filter (Farsoni 2018; paper E, section V) gives twist and spatial acceleration of the sensor
frame, angular velocity and acceleration in body axes. The filter looks back only, as an online estimator must; the
smoother looks both ways and lags nothing.

Measured signals: in body axes the spatial acceleration is the derivative of the twist, component by component, so both
measure one smooth curve. Noise on the acceleration would not only spread the estimates: as noise in the regressor it
biases the inertia towards zero, by a third at the levels of paper E's Table II. The maximum a posteriori curve under a
random-walk jerk is one banded linear system; how stiff it is, its likelihood decides. Signals out of a motion filter
are left alone.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import LogError, OptionError
from steelyard.log.kalman import (
    ACCELERATION_SPREAD,
    RATE_SPREAD,
    SHORTEST,
    covariances,
    filter_rotation,
    filter_vector,
    track,
)
from steelyard.log.stamps import segments
from steelyard.payload.thresholds import IN_A_ROW
from steelyard.payload.wrench_log import WrenchLog
from steelyard.spatial import cross, rotate

AGILITY = np.logspace(-2, 5, 15)  # tried densities of jerk, (m/s^3)^2 s or (rad/s^3)^2 s
QUIETEST = 1e-7  # m or rad: smallest noise a pose is believed to have
RESPONSE = 4.0  # time constants of the smoother after which its impulse response is over
STIFFNESS = np.logspace(-4, 4, 9)  # tried densities of the jerk's change, relative to the acceleration's RMS per s^2
GAIN = 2e-3  # noise of the acceleration over its RMS below which there is nothing to gain
FLOOR = 1e-4  # least noise over RMS: keeps weights within rounding
COLORED = 1.4  # roughness of every second sample over that of all, above which noise is not white


@dataclass(frozen=True)
class MotionNoise:
    """What the filter assumes. pose: standard deviations of position [m] and rotation [rad] of one measured pose;
    jerk: densities of the white jerk that drives translation [m^2/s^5] and rotation [rad^2/s^5]."""

    pose: tuple[float, float]
    jerk: tuple[float, float]


def filter_motion(
    log: WrenchLog, *, noise: MotionNoise | None = None, smooth: bool = True, settle: int = 0
) -> WrenchLog:
    """The log with rotation, twist and acceleration from its poses.

    Args:
        log: with `position`, 10 samples or more.
        noise: of the poses and of the jerk; by default found from the poses themselves (`tune`).
        smooth: whether the filter looks both ways (offline), or backwards only, as online.
        settle: samples left out at the start, while the filter finds its way.

    Raises:
        LogError: no positions, or too few samples.

    Source: Farsoni (2018); paper E, section V.
    """
    position = _require_poses(log)
    noise = tune(log) if noise is None else noise
    if settle < 0 or settle >= len(log):
        raise OptionError(f"settle={settle}: expected 0 to {len(log) - 1} samples")
    gains = [covariances(log.t, sigma, q, smooth)[:2] for sigma, q in zip(noise.pose, noise.jerk, strict=True)]
    p, v, a, _ = filter_vector(log.t, position, *gains[0], smooth)
    R, w, alpha, _ = filter_rotation(log.t, log.rotation, *gains[1], smooth)
    to_sensor = R.transpose(0, 2, 1)
    velocity = rotate(to_sensor, v)
    kind = "Kalman smoother" if smooth else "Kalman filter"
    note = (
        f"twist and acceleration: {kind} on poses, noise {noise.pose[0]:.1e} m and {noise.pose[1]:.1e} rad, "
        f"jerk density {noise.jerk[0]:.1e} and {noise.jerk[1]:.1e}"
    )
    moved = log.replace(
        rotation=R,
        position=p,
        twist=np.concatenate([velocity, w], axis=1),
        acceleration=np.concatenate([rotate(to_sensor, a) - cross(w, velocity), alpha], axis=1),
    )
    return moved[settle:].noted(note)


def motion_from_poses(log: WrenchLog) -> WrenchLog:
    """The log with motion smoothed from its poses (`filter_motion`), without as many samples at either end as the
    impulse response is long, a twentieth at most. Raises LogError: no positions, or too few samples."""
    noise, step = tune(log), float(np.median(np.diff(log.t)))
    slowest = min((q / (sigma**2 * step)) ** (1 / 6) for sigma, q in zip(noise.pose, noise.jerk, strict=True))  # rad/s
    ends = min(round(RESPONSE / (slowest * step)), len(log) // 20)
    return filter_motion(log, noise=noise)[ends : len(log) - ends].noted(f"{ends} samples at either end left out")


def tune(log: WrenchLog) -> MotionNoise:
    """Noise and agility that make the poses of a log most likely.

    Measurement noise follows from what no smooth motion can explain (third differences), density of jerk by maximum
    likelihood over a grid, on the samples between which the sensor moves most.

    Args:
        log: with poses.

    Returns:
        The MotionNoise.
    """
    _require_poses(log)
    part = log[_liveliest(log)]
    position = part.position
    relative = part.rotation[:-1].transpose(0, 2, 1) @ part.rotation[1:]
    turned = np.stack([relative[:, 2, 1], relative[:, 0, 2], relative[:, 1, 0]], axis=1)  # small-angle vectors
    pose = (roughness(position), roughness(turned, more=2))
    best = []
    for measured, kernel, sigma in zip((position, part.rotation), (filter_vector, filter_rotation), pose, strict=True):
        scores = [_likelihood(kernel, part.t, measured, sigma, q) for q in AGILITY]
        best.append(float(AGILITY[int(np.argmax(scores))]))
    return MotionNoise(pose, (best[0], best[1]))


def _liveliest(log) -> slice:
    """The `IN_A_ROW` samples in a row between which position and axes move most."""
    poses = np.concatenate([log.position, log.rotation.reshape(-1, 9)], axis=1).astype(float)
    moved = np.diff(poses, axis=0)
    way = np.concatenate([[0.0], np.cumsum(np.sum(moved**2, axis=1))])
    reach = min(IN_A_ROW, len(log)) - 1
    start = int(np.argmax(way[reach:] - way[: len(way) - reach]))
    return slice(start, start + reach + 1)


def _likelihood(kernel, t, measured, sigma, q) -> float:
    """Log-likelihood of the poses, from the innovations."""
    gains, back, variance, _ = covariances(t, sigma, q, False)
    squares = kernel(t, measured, gains, back, False)[-1]
    return float(-0.5 * np.sum(3 * np.log(variance[1:]) + squares[1:] / variance[1:]))


def roughness(x, more: int = 3) -> float:
    """Standard deviation of white noise on smooth signals x (n, k): from third differences, by their median, x having
    to be taken differences of `more` times. Those of exactly zero are of rounded values at rest, whose rounding shows
    in motion only."""
    third = np.diff(x, n=more, axis=0)
    moved = np.abs(third[third != 0])
    return max(float(np.median(moved)) / 0.6745 / np.sqrt(20), QUIETEST) if len(moved) else QUIETEST


def _require_poses(log):
    if log.position is None:
        raise LogError(
            f"{log.name} has no positions: accelerations need the sensor's position in the world, (n, 3) in m. Without "
            "them use a static log, or give twist and acceleration"
        )
    if len(log) < SHORTEST:
        raise LogError(f"{log.name} has {len(log)} samples; a motion filter needs at least {SHORTEST}")
    return log.position


class PoseTracker:
    """Feed poses with `update`; it returns rotation, twist and spatial acceleration of the sensor frame in its axes.

    noise: `MotionNoise`, for example from `tune` on a recorded log of the same robot. The first dozen samples are the
    filter finding its way; give the estimator none of them.
    """

    def __init__(self, noise: MotionNoise):
        self._sigma, self._q = np.array(noise.pose, dtype=float), np.array(noise.jerk, dtype=float)
        self._time: float | None = None
        self._R, self._w, self._alpha = np.eye(3), np.zeros(3), np.zeros(3)
        self._x, self._P = np.zeros((3, 3)), np.zeros((2, 3, 3))

    def update(self, t: float, rotation, position) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One pose: rotation (3, 3) world_from_sensor, position (3,) in the world. Returns rotation (3, 3), twist (6,)
        and acceleration (6,). Raises LogError when time does not increase."""
        R, p = np.array(rotation, dtype=float), np.array(position, dtype=float)
        if self._time is None:
            self._R, self._x[0] = R, p
            for P, sigma in zip(self._P, self._sigma, strict=True):
                P[:] = np.diag([sigma**2, RATE_SPREAD**2, ACCELERATION_SPREAD**2])
        elif not t > self._time:
            raise LogError(f"pose at {t:.6g} s after one at {self._time:.6g} s; poses must come in order of time")
        else:
            track(t - self._time, R, p, self._sigma, self._q, self._R, self._w, self._alpha, self._x, self._P)
        self._time = t
        velocity, classical = self._x[1] @ self._R, self._x[2] @ self._R
        twist = np.concatenate([velocity, self._w])
        return self._R.copy(), twist, np.concatenate([classical - np.cross(self._w, velocity), self._alpha])


def smooth_motion(log: WrenchLog) -> WrenchLog:
    """The log with twist and acceleration smoothed together; the same log where that gains nothing. Stretches between
    gaps are smoothed each on its own; wrench and rotation stay as they are."""
    if log.twist is None or log.acceleration is None or len(log) < SHORTEST:
        return log
    v, a, gained = log.twist.copy(), log.acceleration.copy(), []
    for half, unit in ((slice(0, 3), "m/s^2"), (slice(3, 6), "rad/s^2")):
        rough_a, rough_v = roughness(log.acceleration[:, half]), roughness(log.twist[:, half])
        size = float(np.sqrt(np.mean(log.acceleration[:, half] ** 2)))
        if size < QUIETEST or rough_a < GAIN * size or _colored(log.acceleration[:, half], rough_a):
            continue
        step = float(np.median(np.diff(log.t)))
        noise = (max(rough_v, FLOOR * size * step), rough_a)
        parts = [part for part in segments(log.t) if part.stop - part.start >= SHORTEST]
        if not parts:
            continue
        longest = max(parts, key=lambda part: part.stop - part.start)
        tuned = slice(longest.start, min(longest.stop, longest.start + IN_A_ROW))
        scores = [
            _smoothed(log.t[tuned], v[tuned, half], a[tuned, half], noise, (q * size) ** 2)[-1] for q in STIFFNESS
        ]
        q = (STIFFNESS[int(np.argmax(scores))] * size) ** 2
        for part in parts:
            v[part, half], a[part, half], _ = _smoothed(log.t[part], v[part, half], a[part, half], noise, q)
        gained.append(f"{rough_a:.2g} {unit}")
    if not gained:
        return log
    return log.replace(twist=v, acceleration=a).noted(
        f"acceleration and twist smoothed together: the measured acceleration has noise of {' and '.join(gained)}"
    )


def _colored(a, rough):
    """Whether the noise of a (n, k) has memory, as that of a motion filter: every second sample then looks rougher."""
    return max(roughness(a[::2]), roughness(a[1::2])) > COLORED * rough


def _smoothed(t, v, a, noise, q):
    """Smoothed v and a (n, k), and the log-likelihood of the density q of the jerk's random walk."""
    from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

    unit = float(np.median(np.diff(t)))
    n, k = v.shape
    state = np.array([1.0, 1 / unit, 1 / unit**2])  # states [v, a unit, j unit^2] are alike in size
    weight = np.array([1 / noise[0] ** 2, (state[1] / noise[1]) ** 2])
    transition, precision, determinant = _steps(np.diff(t) / unit, q * unit**5)
    blocks = np.zeros((n, 3, 3))
    blocks[:, 0, 0], blocks[:, 1, 1] = weight
    blocks[:-1] += transition.transpose(0, 2, 1) @ precision @ transition
    blocks[1:] += precision
    across = -precision @ transition  # row block k + 1, column block k
    bands = np.zeros((6, 3 * n))
    for i in range(3):
        for j in range(i + 1):
            bands[i - j, j::3] = blocks[:, i, j]
    for i in range(3):
        for j in range(3):
            bands[3 + i - j, j : 3 * n - 3 : 3] = across[:, i, j]
    right = np.zeros((n, 3, k))
    right[:, 0], right[:, 1] = v * weight[0], a * unit * weight[1]
    try:
        factor = cholesky_banded(bands, lower=True)
    except LinAlgError:  # so stiff that the digits run out
        return v, a, -np.inf
    x = cho_solve_banded((factor, True), right.reshape(3 * n, k)).reshape(n, 3, k)
    smooth_v, smooth_a = x[:, 0], x[:, 1] / unit
    defect = x[1:] - transition @ x[:-1]
    cost = np.sum(((smooth_v - v) / noise[0]) ** 2) + np.sum(((smooth_a - a) / noise[1]) ** 2)
    cost += np.einsum("nik,nij,njk->", defect, precision, defect)
    likelihood = -0.5 * cost + 0.5 * k * determinant - k * np.sum(np.log(factor[0]))
    return smooth_v, smooth_a, float(likelihood)


def _steps(h, q):
    """Transitions and inverse process covariances (n, 3, 3) of steps h (n,), and the log-determinant of the latter."""
    transition = np.zeros((len(h), 3, 3))
    transition[:] = np.eye(3)
    transition[:, 0, 1], transition[:, 1, 2], transition[:, 0, 2] = h, h, h * h / 2
    shape = np.array([[1 / 20, 1 / 8, 1 / 6], [1 / 8, 1 / 3, 1 / 2], [1 / 6, 1 / 2, 1.0]])
    scale = h[:, None] ** np.array([2.5, 1.5, 0.5])
    inverse = np.linalg.inv(shape) / (q * scale[:, :, None] * scale[:, None, :])
    return transition, inverse, float(np.linalg.slogdet(inverse)[1].sum())
