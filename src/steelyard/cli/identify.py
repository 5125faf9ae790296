"""`steelyard identify`: model and logs in, identified model and report out."""

import json
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.fleet import alone, ask, show
from steelyard.cli.options import (
    AUTO,
    Channels,
    Compensated,
    Coupling,
    Delay,
    EvenStamps,
    Friction,
    Gravity,
    Json,
    Keep,
    Model,
    Offset,
    Order,
    Quiet,
    Scale,
    Scheduler,
    Side,
    Unit,
    Workers,
    channels_of,
    corrections_of,
    cutoff_of,
    friction_of,
)
from steelyard.cli.terminal import DONE, FINDINGS, console, progress_bar, refusals
from steelyard.errors import OptionError
from steelyard.pipeline import Job

FRICTION = ",".join(Job.friction)
EXAMPLES = """
Examples:

  steelyard identify arm.urdf run.csv -o result

  steelyard identify arm.urdf run.csv -o result --friction viscous,coulomb --no-armature

  steelyard identify arm.urdf run.csv -o result --coupling joint5+joint6 --rotors

  steelyard identify arm.urdf run.csv -o result --mass hand=0.73 --mass all=18 --fix base=all --tie left=right:y

  steelyard identify arm.xml run.npz -o result --gravity 0 0 0 --cutoff 0

  steelyard identify arm.urdf run.csv -o result --channels '{"tau": ["current1", "current2"]}'

  steelyard identify arm.urdf run.csv -o result --unit q=deg --scale tau:joint3=-1 --delay auto

  steelyard identify arm.urdf run.csv --json | jq .verdict

  steelyard identify arm.urdf --logs 'week1/**/*.parquet' --scheduler local --keep work -o result
"""


def identify(
    model: Model,
    logs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="LOG...", help="Recorded motion: CSV, NPZ, Parquet, MAT, HDF5, MCAP, bags."),
    ] = None,
    many: Annotated[
        str | None,
        typer.Option(
            "--logs", metavar="PATTERN", help="Instead: many logs, as a pattern, folder or table; see steelyard fleet."
        ),
    ] = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    keep: Keep = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for model, summary.json and report.html."),
    ] = None,
    cutoff: Annotated[
        str,
        typer.Option(metavar="HZ", help="Low-pass cutoff; auto: from each log's spectrum; 0: v and a as recorded."),
    ] = AUTO,
    smoother: Annotated[
        str, typer.Option(metavar="NAME", help="What filters and differentiates: butterworth, kalman or savgol.")
    ] = Job.smoother,
    friction: Friction = FRICTION,
    armature: Annotated[
        bool, typer.Option("--armature/--no-armature", help="Identify the motors' inertia too.")
    ] = True,
    coupling: Coupling = None,
    rotors: Annotated[bool, typer.Option("--rotors", help="Rotors of the side file are bodies.")] = False,
    side: Side = None,
    floating: Annotated[
        bool | None,
        typer.Option("--floating/--fixed", help="Free or fixed base. [default: as the model says]", show_default=False),
    ] = None,
    gravity: Gravity = None,
    validation: Annotated[float, typer.Option(metavar="SHARE", help="Share of every log held out.")] = Job.validation,
    weight: Annotated[float, typer.Option(metavar="W", help="Weight of the given model as prior.")] = Job.weight,
    reversal_weight: Annotated[
        float, typer.Option(metavar="W", help="Weight of samples where a joint stands still; 1: as any other.")
    ] = Job.reversal_weight,
    regularizer: Annotated[
        str, typer.Option(metavar="NAME", help="Distance to the prior: pullback, entropic or euclidean.")
    ] = Job.regularizer,
    within: Annotated[
        str,
        typer.Option(
            metavar="WORD", help="Where mass can be: inside the geometry of its link, or anywhere (consistent)."
        ),
    ] = Job.within,
    masses: Annotated[
        list[str] | None,
        typer.Option("--mass", metavar="LINK=KG", help="Known mass; LINK1+LINK2=KG of several, all=KG; repeatable."),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--fix", metavar="LINK=PARTS", help="Keep the model's mass,com,inertia of a link, or all; repeatable."
        ),
    ] = None,
    tied: Annotated[
        list[str] | None,
        typer.Option("--tie", metavar="LEFT=RIGHT[:y]", help="Links that are equal, or mirror images; repeatable."),
    ] = None,
    channels: Channels = None,
    unit: Unit = None,
    order: Order = None,
    scale: Scale = None,
    offset: Offset = None,
    delay: Delay = None,
    gravity_compensated: Compensated = False,
    even_stamps: EvenStamps = False,
    saturation: Annotated[
        bool, typer.Option("--saturation", help="Leave out samples with clipped torques, and their neighbours.")
    ] = False,
    drive_gains: Annotated[
        bool, typer.Option("--drive-gains", help="Torques are motor currents: find each drive's gain, too.")
    ] = False,
    loads: Annotated[
        list[str] | None,
        typer.Option("--load", metavar="LINK=KG:LOG", help="Log with a known load, for --drive-gains; repeatable."),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Go on in spite of this fatal finding; repeatable."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Identify a robot from a model and logs, and write the identified model with a report."""
    with refusals(), progress_bar(silent=quiet or as_json) as progress:
        if (many is None) == (not logs):
            raise OptionError("Name logs, or give --logs PATTERN for many of them; one of the two.")
        if many is None and (scheduler, workers, keep) != (None, None, None):
            raise OptionError("--scheduler, --workers and --keep go with --logs PATTERN.")
        table = channels_of(channels)
        corrections = corrections_of(
            table,
            unit=unit,
            order=order,
            scale=scale,
            offset=offset,
            delay=delay,
            gravity_compensated=gravity_compensated,
            even_stamps=even_stamps,
            saturation=saturation,
        )
        job = Job(
            model=str(model),
            logs=tuple(map(str, logs or ())),
            floating=floating,
            gravity=gravity,
            cutoff=cutoff_of(cutoff),
            smoother=smoother,
            friction=friction_of(friction),
            armature=armature,
            coupling=tuple(coupling or ()),
            rotors=rotors,
            side=None if side is None else str(side),
            validation=validation,
            weight=weight,
            reversal_weight=reversal_weight,
            regularizer=regularizer,
            within=within,
            masses=tuple(masses or ()),
            fixed=tuple(fixed or ()),
            tied=tuple(tied or ()),
            channels=table,
            corrections=corrections,
            drive_gains=drive_gains,
            loads=tuple(loads or ()),
            accept=tuple(accept or ()),
        )
        if many is not None:
            where = {"scheduler": scheduler, "workers": workers, "keep": keep}
            found = ask(job, alone(many), out, where, progress=progress)
        else:
            from steelyard.identify import carry_out

            found = carry_out(job, out=out, progress=progress).summary
    if many is not None:
        show(found, as_json=as_json, quiet=quiet)
    if as_json:
        typer.echo(json.dumps(found, indent=1, ensure_ascii=False))
    elif not quiet:
        from steelyard.report.tables import overview

        console().print(overview(found))
    raise typer.Exit(FINDINGS if found["verdict"]["reasons"] else DONE)
