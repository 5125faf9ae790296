"""A model file that MuJoCo moves from states of a walk, told what the robot was told: errors of short windows."""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

import steelyard as sy

WINDOW = 0.2  # s
FIRST = 0.5  # s, of a walk that begins


@dataclass(frozen=True)
class Errors:
    """Root mean squares over all windows: joints, mrad; place, mm, and tilt, mrad, of the base. joint: (nj,) mrad."""

    joints: float
    place: float
    tilt: float
    joint: np.ndarray


def compiled(text: str):
    """The MjModel of a file without the delays of its actuators, and these, s."""
    spec = mujoco.MjSpec.from_string(text)
    delays = np.array([actuator.delay for actuator in spec.actuators])
    for actuator in spec.actuators:
        actuator.delay, actuator.nsample = 0.0, 0
    return spec.compile(), delays


def errors(text: str, told: sy.Log, exact: sy.Log, *, window: float = WINDOW) -> Errors:
    """Errors of a model.

    Args:
        text: MJCF of the model on its ground.
        told: the log of commands, each until the next.
        exact: the motion at the same times.
        window: s.

    Returns:
        The Errors.
    """
    m, delays = compiled(text)
    d, names = mujoco.MjData(m), exact.joint_names[6:]
    at = [m.joint(name).qposadr[0] for name in names]
    dofs = [m.joint(name).dofadr[0] for name in names]
    joint_of = {name: k for k, name in enumerate(names)}
    order = [joint_of[m.joint(m.actuator(i).trnid[0]).name] for i in range(m.nu)]
    sample, step = float(np.median(np.diff(told.t))), m.opt.timestep
    n = round(window / sample)
    command, late = told.command[:, 6:], delays
    found = []
    for first in range(round(FIRST / sample), len(exact) - n, n):
        mujoco.mj_resetData(m, d)
        q, v = exact.q[first], exact.v[first]
        R = np.zeros(9)
        d.qpos[:7] = np.r_[q[:3], q[6], q[3:6]]
        mujoco.mju_quat2Mat(R, d.qpos[3:7])
        d.qvel[:6] = np.r_[R.reshape(3, 3) @ v[:3], v[3:6]]
        d.qpos[at], d.qvel[dofs] = q[7:], v[6:]
        for k in range(round(window / step)):
            when = np.floor((k * step - late) / sample + 1e-9).astype(int)
            d.ctrl[:] = command[np.maximum(first + when, 0), order]
            mujoco.mj_step(m, d)
            time = (k + 1) * step / sample
            if abs(time - round(time)) < 1e-6:
                q = exact.q[first + round(time)]
                turn = np.zeros(3)
                mujoco.mju_subQuat(turn, d.qpos[3:7], np.r_[q[6], q[3:6]])
                found.append(np.r_[d.qpos[:3] - q[:3], turn, d.qpos[at] - q[7:]])
    rms = np.sqrt(np.mean(np.square(found), axis=0))
    size = lambda columns: 1e3 * float(np.sqrt(np.mean(rms[columns] ** 2)))  # noqa: E731
    return Errors(size(slice(6, None)), size(slice(0, 3)), size(slice(3, 6)), 1e3 * rms[6:])


def mjcf_of(path: str | Path) -> str:
    return Path(path).read_text("utf-8")
