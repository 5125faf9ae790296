"""Numba kernels of the pose Kalman filter and its Rauch-Tung-Striebel smoother. Importing this module imports Numba.

State per axis: value, rate, acceleration; the acceleration is a random walk. Noise is alike on all axes, so one 3x3
covariance serves all three, rotations included (their error state lives in body axes, small between samples).
"""

import numpy as np
from numba import njit

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
RATE_SPREAD, ACCELERATION_SPREAD = 10.0, 100.0  # of the first state, 1/s and 1/s^2 of the value's unit


@njit(**OPTIONS)
def _exp(u, out):
    """Rotation of a rotation vector u (3,), by Rodrigues' formula."""
    x, y, z = u[0], u[1], u[2]
    square = x * x + y * y + z * z
    angle = np.sqrt(square)
    if angle > 1e-6:
        s, c = np.sin(angle) / angle, (1 - np.cos(angle)) / square
    else:
        s, c = 1 - square / 6, 0.5 - square / 24
    out[0, 0], out[0, 1], out[0, 2] = 1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y
    out[1, 0], out[1, 1], out[1, 2] = c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x
    out[2, 0], out[2, 1], out[2, 2] = c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)


@njit(**OPTIONS)
def _log(A, B, out):
    """Rotation vector of `A^T B` for rotations less than half a turn apart."""
    trace = 0.0
    for i in range(3):
        for j in range(3):
            trace += A[j, i] * B[j, i]
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        low, high = 0.0, 0.0
        for j in range(3):
            low += A[j, b] * B[j, a]
            high += A[j, a] * B[j, b]
        out[i] = 0.5 * (low - high)
    sine = np.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2)
    scale = np.arctan2(sine, 0.5 * (trace - 1)) / sine if sine > 1e-9 else 1.0
    for i in range(3):
        out[i] *= scale


@njit(**OPTIONS)
def _times(A, B, out):
    """out = A B, 3 by 3, written out: a library call costs more than it does, in time and in compilation."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@njit(**OPTIONS)
def _times_transposed(A, B, out):
    """out = A B^T."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[j, 0] + A[i, 1] * B[j, 1] + A[i, 2] * B[j, 2]


@njit(**OPTIONS)
def _transition(dt, F):
    F[0, 1], F[1, 2], F[0, 2] = dt, dt, 0.5 * dt * dt


@njit(**OPTIONS)
def _predict(P, dt, q, F, half, out):
    """Covariance after dt: `F P F^T + Q` of a triple integrator driven by white jerk of density q."""
    _transition(dt, F)
    _times(F, P, half)
    _times_transposed(half, F, out)
    d2, d3 = dt * dt, dt * dt * dt
    out[0, 0] += q * d2 * d3 / 20
    out[0, 1] += q * d2 * d2 / 8
    out[1, 0] += q * d2 * d2 / 8
    out[0, 2] += q * d3 / 6
    out[2, 0] += q * d3 / 6
    out[1, 1] += q * d3 / 3
    out[1, 2] += q * d2 / 2
    out[2, 1] += q * d2 / 2
    out[2, 2] += q * dt


@njit(**OPTIONS)
def _update(P, sigma, gain, out):
    """Gain (3,) and covariance after a measurement of the value. Returns the innovation variance."""
    S = P[0, 0] + sigma * sigma
    for i in range(3):
        gain[i] = P[i, 0] / S
    for i in range(3):
        for j in range(3):
            out[i, j] = P[i, j] - gain[i] * P[0, j]
    return S


@njit(**OPTIONS)
def _smoother_gain(P, predicted, dt, F, half, inverse, out):
    """`P F^T predicted^-1`."""
    a, b, c, d, e, f = (
        predicted[0, 0],
        predicted[0, 1],
        predicted[0, 2],
        predicted[1, 1],
        predicted[1, 2],
        predicted[2, 2],
    )
    determinant = a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)
    inverse[0, 0], inverse[1, 1], inverse[2, 2] = d * f - e * e, a * f - c * c, a * d - b * b
    inverse[0, 1], inverse[0, 2], inverse[1, 2] = c * e - b * f, b * e - c * d, b * c - a * e
    for i in range(3):
        for j in range(i, 3):
            inverse[i, j] /= determinant
            inverse[j, i] = inverse[i, j]
    _transition(dt, F)
    _times_transposed(P, F, half)
    _times(half, inverse, out)


@njit(**OPTIONS)
def covariances(t, sigma, q, smooth):
    """Everything that does not depend on the measurements: gains (n, 3), smoother gains (n, 3, 3), innovation variances
    (n,), and covariances (n, 3, 3) of the error of [value, rate, acceleration] on each axis."""
    n = t.size
    gains, back, S = np.zeros((n, 3)), np.zeros((n, 3, 3)), np.ones(n)
    P, predicted = np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    F, half, inverse, change = np.eye(3), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    P[0, 0, 0], P[0, 1, 1], P[0, 2, 2] = sigma * sigma, RATE_SPREAD**2, ACCELERATION_SPREAD**2
    for k in range(1, n):
        _predict(P[k - 1], t[k] - t[k - 1], q, F, half, predicted[k])
        S[k] = _update(predicted[k], sigma, gains[k], P[k])
    if smooth:
        for k in range(n - 2, -1, -1):
            _smoother_gain(P[k], predicted[k + 1], t[k + 1] - t[k], F, half, inverse, back[k])
            for i in range(3):
                for j in range(3):
                    change[i, j] = P[k + 1, i, j] - predicted[k + 1, i, j]
            _times(back[k], change, half)
            _times_transposed(half, back[k], change)
            for i in range(3):
                for j in range(3):
                    P[k, i, j] += change[i, j]
    return gains, back, S, P


