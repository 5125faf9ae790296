"""The report of an identification: its summary, which is all that is known as JSON, and its `View`.

`CHAPTERS` is the report in the order of its sections; each chapter declares its numbers, tables and figures in one
file. The first screen is in `first_screen`.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from steelyard.job import Job
from steelyard.job_options import path_word, words_of
from steelyard.numbers import plural
from steelyard.pipeline import Result
from steelyard.report import figures, first_screen
from steelyard.report.certificates import CERTIFICATES
from steelyard.report.document import Figure, Part, Section, View, drawn_figures
from steelyard.report.key_tables import contradicted, key_tables
from steelyard.report.links import LINKS
from steelyard.report.log_data import DECIDED, LOGS
from steelyard.report.parameters import FRICTION, PARAMETERS
from steelyard.report.provenance import inputs_of, repeat_section, stamped
from steelyard.report.randomisation import RANGES
from steelyard.report.record import Record, read
from steelyard.report.signal_curves import curves
from steelyard.report.torques import RESIDUALS, TORQUES, error_sheet
from steelyard.report.unknown import UNKNOWN

FOLDER = "OUT"  # stands in the command when the run wrote no files


def repeat_command(job: Job, out=None) -> str:
    """`steelyard identify ...` with the same job. out: folder to write to, the word OUT when there is none."""
    paths = map(path_word, (job.model, *job.logs))
    return shlex.join(["steelyard", "identify", *paths, "--out", str(out or FOLDER), *words_of(job)])


KIND = "identification"
CHAPTERS = (TORQUES, UNKNOWN, LINKS, FRICTION, PARAMETERS, RANGES, RESIDUALS, DECIDED, LOGS, CERTIFICATES)


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
        job=result.job,
        command=repeat_command(result.job, out),
        out=out,
        files=files,
        inputs=inputs_of(result.job),
    )


def record_of(run: "Record | Result | str | Path") -> Record:
    """The Record of a result, of a folder it was written to, or itself."""
    if isinstance(run, Record):
        return run
    return Record(summary(run), curves(run)) if isinstance(run, Result) else read(run)


FIGURES = {
    "errors": Figure(figures.errors),
    "contributions": Figure(figures.contributions),
    "masses": Figure(figures.masses),
    "precision": Figure(figures.precision),
    "residuals": Figure(figures.residuals),
    "torque": Figure(figures.torque, curve="torque"),
    "parts": Figure(figures.parts, curve="part"),
    "friction": Figure(figures.friction, curve="friction"),
}


def view_of(record: Record, *, robot: str = "") -> View:
    """View of the record of an identification. robot: HTML of its 3D view."""
    found = record.summary
    wrong = contradicted(found)
    first = [] if wrong is None else [Section("Which values of the file are wrong", "Wrong", (Part(sheet=wrong),))]
    sections = [*first, *(chapter.section(found) for chapter in CHAPTERS), repeat_section(found)]
    job, fitted = found["job"], plural(found["fit"]["samples"], "sample")
    return View(
        summary=found,
        title=f"{found['robot']['name']}: identified inertial parameters",
        subtitle=f"{found['provenance']['created']} · {job['model']} · {plural(len(job['logs']), 'log')}"
        f" · {fitted} fitted, {found['held_out']['samples']} held out",
        sections=sections,
        figures=drawn_figures(record, sections, FIGURES),
        robot=robot,
        printed=(error_sheet(found), *key_tables(found)),
    )
