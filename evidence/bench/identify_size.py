"""The whole of `identify` by the number of joints: a tree of boxes whose masses are changed by up to a quarter, 10 s of
motion at 250 Hz simulated with encoders and 1 % torque noise, from files to a result in memory.

Seconds of one processor (waiting for others does not count), of all of it and of its stages: sums over the log, the
consistent fit, the search for mistakes of the log, intervals. error: relative torque error on held-out samples over the
true robot's own.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

import steelyard as sy
from evidence.bench.check import model
from steelyard.information import accumulate
from steelyard.simulate import Sensors, record, rich_motion

JOINTS = (6, 12, 30, 60, 85)
STAGES = {
    "accumulating information": "sums",
    "fitting": "fit",
    "looking for faults": "mistakes",
    "finding intervals": "intervals",
}


def run() -> dict:
    """Each robot once: the large ones take long enough to be told apart."""
    accumulate(*_small())  # kernels and libraries are loaded
    return {f"{joints} joints": _one(joints) for joints in JOINTS}


def _small():
    robot = sy.library.scara()
    motion = rich_motion(robot, duration=2.0, seed=0)
    t = np.arange(0, 2.0, 0.01)
    q, v, a = motion.evaluate(t)
    return robot, sy.Log(t=t, q=q, v=v, a=a, tau=sy.inverse_dynamics(robot, q, v, a))


def _one(joints: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.urdf"
        path.write_text(model(joints + 1), encoding="utf-8")
        given = sy.load(path)
        rng = np.random.default_rng(joints)
        truth = given.with_inertias(given.inertias * rng.uniform(0.75, 1.25, size=(given.nb, 1)))
        sensors = Sensors(rate=250.0, torque_noise=0.01)
        log = record(truth, rich_motion(truth, duration=10.0, seed=1), seed=1, sensors=sensors).log
        file = sy.write_npz(log, Path(folder) / "log.npz")
        seconds, stage, since = dict.fromkeys(STAGES.values(), 0.0), "", time.process_time()

        def progress(name: str, share: float):
            nonlocal stage, since
            now = time.process_time()
            if stage in STAGES:
                seconds[STAGES[stage]] += now - since
            stage, since = name, now

        start = time.process_time()
        result = sy.identify(path, file, progress=progress)
        whole = time.process_time() - start
    own = sy.validate(truth, result.held_out).relative_error
    return {
        "combinations": float(result.estimate.basis.count),
        "all [s]": whole,
        **{f"{name} [s]": each for name, each in seconds.items()},
        "error": result.after.relative_error / own,
    }
