"""Regressor and Gram matrix of 10,000 samples in a fresh process, beside loops over the regressors of other packages.

Defaults only. "process" is everything: interpreter, imports, the model, random states, one call; "first call" the first
`accumulate`, with the modules and the structural analysis that it brings; "later call" the one after. "loop" is
Pinocchio's. Loops add `Y^T Y` of 64 samples at a time; those of slower packages run once, at one state.
"""

import importlib.util
import json
import statistics
import subprocess
import sys
import time

from evidence.bench.peer_regressors import MODULES
from evidence.bench.regressor import ROBOTS
from robots import urdf

SAMPLES, REPEATS = 10_000, 5
OURS = """
import sys, json, time, numpy as np, steelyard as sy
from steelyard.information import accumulate
path, floating, n = sys.argv[1], sys.argv[2] == "1", int(sys.argv[3])
robot = sy.load(path, floating=floating or None)
rng = np.random.default_rng(0)
q = np.tile(robot.neutral, (n, 1)) + 0.1 * rng.normal(size=(n, robot.nq))
v, a, tau = rng.normal(size=(3, n, robot.nv))
log = sy.Log(t=np.arange(n) * 1e-3, q=q, v=v, a=a, tau=tau)
job = lambda: accumulate(robot, log, friction=())
"""
LOOP = """
import sys, json, time, numpy as np, pinocchio as pin
path, floating, n = sys.argv[1], sys.argv[2] == "1", int(sys.argv[3])
model = pin.buildModelFromUrdf(path, *([pin.JointModelFreeFlyer()] if floating else []))
data, rng = model.createData(), np.random.default_rng(0)
q = np.tile(pin.neutral(model), (n, 1))
v, a = rng.normal(size=(2, n, model.nv))
def job():
    width = 10 * (model.njoints - 1)
    gram = np.zeros((width, width))
    for s in range(0, n, 64):
        rows = [pin.computeJointTorqueRegressor(model, data, q[i], v[i], a[i]) for i in range(s, min(s + 64, n))]
        rows = np.concatenate(rows)
        gram += rows.T @ rows
    return gram
"""
PEER = """
import sys, json, time, numpy as np
from pathlib import Path
from evidence.bench.peer_regressors import MODULES
path, floating, n = sys.argv[1], sys.argv[2] == "1", int(sys.argv[3])
sample = MODULES[sys.argv[5]][1](Path(path), floating, np.random.default_rng(0))
def job():
    width = sample().shape[1]
    gram = np.zeros((width, width))
    for s in range(0, n, 64):
        rows = np.concatenate([sample() for _ in range(s, min(s + 64, n))])
        gram += rows.T @ rows
    return gram
"""
TIMED = """
times = []
for _ in range(1 + int(sys.argv[4])):
    start = time.perf_counter()
    job()
    times.append(time.perf_counter() - start)
print(json.dumps(times))
"""


def run():
    """`{quantity: {robot: value}}`."""
    return {name: _row(name, floating) for name, floating in ROBOTS.items()}


def _row(name: str, floating: bool) -> dict:
    arguments = [str(urdf(name)), "1" if floating else "0", str(SAMPLES)]
    ours, loop = [], []
    for _ in range(REPEATS):  # in turn: a machine that slows down slows both down
        for found, code in ((ours, OURS), (loop, LOOP)):
            found.append((_process(code, *arguments, "0")[0], *_process(code, *arguments, "1")[1]))
    (process, first, later), (loop_process, loop_first, loop_later) = (
        [statistics.median(column) for column in zip(*found, strict=True)] for found in (ours, loop)
    )
    return {
        "process, s": process,
        "first call, ms": 1e3 * first,
        "later call, ms": 1e3 * later,
        "loop process, s": loop_process,
        "loop, ms": 1e3 * loop_first,
        "loop / first call": loop_first / first,
        "loop / later call": loop_later / later,
        "loop process / process": loop_process / process,
        **_slower(arguments, first),
    }


def _slower(arguments: list[str], first: float) -> dict:
    """Packages other than Pinocchio, or that they are not installed."""
    rows = {}
    for name, (module, _) in MODULES.items():
        if name == "Pinocchio":
            continue
        if importlib.util.find_spec(module) is None:
            rows[f"{name}, ms"] = "not installed"
            continue
        _, (own,) = _process(PEER, *arguments, "0", name)
        rows |= {f"{name}, ms": 1e3 * own, f"{name} / first call": own / first}
    return rows


def _process(code: str, *arguments: str) -> tuple[float, list[float]]:
    """Seconds of a new interpreter, and of each of its calls."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code + TIMED, *arguments], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, json.loads(done.stdout)
