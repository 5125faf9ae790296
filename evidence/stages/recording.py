"""Logs of a robot that moves, by MuJoCo where it can simulate the robot."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import loop_logs
import pinocchio_adapter as adapter
import steelyard as sy
from evidence.stages.motion import motion, waves
from steelyard.simulate import Sensors, record
from steelyard.terms import COULOMB_WIDTH

DURATION, RATE = 10.0, 250.0  # s, Hz
NOISE = 0.01  # of a joint's own RMS torque
LOOP_TRAVEL = 0.25  # rad, of the motors of linkages, which do not reach far


def recorded(robot: sy.Robot, *, exact: bool) -> sy.Log:
    """A log with noisy torques; positions through encoders, or q, v, a as they were.

    Mimic joints, which the simulation does not tie together: torques by Pinocchio. Closed loops: the motors alone, by
    our own equations, which tests compare with MuJoCo's.
    """
    if robot.loops:
        t = np.arange(round(DURATION * RATE)) / RATE
        wave = waves(np.random.default_rng(1), len(robot.actuated), LOOP_TRAVEL, DURATION)
        return loop_logs.motors_log(robot, t, *wave(t))
    trajectory = motion(robot, duration=DURATION, seed=1)
    if robot.mimic_names:
        return _noisy(_by_pinocchio(robot, trajectory))
    if not exact:
        return record(robot, trajectory, seed=1, sensors=Sensors(rate=RATE, torque_noise=NOISE)).log
    return _noisy(record(robot, trajectory, sensors=Sensors(rate=RATE, encoder_resolution=0.0, torque_noise=0.0)).log)


def _noisy(log: sy.Log) -> sy.Log:
    spread = NOISE * np.sqrt(np.mean(log.tau**2, axis=0))
    return replace(log, tau=log.tau + spread * np.random.default_rng(5).normal(size=log.tau.shape))


def _by_pinocchio(robot: sy.Robot, trajectory) -> sy.Log:
    """Torques of a motion by Pinocchio from the robot's URDF, friction of the free joints added."""
    with TemporaryDirectory() as folder:
        file = sy.save(robot, Path(folder) / "moving.urdf").path
        model = adapter.load(file, False)
    data = model.createData()
    t = np.arange(round(trajectory.duration * RATE)) / RATE
    q, v, a = trajectory.evaluate(t)
    tau = [adapter.inverse_dynamics(model, data, robot, *state) for state in zip(q, v, a, strict=True)]
    friction = robot.damping * v + robot.frictionloss * np.tanh(v / COULOMB_WIDTH)
    tau = np.array(tau) + friction + robot.armature * a
    return sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
