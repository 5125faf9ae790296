"""The report of an identification: its summary, which is all that is known as JSON, and its `View`.

`CHAPTERS` is the report in the order of its sections; each chapter declares its numbers, tables and figures in one
file. The first screen says better or worse, by how much, may I use it, what is unknown.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.decisions.verdict import Verdict
from steelyard.job import Job
from steelyard.job_options import path_word, words_of
from steelyard.numbers import number, percent, plural, share, times
from steelyard.pipeline import Result
from steelyard.pipeline.verdicts import LOST, SAME, WORSE, verdict
from steelyard.report import figures
from steelyard.report.certificates import CERTIFICATES
from steelyard.report.document import Figure, Question, ReportPart, Screen, Section, View, drawn_figures
from steelyard.report.links import LINKS, contradicted, key_tables
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
    """Summary of a run, of kind `identification`; reads the input files once, for their hashes. notes: of writing
    files; written: what changed in them that nobody asked for, reasons of the verdict."""
    found: dict = {}
    for chapter in sorted(CHAPTERS, key=lambda each: each.derived):
        found |= chapter.numbers(result, found)
    notes = [*notes, *result.notes, *result.estimate.notes]
    return of_a_job(
        KIND, {"verdict": _verdict(result, found, written), **found, "notes": notes}, result.job, out, files
    )


def of_a_job(kind: str, content: Mapping, job: Job, out, files: Sequence[str]) -> dict:
    """A whole summary of a run of `identify`, as of `stamped`."""
    about = {"command": repeat_command(job, out), "inputs": inputs_of(job)}
    return stamped(kind, content, job=job, out=out, files=files, **about)


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
    first = (
        [] if wrong is None else [Section("Which values of the file are wrong", "Wrong", (ReportPart(sheet=wrong),))]
    )
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


def _verdict(result: Result, found: Mapping, written: Sequence[str] = ()) -> dict:
    """The key `verdict` of the summary. found: its other keys. written: as of `verdict`."""
    judged = verdict(result, written)
    names = ("given", "written")
    expected = None if result.expected is None else dict(zip(names, map(vars, result.expected), strict=True))
    held, unknown = found["held_out"], _unknown(found["unknown"], found["base_parameters"])
    questions = (_better(judged.level, held), _much(held, _beyond(result)), unknown)
    screen = Screen.judged(judged, headline(result, judged), questions)
    return screen.as_json() | {"expected_error": expected}


def headline(result: Result, judged: Verdict) -> str:
    """What a run found, in a sentence."""
    before, after = result.before.relative_error, result.after.relative_error
    change = f"held-out torque error {percent(before)} before, {percent(after)} after"
    if judged.forbidding - {LOST, WORSE}:
        return f"Not explained: {change}."
    if LOST in judged.forbidding:
        return f"Masses in ratios only: {change}."
    if WORSE in judged.forbidding:
        return f"Worse than the given model: {change}."
    if after < (1 - SAME) * before:
        return f"Better: {change} ({times(before / after)} times smaller)."
    return f"No better than the given model: {change}."


def _beyond(result: Result) -> str:
    if result.expected is None:
        return " A log of faster motion or other postures measures the error there: steelyard validate."
    given, written = (
        f"{percent(each.value)} ({percent(each.lower)} to {percent(each.upper)})" for each in result.expected
    )
    return f" Links in the joints' whole range are expected to err by {given} as given, {written} as written."


def _better(level: str, held: Mapping) -> Question:
    before, after = held["relative_error_before"], held["relative_error_after"]
    worse = sum(j["rms_after"] > j["rms_before"] for j in held["joints"])
    joints = len(held["joints"])
    detail = f"{joints - worse} of {joints} joints are predicted better than by the nominal model."
    if after > (1 + SAME) * before:
        answer = "No, worse"
    elif level == "keep":
        answer = "Not reliably"
    else:
        answer = f"Yes, {times(before / after)} times" if after > 0 else "Yes"
    return Question("Is it better?", answer, detail)


def _much(held: Mapping, beyond: str) -> Question:
    before, after = held["relative_error_before"], held["relative_error_after"]
    worst = max(held["joints"], key=lambda joint: joint["relative_after"] or 0.0)
    return Question(
        "By how much?",
        f"{percent(before)} → {percent(after)}",
        f"Torque error on {plural(held['samples'], 'sample')} the fit has not seen, over the torque. "
        f"Worst at {worst['name']}: {share(worst['relative_after'])} ({number(worst['rms_after'])} {worst['unit']})."
        f"{beyond}",
    )


def _unknown(unknown: Sequence[Mapping], base: Sequence) -> Question:
    count = {each["kind"]: len(each["names"]) for each in unknown}
    weak, unseen = count.get("weak", 0), count.get("unseen", 0)
    detail = (
        f"{len(base)} combinations of mass, inertia and friction are identifiable; {weak or 'none'} of "
        f"them {'is' if weak == 1 else 'are'} poorly excited by this motion."
    )
    if unseen:
        detail += f" {plural(unseen, 'parameter')} {'is' if unseen == 1 else 'are'} not identifiable."
    answer = f"{weak} of {len(base)} values" if weak else "Nothing that matters here"
    return Question("What is unknown?", answer, detail)
