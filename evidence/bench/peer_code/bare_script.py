"""The least that a careful script does: read, filter, differentiate, fit by least squares, error on the rest."""

import sys

import numpy as np
import pinocchio as pin
from scipy.signal import butter, filtfilt

WIDTH = 0.05  # rad/s of smoothed Coulomb friction


def main(urdf: str, csv: str):
    model = pin.buildModelFromUrdf(urdf)
    data, nv = model.createData(), model.nv
    table = np.loadtxt(csv, delimiter=",", skiprows=1)
    t, q, tau = table[:, 0], table[:, 1 : 1 + nv], table[:, 1 + nv : 1 + 2 * nv]
    step = t[1] - t[0]
    q, tau = (filtfilt(*butter(4, 10.0, fs=1 / step), x, axis=0) for x in (q, tau))
    v = np.gradient(q, step, axis=0)
    a = np.gradient(v, step, axis=0)
    rows = np.stack([pin.computeJointTorqueRegressor(model, data, *state) for state in zip(q, v, a, strict=True)])
    effects = np.stack([v, np.tanh(v / WIDTH), np.ones_like(v), a], axis=-1)
    rows = np.concatenate([rows, np.einsum("njk,ji->njik", effects, np.eye(nv)).reshape(len(t), nv, -1)], axis=2)
    train = int(0.8 * len(t))
    found = np.linalg.lstsq(rows[:train].reshape(-1, rows.shape[2]), tau[:train].ravel(), rcond=None)[0]
    print(np.linalg.norm(rows[train:] @ found - tau[train:]) / np.linalg.norm(tau[train:]))


if __name__ == "__main__":
    main(*sys.argv[1:])
