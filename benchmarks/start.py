"""Seconds to import the package, each time in a new process. Aim: 0.3 s; NumPy takes 0.05, some 250 small modules with
210 dataclasses the rest.
"""

import statistics
import subprocess
import sys

REPEATS = 9
PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def run() -> dict:
    """Median of processes that take turns, and NumPy alone, which is part of it."""
    seconds = {"steelyard": [], "numpy": []}
    for _ in range(REPEATS):
        for name, found in seconds.items():
            command = [sys.executable, "-c", PROGRAM.format(name)]
            found.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return {f"import {name}": {"seconds": statistics.median(found)} for name, found in seconds.items()}
