"""Regressor and regressor + Gram matrix, microseconds a sample, beside a Pinocchio loop in the same run.

Without friction, base columns; the fused kernel uses every core, all else one thread.
"""

import statistics
import time

import numpy as np

import steelyard as sy
from steelyard.dynamics.regressor import row_blocks
from steelyard.information import CHUNK

SAMPLES = 32 * CHUNK
ROBOTS = {"panda": False, "go2": True, "g1_29dof_rev_1_0": True}


def run():
    """A row for an arm, a quadruped and a humanoid."""
    return {name: time_robot(name, floating) for name, floating in ROBOTS.items()}


def time_robot(name, floating):
    import pinocchio as pin

    path = example(name)
    robot = sy.load(path, floating=floating or None)
    rng = np.random.default_rng(0)
    q = np.tile(robot.neutral, (SAMPLES, 1)) + 0.1 * rng.normal(size=(SAMPLES, robot.nq))
    v, a, tau = (rng.normal(size=(SAMPLES, robot.nv)) for _ in range(3))
    log = sy.Log(t=np.arange(SAMPLES) * 1e-3, q=q, v=v, a=a, tau=tau)
    chunks = [tuple(np.ascontiguousarray(x[s : s + CHUNK].T) for x in (q, v, a)) for s in range(0, SAMPLES, CHUNK)]
    sy.accumulate(robot, log, friction=())  # computes the basis once, as a user's second log would find it
    ours = median(lambda: [row_blocks(robot, *chunk) for chunk in chunks])
    ours_gram, fused = (
        median(lambda engine=engine: sy.accumulate(robot, log, friction=(), engine=engine))
        for engine in ("numpy", "numba")
    )

    model = (
        pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    )
    data = model.createData()
    state = [pin.neutral(model), *np.random.default_rng(1).normal(size=(2, model.nv))]

    def loop():
        return [pin.computeJointTorqueRegressor(model, data, *state) for _ in range(SAMPLES)]

    def loop_gram():
        width = 10 * (model.njoints - 1)
        gram = np.zeros((width, width))
        for _ in range(SAMPLES // 64):
            rows = np.concatenate([pin.computeJointTorqueRegressor(model, data, *state) for _ in range(64)])
            gram += rows.T @ rows
        return gram

    theirs, theirs_gram = median(loop), median(loop_gram)
    return {
        "regressor us": ours,
        "with Gram us": ours_gram,
        "fused us": fused,
        "Pinocchio us": theirs,
        "Pinocchio with Gram us": theirs_gram,
        "ratio": theirs / ours,
        "ratio with Gram": theirs_gram / ours_gram,
        "ratio fused": theirs_gram / fused,
    }


def median(function, repeats: int = 5) -> float:
    """Median microseconds a sample."""
    function()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds) / SAMPLES * 1e6


def example(stem):
    """Path of a URDF of example-robot-data."""
    import sys
    from pathlib import Path

    return next(Path(sys.prefix).rglob(f"example-robot-data/robots/**/{stem}.urdf"))
