"""What another motion would make of intervals, before anyone is told to record one."""

import numpy as np

from steelyard.errors import OptionError
from steelyard.fit import Uncertainty
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.simulate import rich_motion

DURATION, RATE = 10.0, 100.0  # s, Hz of the motion that stands for all
SEED = 1


def narrowing(robot: Robot, found: Uncertainty, samples: float, columns) -> np.ndarray | None:
    """(r,) standard deviations of the base parameters after another motion, over those now.

    The motion is a random one that uses position and velocity limits of all joints; it is as noisy as the logs.

    robot: as fitted. found: how sure the fit is. samples: independent ones of the motion. columns: options of
    `accumulate` of the fit. None for robots whose joints cannot all be moved so: free bases, balls, loops.
    """
    if robot.loops:
        return None
    try:
        motion = rich_motion(robot, duration=DURATION, seed=SEED)
    except OptionError:
        return None
    t = np.arange(round(DURATION * RATE)) / RATE
    q, v, a = motion.evaluate(t)
    still = np.zeros((len(t), robot.nv))
    info = accumulate(robot, Log(t=t, q=q, v=v, a=a, tau=still, joint_names=robot.dof_names), **columns).base
    if len(info.counts) != len(found.noise) or info.n == 0:
        return None
    gained = info.weighted(1 / np.maximum(found.noise * found.inflation, 1e-300) ** 2).G * samples / info.n
    after = np.linalg.solve(np.eye(len(gained)) + found.covariance @ gained, found.covariance)
    now = found.base.deviation
    return np.sqrt(np.maximum(np.diag(after), 0.0)) / np.where(now > 0, now, np.inf)
