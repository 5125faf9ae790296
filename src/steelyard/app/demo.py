"""`steelyard demo`: the main job on a bundled robot."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.options import Json, Quiet
from steelyard.app.terminal import DONE, FINDINGS, console, progress_bar, refusals, show_json


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for everything the demo writes.")],
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Identify a PUMA 560 whose given model is wrong, from a motion recorded in MuJoCo."""
    with refusals(), progress_bar(silent=quiet or as_json) as progress:
        from steelyard.app.demo_job import demo as run_demo

        done = run_demo(out, progress=progress)
    summary = done.outcome.summary
    if as_json:
        show_json(summary)
    elif not quiet:
        from steelyard.report import overview, truth_tables

        console().print(truth_tables(done.truth, done.outcome.result), overview(summary, links=False))
    raise typer.Exit(FINDINGS if summary["verdict"]["reasons"] else DONE)
