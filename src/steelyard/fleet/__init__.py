"""Many robots, many logs: sums on many workers, and what they tell about a fleet."""

from steelyard.fleet.accumulate import accumulate
from steelyard.fleet.fits import Fit, Fits, fits
from steelyard.fleet.runs import Run, runs_of
from steelyard.fleet.study import Member, Study, study
from steelyard.fleet.summary import summary
from steelyard.fleet.sums import Accumulation, Failure, RunSums
from steelyard.fleet.write import write

__all__ = [
    "Accumulation",
    "Failure",
    "Fit",
    "Fits",
    "Member",
    "Run",
    "RunSums",
    "Study",
    "accumulate",
    "fits",
    "runs_of",
    "study",
    "summary",
    "write",
]
