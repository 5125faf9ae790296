"""`steelyard payload`: what a robot holds."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.endings import refusals
from steelyard.app.options import Json, PayloadOptions, words
from steelyard.app.terminal import finish, subcommand


@dataclass(frozen=True)
class ShapeOptions:
    """What is known of the body's shape, and the estimator."""

    shape: Annotated[
        Path | None, typer.Option(metavar="MESH", help="Shape in the sensor frame: mesh or point cloud.")
    ] = None
    scale: Annotated[float, typer.Option(metavar="M", help="Metres per unit of the shape's file.")] = 1.0
    shape_pose: Annotated[
        tuple[float, float, float, float, float, float] | None,
        typer.Option(metavar="X Y Z ROLL PITCH YAW", help="Frame of the shape in the sensor frame, m and rad."),
    ] = None
    shape_pose_std: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="RAD M", help="Standard deviations of that pose, rotation and position. [default: 0 0]"),
    ] = None
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="auto, density, pmd, pmd-squared, geo, ellipsoid, hull, consistent, ols, rtls."
        ),
    ] = "auto"


@dataclass(frozen=True)
class ArmOptions:
    """The arm that carries the payload, and whether its joints take the place of a sensor."""

    arm: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Arm that carries the sensor: a model, or a result's folder.")
    ] = None
    frame: Annotated[
        str | None,
        typer.Option(metavar="LINK", help="Link of the sensor. [default: the last body]", show_default=False),
    ] = None
    flange: Annotated[
        str | None,
        typer.Option(
            metavar="LINK", help="Link in whose axes exports are. [default: tool0 or another vendor's flange]"
        ),
    ] = None
    torques: Annotated[bool, typer.Option("--torques", help="No sensor: use the joint torques of the arm.")] = False
    cutoff: Annotated[float, typer.Option(metavar="HZ", help="Low-pass cutoff with --torques.")] = 10.0


@dataclass(frozen=True)
class SensorOptions:
    """What the wrist sensor shows beside the payload, and the conventions of its log."""

    hand: Annotated[
        Path | None, typer.Option(metavar="LOG", help="The same with an empty hand: finds its weight and the bias.")
    ] = None
    bias: Annotated[bool, typer.Option("--bias", help="Estimate a constant wrench beside the payload.")] = False
    drift: Annotated[bool, typer.Option("--drift", help="The same for a bias that changes steadily with time.")] = False
    axes: Annotated[str, typer.Option(metavar="AXES", help="Axes of wrench and motion: sensor or world.")] = "sensor"
    negate: Annotated[bool, typer.Option("--negate", help="The sensor reports the reaction.")] = False
    gravity: Annotated[
        tuple[float, float, float] | None,
        typer.Option(metavar="X Y Z", help="In the world, m/s^2. [default: the file's, or 0 0 -9.81]"),
    ] = None
    noise: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="N NM", help="Known noise of force and torque. [default: from the log]"),
    ] = None
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="The robot is not on the Earth: believe another gravity.")
    ] = False


@subcommand(
    "Identify what a robot holds.",
    "steelyard payload held.npz --shape hammer.stl --out result",
    "steelyard payload held.csv --arm arm.urdf --frame flange --hand empty.csv --export franka,ur",
    "steelyard payload joints.csv --torques --arm result --frame flange --export ur",
    status="0 done; 1 done, but look at the status and findings first; 2 refused.",
    common="--out --shape --arm --frame --flange --torques --hand --bias --gravity --export --json",
)
def payload(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Wrench log, or joint log with --torques: .npz or .csv.")],
    *,
    shape: ShapeOptions,
    arm: ArmOptions,
    sensor: SensorOptions,
    options: PayloadOptions,
    export: Annotated[
        str,
        typer.Option(metavar="FORMATS", help="Any of franka,ur,kuka,abb,ros,urdf,mjcf: print for these."),
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder for summary.json and report.html.")
    ] = None,
    as_json: Json = False,
):
    """Identify what a robot holds, from a wrist force-torque sensor or from joint torques."""
    with refusals():
        from steelyard.payload import Request, exports, identify_files, require_formats
        from steelyard.storage import require_report_folder

        if out is not None:
            require_report_folder(out)  # before the work, not after
        job = options.job()
        reading = {name: getattr(job.corrections, name) for name in ("unit", "order", "leave_out")}
        known = {"folder": tuple(map(Path, job.folders)), "lock": job.lock, "channels": job.channels}
        request = Request(log, **asdict(shape), **asdict(arm), **asdict(sensor), **known, **reading)
        formats = words(export)
        require_formats(formats)
        outcome = identify_files(request)
        exported = exports(outcome.at_flange, formats)
        if out is not None:
            from steelyard.payload import write_payload

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
