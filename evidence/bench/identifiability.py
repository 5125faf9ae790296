"""Time the structural analysis: chains of growing length, every robot of example-robot-data, and the usual alternative.

Seconds. The alternative, a singular value decomposition of a stacked random regressor, is timed in the same run on the
same robots, with Pinocchio's regressor.
"""

import statistics

import numpy as np

from evidence.bench.timing import median_seconds
from robots import URDFS
from steelyard.errors import ModelError
from steelyard.identifiable import identifiability
from steelyard.model import Joint, Robot, load, revolute_subspace

LENGTHS = (10, 100, 1000, 10_000)
LONGEST_DENSE = 100  # links; the stacked regressor of a thousand has 7 GB
REPEATS = 3


def chain(links: int) -> Robot:
    """A serial chain of revolute joints whose axes alternate between x, y and z."""
    axes, place = np.eye(3), np.array([0.1, 0.2, 0.05])
    joints = tuple(Joint(f"j{i}", "revolute", revolute_subspace(axes[i % 3]), np.eye(3), place) for i in range(links))
    names, none = tuple(f"b{i}" for i in range(links)), np.zeros(links)
    thetas, gravity = np.zeros((links, 10)), np.array([0, 0, -9.81])
    return Robot("chain", joints, np.arange(links) - 1, names, np.arange(links), thetas, gravity, none, none, none)


def by_svd(model, data, states) -> int:
    """Rank of Pinocchio's regressor stacked over random states, the way it is usually found."""
    import pinocchio

    Y = np.concatenate([pinocchio.computeJointTorqueRegressor(model, data, *s) for s in zip(*states, strict=True)])
    singular = np.linalg.svd(Y, compute_uv=False)
    return int(np.count_nonzero(singular > 1e-9 * singular[0]))


def pinocchio_chain(links: int):
    """The same chain in Pinocchio and twice as many random rows as columns."""
    import pinocchio

    model = pinocchio.Model()
    kinds = (pinocchio.JointModelRX, pinocchio.JointModelRY, pinocchio.JointModelRZ)
    for i in range(links):
        placement = pinocchio.SE3(np.eye(3), np.array([0.1, 0.2, 0.05]))
        model.addJoint(i, kinds[i % 3](), placement, f"j{i}")
    rng = np.random.default_rng(0)
    return model, model.createData(), [rng.uniform(-3, 3, size=(24, links)) for _ in range(3)]


def run(*, lengths=LENGTHS) -> dict:
    """`{"chain N": {"links", "count", "seconds", "svd_seconds"}, "example robots": {...}}`."""
    results = {}
    for links in lengths:
        robot = chain(links)
        row = {"links": links, "count": identifiability(robot).count}
        row["seconds"] = median_seconds(lambda robot=robot: identifiability(robot).count, REPEATS)
        if links <= LONGEST_DENSE:
            model, data, states = pinocchio_chain(links)
            row["svd_count"] = by_svd(model, data, states)
            row["svd_seconds"] = median_seconds(lambda args=(model, data, states): by_svd(*args), REPEATS)
        results[f"chain {links}"] = row
    times = {}
    for path in URDFS:
        for floating in (None, True):
            try:
                robot = load(path, floating=floating)
            except ModelError:
                continue
            taken = median_seconds(lambda robot=robot: identifiability(robot), REPEATS)
            times[f"{path.stem}{' floating' if floating else ''}"] = taken
    if times:
        slowest = max(times, key=times.__getitem__)
        median = statistics.median(times.values())
        results["example robots"] = {"robots": len(times), "median": median, "slowest": slowest, "most": times[slowest]}
    return results
