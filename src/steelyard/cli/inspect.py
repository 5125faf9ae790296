"""`steelyard inspect`: the health of a log."""

import json
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options import Channels, Json, channels_of
from steelyard.cli.terminal import DONE, FINDINGS, console, refusals

EXAMPLES = """
Examples:

  steelyard inspect run.mcap

  steelyard inspect run.parquet --model arm.urdf --json

  steelyard inspect run.h5 --channels '{"q": "arm/angles"}'

Exit status: 0 healthy; 1 findings; 2 refused.
"""


def inspect(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log in any format, or the folder of a ROS 2 bag.")],
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Compare with a robot model: delays, wrong signs, units, ...")
    ] = None,
    channels: Channels = None,
    as_json: Json = False,
):
    """Say what a log holds, how good it is, and what to do about what is wrong with it."""
    with refusals():
        from steelyard.inspect import inspect as look
        from steelyard.log import read_log
        from steelyard.model import load

        robot = None if model is None else load(model)
        found = look(read_log(log, robot, channels=channels_of(channels)), robot)
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=1, ensure_ascii=False))
    else:
        from steelyard.inspect.text import report

        console().print(report(found))
    raise typer.Exit(FINDINGS if found.findings or found.faults else DONE)
