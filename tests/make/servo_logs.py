"""Logs of robots with position servos, by a loop over `mj_step` with steps far finer than those of any fit: quantised
positions, late commands, torques that are clipped."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np

import steelyard as sy
from robots import urdf
from steelyard.drives.arrays import DriveArrays
from steelyard.drives.drive import Drive
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


GRIPPER = """<mujoco><worldbody><body name="wrist"><joint name="turn" axis="0 1 0"/>
  <inertial mass="0.3" pos="0.01 0 0.05" diaginertia="3e-4 3e-4 2e-4"/>
  <body name="left" pos="0 0.02 0.1"><joint name="left" type="slide" axis="0 1 0"/>
    <inertial mass="0.06" pos="0 0 0.02" diaginertia="2e-5 2e-5 1e-5"/></body>
  <body name="right" pos="0 -0.02 0.1"><joint name="right" type="slide" axis="0 -1 0"/>
    <inertial mass="0.05" pos="0 0 0.02" diaginertia="2e-5 2e-5 1e-5"/></body>
</body></worldbody></mujoco>"""


def leg():
    """A leg with a fixed hip whose gains are known: robot, truth, what is given, size of its motion, rad or m."""
    robot = library.cheetah3_leg()
    return robot, SERVOS, _given(robot, Drive("position", kp=60.0)), np.ones(3)


def quadruped():
    """As `leg`: a quadruped on a stand, twelve drives with damping of their own."""
    robot, rng = sy.load(urdf("go2")), np.random.default_rng(3)
    robot = replace(robot, drives={})
    truth = DriveArrays(
        follows_q=np.ones(12),
        gain=np.full(12, 25.0),
        kd=np.full(12, 0.5),
        limit=np.full(12, np.inf),
        delay=np.full(12, 0.009),
        slope_limit=np.full(12, np.inf),
        damping=rng.uniform(0.1, 0.6, 12),
        frictionloss=rng.uniform(0.1, 0.6, 12),
        armature=rng.uniform(0.005, 0.02, 12),
        inertias=robot.inertias,
    )
    return robot, truth, _given(robot, Drive("position", kp=25.0, kd=0.5)), np.ones(12)


def gripper():
    """As `leg`: a wrist and two fingers whose drives reach a limit that is not known."""
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "gripper.xml").write_text(GRIPPER)
        robot = replace(sy.load(path), source=None)
    truth = DriveArrays(
        follows_q=np.ones(3),
        gain=np.array([8.0, 300.0, 300.0]),
        kd=np.zeros(3),
        limit=np.array([0.8, 4.0, 4.5]),
        delay=np.full(3, 0.015),
        slope_limit=np.full(3, np.inf),
        damping=np.array([0.25, 9.0, 11.0]),
        frictionloss=np.array([0.1, 0.5, 0.7]),
        armature=np.array([0.004, 0.2, 0.25]),
        inertias=robot.inertias,
    )
    given = {name: Drive("position", kp=gain) for name, gain in zip(robot.dof_names, truth.gain, strict=True)}
    return robot, truth, replace(robot, drives=given), np.array([1.0, 0.08, 0.08])


LEGS = "<mujoco><worldbody>{}</worldbody></mujoco>"
ONE_LEG = """<body name="{0}_thigh" pos="0 {1} 0"><joint name="{0}_hip" axis="0 1 0" range="-120 120"/>
  <inertial mass="1.1" pos="0.01 0 -0.1" diaginertia="8e-3 8e-3 1e-3"/>
  <body name="{0}_shank" pos="0 0 -0.2"><joint name="{0}_knee" axis="0 1 0" range="-120 120"/>
    <inertial mass="0.4" pos="0 0 -0.08" diaginertia="2e-3 2e-3 1e-4"/></body></body>"""


def on_stand(**legs: float):
    """A robot of equal legs on a stand. legs: how far each is aside, m."""
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "legs.xml").write_text(
            LEGS.format("".join(ONE_LEG.format(*each) for each in legs.items()))
        )
        return replace(sy.load(path), source=None)


def legs(seed: int):
    """Two legs, drives of which each joint has its own at random, and what is given."""
    robot, rng = on_stand(left=0.1, right=-0.1), np.random.default_rng(seed)
    truth = DriveArrays(
        follows_q=np.ones(4),
        gain=np.full(4, 25.0),
        kd=np.full(4, 0.5),
        limit=np.full(4, np.inf),
        delay=np.full(4, 0.009),
        slope_limit=np.full(4, np.inf),
        damping=rng.uniform(0.1, 0.6, 4),
        frictionloss=rng.uniform(0.1, 0.6, 4),
        armature=rng.uniform(0.005, 0.02, 4),
        inertias=robot.inertias,
    )
    return robot, truth, _given(robot, Drive("position", kp=25.0, kd=0.5))


CASES = {"leg": leg, "quadruped": quadruped, "gripper": gripper}


def _given(robot, drive: Drive):
    return replace(robot, drives=dict.fromkeys(robot.dof_names, drive))


def goals(robot, duration: float, seed: int):
    """Times and commands (n, nv) about zero: waves of several frequencies, and stairs."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, SAMPLE)
    w, phase = rng.uniform(0.5, 9, size=(4, robot.nv)), rng.uniform(0, 6, size=(4, robot.nv))
    waves = 0.1 * np.sin(t[:, None, None] * w + phase).sum(axis=1)
    stairs = np.repeat(rng.uniform(-0.3, 0.3, size=(len(t) // 50 + 1, robot.nv)), 50, axis=0)[: len(t)]
    return t, waves + stairs


def servo_log(
    robot,
    drives: DriveArrays,
    seed: int,
    duration: float = 20.0,
    size=1.0,
    rubs: float = 0.0,
    sample: float = SAMPLE,
    torques: bool = False,
    soft: bool = False,
    dead: float = 0.0,
) -> sy.Log:
    """Log of positions and commands.

    size: of the motion, times that of `goals`, about the middle of what the joints can do. rubs: friction per load, N m
    per N m of gravity and inertia. sample: s. torques: of the drives, means until the next sample, instead of commands.
    soft: whether friction is as soft as MuJoCo's by default. dead: error of position that drives leave out, rad.
    """
    t, command = goals(robot, duration, seed)
    bounds = robot.lower, robot.upper
    middle = np.where(np.isfinite(bounds).all(axis=0), np.mean(bounds, axis=0), 0.0)
    command, tick = middle + size * command, size * TICK
    spec = mujoco.MjSpec.from_string(mjcf_text(robot))
    for j, joint in enumerate(spec.joints):
        actuator = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_position(kp=drives.gain[j], kv=drives.kd[j])
        actuator.forcelimited, actuator.forcerange = True, np.minimum(drives.limit[j], 1e30) * np.array([-1, 1])
        joint.damping, joint.frictionloss = np.r_[drives.damping[j], 0, 0], drives.frictionloss[j]
        # a step damps by the speed at its end, as if there were armature of half a step times the damping more
        joint.armature = drives.armature[j] - FINE / 2 * (drives.damping[j] + drives.kd[j])
        if not soft:
            joint.solimp_friction, joint.solref_friction = [0.9999, 0.9999, 0.001, 0.5, 2], [2 * FINE, 1]
    m = spec.compile()
    m.opt.timestep, m.opt.integrator = FINE, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    d = mujoco.MjData(m)
    d.qpos[:] = command[0]
    every, before, found, torque = round(sample / FINE), d.qpos.copy(), [], []
    steps = FINE * np.arange(round(t[-1] / FINE) + 1)
    last = np.maximum(np.searchsorted(t, steps[:, None] - drives.delay + 1e-9, side="right") - 1, 0)
    late = command[last, np.arange(m.nu)]
    m.dof_frictionloss[:] = drives.frictionloss
    for k in range(len(steps)):
        if k % every == 0:
            found.append((d.qpos + before) / 2)  # a step's position is half a step ahead of its time
            torque.append(np.zeros(m.nu))
        d.ctrl[:] = late[k] - np.clip(late[k] - d.qpos, -dead, dead)
        before = d.qpos.copy()
        if rubs:
            m.dof_frictionloss[:] = drives.frictionloss + rubs * np.abs(d.qfrc_bias)
        mujoco.mj_step(m, d)
        torque[-1] += d.actuator_force / every
    q = np.round(np.array(found) / tick) * tick
    at = sample * np.arange(len(q))
    if torques:
        return sy.Log(t=at, q=q, tau=np.array(torque), joint_names=robot.dof_names)
    told = command[np.searchsorted(t, at + 1e-9, side="right") - 1]
    return sy.Log(t=at, q=q, command=told, joint_names=robot.dof_names)
