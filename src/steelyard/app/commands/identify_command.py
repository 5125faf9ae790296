"""`steelyard identify`: model and logs in, identified model and report out; `steelyard demo`: the same on a robot."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.commands.fleet_command import ask, show_fleet
from steelyard.app.endings import refusals
from steelyard.app.options import Export, IdentifyOptions, Json, Model, Quiet, Strict, WorkOptions
from steelyard.app.terminal import console, finish, progress_bar, subcommand
from steelyard.errors import OptionError


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
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for model, summary.json and report.html."),
    ] = None,
    export: Export = None,
    options: IdentifyOptions,
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

        done = run_demo(out, progress=progress)
    if not (quiet or as_json):
        from steelyard.report.truth import truth_tables

        console().print(truth_tables(done.truth, done.result))
    show_summary(done.outcome.summary, as_json=as_json, quiet=quiet, links=False)


def show_summary(found: dict, *, as_json: bool, quiet: bool, links: bool = True, strict: bool = False):
    """Print the summary of an identification, and end with the exit status it deserves."""
    from steelyard.diagnose.faults import CATALOGUE
    from steelyard.report.console import drive_overview, overview

    shown = partial(drive_overview, found) if found["kind"] == "drives" else partial(overview, found, links=links)
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
