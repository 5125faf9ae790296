"""A stream of generated logs that would fill 20 GB, accumulated in constant memory.

`python -m evidence.bench.stream 1` runs another size in GB.
Memory is the peak of the process over its peak after the first 0.2 GB.
"""

import resource
import sys
import time

import numpy as np

import steelyard as sy
from steelyard.information import accumulate

SAMPLES = 100_000  # of a log
FULL = 20.0  # GB


def logs(robot, gigabytes: float, note):
    """Logs with q, v, a, tau of a smooth motion, each made when it is asked for."""
    t = np.arange(SAMPLES) * 1e-3
    frequency = np.linspace(0.3, 1.1, robot.nv)
    done = 0.0
    for k in range(10**9):
        note(done)
        if done >= gigabytes:
            return
        phase = np.outer(t, 2 * np.pi * frequency) + k
        q, v = np.sin(phase), np.cos(phase) * 2 * np.pi * frequency
        log = sy.Log(t=t, q=q, v=v, a=-q * (2 * np.pi * frequency) ** 2, tau=q + 0.1 * v)
        done += sum(x.nbytes for x in (log.t, log.q, log.v, log.a, log.tau)) / 1e9
        yield log


def run(gigabytes: float = FULL):
    """Size in GB, samples, seconds, MB of memory that the stream cost."""
    robot = sy.library.puma560()
    peaks = []

    def note(done):
        if done > 0.2 or gigabytes <= 0.2:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

    start = time.perf_counter()
    info = accumulate(robot, logs(robot, gigabytes, note), engine="native")
    seconds = time.perf_counter() - start
    return {"GB": gigabytes, "samples": info.n, "seconds": seconds, "MB of growth": peaks[-1] - peaks[0]}


if __name__ == "__main__":
    print(run(*map(float, sys.argv[1:])))
