"""Joints that follow commands, in a time that a test moves on or in that of the computer."""

import mujoco
import numpy as np

from steelyard.model import mjcf_text


class Clock:
    """Stands for the module `time`: sleeping is what moves it on."""

    def __init__(self):
        self.t = 100.0

    def monotonic(self):
        return self.t

    def sleep(self, seconds):
        self.t += seconds


class Lags:
    """First-order lags. now: function that returns the time, s. blocked: joints that do not move any more."""

    def __init__(self, q, now, lag=0.03):
        self.q, self.command, self.v = np.array(q, float), np.array(q, float), np.zeros(len(q))
        self.now, self.lag, self.t, self.blocked = now, lag, now(), ()

    def advance(self):
        """Move the joints to now."""
        step, self.t = self.now() - self.t, self.now()
        if step <= 0:
            return
        before, joints = self.q, list(self.blocked)
        self.q = before + (1 - np.exp(-step / self.lag)) * (self.command - before)
        self.q[joints] = before[joints]
        self.v = (self.q - before) / step

    @property
    def tau(self):
        return 10 * (self.command - self.q)


class Servoed(Lags):
    """A robot in MuJoCo whose joints are position servos, N m/rad and N m s/rad each. q: where it stands at first."""

    def __init__(self, robot, q, now, kp, kd):
        super().__init__(q, now)
        self.model = mujoco.MjModel.from_xml_string(mjcf_text(robot))
        self.model.opt.timestep, self.model.opt.integrator = 5e-4, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = q
        self.kp, self.kd, self.begin = np.broadcast_to(kp, len(q)), np.broadcast_to(kd, len(q)), self.t
        self.torque = np.zeros(len(q))

    def advance(self):
        while self.begin + self.data.time < self.now() - 1e-9:
            self.torque = self.kp * (self.command - self.data.qpos) - self.kd * self.data.qvel
            self.data.qfrc_applied[:] = self.torque
            mujoco.mj_step(self.model, self.data)
        self.t, self.q, self.v = self.now(), self.data.qpos.copy(), self.data.qvel.copy()

    @property
    def tau(self):
        return self.torque
