"""`steelyard identify`: model and logs in, identified model and report out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from steelyard import defaults
from steelyard.app.fleet import alone, ask, show
from steelyard.app.groups import grouped
from steelyard.app.job_options import LogOptions, ModelOptions, WorkOptions
from steelyard.app.options import Json, Model, Quiet
from steelyard.app.terminal import DONE, FINDINGS, console, examples, progress_bar, refusals, show_json
from steelyard.errors import OptionError

EXAMPLES = examples(
    "steelyard identify arm.urdf run.csv -o result",
    "steelyard identify arm.urdf run.csv -o result --friction viscous,coulomb --no-armature",
    "steelyard identify arm.urdf run.csv -o result --coupling joint5+joint6 --rotors",
    "steelyard identify arm.urdf run.csv -o result --mass hand=0.73 --mass all=18 --fix base=all --tie left=right:y",
    "steelyard identify arm.xml run.npz -o result --gravity 0 0 0 --cutoff 0",
    r"""steelyard identify arm.urdf run.csv -o result --channels '{"tau": ["current1", "current2"]}'""",
    "steelyard identify arm.urdf run.csv -o result --unit q=deg --scale tau:joint3=-1 --delay auto",
    "steelyard identify arm.urdf run.csv --json | jq .verdict",
    "steelyard identify arm.urdf --logs 'week1/**/*.parquet' --scheduler local --keep work -o result",
)


@dataclass(frozen=True)
class KnownOptions:
    """What is known of the robot's links, and how samples and the prior count."""

    floating: Annotated[
        bool | None,
        typer.Option("--floating/--fixed", help="Free or fixed base. [default: as the model says]", show_default=False),
    ] = None
    validation: Annotated[float, typer.Option(metavar="SHARE", help="Share of every log held out.")] = (
        defaults.VALIDATION
    )
    reversal_weight: Annotated[
        float, typer.Option(metavar="W", help="Weight of samples where a joint stands still; 1: as any other.")
    ] = defaults.REVERSAL_WEIGHT
    within: Annotated[
        str,
        typer.Option(
            metavar="WORD", help="Where mass can be: inside the geometry of its link, or anywhere (consistent)."
        ),
    ] = defaults.WITHIN
    masses: Annotated[
        list[str] | None,
        typer.Option("--mass", metavar="LINK=KG", help="Known mass; LINK1+LINK2=KG of several, all=KG; repeatable."),
    ] = None
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--fix", metavar="LINK=PARTS", help="Keep the model's mass,com,inertia of a link, or all; repeatable."
        ),
    ] = None
    tied: Annotated[
        list[str] | None,
        typer.Option("--tie", metavar="LEFT=RIGHT[:y]", help="Links that are equal, or mirror images; repeatable."),
    ] = None

    def of_job(self) -> dict[str, Any]:
        """The same as fields of a `Job`."""
        return vars(self) | {name: tuple(getattr(self, name) or ()) for name in ("masses", "fixed", "tied")}


@dataclass(frozen=True)
class TorqueOptions:
    """What the torques are, and which findings are no reason to stop."""

    saturation: Annotated[
        bool, typer.Option("--saturation", help="Leave out clipped torques, and keep them out of the filter.")
    ] = False
    drive_gains: Annotated[
        bool, typer.Option("--drive-gains", help="Torques are motor currents: find each drive's gain, too.")
    ] = False
    loads: Annotated[
        list[str] | None,
        typer.Option("--load", metavar="LINK=KG:LOG", help="Log with a known load, for --drive-gains; repeatable."),
    ] = None
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Go on in spite of this fatal finding; repeatable."),
    ] = None


@grouped
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
    unknown: ModelOptions,
    known: KnownOptions,
    recorded: LogOptions,
    torques: TorqueOptions,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Identify a robot from a model and logs, and write the identified model with a report."""
    with refusals(), progress_bar(silent=quiet or as_json) as progress:
        from steelyard.pipeline import Job

        require_one_source(logs, many, work)
        channels, corrections = recorded.read(saturation=torques.saturation)
        job = Job(
            model=str(model),
            logs=tuple(map(str, logs or ())),
            channels=channels,
            corrections=corrections,
            drive_gains=torques.drive_gains,
            loads=tuple(torques.loads or ()),
            accept=tuple(torques.accept or ()),
            **unknown.of_job(),
            **known.of_job(),
        )
        if many is not None:
            found = ask(job, alone(many), out, work, progress=progress)
        else:
            from steelyard.app.job import carry_out

            found = carry_out(job, out=out, progress=progress).summary
    if many is not None:
        show(found, as_json=as_json, quiet=quiet)
    if as_json:
        show_json(found)
    elif not quiet:
        from steelyard.report import overview

        console().print(overview(found))
    raise typer.Exit(FINDINGS if found["verdict"]["reasons"] else DONE)


def require_one_source(logs: list[Path] | None, many: str | None, work: WorkOptions) -> None:
    """Raise OptionError unless there are logs or a pattern of many, the place of work with the latter alone."""
    if (many is None) == (not logs):
        raise OptionError("Name logs, or give --logs PATTERN for many of them; one of the two.")
    if many is None and work != WorkOptions():
        raise OptionError("--scheduler, --workers and --keep go with --logs PATTERN.")
