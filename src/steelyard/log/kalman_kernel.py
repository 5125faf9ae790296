"""Kalman filters of values and of rotations and their Rauch-Tung-Striebel smoothers, by the compiled core.

State per axis: value, rate, acceleration; the acceleration is a random walk (white jerk). All axes have the same
noise and agility, so one 3x3 covariance a sample serves all of them. The error of a rotation lives in body axes and is
small between samples, so that it has the same covariances.
"""

import numpy as np

from steelyard.native import require_core

RATE_SPREAD, ACCELERATION_SPREAD = 10.0, 100.0  # of the first state, 1/s and 1/s^2 of the value's unit


def covariances(t, sigma, q, smooth, rate_spread=RATE_SPREAD, acceleration_spread=ACCELERATION_SPREAD):
    """Gains (n, 3), smoother gains (n, 3, 3), innovation variances (n,), and covariances (n, 3, 3) of the error of
    [value, rate, acceleration] on each axis: all that does not depend on the measurements. t: (n,) s; sigma: standard
    deviation of a measured value; q: density of the jerk; smooth: whether the smoother's gains are wanted; spreads:
    standard deviations of what the first rate and acceleration may be."""
    n = t.size
    gains, back, S, P = np.empty((n, 3)), np.empty((n, 3, 3)), np.empty(n), np.empty((n, 3, 3))
    require_core().covariances(t, sigma, q, smooth, rate_spread, acceleration_spread, gains, back, S, P)
    return gains, back, S, P


def filter_vector(t, measured, gains, back, smooth, rate, acceleration):
    """Value, rate and acceleration (n, m) of measured columns (n, m), and squared innovations (n,), summed over the
    columns. gains, back: of `covariances`; smooth: whether the smoother runs, too; rate, acceleration: (m,) of the
    first state."""
    x, innovations = np.empty((3, *measured.shape)), np.empty(t.size)
    x[0, :1], x[1, :1], x[2, :1] = measured[:1], rate, acceleration
    require_core().filter_vector(t, measured, gains, back, smooth, x, innovations)
    return x[0], x[1], x[2], innovations


def filter_rotation(t, measured, gains, back, smooth):
    """Rotation (n, 3, 3), angular velocity and acceleration (n, 3) in body axes of measured rotations (n, 3, 3),
    world_from_body, and squared innovations (n,); otherwise as `filter_vector`."""
    n = t.size
    R, w, al, innovations = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 3)), np.empty(n)
    require_core().filter_rotation(t, measured, gains, back, smooth, R, w, al, innovations)
    return R, w, al, innovations


def track(dt, R_measured, p_measured, sigma, q, R, w, al, x, P):
    """One step of the filters of positions and of rotations, in place, dt s after the one before. R_measured: (3, 3)
    world_from_body; p_measured: (3,) m in the world; sigma, q: (2,) standard deviations of position, m, and rotation,
    rad, and densities of their jerk. Overwritten: R (3, 3), w, al (3,) angular velocity and acceleration in body axes,
    x (3, 3) position, velocity and acceleration in the world, P (2, 3, 3) covariances of position and rotation."""
    require_core().track(dt, R_measured, p_measured, sigma, q, R, w, al, x, P)
