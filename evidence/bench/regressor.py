"""Regressor and regressor + Gram matrix, microseconds a sample, beside other packages in the same run.

Without friction, base columns; the kernel uses every core and JAX too, all else one thread. Peers run in a Python
loop, as they are used; iDynTree and mujoco-sysid make the regressor only. "fraction of peak" are the multiplications
and additions of the kernel's rows and Gram matrices over what `dgemm` reaches on as many cores.
"""

import importlib.util
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import steelyard as sy
from evidence.bench.peer_regressors import found
from evidence.bench.timing import interleaved
from robots import urdf
from steelyard.dynamics.native_plans import sum_plan
from steelyard.dynamics.newton_euler import row_blocks
from steelyard.information import accumulate
from steelyard.native import CHUNK, threads

SAMPLES, PEER_SAMPLES, LOOP_CHUNK = 128 * CHUNK, 512, 64
ROBOTS = {"panda": False, "go2": True, "g1_29dof_rev_1_0": True, "talos_reduced": True}


def run():
    """`{quantity: {robot: value}}` for an arm, a quadruped and two humanoids."""
    peak = dgemm_peak()
    columns = {name: time_robot(name, floating, peak) for name, floating in ROBOTS.items()}
    return {row: {name: column[row] for name, column in columns.items()} for row in columns["panda"]}


def time_robot(name: str, floating: bool, peak: float) -> dict:
    path = urdf(name)
    robot = sy.load(path, floating=floating or None)
    log = random_log(robot)
    short = log[: SAMPLES // 8]
    chunks = [
        tuple(np.ascontiguousarray(x[s : s + CHUNK].T) for x in (short.q, short.v, short.a))
        for s in range(0, len(short), CHUNK)
    ]
    info = accumulate(robot, short, friction=())  # finds the basis once, as a user's second log would find it
    jobs = {
        "regressor": (lambda: [row_blocks(robot, *chunk) for chunk in chunks], len(short)),
        "sums NumPy": (lambda: accumulate(robot, short, friction=(), engine="numpy"), len(short)),
        "sums kernel": (lambda: accumulate(robot, log, friction=(), engine="native"), len(log)),
    }
    if importlib.util.find_spec("jax") is not None:
        jobs["sums JAX"] = (lambda: accumulate(robot, short, friction=(), engine="jax"), len(short))
    peers, missing = found(path, floating)
    for peer, sample in peers.items():
        jobs[peer] = (lambda sample=sample: [sample() for _ in range(PEER_SAMPLES)], PEER_SAMPLES)
    if "Pinocchio" in peers:
        jobs["Pinocchio with Gram"] = (lambda: loop_with_gram(peers["Pinocchio"]), PEER_SAMPLES)
    times = interleaved(jobs)
    ratios = {f"{peer} / regressor": times[peer] / times["regressor"] for peer in peers}
    if "Pinocchio" in peers:
        ratios["Pinocchio with Gram / sums NumPy"] = times["Pinocchio with Gram"] / times["sums NumPy"]
        ratios["Pinocchio with Gram / sums kernel"] = times["Pinocchio with Gram"] / times["sums kernel"]
    return {
        "bodies / degrees / base columns": f"{robot.nb} / {robot.nv} / {len(info.columns)}",
        **{f"{job}, us": value for job, value in times.items()},
        **missing,
        **ratios,
        "dgemm peak, Gflop/s": peak / 1e9,
        "fraction of peak": operations(robot, info) / (times["sums kernel"] * 1e-6) / peak,
    }


def random_log(robot) -> sy.Log:
    rng = np.random.default_rng(0)
    q = np.tile(robot.neutral, (SAMPLES, 1)) + 0.1 * rng.normal(size=(SAMPLES, robot.nq))
    v, a, tau = (rng.normal(size=(SAMPLES, robot.nv)) for _ in range(3))
    return sy.Log(t=np.arange(SAMPLES) * 1e-3, q=q, v=v, a=a, tau=tau)


def loop_with_gram(sample) -> np.ndarray:
    """Gram matrix of all columns from a loop over samples, multiplied chunk by chunk."""
    width = sample().shape[1]
    gram = np.zeros((width, width))
    for _ in range(PEER_SAMPLES // LOOP_CHUNK):
        rows = np.concatenate([sample() for _ in range(LOOP_CHUNK)])
        gram += rows.T @ rows
    return gram


def operations(robot, info) -> float:
    """Multiplications and additions a sample in rows and lower triangles, as few as there can be."""
    plan = sum_plan(robot, info.columns, [()] * robot.nv)
    widths = np.array([len(columns) + 1 for columns in plan.own])
    return float(np.sum(widths * (widths + 1)) + np.sum(np.where(plan.parameters < 4, 12, 6)))


def dgemm_peak(size: int = 1000, repeats: int = 10) -> float:
    """Operations a second of matrix products, one on each core that the kernel would use."""
    pairs = [np.random.default_rng(i).normal(size=(2, size, size)) for i in range(threads())]
    seconds = []
    with ThreadPoolExecutor(len(pairs)) as pool:
        for _ in range(repeats):
            start = time.perf_counter()
            list(pool.map(lambda pair: pair[0] @ pair[1], pairs))
            seconds.append(time.perf_counter() - start)
    return 2 * size**3 * len(pairs) / statistics.median(seconds)
