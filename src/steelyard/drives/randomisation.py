"""Draws from what motion shows of a robot with drives: to randomise simulations that policies learn in.

Numbers are drawn together: their covariance keeps, for one, damping and gain of a joint in proportion where only that
shows, which ranges of each alone do not.
"""

import numpy as np

from steelyard.drives.arrays import LOAD_FRICTION
from steelyard.drives.motion_fit import FREE, MotionFit


def draws(fit: MotionFit, count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Drives, friction and bodies that move as the logs do, as far as these tell.

    Args:
        fit: to motion.
        count: of draws.
        seed: of the random numbers.

    Returns:
        (count, nv) of gain, damping, frictionloss, armature (SI units), delay (s), slope_limit and limit (inf where
        there is none), and inertias (count, nb, 10), by name; row i of all belongs together. Where friction grows with
        load, frictionloss is that without load, beside load_friction_motor and load_friction_external.
    """
    unknowns, rng = fit.refined.unknowns, np.random.default_rng(seed)
    x = rng.multivariate_normal(fit.refined.x, fit.covariance, size=count, method="eigh")
    found = [unknowns.at(unknowns.within(each)) for each in x]
    own = {name: np.stack([getattr(each, name) for each in found]) for name in (*FREE, "inertias")}
    if not fit.drives.loaded.any():
        own = {name: value for name, value in own.items() if name not in LOAD_FRICTION}
    return own | {"delay": np.maximum(own["delay"], 0.0)}  # early stamps are the log's
