"""An arm tracks a motion in MuJoCo and picks up a payload that nobody told it of: three controllers beside each other.

    python examples/33_adaptive_control.py

All use torques `Y(q, v, vr, ar) theta - Kd (v - vr)` (Slotine and Li 1987). One keeps the nominal theta, one adapts it
among bodies that can exist (natural adaptation), one identifies it while it moves (`RecursiveEstimator`).
"""

import time

import mujoco
import numpy as np

import steelyard as sy
from steelyard.model import mjcf_text

PERIOD = 0.004  # s of the controller
PHASES = {"before the pick": (1.0, 3.0), "during": (3.0, 4.0), "after": (6.0, 8.0)}  # s
PICKED, PAYLOAD = 3.0, 3.0  # s, kg
MOTORS = np.array([0.8, 3.0, 0.8, 0.2, 0.2, 0.2])  # kg m^2, behind their gears
RELAXATION, DAMPING = 10.0, np.array([40.0, 60.0, 30.0, 5.0, 5.0, 5.0])  # 1/s, N m s/rad
RATE = 10.0  # of natural adaptation
NOISE, MEMORY, EVERY = 0.1, 250.0, 5  # N m; samples; periods between updates of the estimator


def main():
    still = np.zeros(6)
    nominal = sy.library.puma560().with_joint_properties(armature=MOTORS, damping=still, frictionloss=still)
    loaded = carrying(nominal, PAYLOAD)
    print(f"tracking error, mrad (RMS): {PAYLOAD:g} kg are picked up after {PICKED:g} s")
    print(f"{'':24}" + "".join(f"{name:>18}" for name in PHASES))
    for name, controller in (
        ("nominal model", Fixed(nominal)),
        ("natural adaptation", Natural(nominal)),
        ("recursive estimator", Recursive(nominal)),
    ):
        error = tracked(nominal, loaded, controller)
        told = (np.sqrt(np.mean(error[int(a / PERIOD) : int(b / PERIOD)] ** 2)) for a, b in PHASES.values())
        print(f"{name:24}" + "".join(f"{1e3 * rms:18.2f}" for rms in told))
        if controller.seconds:
            print(f"    bodies at every step: {controller.consistent}; a step takes, ms")
            print(histogram(1e3 * np.array(controller.seconds)))


def histogram(took):
    """A line for each ms in which steps end."""
    bins, counts = np.unique(np.minimum(took.astype(int), 20), return_counts=True)
    rows = ((f"{low}-{low + 1}" if low < 20 else "20-", n / len(took)) for low, n in zip(bins, counts, strict=True))
    return "\n".join(f"    {ms:>8} {share:6.1%} {'#' * round(60 * share)}" for ms, share in rows)


def carrying(robot, mass):
    """The robot with a ball of 4 cm radius 6 cm before its last link's origin."""
    at = np.array([0.0, 0.0, 0.06])
    inertia = 0.4 * mass * 0.04**2 + mass * np.diag([at @ at, at @ at, 0.0])
    ball = np.r_[mass, mass * at, inertia[0, 0], 0, inertia[1, 1], 0, 0, 0.4 * mass * 0.04**2]
    inertias = robot.inertias.copy()
    inertias[-1] += ball
    return robot.with_inertias(inertias)


def desired(t):
    """q, v, a of the motion."""
    size, rate = np.array([0.8, 0.5, 0.5, 0.6, 0.5, 0.8]), np.array([1.1, 1.3, 1.7, 2.1, 2.3, 1.9])
    start = np.array([0.0, -0.8, 0.3, 0.0, 0.4, 0.0])
    phase = rate * t
    return start + size * np.sin(phase), size * rate * np.cos(phase), -size * rate**2 * np.sin(phase)


class Fixed:
    """Keeps its parameters."""

    def __init__(self, robot):
        self.robot, self.theta, self.seconds, self.consistent = robot, robot.inertias.copy(), [], True

    def torque(self, q, v, goal):
        qd, vd, ad = goal
        vr, ar = vd - RELAXATION * (q - qd), ad - RELAXATION * (v - vd)
        Y = sy.slotine_li_regressor(self.robot, q, v, vr, ar)
        tau = Y @ self.theta.ravel() + self.robot.armature * ar - DAMPING * (v - vr)
        self.learn(q, v, tau, Y.T @ (v - vr))
        return tau

    def learn(self, q, v, tau, direction):
        """Nothing."""


class Natural(Fixed):
    """Goes against the error, in the metric of bodies."""

    def learn(self, q, v, tau, direction):
        start = time.perf_counter()
        self.theta = sy.fit.natural_step(self.theta, direction, gain=RATE * PERIOD)
        self.seconds.append(time.perf_counter() - start)
        self.consistent &= bool(sy.inertia.is_consistent(self.theta).all())


class Recursive(Fixed):
    """Identifies from filtered accelerations and its own torques."""

    def __init__(self, robot):
        super().__init__(robot)
        self.estimator = sy.fit.RecursiveEstimator(robot, noise=NOISE, memory=MEMORY / EVERY)
        self.past = []

    def learn(self, q, v, tau, direction):
        self.past.append((q, v, tau))
        if len(self.past) < 2 * EVERY + 1:
            return
        (_, v0, _), (qm, vm, _), (_, v1, _) = self.past[0], self.past[EVERY], self.past[-1]
        mean = np.mean([each[2] for each in self.past[:-1]], axis=0)  # over the span of the difference
        a = (v1 - v0) / (2 * EVERY * PERIOD)
        self.past = self.past[EVERY:]
        start = time.perf_counter()
        self.theta = self.estimator.update(qm, vm, a, mean).theta
        self.seconds.append(time.perf_counter() - start)
        self.consistent &= bool(sy.inertia.is_consistent(self.theta).all())


def tracked(nominal, loaded, controller):
    """(n, nv) errors of position; MuJoCo takes up the payload at its time."""
    empty, full = (mujoco.MjModel.from_xml_string(mjcf_text(robot)) for robot in (nominal, loaded))
    for model in (empty, full):
        model.opt.timestep = PERIOD / 4
        model.dof_damping[:], model.dof_frictionloss[:] = 0, 0
    data = mujoco.MjData(empty)
    data.qpos[:], data.qvel[:], _ = desired(0.0)
    errors = []
    for step in range(int(max(end for _, end in PHASES.values()) / PERIOD)):
        now = step * PERIOD
        goal = desired(now)
        data.qfrc_applied[:] = controller.torque(data.qpos.copy(), data.qvel.copy(), goal)
        errors.append(data.qpos - goal[0])
        mujoco.mj_step(full if now >= PICKED else empty, data, nstep=4)
    return np.array(errors)


if __name__ == "__main__":
    main()
