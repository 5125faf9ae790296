"""From a model and logs to a verified estimate: the job and its run."""

from steelyard.job import Job
from steelyard.pipeline.inspect import Inspection, inspect
from steelyard.pipeline.python_job import job_of
from steelyard.pipeline.run import (
    Progress,
    Result,
    knowledge_of,
    load_with_side,
    prepared,
    read_and_prepared,
    readied,
    run,
    side_of,
    weights_of,
)

__all__ = [
    "Inspection",
    "Job",
    "Progress",
    "Result",
    "inspect",
    "job_of",
    "knowledge_of",
    "load_with_side",
    "prepared",
    "read_and_prepared",
    "readied",
    "run",
    "side_of",
    "weights_of",
]
