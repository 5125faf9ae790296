"""The job with a script of Pinocchio, SciPy and cvxpy: filter, differentiate, stack, weigh, solve the cone program."""

import cvxpy as cp
import numpy as np
import pinocchio as pin
from scipy.signal import butter, filtfilt

WIDTH = 0.05  # rad/s of smoothed Coulomb friction
PRIOR = 1e-3  # of the nominal pseudo-inertias


def motion(file: str, cutoff: float):
    with np.load(file) as log:
        t, first = np.unique(log["t"], return_index=True)
        q, tau = log["q"][first], log["tau"][first]
    even = np.arange(t[0], t[-1], np.median(np.diff(t)))
    q, tau = (np.stack([np.interp(even, t, column) for column in x.T], axis=1) for x in (q, tau))
    step = even[1] - even[0]
    b, a = butter(4, cutoff, fs=1 / step)
    q, tau = filtfilt(b, a, q, axis=0), filtfilt(b, a, tau, axis=0)
    v = np.gradient(q, step, axis=0)
    acc = np.gradient(v, step, axis=0)
    return [x[20:-20] for x in (q, v, acc, tau)]


def identify(urdf: str, files: list[str], cutoff: float):
    model = pin.buildModelFromUrdf(urdf)
    data, nv = model.createData(), model.nv
    q, v, acc, tau = map(np.concatenate, zip(*(motion(file, cutoff) for file in files), strict=True))
    Y = np.stack([pin.computeJointTorqueRegressor(model, data, *state) for state in zip(q, v, acc, strict=True)])
    friction = np.einsum("tnk,nj->tnjk", np.stack([v, np.tanh(v / WIDTH), acc, np.ones_like(v)], axis=-1), np.eye(nv))
    Y = np.concatenate([Y, friction.reshape(len(q), nv, -1)], axis=2)
    noise = np.ones(nv)
    for _ in range(2):
        A, rhs = (Y / noise[:, None]).reshape(-1, Y.shape[2]), (tau / noise).ravel()
        noise *= np.std((rhs - A @ np.linalg.lstsq(A, rhs, rcond=None)[0]).reshape(-1, nv), axis=0)
    Q, R = np.linalg.qr(A)
    pi = cp.Variable(Y.shape[2])
    cost, constraints = cp.sum_squares(R @ pi - Q.T @ rhs), []
    for i in range(nv):
        m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz = (pi[10 * i + k] for k in range(10))
        trace = 0.5 * (Ixx + Iyy + Izz)
        J = cp.bmat(
            [
                [trace - Ixx, -Ixy, -Ixz, hx],
                [-Ixy, trace - Iyy, -Iyz, hy],
                [-Ixz, -Iyz, trace - Izz, hz],
                [hx, hy, hz, m],
            ]
        )
        nominal = model.inertias[i + 1].toPseudoInertia().toMatrix()
        root = np.linalg.inv(np.linalg.cholesky(nominal))
        cost += PRIOR * len(rhs) * cp.sum_squares(root @ J @ root.T - np.eye(4))
        constraints.append(J >> 1e-8 * np.eye(4))
    effects = cp.reshape(pi[10 * nv :], (nv, 4), order="C")
    constraints.append(effects[:, :3] >= 0)
    cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)
    return pi.value[: 10 * nv].reshape(-1, 10), *effects.value.T
