"""From a model and logs to a verified estimate: the job, its run, and what can be said of a log before."""

from steelyard.job import Job
from steelyard.pipeline.identification import Result
from steelyard.pipeline.inspection import inspect
from steelyard.pipeline.job_run import Progress

__all__ = ["Job", "Progress", "Result", "inspect"]
