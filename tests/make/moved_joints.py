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


class Simulated(Lags):
    """A robot in MuJoCo whose joints are position servos, N m/rad and N m s/rad each. q: where it stands at first."""

    def __init__(self, robot, q, now, kp=0.0, kd=0.0):
        super().__init__(q, now)
        self.model = mujoco.MjModel.from_xml_string(mjcf_text(robot))
        self.model.opt.timestep = 5e-4
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = q
        mujoco.mj_forward(self.model, self.data)
        self.kp, self.kd, self.begin, self.torque = kp, kd, self.t, np.zeros(len(q))

    def control(self):
        return self.kp * (self.command - self.data.qpos) - self.kd * self.data.qvel

    def advance(self):
        while self.begin + self.data.time < self.now() - 1e-9:
            self.torque = self.control()
            self.data.qfrc_applied[:] = self.torque
            mujoco.mj_step(self.model, self.data)
        self.t, self.q, self.v = self.now(), self.data.qpos.copy(), self.data.qvel.copy()

    @property
    def tau(self):
        return self.torque


class Controlled(Simulated):
    """The same with a controller that knows the robot and smooths what it is told, as those of arms do.

    Torques without that would jump with each command, and players measure always at the same time after one.
    """

    def control(self):
        self.smooth = getattr(self, "smooth", [self.q.copy(), self.q.copy()])
        for i, told in enumerate((self.command, self.smooth[0])):
            self.smooth[i] = self.smooth[i] + 50 * self.model.opt.timestep * (told - self.smooth[i])
        mass = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, mass)
        wanted = 60.0**2 * (self.smooth[1] - self.data.qpos) - 2 * 60.0 * self.data.qvel
        return mass @ wanted + self.data.qfrc_bias - self.data.qfrc_passive
