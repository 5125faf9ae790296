"""The job with mujoco.sysid: its pseudo-inertia parameters and optimiser, on a residual of inverse dynamics.

The package's own residual compares simulated positions; torques of a log are matched by a residual of one's own.
"""

from pathlib import Path

import mujoco
import numpy as np
from mujoco import sysid
from scipy.signal import butter, filtfilt

WIDTH = 0.05  # rad/s of smoothed Coulomb friction
SAMPLES = 120  # finite differences pay for each sample once a parameter
EFFECTS = {"viscous": (0.0, 100.0), "coulomb": (0.0, 100.0), "armature": (0.0, 20.0), "offset": (-30.0, 30.0)}


def write(spec, param):
    """Of version 4.0.0, the modifier that comes with the package leaves inertias that MuJoCo refuses to compile."""
    pi = sysid.model_modifier.pi_from_theta(param.value)
    body, mass, c = spec.body(param.name), pi[0], pi[1:4] / pi[0]
    moments, axes = np.linalg.eigh(pi[4:].reshape(3, 3) - mass * (c @ c * np.eye(3) - np.outer(c, c)))
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, (axes * np.linalg.det(axes)).ravel())
    body.mass, body.ipos, body.inertia, body.iquat = mass, c, moments, quaternion


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
    compiled = mujoco.MjModel.from_xml_path(urdf)
    mjcf = str(Path(urdf).with_suffix(".xml"))
    mujoco.mj_saveLastXML(mjcf, compiled)  # its modifiers want the inertials of an MJCF file
    spec = mujoco.MjSpec.from_file(mjcf)
    model = spec.compile()
    q, v, acc, tau = map(np.concatenate, zip(*(motion(file, cutoff) for file in files), strict=True))
    some = np.linspace(0, len(q) - 1, SAMPLES).astype(int)
    q, v, acc, tau = (x[some] for x in (q, v, acc, tau))
    bodies = [model.body(model.jnt_bodyid[j]).name for j in range(model.njnt)]
    params = sysid.ParameterDict()
    for body in bodies:
        kind = sysid.InertiaType.Pseudo
        params.add(sysid.body_inertia_param(spec, model, body, kind, param_name=body, modifier=write))
    for name, (low, high) in EFFECTS.items():
        start = np.full(model.nv, 0.0 if low < 0 else 0.01 * high)
        params.add(sysid.Parameter(name, start, np.full(model.nv, low), np.full(model.nv, high)))
    scale = np.std(tau, axis=0)

    def inverse(m):
        d, force = mujoco.MjData(m), np.empty_like(tau)
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        m.dof_damping[:] = 0.0  # of the file, which a column of its own replaces
        for k in range(len(q)):
            d.qpos[:], d.qvel[:], d.qacc[:] = q[k], v[k], acc[k]
            mujoco.mj_inverse(m, d)
            force[k] = d.qfrc_inverse
        return force

    def residual(x, given):
        columns = []
        for column in np.reshape(x, (len(x), -1)).T:
            given.update_from_vector(column)
            force = inverse(sysid.apply_param_modifiers(given, spec.copy()))
            viscous, coulomb, armature, offset = (given[name].value for name in EFFECTS)
            force += viscous * v + coulomb * np.tanh(v / WIDTH) + armature * acc + offset
            columns.append(((force - tau) / scale).ravel())
        return [np.stack(columns, axis=1) if x.ndim > 1 else columns[0]], None, None

    found, _ = sysid.optimize(params, residual, verbose=False, max_iters=20)
    pi = np.array([sysid.model_modifier.pi_from_theta(found[body].value) for body in bodies])
    theta = pi[:, [0, 1, 2, 3, 4, 5, 8, 6, 9, 12]]
    return theta, *(found[name].value for name in EFFECTS)
