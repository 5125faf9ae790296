"""Runs of players' scripts against stand-ins of makers' packages, in a time of their own."""

import sys
from types import ModuleType

import numpy as np

import steelyard as sy
from moved_joints import Clock, Lags
from robot_makers import MAKERS
from steelyard.excite import write

SETTLE = 0.3  # s, of the way to the start, and of standing there


class Keys:
    """Presses of the stop key: after so many s."""

    def __init__(self, clock, at=()):
        self.clock, self.at = clock, np.array(at) + clock.t

    @property
    def presses(self):
        return int(np.sum(self.at < self.clock.t))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Trial:
    """One run of a script against a stand-in."""

    def __init__(self, name, motion, folder, monkeypatch, plant=None, clock=None):
        self.clock = clock or Clock()
        self.columns = [motion.robot.scalar_positions[i] for i in motion.moving]
        self.start = motion.start[self.columns]
        self.plant = plant or Lags(self.start + 0.02, self.clock.monotonic)
        modules, self.world = MAKERS[name](self.plant, self.clock)
        for each in modules:
            monkeypatch.setitem(sys.modules, each.__name__, each)
        path = write(motion, folder / f"motion.{name}.py")
        self.script = ModuleType("script")
        exec(compile(path.read_text("utf-8"), str(path), "exec"), vars(self.script))
        self.script.Plan.settle = SETTLE
        self.out = folder / "recorded.csv"
        self.name, self.motion = name, motion

    def play(self, *, answer="yes", keys=(), after=None):
        """The exit status. after: (s, function), called once when so much time has passed."""
        if after is not None:
            seconds, happen = after
            ticking, until = self.clock.sleep, self.clock.t + seconds

            def sleep(step):
                ticking(step)
                if self.clock.t > until:
                    happen()

            self.clock.sleep = sleep
        keys = Keys(self.clock, keys)
        arguments = ["address", "--out", str(self.out)]
        return self.script.main(self.script.Plan, self.script.Robot, arguments, self.clock, lambda _: answer, keys)

    def log(self):
        """The log, read without options; without the robot it has the joints that moved alone."""
        return sy.read_log(self.out)

    def planned(self, samples):
        """(samples, joints) of the motion."""
        return self.motion.evaluate(np.linspace(0, 2, samples))[0][:, self.columns]
