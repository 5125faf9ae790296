"""Medians of interleaved repetitions."""

import statistics
import time
from collections.abc import Callable, Mapping


def interleaved(jobs: Mapping[str, tuple[Callable, int]], repeats: int = 7) -> dict[str, float]:
    """Median microseconds a sample of each job `(function, samples)`, all timed in turn, so that a machine that slows
    down slows all of them down."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for function, _ in jobs.values():
        function()
    for _ in range(repeats):
        for name, (function, _) in jobs.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds[name]) / count * 1e6 for name, (_, count) in jobs.items()}
