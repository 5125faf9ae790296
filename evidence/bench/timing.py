"""Times of functions and of new processes: medians of repetitions."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path


def seconds(function: Callable, clock: Callable[[], float] = time.perf_counter) -> float:
    """Of one call."""
    start = clock()
    function()
    return clock() - start


def median_seconds(function: Callable, repeats: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Of calls after a first one, which pays for the first use of the memory."""
    function()
    return statistics.median(seconds(function, clock) for _ in range(repeats))


def interleaved(jobs: Mapping[str, tuple[Callable, int]], repeats: int = 7) -> dict[str, float]:
    """Median microseconds a sample of each job `(function, samples)`, all timed in turn, so that a machine that slows
    down slows all of them down."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for function, _ in jobs.values():
        function()
    for _ in range(repeats):
        for name, (function, _) in jobs.items():
            taken[name].append(seconds(function))
    return {name: statistics.median(taken[name]) / count * 1e6 for name, (_, count) in jobs.items()}


def of_process(*arguments: str, cwd: Path | None = None) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a new interpreter."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, cwd=cwd)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime
