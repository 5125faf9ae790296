"""Everything of a run as one JSON-ready dictionary (docs/files.md); every report shows these numbers.

`CHAPTERS` is the report in the order of its sections; each chapter declares its numbers, tables and figures in one
file. The first screen is in `first_screen`.
"""

import shlex
from collections.abc import Sequence

from steelyard.job import Job
from steelyard.job_options import path_word, words_of
from steelyard.pipeline import Result
from steelyard.report import first_screen
from steelyard.report.certificates import CERTIFICATES
from steelyard.report.links import LINKS
from steelyard.report.log_data import LOGS
from steelyard.report.parameters import FRICTION, PARAMETERS
from steelyard.report.provenance import inputs_of, stamped
from steelyard.report.torques import RESIDUALS, TORQUES
from steelyard.report.unknown import UNKNOWN

FOLDER = "OUT"  # stands in the command when the run wrote no files


def repeat_command(job: Job, out=None) -> str:
    """`steelyard identify ...` with the same job. out: folder to write to, the word OUT when there is none."""
    paths = map(path_word, (job.model, *job.logs))
    return shlex.join(["steelyard", "identify", *paths, "--out", str(out or FOLDER), *words_of(job)])


KIND = "identification"
CHAPTERS = (TORQUES, UNKNOWN, LINKS, FRICTION, PARAMETERS, RESIDUALS, LOGS, CERTIFICATES)


def summary(
    result: Result, *, out=None, files: Sequence[str] = (), notes: Sequence[str] = (), written: Sequence[str] = ()
) -> dict:
    """Summary of a run, free of NaN and infinity (null instead).

    Args:
        result: of `pipeline.run`.
        out: folder the files were written to.
        files: their names in it.
        notes: of writing them.
        written: of these, what changed in them that nobody asked for; reasons of the verdict.

    Returns:
        Plain values, as the schema of kind `identification` says.

    Reads the input files once, for their hashes.
    """
    found: dict = {}
    for chapter in sorted(CHAPTERS, key=lambda each: each.derived):
        found |= chapter.numbers(result, found)
    notes = [*result.notes, *result.estimate.notes, *notes]
    return stamped(
        KIND,
        {"verdict": first_screen.numbers(result, found, written), **found, "notes": notes},
        job=result.job.as_json(),
        command=repeat_command(result.job, out),
        out=out,
        files=files,
        inputs=inputs_of(result.job),
    )
