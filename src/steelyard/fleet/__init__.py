"""Many robots, many logs: sums on many workers, and what they tell about a fleet."""

from steelyard.fleet.accumulate import Accumulation, Failure, RunSums, accumulate
from steelyard.fleet.runs import Run, runs_of

__all__ = ["Accumulation", "Failure", "Run", "RunSums", "accumulate", "runs_of"]
