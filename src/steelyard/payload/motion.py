"""Motion signals from poses: a quaternion Kalman filter (Farsoni 2018; paper E, section V), and its smoother offline.

Twist and spatial acceleration of the sensor frame from its measured pose, with angular velocity and acceleration in
body axes. The filter looks back only, as an online estimator must; the smoother looks both ways and lags nothing.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import LogError, OptionError
from steelyard.payload.wrench_log import WrenchLog
from steelyard.spatial import cross, rotate

AGILITY = np.logspace(-2, 5, 15)  # tried densities of jerk, (m/s^3)^2 s or (rad/s^3)^2 s
TUNING = 1500  # samples that tuning looks at
QUIETEST = 1e-7  # m or rad: smallest noise a pose is believed to have
AT_REST = np.zeros(3), np.zeros(3)  # velocity and acceleration that the filter starts from


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

    log: with `position`. noise: by default found from the poses themselves (`tune`). smooth: both ways (offline), or
    backwards only, as online. settle: samples left out at the start, while the filter finds its way. Raises LogError
    without positions or with fewer than 10 samples.
    """
    from steelyard.log import covariances, filter_vector
    from steelyard.payload.motion_kernel import filter_rotation

    position = _require_poses(log)
    noise = tune(log) if noise is None else noise
    if settle < 0 or settle >= len(log):
        raise OptionError(f"settle={settle}: expected 0 to {len(log) - 1} samples")
    gains = [covariances(log.t, sigma, q, smooth)[:2] for sigma, q in zip(noise.pose, noise.jerk, strict=True)]
    p, v, a, _ = filter_vector(log.t, position, *gains[0], smooth, *AT_REST)
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


def tune(log: WrenchLog) -> MotionNoise:
    """Noise and agility that make the poses most likely: measurement noise from what no smooth motion can explain
    (third differences), density of jerk by maximum likelihood over a grid, on the first samples of the log."""
    from steelyard.payload.motion_kernel import filter_rotation

    position = _require_poses(log)
    part = log[:TUNING]
    position = position[:TUNING]
    relative = part.rotation[:-1].transpose(0, 2, 1) @ part.rotation[1:]
    turned = np.stack([relative[:, 2, 1], relative[:, 0, 2], relative[:, 1, 0]], axis=1)  # small-angle vectors
    pose = (roughness(position), roughness_of_steps(turned))
    best = []
    for measured, kernel, sigma in zip((position, part.rotation), (_from_rest, filter_rotation), pose, strict=True):
        scores = [_likelihood(kernel, part.t, measured, sigma, q) for q in AGILITY]
        best.append(float(AGILITY[int(np.argmax(scores))]))
    return MotionNoise(pose, (best[0], best[1]))


def _from_rest(t, measured, gains, back, smooth):
    from steelyard.log import filter_vector

    return filter_vector(t, measured, gains, back, smooth, *AT_REST)


def _likelihood(kernel, t, measured, sigma, q) -> float:
    """Log-likelihood of the poses, from the innovations."""
    from steelyard.log import covariances

    gains, back, variance, _ = covariances(t, sigma, q, False)
    squares = kernel(t, measured, gains, back, False)[-1]
    return float(-0.5 * np.sum(3 * np.log(variance[1:]) + squares[1:] / variance[1:]))


def roughness(x) -> float:
    """Standard deviation of white noise on smooth signals x (n, k): from third differences, by their median."""
    return max(float(np.median(np.abs(np.diff(x, n=3, axis=0)))) / 0.6745 / np.sqrt(20), QUIETEST)


def roughness_of_steps(steps) -> float:
    """The same from first differences (n, k)."""
    return max(float(np.median(np.abs(np.diff(steps, n=2, axis=0)))) / 0.6745 / np.sqrt(20), QUIETEST)


def _require_poses(log):
    if log.position is None:
        raise LogError(
            f"{log.name} has no positions: accelerations need the sensor's position in the world, (n, 3) in m. Without "
            "them use a static log, or give twist and acceleration"
        )
    if len(log) < 10:
        raise LogError(f"{log.name} has {len(log)} samples; a motion filter needs at least 10")
    return log.position
