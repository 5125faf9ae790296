"""Sources of the state of a walking base in a log: inertial sensor, recorded poses and legs, their noise and delays.

A source that comes late is found by its angular velocity w. Feet that stand keep their distance d in the world, so in
axes of the base d' = -w x d, whatever the base's pose is. The delay of w against the encoders is that which fits all
pairs of standing feet best, by a robust sum of squares.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import uniform_filter1d
from scipy.spatial.transform import Rotation, Slerp

from steelyard.dynamics.frames import frame_pose
from steelyard.dynamics.kinematics import joint_poses
from steelyard.errors import LogError
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.prepare.base_smoother import InertialReadings, Path, Poses
from steelyard.prepare.inertial_sensors import on_base
from steelyard.spatial import POSE, cross, rotate

LEAST = 1e-4, 5e-3  # rad/s and m/s^2, noise that every sensor has
ROUGH = 24.0  # squares of two second differences over the variance of a trapezoid that a jump between samples cuts
PUSHES, TURNS = 1.0, 10.0  # (m/s^2)^2 s and (rad/s^2)^2 s: density of accelerations of a walking base
RECORDED = 0.9  # share of the samples with poses, from which on the others are between them
ALONE = 0.01, 0.002  # m and rad, of poses without a sensor beside them, which cannot tell slow noise from motion
POSED = 0.1, 0.05  # m and rad, of poses before their noise is known
LEAST_POSED = 2e-3, 2e-3  # m and rad, least noise of poses in all
SETTLED = 2.0  # s, over which a walking base hardly accelerates on average
LONGEST = 0.1  # s by which a source may come late
SHIFTED = 0.4, 0.02  # samples, and share of the misfit, by which a delay must differ and fit better than none
CALM = 20  # samples of the pieces whose noise is compared
MOVES = 0.03  # m/s, of distances of feet, that noise makes
SOLE = 0.05 * np.array([[1, 0, 0], [-0.5, 0.87, 0], [-0.5, -0.87, 0]])  # m, points of a flat foot about its frame
POINTS = {"point": np.zeros((1, 3)), "line": 0.05 * np.array([[1, 0, 0], [-1, 0, 0]]), "flat": SOLE}


@dataclass(frozen=True, eq=False)
class FootPoints:
    """Points of feet over a log."""

    frames: tuple[str, ...]  # (f,) of each point
    points: NDArray[np.float64]  # (f, n, 3) m and rotations (f, n, 3, 3) of what carries them, in axes of the base
    rotations: NDArray[np.float64]

    def in_world(self, path: Path) -> NDArray[np.float64]:
        """(f, n, 3) m."""
        return path.p + rotate(path.R, self.points)


@dataclass(frozen=True, eq=False)
class BaseSources:
    """What a log says of a base. inertial, poses: None where there are none."""

    t: NDArray[np.float64]
    gravity: NDArray[np.float64]
    legs: FootPoints
    inertial: InertialReadings | None
    poses: Poses | None
    sensor: str | None  # frame of the former
    mount: NDArray[np.float64]  # (3, 3) its axes in the base
    delays: Mapping[str, float]  # s by which each came late, which is undone


def sources_of(
    robot: Robot, log: Log, kinds: Mapping[str, str], stands: Callable[[FootPoints, NDArray], NDArray]
) -> BaseSources:
    """The sources of a log, with delays undone; columns of the base that are not finite were not recorded. stands: from
    legs and verticals (n, 3) in axes of the base to (f, n) shares. Raises LogError for neither a sensor nor poses."""
    legs, sensor = _legs(robot, log.q, kinds), on_base(robot, log)
    poses = recorded_poses(log, ALONE if sensor is None else POSED)
    inertial = None if sensor is None else _inertial(robot, log, sensor)
    if inertial is None and poses is None:
        raise LogError(
            f"log {log.name!r} has neither poses of the base nor an inertial sensor on it, so its orientation is not "
            "known. Record columns imu_FRAME_wx, wy, wz, ax, ay, az of a frame on its link, or fix the base: --fixed."
        )
    mount = np.eye(3) if sensor is None else robot.frame(sensor).rotation
    rate, delays = log.rate, {}
    most = round(LONGEST * rate)
    weights = stands(legs, orientations(log.t, inertial, poses)[:, 2]) if legs.frames else np.zeros((0, len(log)))
    pull, arms = _distances(log.t, legs.points, weights)
    if inertial is not None and arms.size:
        late = _late(inertial.gyro, lambda w, at: pull[at] + cross(w[:, None], arms[at]), most)
        if late:
            delays["imu"] = late / rate
            moved = {key: _earlier(getattr(inertial, key), late) for key in ("gyro", "acceleration")}
            inertial = replace(inertial, **moved)
    if poses is not None:
        w, gyro = turning(log.t, poses.rotation), None if inertial is None else inertial.gyro
        if gyro is not None:
            late = _late(w, lambda w, at: (w - gyro[at])[:, None], most)
        else:
            late = _late(w, lambda w, at: pull[at] + cross(w[:, None], arms[at]), most) if arms.size else 0.0
        if late:
            delays["pose"] = late / rate
            poses = replace(poses, position=_earlier(poses.position, late), rotation=_turned_earlier(poses, late))
    return BaseSources(log.t, robot.gravity, legs, inertial, poses, sensor, mount, delays)


def _legs(robot: Robot, q, kinds: Mapping[str, str]) -> FootPoints:
    still = np.array(q, dtype=float)
    still[:, :POSE] = [0, 0, 0, 0, 0, 0, 1]
    R, p, _ = joint_poses(robot, still.T)
    frames, points, rotations = [], [], []
    for frame, kind in kinds.items():
        turn, place, _ = frame_pose(robot, frame, R, p)
        turn = np.moveaxis(turn, -1, 0)
        for offset in POINTS[kind]:
            frames.append(frame)
            points.append(place.T + turn @ offset)
            rotations.append(turn)
    n = len(still)
    return FootPoints(tuple(frames), np.array(points).reshape(-1, n, 3), np.array(rotations).reshape(-1, n, 3, 3))


def white_noise(x: NDArray) -> float:
    """Standard deviation of the white noise of signals (n, k): of their third differences, where these are least."""
    third = np.diff(x, 3, axis=0)[: (len(x) - 3) // CALM * CALM]
    if not len(third):
        return 0.0
    size = np.sqrt(np.mean(third.reshape(-1, CALM * x.shape[1]) ** 2, axis=1) / 20)
    return float(np.percentile(size, 25))


def _inertial(robot: Robot, log: Log, name: str) -> InertialReadings:
    frame = robot.frame(name)
    gyro, acceleration = (log.imu[name][:, part] @ frame.rotation.T for part in (slice(0, 3), slice(3, 6)))
    size, weight = np.linalg.norm(acceleration.mean(axis=0)), np.linalg.norm(robot.gravity)
    if not 0.7 < size / weight < 1.4:
        raise LogError(
            f"log {log.name!r}: the inertial sensor {name} feels {size:.3g} m/s^2 on average, where {weight:.3g} holds "
            f"the base up. Columns imu_{name}_ax, ay, az are m/s^2 with gravity, 9.81 upwards at rest."
        )
    noise = (max(least, white_noise(x)) for least, x in zip(LEAST, (gyro, acceleration), strict=True))
    return InertialReadings(gyro, acceleration, frame.position, *noise)


def recorded_poses(log: Log, noise: tuple[float, float]) -> Poses | None:
    """Poses of a free base, filled between, with weights of zero where they are missing; a position that never changes
    is none; None where no orientation was recorded. noise: m and rad, taken for that of positions and rotations."""
    position, quaternion = log.q[:, :3], log.q[:, 3:POSE]
    known = np.stack([np.isfinite(x).all(axis=1) for x in (position, quaternion)], axis=1)
    if not known[:, 1].any():
        return None
    if not np.any(np.ptp(position[known[:, 0]], axis=0) > 0 if known[:, 0].any() else False):
        known[:, 0] = False
    at, n = np.flatnonzero(known[:, 1]), len(log)
    between = np.clip(np.arange(n), at[0], at[-1])
    turns = Rotation.from_quat(quaternion[at])
    rotation = Slerp(at, turns)(between).as_matrix() if len(at) > 1 else np.tile(turns.as_matrix(), (n, 1, 1))
    placed = np.flatnonzero(known[:, 0])
    filled = [np.interp(np.arange(n), placed, x[placed]) if len(placed) else np.zeros(n) for x in position.T]
    return Poses(np.column_stack(filled), rotation, known / np.square(noise))


def orientations(t, inertial: InertialReadings | None, poses: Poses | None) -> NDArray[np.float64]:
    """(n, 3, 3) of the base in the world to begin with: as recorded, or the gyro's, levelled by mean accelerations."""
    if inertial is None or (poses is not None and np.mean(poses.weights[:, 1] > 0) > RECORDED):
        assert poses is not None, "sources_of refuses logs without either"
        return poses.rotation
    step = np.diff(t)
    turns = Rotation.from_rotvec((inertial.gyro[1:] + inertial.gyro[:-1]) / 2 * step[:, None]).as_matrix()
    own = np.empty((len(t), 3, 3))
    own[0] = np.eye(3)
    for k, turn in enumerate(turns):
        own[k + 1] = own[k] @ turn
    size = max(3, round(SETTLED / float(np.median(step))))
    up = uniform_filter1d(rotate(own, inertial.acceleration), size, axis=0, mode="nearest")
    axis = cross(up, np.array([0, 0, 1.0]))
    sine = np.linalg.norm(axis, axis=1)
    level = axis * (np.arctan2(sine, up[:, 2]) / np.maximum(sine, 1e-12))[:, None]
    return Rotation.from_rotvec(level).as_matrix() @ own


