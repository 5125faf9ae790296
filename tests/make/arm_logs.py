"""Logs of an arm as its sensors see them, with what was commanded beside them, and rows of its regression."""

import numpy as np

import steelyard as sy
from steelyard.information import residuals

RATE = 250.0  # Hz


def puma():
    """PUMA 560 with friction and armature."""
    return sy.library.puma560().with_joint_properties(
        damping=np.full(6, 0.5), frictionloss=np.full(6, 0.8), armature=np.full(6, 0.05)
    )


def recorded(robot, *, duration=6.0, controller=None):
    """Exact log (q, tau) at `RATE` and the reference that was commanded."""
    trajectory = sy.simulate.rich_motion(robot, duration=duration, seed=3)
    recording = sy.simulate.record(robot, trajectory, sensors=sy.simulate.PERFECT, controller=controller)
    exact = recording.truth[:: round(1 / (RATE * sy.simulate.STEP))].replace(v=None, a=None)
    return exact, exact.replace(q=trajectory.evaluate(exact.t)[0], tau=None)


def noisy(log, rng, *, encoder=2e-4, torque=0.01):
    """White noise on positions (rad) and on torques (share of each joint's RMS)."""
    level = torque * np.sqrt(np.mean(log.tau**2, axis=0))
    return log.replace(
        q=log.q + encoder * rng.normal(size=log.q.shape), tau=log.tau + level * rng.normal(size=log.tau.shape)
    )


def rows(log, info):
    """Base columns (n, nv, r) and torque (n, nv) of a whole log, read off the residuals of unit parameters."""
    unit = np.eye(info.basis.count)
    tau = residuals(info, log, np.zeros(len(unit)))
    return np.stack([tau - residuals(info, log, each) for each in unit], axis=-1), tau
