"""Motion for joints of any kind: sums of sines, turned into rotations where a joint has a quaternion."""

import numpy as np
from scipy.spatial.transform import Rotation, RotationSpline

from steelyard import Robot
from steelyard.simulate import rich_motion
from steelyard.simulate.trajectories import Trajectory

ANGLE, TRAVEL = 0.6, 0.3  # rad, m: size of free and spherical motions
KNOTS = 0.05  # s between the orientations that a spline passes


def motion(robot: Robot, *, duration: float, seed: int) -> Trajectory:
    """`rich_motion` where it applies, else a motion of the same kind for every joint of the tree."""
    if all(joint.nq == 1 for joint in robot.free_joints):
        return rich_motion(robot, duration=duration, seed=seed)
    rng = np.random.default_rng(seed)
    parts = [_of(joint, rng, duration) for joint in robot.free_joints]

    def evaluate(t):
        q, v, a = zip(*(part(t) for part in parts), strict=True)
        return tuple(np.concatenate(each, axis=1) for each in (q, v, a))

    return Trajectory(evaluate, duration)


def _of(joint, rng, duration: float):
    """Function of time that gives q, v, a of one joint."""
    if joint.kind == "spherical":
        return _turning(rng, duration)
    if joint.kind != "free":
        limited = (
            np.isfinite(joint.lower).all() and (joint.upper > joint.lower).all() and np.isfinite(joint.upper).all()
        )
        low, high = (joint.lower, joint.upper) if limited else np.array([[-TRAVEL], [TRAVEL]])
        return _shifted(waves(rng, joint.nv, min(0.3 * np.min(high - low), ANGLE), duration), (low + high) / 2)
    travel, turning = waves(rng, 3, TRAVEL, duration), _turning(rng, duration)

    def free(t):
        (p, dp, ddp), (quaternion, w, dw) = travel(t), turning(t)
        R = Rotation.from_quat(quaternion)
        linear = R.inv().apply(dp)
        return (
            np.hstack([p, quaternion]),
            np.hstack([linear, w]),
            np.hstack([R.inv().apply(ddp) - np.cross(w, linear), dw]),
        )

    return free


def _turning(rng, duration: float):
    knots = np.arange(-KNOTS, duration + 2 * KNOTS, KNOTS)
    spline = RotationSpline(knots, Rotation.from_rotvec(waves(rng, 3, ANGLE, duration)(knots)[0]))
    return lambda t: (spline(t).as_quat(), spline(t, order=1), spline(t, order=2))  # rates in the child's axes


def _shifted(wave, middle):
    def moved(t):
        q, v, a = wave(t)
        return q + middle, v, a

    return moved


def waves(rng, size: int, reach: float, duration: float, harmonics: int = 5):
    """Sums of sines (n, size) that stay within a reach, with two derivatives."""
    base = 2 * np.pi / min(duration / 2, 10.0) * np.arange(1, harmonics + 1)
    amplitude = rng.normal(size=(size, harmonics)) / np.sqrt(np.arange(1, harmonics + 1))
    amplitude *= reach / np.abs(amplitude).sum(axis=1, keepdims=True)
    phase = rng.uniform(0, 2 * np.pi, size=(size, harmonics))

    def wave(t):
        angle = t[:, None, None] * base + phase
        sine, cosine = amplitude * np.sin(angle), amplitude * np.cos(angle)
        return sine.sum(-1), (cosine * base).sum(-1), -(sine * base**2).sum(-1)

    return wave