def turning(t, rotation) -> NDArray[np.float64]:
    """(n, 3) angular velocity of rotations (n, 3, 3) in their own axes, by central differences."""
    wide = Rotation.from_matrix(rotation[:-2].mT @ rotation[2:]).as_rotvec() / (t[2:] - t[:-2])[:, None]
    return np.concatenate([wide[:1], wide, wide[-1:]])


def _distances(t, points, weights) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rates (n, c, 3) and distances (n, c, 3) of pairs of points that stand, both zero where they do not."""
    pairs = list(combinations(range(len(points)), 2))
    if not pairs:
        return np.zeros((len(t), 0, 3)), np.zeros((len(t), 0, 3))
    d = np.stack([points[i] - points[j] for i, j in pairs], axis=1)
    stand = uniform_filter1d((weights > 0.5).astype(float), 9, axis=1) > 1 - 1e-9  # and a little before and after
    both = np.stack([stand[i] & stand[j] for i, j in pairs], axis=1)[..., None]
    wide = np.zeros_like(d)
    wide[2:-2] = (d[4:] - d[:-4]) / (t[4:] - t[:-4])[:, None, None]
    return np.where(both, wide, 0), np.where(both, d, 0)


def _late(w, residual: Callable, most: int) -> float:
    """Samples by which angular velocities w (n, 3) come late, 0 where no delay fits clearly better. residual: of them
    and of the rows that they are compared with."""
    rows = slice(2 * most, len(w) - 2 * most)
    if rows.stop - rows.start < 4 * most:
        return 0.0
    lags = np.arange(-most, most + 1)
    at = np.arange(rows.start, rows.stop)
    cost = np.array([np.sum(np.log1p(np.sum((residual(w[at + k], rows) / MOVES) ** 2, axis=-1))) for k in lags])
    best = int(np.argmin(cost))
    if best in (0, len(lags) - 1):
        return 0.0
    before, here, after = cost[best - 1 : best + 2]
    late = lags[best] + 0.5 * (before - after) / (before - 2 * here + after)
    better = cost[most] - here > SHIFTED[1] * cost[most]
    return float(late) if abs(late) > SHIFTED[0] and (better or lags[best] == 0) else 0.0


def _earlier(x, late: float) -> NDArray[np.float64]:
    """Signals (n, k) that came `late` samples late, at their time."""
    at = np.clip(np.arange(len(x)) + late, 0, len(x) - 1)
    return CubicSpline(np.arange(len(x)), x)(at)


def _turned_earlier(poses: Poses, late: float) -> NDArray[np.float64]:
    n = len(poses.rotation)
    at = np.clip(np.arange(n) + late, 0, n - 1)
    return Slerp(np.arange(n), Rotation.from_matrix(poses.rotation))(at).as_matrix()


def jitter_of(sources: BaseSources) -> NDArray[np.float64]:
    """(n - 1, 12) as of `WalkEvidence`: a sensor's noise, and what its second differences say that the trapezoidal rule
    misses; without one, white accelerations."""
    step, sensor = np.diff(sources.t)[:, None], sources.inertial
    jitter = np.empty((len(step), 12))
    if sensor is None:
        jitter[:, 6:9], jitter[:, 9:12] = np.sqrt(PUSHES * step), np.sqrt(TURNS * step)
        jitter[:, 3:6] = step * jitter[:, 9:12] / np.sqrt(12)
    else:
        white = sensor.acceleration_noise**2 / 2
        jitter[:, 6:9] = step * np.sqrt(white + _roughness(sensor.acceleration))
        jitter[:, 9:12] = 3 * np.sqrt(np.mean(np.diff(sensor.gyro, axis=0) ** 2)) + sensor.gyro_noise
        jitter[:, 3:6] = step * np.sqrt(_roughness(sensor.gyro)) + 1e-6
    jitter[:, 0:3] = step * jitter[:, 6:9] / np.sqrt(12) + 1e-6
    return jitter


def _roughness(x) -> NDArray[np.float64]:
    """(n - 1, k) variance of the trapezoidal mean of x (n, k) between samples."""
    square = np.zeros_like(x)
    square[1:-1] = np.diff(x, 2, axis=0) ** 2
    return (square[1:] + square[:-1]) / ROUGH


def weighed(t, poses: Poses, path: Path) -> Poses:
    """Poses weighed by what they are off a path that was found with loose weights, as one that follows them hides their
    noise: slow noise counts as the white noise that has the same mean over long times.

    The residual, less its running mean, is white noise and a first-order autoregression, told apart by its correlations
    over two samples."""
    turned = Rotation.from_matrix(path.R @ poses.rotation.mT).as_rotvec()
    weights, size = np.zeros_like(poses.weights), max(3, round(SETTLED / float(np.median(np.diff(t)))))
    for column, error in enumerate((path.p - poses.position, turned)):
        there = poses.weights[:, column] > 0
        if not there.any():
            continue
        e = error[there]
        e = e - uniform_filter1d(e, size, axis=0, mode="nearest")
        r0, r1, r2 = (float(np.mean(e[: len(e) - k] * e[k:])) for k in range(3))
        share = np.clip(r2 / r1, 0, 0.995) if r1 > 0 else 0.0
        slow = max(r1, 0) / max(share, 0.1)
        white = max(r0 - slow, 0) + slow * (1 + share) / (1 - share)
        weights[there, column] = 1 / (white + LEAST_POSED[column] ** 2)
    return replace(poses, weights=weights)
