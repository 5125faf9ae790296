"""Many robots, many logs: sums on many workers, and what they tell about a fleet."""

from steelyard.fleet.accumulation import accumulate
from steelyard.fleet.fleet_models import fits
from steelyard.fleet.fleet_report import write
from steelyard.fleet.fleet_study import study
from steelyard.fleet.runs import Run, runs_of

__all__ = [
    "Run",
    "accumulate",
    "fits",
    "runs_of",
    "study",
    "write",
]
