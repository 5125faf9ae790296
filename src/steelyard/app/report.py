"""`steelyard report`: results drawn again, or side by side."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.options import Json, Quiet
from steelyard.app.terminal import DONE, console, examples, refusals, show_json

EXAMPLES = examples(
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
    if as_json:
        show_json(view.summary)
    elif not quiet:
        from steelyard.report import view_overview

        console().print(view_overview(view))
    raise typer.Exit(DONE)
