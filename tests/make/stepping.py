"""Walks that obey geometry alone: a base that sways, feet that stand exactly still, and joints that follow from both.

Legs by inverse kinematics at 1 kHz, rates by splines: truth that does not depend on a simulator. Ground may be uneven.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

import steelyard as sy
from steelyard.dynamics.frames import frame_position, frame_rows
from steelyard.simulate.motion import felt

RATE, FINE = 200, 5  # Hz, and steps a sample
PERIOD, STANCE, LIFT = 0.6, 0.65, 0.05  # s, share, m


@dataclass(frozen=True)
class Steps:
    """A Log of encoders, flags and a sensor in `imu`, and q, v without noise."""

    robot: sy.Robot
    log: sy.Log
    q: np.ndarray
    v: np.ndarray


def stepping(robot, start, feet, imu, *, flat=False, duration=3.0, speed=0.2, uneven=0.0, seed=0, noise=1.0) -> Steps:
    """A robot steps.

    Args:
        robot: on a free base.
        start: (nq,) a pose with feet near one height, with knees bent.
        feet: frames, in the order of their phases, each half a period after the other.
        imu: frame of the sensor on the base.
        flat: whether feet keep their orientation, too.
        duration: s.
        speed: m/s.
        uneven: m, standard deviation of the heights of footholds.
        seed: of sway, heights and noise.
        noise: of sensors, times the usual one.
    """
    rng = np.random.default_rng(seed)
    n = round(duration * RATE) * FINE + 1
    t = np.arange(n) / (RATE * FINE)
    wave = lambda size: size * np.sin(2 * np.pi * rng.uniform(0.3, 1.5, 3) * t[:, None] + rng.uniform(0, 6, 3))  # noqa: E731
    q = np.tile(start, (n, 1))
    shift, lean = wave(np.array([0.01, 0.01, 0.01])), wave(np.array([0.05, 0.05, 0.08]))
    q[:, :3] += shift + speed * t[:, None] * [1, 0, 0]
    q[:, 3:7] = (Rotation.from_rotvec(lean) * Rotation.from_quat(start[3:7])).as_quat()
    still = [frame_position(robot, start[None], foot)[0] for foot in feet]
    turn = [frame_rows(robot, start[:, None], (foot,))[0][1][..., 0] for foot in feet]
    goals, flags = [], {}
    for i, foot in enumerate(feet):
        phase = t / PERIOD + 0.5 * (i % 2)
        stride, at = np.floor(phase).astype(int), phase % 1
        k = np.arange(stride.max() + 2)
        ahead = speed * PERIOD * (k + STANCE / 2 - 0.5 * (i % 2))
        places = still[i] + np.column_stack([ahead, 0 * ahead, uneven * rng.normal(size=len(k))])
        along = np.clip((at - STANCE) / (1 - STANCE), 0, 1)
        ease = along**3 * (10 - 15 * along + 6 * along**2)
        goal = places[stride] + ease[:, None] * (places[stride + 1] - places[stride])
        goal[:, 2] += LIFT * 64 * along**3 * (1 - along) ** 3
        goals.append(goal)
        flags[foot] = (along == 0).astype(float)
    _put(robot, q, feet, goals, turn if flat else None)
    curve = make_interp_spline(t, q[:, 7:], k=5)
    p = make_interp_spline(t, q[:, :3], k=5)
    R = Rotation.from_quat(q[:, 3:7]).as_matrix()
    turned = make_interp_spline(t, R.reshape(n, 9), k=5)
    skew = R.mT @ turned(t, 1).reshape(n, 3, 3)
    w = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    twist = np.concatenate([np.einsum("nji,nj->ni", R, p(t, 1)), w], axis=1)
    v = np.concatenate([twist, curve(t, 1)], axis=1)
    a = make_interp_spline(t, v, k=5)(t, 1)
    sensor = felt(robot.frame(imu), q, v, a)
    at = slice(None, None, FINE)
    drawn = lambda size, like: size * noise * rng.normal(size=like.shape)  # noqa: E731
    t, q, v, sensor = t[at], q[at], v[at], sensor[at]
    sensor = sensor + drawn(np.repeat([3e-3, 0.05], 3), sensor)
    noisy, rates = q.copy(), v.copy()
    noisy[:, 7:] += drawn(2e-4, q[:, 7:])
    rates[:, 6:] += drawn(0.01, v[:, 6:])
    noisy[:, :7], rates[:, :6] = np.nan, np.nan
    log = sy.Log(t=t, q=noisy, v=rates, contacts={f: x[at] for f, x in flags.items()}, imu={imu: sensor})
    return Steps(robot, log, q, v)


def _put(robot, q, feet, goals, turns):
    """Joints of q (n, nq) that put feet where they are to be, in place: Gauss-Newton, all samples at once."""
    size = 6 if turns is not None else 3
    for _ in range(12):
        rows, errors = [], []
        found = frame_rows(robot, q.T, tuple(feet))
        for i, (J, R) in enumerate(found):
            rows.append(np.moveaxis(J[:size, 6:], -1, 0))
            error = goals[i] - frame_position(robot, q, feet[i])
            if turns is not None:
                off = Rotation.from_matrix(turns[i] @ np.moveaxis(R, -1, 0).mT).as_rotvec()
                error = np.concatenate([error, off], axis=1)
            errors.append(error)
        J, e = np.concatenate(rows, axis=1), np.concatenate(errors, axis=1)
        q[:, 7:] += (np.linalg.pinv(J, rcond=1e-6) @ e[..., None])[..., 0]
        if np.abs(e).max() < 1e-10:
            return
    raise AssertionError(f"feet miss by {np.abs(e).max():.2g} m")
