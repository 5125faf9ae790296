"""From a model and logs to a verified estimate: the job, its run, and what can be said of a log before."""

from steelyard.job import Job
from steelyard.pipeline.drive_identification import FOUND, START, DriveEstimate, DriveResult, run_drives
from steelyard.pipeline.identification import Result, run
from steelyard.pipeline.inspection import Inspection, inspect
from steelyard.pipeline.job_run import Progress, job_of, knowledge_of, load_with_side, recorded, several, side_of
from steelyard.pipeline.log_repair import fix_log
from steelyard.pipeline.sums_of_logs import accumulate, accumulate_blocks, weights_of
from steelyard.pipeline.tried_corrections import VISIBLE

__all__ = [
    "FOUND",
    "START",
    "VISIBLE",
    "DriveEstimate",
    "DriveResult",
    "Inspection",
    "Job",
    "Progress",
    "Result",
    "accumulate",
    "accumulate_blocks",
    "fix_log",
    "inspect",
    "job_of",
    "knowledge_of",
    "load_with_side",
    "recorded",
    "run",
    "run_drives",
    "several",
    "side_of",
    "weights_of",
]
