"""`steelyard fleet`: logs of many robots in; who differs, what changed and a model of each out."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.endings import refusals
from steelyard.app.options import FleetOptions, Json, Model, Quiet, WorkOptions
from steelyard.app.terminal import finish, progress_bar, subcommand
from steelyard.job import Job

FALSE_ALARM = 0.05


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
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for models, fleet.json and fleet.html."),
    ] = None,
    work: WorkOptions,
    false_alarm: Annotated[
        float, typer.Option(metavar="P", help="Probability of any false alarm in the whole fleet.")
    ] = FALSE_ALARM,
    options: FleetOptions,
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
