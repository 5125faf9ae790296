"""The Kalman filter of rotations of the core, sample by sample: what tests hold the core to."""

import numpy as np

from twins.kalman import predict, times, update


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


def filter_rotation(t, measured, gains, back, smooth):
    """That of the core."""
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
        times(R[k - 1], turn, Rp[k])
        _log(Rp[k], measured[k], e)
        for i in range(3):
            innovations[k] += e[i] * e[i]
            u[i] = g[0] * e[i]
            w[k, i], al[k, i] = wp[k, i] + g[1] * e[i], ap[k, i] + g[2] * e[i]
        _exp(u, turn)
        times(Rp[k], turn, R[k])
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
            times(R[k], turn, held)
            R[k] = held
    return R, w, al, innovations


def track(dt, R_measured, p_measured, sigma, q, R, w, al, x, P):
    """That of the core."""
    F, half, predicted, turn, turned = (
        np.eye(3),
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((3, 3)),
    )
    gain, e, u = np.empty(3), np.empty(3), np.empty(3)
    predict(P[0], dt, q[0], F, half, predicted)
    update(predicted, sigma[0], gain, P[0])
    for i in range(3):
        x[0, i] += dt * x[1, i] + 0.5 * dt * dt * x[2, i]
        x[1, i] += dt * x[2, i]
        miss = p_measured[i] - x[0, i]
        for s in range(3):
            x[s, i] += gain[s] * miss
    predict(P[1], dt, q[1], F, half, predicted)
    update(predicted, sigma[1], gain, P[1])
    for i in range(3):
        u[i] = w[i] * dt + 0.5 * dt * dt * al[i]
        w[i] += dt * al[i]
    _exp(u, turn)
    times(R, turn, turned)
    _log(turned, R_measured, e)
    for i in range(3):
        u[i] = gain[0] * e[i]
        w[i] += gain[1] * e[i]
        al[i] += gain[2] * e[i]
    _exp(u, turn)
    times(turned, turn, R)
