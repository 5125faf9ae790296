"""Logs of robots with position servos, by a loop over `mj_step` with steps far finer than those of any fit: quantised
positions, late commands, torques that are clipped."""

import mujoco
import numpy as np

import steelyard as sy
from steelyard.drives import DriveArrays
from steelyard.model import library, mjcf_text

FINE = 2e-4  # s
SAMPLE = 0.02  # s
TICK = 2 * np.pi / 4096  # rad

SERVOS = DriveArrays(
    follows_q=np.ones(3),
    gain=np.full(3, 60.0),
    kd=np.zeros(3),
    limit=np.full(3, np.inf),
    delay=np.full(3, 0.012),
    slope_limit=np.full(3, np.inf),
    damping=np.array([3.0, 2.0, 1.5]),
    frictionloss=np.array([0.5, 0.8, 0.4]),
    armature=np.array([0.05, 0.04, 0.06]),
    inertias=library.cheetah3_leg().inertias,
)


def goals(robot, duration: float, seed: int):
    """Times and commands (n, nv): waves of several frequencies, and stairs."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, SAMPLE)
    w, phase = rng.uniform(0.5, 9, size=(4, robot.nv)), rng.uniform(0, 6, size=(4, robot.nv))
    waves = 0.1 * np.sin(t[:, None, None] * w + phase).sum(axis=1)
    stairs = np.repeat(rng.uniform(-0.3, 0.3, size=(len(t) // 50 + 1, robot.nv)), 50, axis=0)[: len(t)]
    return t, waves + stairs


def servo_log(robot, drives: DriveArrays, seed: int, duration: float = 20.0) -> sy.Log:
    """Log of positions and commands."""
    t, command = goals(robot, duration, seed)
    spec = mujoco.MjSpec.from_string(mjcf_text(robot))
    for j, joint in enumerate(spec.joints):
        actuator = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_position(kp=drives.gain[j], kv=drives.kd[j])
        actuator.forcelimited, actuator.forcerange = True, np.minimum(drives.limit[j], 1e30) * np.array([-1, 1])
        joint.damping, joint.frictionloss = np.r_[drives.damping[j], 0, 0], drives.frictionloss[j]
        joint.armature = drives.armature[j]
        joint.solimp_friction, joint.solref_friction = [0.9999, 0.9999, 0.001, 0.5, 2], [2 * FINE, 1]
    m = spec.compile()
    m.opt.timestep, m.opt.integrator = FINE, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    d = mujoco.MjData(m)
    d.qpos[:] = command[0]
    every, before, found = round(SAMPLE / FINE), d.qpos.copy(), []
    for k in range(round(t[-1] / FINE) + 1):
        if k % every == 0:
            found.append((d.qpos + before) / 2)  # a step's position is half a step ahead of its time
        last = np.maximum(np.searchsorted(t, k * FINE - drives.delay + 1e-9, side="right") - 1, 0)
        d.ctrl[:] = command[last, np.arange(m.nu)]
        before = d.qpos.copy()
        mujoco.mj_step(m, d)
    q = np.round(np.array(found)[: len(t)] / TICK) * TICK
    return sy.Log(t=t, q=q, command=command, joint_names=robot.dof_names)
