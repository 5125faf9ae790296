"""Subcommands about logs and results: inspect, validate, report, payload."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.endings import refusals
from steelyard.app.options import Export, JobOptions, Json, Quiet, model_in, words
from steelyard.app.terminal import finish, subcommand
from steelyard.corrections import NOTHING
from steelyard.errors import OptionError
from steelyard.payload_request import Request
from steelyard.sheets import narrow


@subcommand(
    "steelyard inspect run.mcap",
    "steelyard inspect run.csv --model arm.urdf --html health.html",
    "steelyard inspect run.csv --model arm.urdf --fix",
    "steelyard inspect run.parquet --model arm.urdf --json",
    r"""steelyard inspect run.h5 --channels '{"q": "arm/angles"}'""",
    status="0 healthy; 1 findings; 2 refused.",
    common="--model --fix --html --lock --channels --unit --order --scale --delay --json",
)
def inspect(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log in any format, or the folder of a ROS 2 bag.")],
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", callback=model_in, help="Compare with a robot model: delays, wrong signs, units, ..."
        ),
    ] = None,
    *,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write the corrections that --model suggests into LOG.steelyard.toml.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page of its own too, with figures.")
    ] = None,
    options: Annotated[JobOptions, "inspect"],
    as_json: Json = False,
):
    """Content and health of a log: rate, noise, motion, cutoff by spectrum, and faults with their remedies."""
    with refusals():
        from steelyard.model import load
        from steelyard.model.locking import locked
        from steelyard.pipeline import inspect as look
        from steelyard.prepare.reading import lock_words, read_logs, read_undone
        from steelyard.prepare.undo import corrected

        job = options.job()
        if fix and model is None:
            raise OptionError("--fix undoes what a comparison with the robot shows: give --model MODEL.")
        if model is None:
            robot = None
            read = read_undone(log, channels=job.channels, corrections=job.corrections)
        else:
            robot = load(model, gravity=job.gravity, folders=job.folders, arguments=job.arguments)
            robot = locked(robot, lock_words(job.lock, robot))
            if fix:
                from steelyard.pipeline.log_repair import fix_log

                robot, lines = fix_log(log, robot, channels=job.channels, given=job.corrections)
                typer.echo("\n".join(f"steelyard: {line}" for line in lines), err=True)
                job = replace(job, corrections=NOTHING)  # they are in the side file now
            robot, (read,) = read_logs([log], robot, channels=job.channels, corrections=job.corrections)
        read = corrected(robot, read, job.corrections)
        found = look(read, robot)
        if html is not None:
            from steelyard.report.log_health import write_health_page

            write_health_page(found, read, html, inputs=[log] if model is None else [log, model])
        from steelyard.report.log_health import health_overview
        from steelyard.report.schema import jsonable

        told = jsonable(found)
    finish(told, lambda: health_overview(found), as_json=as_json, findings=found.findings or found.faults)


@subcommand(
    "steelyard validate result run3.csv",
    "steelyard validate result run3.csv --against arm.urdf",
    "steelyard validate arm.urdf run3.csv --unit q=deg --json",
    "steelyard validate result run3.csv --rollout",
    status="0 done; 1 findings in the log, an error above 25 %, or no better than the other model; 2 refused.",
    common="--against --rollout --cutoff --lock --channels --unit --order --scale --json",
)
def validate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, or a folder that identify wrote.")],
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs that the model was not made from.")],
    *,
    against: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Another model, or result, to compare with.")
    ] = None,
    rollout: Annotated[
        bool, typer.Option("--rollout", help="By motion: simulate the model with the commands of the logs.")
    ] = False,
    export: Export = None,
    options: Annotated[JobOptions, "validate"],
    as_json: Json = False,
):
    """Torque prediction error of a model, or of the result of an identification, on held-out logs; or its motion."""
    with refusals():
        from steelyard.fit import Validation
        from steelyard.report.model_validation import validate_models, validate_motion
        from steelyard.viewer.recording import require_recording, write_recording

        if export is not None and rollout:
            raise OptionError("--export is of torques; with --rollout none are predicted. Leave one of them out.")
        if export is not None:
            require_recording(export)
        judge = validate_motion if rollout else validate_models
        found = judge(model, logs, against=against, **options.of_job())
        if export is not None:
            assert found.robot is not None and found.log is not None  # of torques
            told = {name: each for name, each in found.models if isinstance(each, Validation)}
            write_recording(export, found.robot, found.log, told)
        from steelyard.report.console import shown

        screen = shown(found.screen, [found.table()], most=len(found.screen.reasons))
    finish(found.as_json(), lambda: screen, as_json=as_json, findings=not found.good)


@subcommand(
    "steelyard report result",
    "steelyard report march/ april/ may/ --out drift",
    "steelyard report robot-1/ robot-2/ --json",
)
def report(
    results: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders that identify or payload wrote with --out.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for the report. [default: DIR itself, for one]"),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Draw the report of one result again, or compare several results side by side."""
    with refusals():
        from steelyard.app.redraw import again

        view = again(results, out)
        from steelyard.report.console import view_overview

    finish(view.summary, lambda: view_overview(view), as_json=as_json, quiet=quiet)


@subcommand(
    "steelyard payload held.npz --shape hammer.stl --out result",
    "steelyard payload held.csv --arm arm.urdf --frame flange --hand empty.csv --export franka,ur",
    "steelyard payload joints.csv --torques --arm result --hand empty.csv --export ur",
    status="0 done; 1 done, but look at the status and findings first; 2 refused.",
    common="--out --shape --arm --frame --flange --torques --hand --bias --gravity --export --json",
)
def payload(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Wrench log, or joint log with --torques: .npz or .csv.")],
    *,
    held: Annotated[JobOptions, "payload", Request],
    options: Annotated[JobOptions, "payload"],
    export: Annotated[
        str,
        typer.Option(metavar="FORMATS", help="Any of franka,ur,kuka,abb,ros,ros2_control,urdf,mjcf: print for these."),
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder for summary.json and report.html.")
    ] = None,
    as_json: Json = False,
):
    """Identify what a robot holds, from a wrist force-torque sensor or from joint torques."""
    with refusals():
        from steelyard.payload.controller_formats import exports, require_formats
        from steelyard.payload.payload_job import identify_files
        from steelyard.storage import require_report_folder

        if out is not None:
            require_report_folder(out)  # before the work, not after
        job = options.job()
        reading = {name: getattr(job.corrections, name) for name in ("unit", "order", "leave_out")}
        known = {"folder": job.folders, "arg": job.arguments, "lock": job.lock, "channels": job.channels}
        request = Request(str(log), **held.of_job(), **known, **reading)
        formats = words(export)
        require_formats(formats)
        outcome = identify_files(request)
        exported = exports(outcome.at_flange, formats)
        if out is not None:
            from steelyard.payload.payload_report import write_payload

            write_payload(outcome, request, exported, out)
    _tell(outcome.payload, formats, exported, as_json)


def _tell(found, formats: tuple[str, ...], exported: dict[str, str], as_json: bool):
    """The payload and its exports on the terminal, and the exit status."""
    left_out = [f"! not exported: {found.status.value}"] if formats and not exported else []
    texts = [f"# {name}\n{text}" for name, text in exported.items()]
    told = found.as_dict() | {"export": "\n\n".join(texts)}
    shown = "\n\n".join([narrow("\n".join([found.summary(), *left_out])), *texts])
    findings = not found.status.usable or found.findings or left_out
    finish(told, lambda: shown, as_json=as_json, findings=findings)
