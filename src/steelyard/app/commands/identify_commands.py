"""Subcommands that identify: `identify` a robot, `demo` a simulated one, `fleet` many."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.endings import refusals
from steelyard.app.options import Export, JobOptions, Json, Model, Quiet, Strict, WorkOptions
from steelyard.app.terminal import finish, progress_bar, subcommand
from steelyard.errors import OptionError
from steelyard.job import Job
from steelyard.numbers import FALSE_ALARM


@subcommand(
    "steelyard fleet arm.urdf logs/ -o result",
    "steelyard fleet arm.urdf robots.csv -o result --scheduler local --workers 8 --keep work",
    "steelyard fleet arm.urdf s3://plant/runs.toml -o result --scheduler tcp://head:8786 --keep s3://plant/work",
    status="0 nothing to look at; 1 changes, outliers, robots that need a motion or failed logs; 2 refused.",
    common="--out --keep --scheduler --workers --cutoff --friction --lock --channels --unit --json",
)
def fleet(
    model: Model,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="Folder with one folder a robot, or table (.csv, .toml): robot,time,log."
        ),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder for models, fleet.json and fleet.html.")
    ] = None,
    work: WorkOptions,
    false_alarm: Annotated[
        float, typer.Option(metavar="P", help="Probability of any false alarm in the whole fleet.")
    ] = FALSE_ALARM,
    options: Annotated[JobOptions, "fleet"],
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Outliers and changes in a fleet, robots that need a new motion, and a model of each robot."""
    with refusals(), progress_bar(silent=quiet or as_json) as progress:
        from steelyard.fleet import runs_of

        job = options.job(model)
        found = ask(job, runs_of(source), out, work, false_alarm=false_alarm, progress=progress)
    show_fleet(found, as_json=as_json, quiet=quiet)


def ask(job: Job, runs, out, work: WorkOptions, *, false_alarm: float = FALSE_ALARM, progress=None) -> dict:
    """The summary of a fleet, its files written where `out` names a folder."""
    from steelyard.fleet import accumulate, fits, study, write
    from steelyard.fleet.fleet_summary import summary
    from steelyard.storage import require_report_folder

    if out is not None:
        require_report_folder(out)  # before the work, not after
    answers = study(accumulate(job, runs, progress=progress, **vars(work)), false_alarm=false_alarm)
    models = fits(answers, progress=progress)
    return summary(answers, models) if out is None else write(answers, models, out)


def show_fleet(found: dict, *, as_json: bool, quiet: bool):
    """Print a summary, and end with the exit status it deserves."""
    from steelyard.fleet.fleet_report import has_findings, overview

    finish(found, lambda: overview(found), as_json=as_json, quiet=quiet, findings=has_findings(found))


@subcommand(
    "steelyard identify arm.urdf run.csv -o result",
    "steelyard identify arm.urdf run.csv -o result --friction viscous,coulomb --no-armature",
    "steelyard identify arm.urdf run.csv -o result --coupling joint5+joint6 --rotors",
    "steelyard identify arm.urdf run.csv -o result --mass hand=0.73 --mass all=18 --fix base=all --tie left=right:y",
    "steelyard identify arm.xml run.npz -o result --gravity 0 0 0 --cutoff 0",
    r"""steelyard identify arm.urdf run.csv -o result --channels '{"tau": ["current1", "current2"]}'""",
    "steelyard identify arm.urdf run.csv -o result --unit q=deg --scale tau:joint3=-1 --delay auto",
    "steelyard identify arm.urdf run.csv --json | jq .verdict",
    "steelyard identify arm.urdf --logs 'week1/**/*.parquet' --scheduler local --keep work -o result",
    common="--out --logs --floating --cutoff --friction --lock --mass --channels --unit --json",
)
def identify(
    model: Model,
    logs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="LOG...", help="Recorded motion: CSV, NPZ, Parquet, MAT, HDF5, MCAP, bags."),
    ] = None,
    *,
    many: Annotated[
        str | None,
        typer.Option(
            "--logs", metavar="PATTERN", help="Instead: many logs, as a pattern, folder or table; see steelyard fleet."
        ),
    ] = None,
    work: WorkOptions,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder for model, summary.json and report.html.")
    ] = None,
    export: Export = None,
    options: Annotated[JobOptions, "identify"],
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Identify a robot from a model and logs, and write the identified model with a report."""
    with refusals(), progress_bar(silent=quiet or as_json) as progress:
        require_one_source(logs, many, work)
        if many is not None and export is not None:
            raise OptionError("--export is of one run; --logs PATTERN makes many. Name the logs one by one.")
        job = options.job(model, logs or ())
        if many is not None:
            from steelyard.fleet.runs import one_robot

            found = ask(job, one_robot(many), out, work, progress=progress)
        else:
            from steelyard.app.identification import carry_out

            outcome = carry_out(job, out=out, progress=progress, export=export)
            found = outcome.summary
    if many is not None:
        show_fleet(found, as_json=as_json, quiet=quiet)
    show_summary(found, as_json=as_json, quiet=quiet, strict=strict)


@subcommand()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for everything the demo writes.")],
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Identify a PUMA 560 whose nominal model is wrong, from a motion recorded in MuJoCo."""
    with refusals(), progress_bar(silent=quiet or as_json) as progress:
        from steelyard.app.demo_job import demo as run_demo
        from steelyard.app.demo_job import truth_table

        done = run_demo(out, progress=progress)
        tables = (truth_table(done.truth, done.result),)
    show_summary(done.outcome.summary, tables, as_json=as_json, quiet=quiet)


def show_summary(found: dict, more=(), *, as_json: bool, quiet: bool, strict: bool = False):
    """Print the summary of an identification with `more` tables, and end with the exit status it deserves."""
    from steelyard.diagnose.faults import CATALOGUE
    from steelyard.report.console import drive_overview, overview

    shown = partial(drive_overview, found) if found["kind"] == "drives" else partial(overview, found, more)
    verdict = found["verdict"]
    biased = any(CATALOGUE[finding["code"]].biases for finding in found["findings"])
    findings = verdict["level"] == "keep" or biased or (strict and verdict["reasons"])
    finish(found, shown, as_json=as_json, quiet=quiet, findings=findings)


def require_one_source(logs: list[Path] | None, many: str | None, work: WorkOptions) -> None:
    """Raise OptionError unless there are logs or a pattern of many, the place of work with the latter alone."""
    if (many is None) == (not logs):
        raise OptionError("Name logs, or give --logs PATTERN for many of them; one of the two.")
    if many is None and work != WorkOptions():
        raise OptionError("--scheduler, --workers and --keep go with --logs PATTERN.")
