"""From a model and logs to a verified estimate: the job, its run, and what can be said of a log before."""

from steelyard.pipeline.identification import Progress, Result, prepared_file, run, weights_of
from steelyard.pipeline.inspection import Inspection, inspect
from steelyard.pipeline.job import Job
from steelyard.pipeline.robot_of_job import knowledge_of, load_with_side, side_of

__all__ = [
    "Inspection",
    "Job",
    "Progress",
    "Result",
    "inspect",
    "knowledge_of",
    "load_with_side",
    "prepared_file",
    "run",
    "side_of",
    "weights_of",
]
