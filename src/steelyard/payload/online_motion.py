"""Twist and acceleration from poses, one by one: the causal filter of `motion` for use beside `OnlineEstimator`."""

import numpy as np

from steelyard.errors import LogError
from steelyard.payload.motion import MotionNoise


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
        from steelyard.log import ACCELERATION_SPREAD, RATE_SPREAD
        from steelyard.payload.motion_kernel import track

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
