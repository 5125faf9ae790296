"""Torque derivatives, microseconds a sample on one thread, beside Pinocchio's analytical ones and our inverse dynamics.

"q, v, a" is what `computeRNEADerivatives` gives, called in a loop; "all" adds the twists of every joint. "calls" is how
many plain inverse dynamics of the same batch take as long as all.
"""

from unittest import mock

import numpy as np

import steelyard as sy
from evidence.bench.timing import interleaved
from robots import urdf
from steelyard import native

SAMPLES = 1024
ROBOTS = {"panda": False, "xarm7": False, "go2": True, "g1_29dof_rev_1_0": True}


def run():
    """A row for two arms, a quadruped and a humanoid."""
    with mock.patch.object(native, "threads", lambda: 1):
        return {name: time_robot(name, floating) for name, floating in ROBOTS.items()}


def time_robot(name, floating):
    import pinocchio as pin

    path = urdf(name)
    robot = sy.load(path, floating=floating or None)
    rng = np.random.default_rng(0)
    q = np.tile(robot.neutral, (SAMPLES, 1)) + 0.1 * rng.normal(size=(SAMPLES, robot.nq))
    v, a = rng.normal(size=(2, SAMPLES, robot.nv))
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    data, state = model.createData(), [pin.neutral(model), *rng.normal(size=(2, model.nv))]

    def derivatives(engine, twists):
        found = sy.inverse_dynamics_derivatives(robot, q, v, a, engine=engine)
        return found.dtau_djoint if twists else None, found.dtau_dq

    jobs = {
        "inverse dynamics us": lambda: sy.inverse_dynamics(robot, q, v, a),
        "q, v, a us": lambda: derivatives("native", False),
        "all us": lambda: derivatives("native", True),
        "all NumPy us": lambda: derivatives("numpy", True),
        "Pinocchio us": lambda: [pin.computeRNEADerivatives(model, data, *state) for _ in range(SAMPLES)],
    }
    row = interleaved({name: (job, SAMPLES) for name, job in jobs.items()})
    return row | {
        "q, v, a over Pinocchio": row["q, v, a us"] / row["Pinocchio us"],
        "calls": row["all us"] / row["inverse dynamics us"],
        "calls NumPy": row["all NumPy us"] / row["inverse dynamics us"],
    }
