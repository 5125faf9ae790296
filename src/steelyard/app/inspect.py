"""`steelyard inspect`: the health of a log."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.groups import grouped
from steelyard.app.job_options import LogOptions
from steelyard.app.options import Folders, Gravity, Json
from steelyard.app.terminal import DONE, FINDINGS, console, examples, refusals, show_json

EXAMPLES = examples(
    "steelyard inspect run.mcap",
    "steelyard inspect run.csv --model arm.urdf --html health.html",
    "steelyard inspect run.parquet --model arm.urdf --json",
    r"""steelyard inspect run.h5 --channels '{"q": "arm/angles"}'""",
    status="0 healthy; 1 findings; 2 refused.",
)


@grouped
def inspect(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log in any format, or the folder of a ROS 2 bag.")],
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Compare with a robot model: delays, wrong signs, units, ...")
    ] = None,
    *,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page of its own too, with figures.")
    ] = None,
    gravity: Gravity = None,
    folder: Folders = None,
    recorded: LogOptions,
    as_json: Json = False,
):
    """Say what a log holds, how good it is, and what to do about what is wrong with it."""
    with refusals():
        from steelyard.log import read_log
        from steelyard.model import load
        from steelyard.pipeline import inspect as look
        from steelyard.prepare import corrected

        robot = None if model is None else load(model, gravity=gravity, folders=folder or ())
        channels, corrections = recorded.read()
        read = corrected(robot, read_log(log, robot, channels=channels, units=corrections.units), corrections)
        found = look(read, robot)
        if html is not None:
            from steelyard.report import write_health_page

            write_health_page(found, read, html, inputs=[log] if model is None else [log, model])
    if as_json:
        from steelyard.report import jsonable

        show_json(jsonable(found.as_json()))
    else:
        from steelyard.report import health_overview

        console().print(health_overview(found))
    raise typer.Exit(FINDINGS if found.findings or found.faults else DONE)
