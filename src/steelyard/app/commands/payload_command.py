"""`steelyard payload`: what a robot holds."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.endings import refusals
from steelyard.app.options import HeldOptions, Json, PayloadOptions, words
from steelyard.app.terminal import finish, subcommand


@subcommand(
    "steelyard payload held.npz --shape hammer.stl --out result",
    "steelyard payload held.csv --arm arm.urdf --frame flange --hand empty.csv --export franka,ur",
    "steelyard payload joints.csv --torques --arm result --frame flange --export ur",
    status="0 done; 1 done, but look at the status and findings first; 2 refused.",
    common="--out --shape --arm --frame --flange --torques --hand --bias --gravity --export --json",
)
def payload(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Wrench log, or joint log with --torques: .npz or .csv.")],
    *,
    held: HeldOptions,
    options: PayloadOptions,
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
        from steelyard.payload_request import Request
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
    shown = "\n\n".join([found.summary(), *left_out, *texts])
    findings = not found.status.usable or found.findings or left_out
    finish(told, lambda: shown, as_json=as_json, findings=findings)
