"""Logs of ten kinds of jobs, from honest to hopeless, recorded by MuJoCo."""

import numpy as np

from adversary import arms
from adversary.arms import Drawn
from steelyard.model import force_from_mujoco, from_mujoco

RATE = 200.0  # Hz
STEP = 5e-4  # s of integration where MuJoCo moves freely
FAULTS = ("delay", "scale", "sign", "zero", "unit", "order", "clipped", "hysteresis")
IMU = {"v": [0.01] * 3 + [0.005] * 3, "a": [0.05] * 3 + [0.5] * 3, "tau": [0.0] * 6}  # m/s, rad/s, ... deviations
LAWS = ("stribeck", "load", "asymmetric")


def recorded(robot: Drawn, rng, *, seconds=None, law="coulomb", after=None, **moved) -> dict[str, np.ndarray]:
    """A log of a rich motion with an encoder's steps and noise on torques. law: of friction; after: the robot that it
    is from a random moment on; moved: of `arms.motion`."""
    t = np.arange(round((rng.uniform(12.0, 22.0) if seconds is None else seconds) * RATE)) / RATE
    q, v, a = arms.motion(robot, rng, t, **moved)
    rigid = arms.torques(robot, q, v, a)
    if after is not None:
        start = int(rng.uniform(0.2, 0.9) * len(t))
        rigid[start:] = arms.torques(after, q[start:], v[start:], a[start:])
    tau = rigid + arms.friction(robot, v, law=law, load=rigid)
    tau += robot.noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return {"t": t, "q": np.round(q / robot.encoder) * robot.encoder, "tau": tau}


def clean(robot: Drawn, rng):
    return [recorded(robot, rng) for _ in range(rng.integers(1, 3))], "rich motion"


def faulty(robot: Drawn, rng):
    log, what = recorded(robot, rng), str(rng.choice(FAULTS))
    j = int(rng.integers(robot.n - (what == "zero")))  # the last joint's turns its link along and shows in no torque
    t, q, tau = log["t"], log["q"], log["tau"]
    if what == "delay":
        late = rng.uniform(0.01, 0.05)
        log["tau"] = np.stack([np.interp(t - late, t, column) for column in tau.T], axis=1)
    elif what == "scale":
        tau[:, j] *= rng.choice([0.6, 1.5])
    elif what == "sign":
        tau[:, j] *= -1
    elif what == "zero":
        q[:, j] += rng.choice([-0.2, 0.2]) * rng.uniform(0.5, 2.0) * robot.reach[j]
    elif what == "unit":
        tau *= 1000.0
    elif what == "order":
        log["tau"] = np.roll(tau, 1, axis=1)
    elif what == "clipped":
        most = 0.6 * np.abs(tau).max(axis=0)
        log["tau"] = np.clip(tau, -most, most)
    else:
        tau[:, j] += 0.3 * np.std(tau[:, j]) * np.sign(np.gradient(tau[:, j]))
    return [log], what


def short(robot: Drawn, rng):
    seconds = rng.uniform(1.5, 4.0)
    return [recorded(robot, rng, seconds=seconds)], f"{seconds:.1f} s"


def disagreeing(robot: Drawn, rng):
    load = rng.uniform(0.2, 1.5) * robot.masses[-1].sum()
    logs = [recorded(robot, rng), recorded(arms.loaded(robot, load, rng), rng)]
    if rng.uniform() < 0.3:
        logs.insert(int(rng.integers(3)), recorded(robot, rng))
    return logs, f"{load:.2g} kg in one of {len(logs)}"


def load_changed(robot: Drawn, rng):
    load = rng.uniform(0.2, 1.5) * robot.masses[-1].sum()
    return [recorded(robot, rng, after=arms.loaded(robot, load, rng))], f"{load:.2g} kg from some moment on"


def few_moving(robot: Drawn, rng):
    moving = np.zeros(robot.n)
    moving[rng.permutation(robot.n)[: max(1, robot.n // 2)]] = 1.0
    return [recorded(robot, rng, moving=moving)], f"{moving.sum():.0f} of {robot.n} joints"


def poor(robot: Drawn, rng):
    reach, period = rng.uniform(0.03, 0.25), rng.choice([6.0, 20.0])
    return [recorded(robot, rng, reach=reach, period=period)], f"{reach:.0%} of the range in {period:.0f} s"


def free_fall(robot: Drawn, given, rng, m, *, seconds: float) -> dict[str, np.ndarray]:
    """A log of `flown` in the coordinates of a model, with an IMU's noise on the base."""
    found = flown(robot, rng, m, seconds=seconds)
    q, v, a = from_mujoco(m, given, found["qpos"], found["qvel"], found["qacc"])
    sensed = {"v": v, "a": a, "tau": force_from_mujoco(m, given, found["qpos"], found["tau"])}
    for key, x in sensed.items():
        level = robot.noise * np.sqrt(np.mean(x**2, axis=0))
        level[:6] = IMU[key]
        sensed[key] = x + level * rng.normal(size=x.shape)
    return {"t": found["t"], "q": q, **sensed}


def flown(robot: Drawn, rng, m, *, seconds: float) -> dict[str, np.ndarray]:
    """States `t`, `qpos`, `qvel`, `qacc` and torques `tau` (n, nv) of a robot that moves its joints while it falls."""
    d = _started(robot, m)
    d.qvel[:6] = rng.normal(size=6)
    wanted = arms.motion(robot, rng, _steps(seconds), reach=0.6, period=3.0)[0]
    return _followed(m, d, wanted, stiffness=60.0)


def squats(robot: Drawn, rng, m, *, seconds: float) -> dict[str, np.ndarray]:
    """The same of a leg on a rail that squats: nothing drives the rail, and the ground pushes the foot."""
    wanted = arms.motion(robot, rng, _steps(seconds), reach=0.15, period=3.0)[0][:, 1:]
    return _followed(m, _started(robot, m), wanted + np.array([0.5, -1.0]), stiffness=400.0)


def _steps(seconds: float) -> np.ndarray:
    return np.arange(round(seconds / STEP)) * STEP


def _started(robot: Drawn, m):
    """MuJoCo's data, its model with friction of its own, which is Coulomb's."""
    import mujoco

    m.opt.timestep = STEP
    m.dof_damping[-robot.n :], m.dof_frictionloss[-robot.n :] = robot.viscous, robot.coulomb
    return mujoco.MjData(m)


def _followed(m, d, wanted, *, stiffness: float) -> dict[str, np.ndarray]:
    """PD control of the last joints along wanted positions (n, k)."""
    import mujoco

    last = slice(-wanted.shape[1], None)
    places = m.jnt_qposadr[last]
    d.qpos[places] = wanted[0]
    found = {key: [] for key in ("t", "qpos", "qvel", "qacc", "tau")}
    for k, goal in enumerate(wanted):
        d.qfrc_applied[last] = stiffness * (goal - d.qpos[places]) - 0.04 * stiffness * d.qvel[last]
        mujoco.mj_forward(m, d)
        if k % round(1 / (RATE * STEP)) == 0:
            for key, value in zip(found, (d.time, d.qpos, d.qvel, d.qacc, d.qfrc_applied), strict=True):
                found[key].append(np.copy(value))
        mujoco.mj_Euler(m, d)
    return {key: np.array(value) for key, value in found.items()}
