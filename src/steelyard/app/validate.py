"""`steelyard validate`: prediction error of a model on held-out logs."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.groups import grouped
from steelyard.app.job_options import LogOptions
from steelyard.app.options import AUTO, Folders, Gravity, Json, cutoff_of
from steelyard.app.terminal import DONE, FINDINGS, console, examples, refusals, show_json

EXAMPLES = examples(
    "steelyard validate result run3.csv",
    "steelyard validate result run3.csv --against arm.urdf",
    "steelyard validate arm.urdf run3.csv --unit q=deg --json",
    status="0 done; 1 findings in the log, an error above 25 %, or no better than the other model; 2 refused.",
)


@grouped
def validate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, or a folder that identify wrote.")],
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs that the model was not made from.")],
    *,
    against: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Another model, or result, to compare with.")
    ] = None,
    cutoff: Annotated[str, typer.Option(metavar="HZ", help="Low-pass cutoff, as in identify.")] = AUTO,
    gravity: Gravity = None,
    folder: Folders = None,
    recorded: LogOptions,
    as_json: Json = False,
):
    """Torque prediction error of a model, or of the result of an identification, on held-out logs."""
    with refusals():
        from steelyard.report import validate_models

        channels, corrections = recorded.read()
        found = validate_models(
            model,
            logs,
            against=against,
            cutoff=cutoff_of(cutoff),
            gravity=gravity,
            folders=tuple(map(str, folder or ())),
            channels=channels,
            corrections=corrections,
        )
    if as_json:
        show_json(found.as_json())
    else:
        from rich.console import Group
        from rich.text import Text

        from steelyard.report import rich_table

        words = [Text(f"- {each.message}") for each in found.findings]
        console().print(Group(Text(found.headline, style="bold"), *words, Text(), rich_table(found.table())))
    raise typer.Exit(DONE if found.good else FINDINGS)
