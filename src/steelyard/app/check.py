"""`steelyard check`: lint robot models."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.options import Folders, words
from steelyard.app.terminal import examples

EXAMPLES = examples(
    "steelyard check robot.urdf",
    "steelyard check models/ --select SY1,SY2 --format sarif > models.sarif",
    "steelyard check robot.urdf --fix robot_fixed.urdf",
    "steelyard check robot.urdf --fix=SY304 -o robot_fixed.urdf",
    status="0 clean; 1 findings (with --fix: those that remain); 2 a model could not be checked.",
)


def check(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="URDF or MJCF files, or folders of them.")],
    fix: Annotated[
        str | None,
        typer.Option(
            metavar="OUT|WHAT",
            help="Write a copy with errors mended: a file, or a folder for several models. Or what is mended, into "
            "--out: errors, all, or rule codes with commas.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="OUT", help="Where the repaired copy goes, with --fix WHAT.")
    ] = None,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, json, sarif or markdown.")] = "text",
    select: Annotated[str, typer.Option(metavar="CODES", help="Only these rules: codes or beginnings, commas.")] = "",
    ignore: Annotated[str, typer.Option(metavar="CODES", help="Not these rules.")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Let findings of severity info fail too.")] = False,
    folder: Folders = None,
):
    """Find wrong inertias, units, limits and paths in robot models, and mend them."""
    from steelyard.check import check_models

    code = check_models(
        models,
        fix=fix,
        out=out,
        format=format,
        select=words(select),
        ignore=words(ignore),
        strict=strict,
        folders=folder or (),
    )
    raise typer.Exit(code)
