"""The Kalman filter of the core and its smoother, sample by sample: what tests hold the core to."""

import numpy as np

from steelyard.log.kalman import ACCELERATION_SPREAD, RATE_SPREAD


def times(A, B, out):
    """Product of two matrices, written out.

    Args:
        A: (3, 3).
        B: (3, 3).
        out: (3, 3), overwritten with `A B`.
    """
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


def times_transposed(A, B, out):
    """out = A B^T."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[j, 0] + A[i, 1] * B[j, 1] + A[i, 2] * B[j, 2]


def _transition(dt, F):
    F[0, 1], F[1, 2], F[0, 2] = dt, dt, 0.5 * dt * dt


def predict(P, dt, q, F, half, out):
    """Covariance after a step of a triple integrator driven by white jerk: `F P F^T + Q`.

    Args:
        P: (3, 3) covariance before.
        dt: the step, s.
        q: density of the jerk.
        F: (3, 3) unit matrix, overwritten with the transition.
        half: (3, 3) of scratch.
        out: (3, 3), overwritten with the covariance after.
    """
    _transition(dt, F)
    times(F, P, half)
    times_transposed(half, F, out)
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


def update(P, sigma, gain, out):
    """Gain and covariance after a measurement of the value.

    Args:
        P: (3, 3) covariance before.
        sigma: standard deviation of the measurement.
        gain: (3,), overwritten.
        out: (3, 3), overwritten with the covariance after.

    Returns:
        The innovation variance.
    """
    S = P[0, 0] + sigma * sigma
    for i in range(3):
        gain[i] = P[i, 0] / S
    for i in range(3):
        for j in range(3):
            out[i, j] = P[i, j] - gain[i] * P[0, j]
    return S


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
    times_transposed(P, F, half)
    times(half, inverse, out)


def covariances(t, sigma, q, smooth, rate_spread=RATE_SPREAD, acceleration_spread=ACCELERATION_SPREAD):
    """Those of the core."""
    n = t.size
    gains, back, S = np.zeros((n, 3)), np.zeros((n, 3, 3)), np.ones(n)
    P, predicted = np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    F, half, inverse, change = np.eye(3), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    P[0, 0, 0], P[0, 1, 1], P[0, 2, 2] = sigma * sigma, rate_spread**2, acceleration_spread**2
    for k in range(1, n):
        predict(P[k - 1], t[k] - t[k - 1], q, F, half, predicted[k])
        S[k] = update(predicted[k], sigma, gains[k], P[k])
    if smooth:
        for k in range(n - 2, -1, -1):
            _smoother_gain(P[k], predicted[k + 1], t[k + 1] - t[k], F, half, inverse, back[k])
            for i in range(3):
                for j in range(3):
                    change[i, j] = P[k + 1, i, j] - predicted[k + 1, i, j]
            times(back[k], change, half)
            times_transposed(half, back[k], change)
            for i in range(3):
                for j in range(3):
                    P[k, i, j] += change[i, j]
    return gains, back, S, P


def filter_vector(t, measured, gains, back, smooth, rate, acceleration):
    """That of the core."""
    n = t.size
    m = measured.shape[1]
    x, xp, innovations = np.zeros((3, n, m)), np.zeros((3, n, m)), np.zeros(n)
    x[0, 0], x[1, 0], x[2, 0] = measured[0], rate, acceleration
    for k in range(1, n):
        dt, g = t[k] - t[k - 1], gains[k]
        for i in range(m):
            xp[0, k, i] = x[0, k - 1, i] + dt * x[1, k - 1, i] + 0.5 * dt * dt * x[2, k - 1, i]
            xp[1, k, i] = x[1, k - 1, i] + dt * x[2, k - 1, i]
            xp[2, k, i] = x[2, k - 1, i]
            e = measured[k, i] - xp[0, k, i]
            innovations[k] += e * e
            for s in range(3):
                x[s, k, i] = xp[s, k, i] + g[s] * e
    if smooth:
        for k in range(n - 2, -1, -1):
            for i in range(m):
                d0, d1, d2 = (
                    x[0, k + 1, i] - xp[0, k + 1, i],
                    x[1, k + 1, i] - xp[1, k + 1, i],
                    x[2, k + 1, i] - xp[2, k + 1, i],
                )
                for s in range(3):
                    x[s, k, i] += back[k, s, 0] * d0 + back[k, s, 1] * d1 + back[k, s, 2] * d2
    return x[0], x[1], x[2], innovations