@njit(**OPTIONS)
def filter_rotation(t, measured, gains, back, smooth):
    """Rotation (n, 3, 3), angular velocity and acceleration (n, 3) in body axes, and squared innovations (n,).
    measured: (n, 3, 3); gains, back: from `covariances`."""
    n = t.size
    R, w, al = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    Rp, wp, ap = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    e, u, turn, innovations = np.zeros(3), np.zeros(3), np.zeros((3, 3)), np.zeros(n)
    held = np.zeros((3, 3))
    R[0] = measured[0]
    for k in range(1, n):
        dt, g = t[k] - t[k - 1], gains[k]
        for i in range(3):
            u[i] = w[k - 1, i] * dt + 0.5 * dt * dt * al[k - 1, i]
            wp[k, i], ap[k, i] = w[k - 1, i] + dt * al[k - 1, i], al[k - 1, i]
        _exp(u, turn)
        _times(R[k - 1], turn, Rp[k])
        _log(Rp[k], measured[k], e)
        for i in range(3):
            innovations[k] += e[i] * e[i]
            u[i] = g[0] * e[i]
            w[k, i], al[k, i] = wp[k, i] + g[1] * e[i], ap[k, i] + g[2] * e[i]
        _exp(u, turn)
        _times(Rp[k], turn, R[k])
    if smooth:
        for k in range(n - 2, -1, -1):
            C = back[k]
            _log(Rp[k + 1], R[k + 1], e)
            for i in range(3):
                dw, da = w[k + 1, i] - wp[k + 1, i], al[k + 1, i] - ap[k + 1, i]
                u[i] = C[0, 0] * e[i] + C[0, 1] * dw + C[0, 2] * da
                w[k, i] += C[1, 0] * e[i] + C[1, 1] * dw + C[1, 2] * da
                al[k, i] += C[2, 0] * e[i] + C[2, 1] * dw + C[2, 2] * da
            _exp(u, turn)
            _times(R[k], turn, held)
            R[k] = held
    return R, w, al, innovations


@njit(**OPTIONS)
def filter_vector(t, measured, gains, back, smooth):
    """Value, rate and acceleration (n, 3), and squared innovations (n,). measured: (n, 3)."""
    n = t.size
    x, xp, innovations = np.zeros((3, n, 3)), np.zeros((3, n, 3)), np.zeros(n)
    x[0, 0] = measured[0]
    for k in range(1, n):
        dt, g = t[k] - t[k - 1], gains[k]
        for i in range(3):
            xp[0, k, i] = x[0, k - 1, i] + dt * x[1, k - 1, i] + 0.5 * dt * dt * x[2, k - 1, i]
            xp[1, k, i] = x[1, k - 1, i] + dt * x[2, k - 1, i]
            xp[2, k, i] = x[2, k - 1, i]
            e = measured[k, i] - xp[0, k, i]
            innovations[k] += e * e
            for s in range(3):
                x[s, k, i] = xp[s, k, i] + g[s] * e
    if smooth:
        for k in range(n - 2, -1, -1):
            for i in range(3):
                d0, d1, d2 = (
                    x[0, k + 1, i] - xp[0, k + 1, i],
                    x[1, k + 1, i] - xp[1, k + 1, i],
                    x[2, k + 1, i] - xp[2, k + 1, i],
                )
                for s in range(3):
                    x[s, k, i] += back[k, s, 0] * d0 + back[k, s, 1] * d1 + back[k, s, 2] * d2
    return x[0], x[1], x[2], innovations


@njit(**OPTIONS)
def track(dt, R_measured, p_measured, sigma, q, R, w, al, x, P):
    """One step of both filters, in place. sigma, q: (2,) of position and rotation; R (3, 3), w, al (3,) rotation and
    its rates; x (3, 3) position, velocity, acceleration; P (2, 3, 3) their covariances."""
    F, half, predicted, turn, turned = (
        np.eye(3),
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((3, 3)),
    )
    gain, e, u = np.empty(3), np.empty(3), np.empty(3)
    _predict(P[0], dt, q[0], F, half, predicted)
    _update(predicted, sigma[0], gain, P[0])
    for i in range(3):
        x[0, i] += dt * x[1, i] + 0.5 * dt * dt * x[2, i]
        x[1, i] += dt * x[2, i]
        miss = p_measured[i] - x[0, i]
        for s in range(3):
            x[s, i] += gain[s] * miss
    _predict(P[1], dt, q[1], F, half, predicted)
    _update(predicted, sigma[1], gain, P[1])
    for i in range(3):
        u[i] = w[i] * dt + 0.5 * dt * dt * al[i]
        w[i] += dt * al[i]
    _exp(u, turn)
    _times(R, turn, turned)
    _log(turned, R_measured, e)
    for i in range(3):
        u[i] = gain[0] * e[i]
        w[i] += gain[1] * e[i]
        al[i] += gain[2] * e[i]
    _exp(u, turn)
    _times(turned, turn, R)
