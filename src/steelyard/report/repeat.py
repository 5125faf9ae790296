"""The command line that repeats a run: every option that is not at its default, quoted for a shell."""

import shlex

from steelyard.job import Job
from steelyard.job_options import path_word, words_of

FOLDER = "OUT"  # stands in the command when the run wrote no files


def repeat_command(job: Job, out=None) -> str:
    """`steelyard identify ...` with the same job. out: folder to write to, the word OUT when there is none."""
    paths = map(path_word, (job.model, *job.logs))
    return shlex.join(["steelyard", "identify", *paths, "--out", str(out or FOLDER), *words_of(job)])
