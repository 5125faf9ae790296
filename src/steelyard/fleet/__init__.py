"""Many robots, many logs: sums on many workers, and what they tell about a fleet."""

from steelyard.fleet.accumulation import Accumulation, Failure, RunSums, accumulate, accumulate_job
from steelyard.fleet.fleet_models import Fit, Fits, fits
from steelyard.fleet.fleet_report import has_findings, overview, write
from steelyard.fleet.fleet_study import Member, Study, study
from steelyard.fleet.fleet_summary import summary
from steelyard.fleet.runs import Run, one_robot, runs_of

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
    "accumulate_job",
    "fits",
    "has_findings",
    "one_robot",
    "overview",
    "runs_of",
    "study",
    "summary",
    "write",
]
