"""What a repair does to joint torques: the same random motions before and after."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError
from steelyard.model import Robot, load

SAMPLES = 200


@dataclass(frozen=True, eq=False)
class Effect:
    """Torques of one degree of freedom over random motions: rms before, and rms of the change, N m or N."""

    joint: str
    before: float
    change: float


def effect(before: Path, after: Path, folders) -> tuple[Effect, ...] | None:
    """Effect of a repair on every degree of freedom; None when one of the files cannot be used as a robot.

    folders: whose files they may name.
    """
    try:
        old, new = load(before, folders=folders), load(after, folders=folders)
    except ModelError:
        return None
    q, v, a = _motions(old)
    tau, tau_new = inverse_dynamics(old, q, v, a), inverse_dynamics(new, q, v, a)
    rms, change = (np.sqrt(np.mean(np.square(x), axis=0)) for x in (tau, tau_new - tau))
    return tuple(Effect(*row) for row in zip(old.dof_names, rms.tolist(), change.tolist(), strict=True))


def _motions(robot: Robot):
    """Positions within the limits (at most pi), velocities and accelerations of order one; always the same."""
    rng = np.random.default_rng(0)
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    q = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), size=(SAMPLES, robot.nq))
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        if joint.kind in ("spherical", "free"):
            quaternion = rng.normal(size=(SAMPLES, 4))
            q[:, where.stop - 4 : where.stop] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    return q, rng.normal(size=(SAMPLES, robot.nv)), rng.normal(size=(SAMPLES, robot.nv))
