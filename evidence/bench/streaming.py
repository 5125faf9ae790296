"""Memory while a million samples of an arm are accumulated: growth of the resident peak over that of the inputs, MB.

A log in memory, one process for each engine. Aim: 50 MB.
"""

import subprocess
import sys

from robots import urdf

SAMPLES = 1_000_000
ENGINES = ("numpy", "native")
LIMIT = 50.0  # MB
PROGRAM = """
import sys
import numpy as np
import steelyard as sy
from steelyard.information import accumulate

def peak():  # of this process alone: what getrusage says is inherited from its parent
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024

path, engine, samples = sys.argv[1], sys.argv[2], int(sys.argv[3])
robot = sy.load(path)
rng, channels = np.random.default_rng(0), {}
for name in ("q", "v", "a", "tau"):
    channels[name] = np.empty((samples, robot.nv))
    rng.standard_normal(out=channels[name])
    channels[name].flags.writeable = False
time = np.arange(samples) * 1e-3
time.flags.writeable = False
log = sy.Log(t=time, **channels)
accumulate(robot, log[:4096], engine=engine)
before = peak()
accumulate(robot, log, engine=engine)
after = peak()
print(sum(x.nbytes for x in channels.values()) / 1e6, (after - before) / 1e6)
"""


def run() -> dict:
    rows = {}
    for engine in ENGINES:
        inputs, growth = megabytes("panda", engine)
        rows[f"panda, {engine}"] = {"samples": SAMPLES, "inputs MB": inputs, "growth MB": growth, "limit MB": LIMIT}
    return rows


def megabytes(robot: str, engine: str, program: str = PROGRAM, samples: int = SAMPLES) -> tuple[float, float]:
    """Inputs, and how much more a process of its own took at most while they were accumulated."""
    command = [sys.executable, "-c", program, str(urdf(robot)), engine, str(samples)]
    inputs, growth = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(inputs), float(growth)
