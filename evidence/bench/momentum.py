"""Momentum form beside differentiated accelerations on a simulated PUMA 560: held-out torque error and error of the
base parameters, by noise of the sensors and cutoff of the differentiation.

Both see the same logs, differentiated at the same cutoff: one regresses torques sample by sample with the
accelerations, the other momentum over windows of 5 Hz, without them. Errors are means over seeds, against the exact
torques of a motion that was not used.
"""

import numpy as np

import steelyard as sy
from steelyard.fit.prior import model_parameters
from steelyard.information import accumulate
from steelyard.simulate import PERFECT, Sensors, record

NOISES = {
    "encoder 2e-5 rad, torque 2 %": Sensors(encoder_resolution=2e-5, torque_noise=0.02),
    "encoder 2e-4 rad, torque 2 %": Sensors(encoder_resolution=2e-4, torque_noise=0.02),
    "encoder 1e-3 rad, torque 5 %": Sensors(encoder_resolution=1e-3, torque_noise=0.05),
}
CUTOFFS = (3.0, 5.0, 10.0, 20.0, 40.0)  # Hz
DURATION, SEEDS = 10.0, range(5)


class Judge:
    """Errors against the truth: torque of a held-out motion, and base parameters in units of their columns."""

    def __init__(self, robot):
        exact = record(robot, duration=DURATION, seed=99, sensors=PERFECT).log
        info = accumulate(robot, exact)
        self.G, self.truth = info.G, info.basis.regroup(model_parameters(robot, info.layout))

    def errors(self, info) -> tuple[float, float]:
        found = info.basis.regroup(sy.fit.least_squares(info).parameters)
        off, size = found - self.truth, np.sqrt(np.diag(self.G))
        torque = np.sqrt(off @ self.G @ off / (self.truth @ self.G @ self.truth))
        return float(torque), float(np.linalg.norm(size * off) / np.linalg.norm(size * self.truth))


def compare(robot, judge: Judge, logs, cutoff: float):
    """(torque, parameter) errors of both forms, (2, 2): sample by sample, momentum."""
    errors = []
    for log in logs:
        motion = sy.filters.differentiate(log, cutoff)
        errors.append([judge.errors(accumulate(robot, motion, rows=rows)) for rows in ("joints", "momentum")])
    return np.mean(errors, axis=0)


def recordings(robot, sensors: Sensors, seeds=SEEDS, duration: float = DURATION):
    return [record(robot, duration=duration, seed=seed, sensors=sensors).log for seed in seeds]


def run():
    """A row for each noise and cutoff, errors in percent."""
    robot = sy.library.puma560()
    judge = Judge(robot)
    rows = {}
    for name, sensors in NOISES.items():
        logs = recordings(robot, sensors)
        for cutoff in CUTOFFS:
            sampled, momentum = 100 * compare(robot, judge, logs, cutoff)
            rows[f"{name}, {cutoff:g} Hz"] = {
                "torque %, accelerations": float(sampled[0]),
                "torque %, momentum": float(momentum[0]),
                "parameters %, accelerations": float(sampled[1]),
                "parameters %, momentum": float(momentum[1]),
            }
    return rows
