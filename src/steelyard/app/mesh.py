"""`steelyard mesh`: inertial parameters of a solid."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.options import Json
from steelyard.app.terminal import DONE, FINDINGS, examples, refusals, show_json

EXAMPLES = examples(
    "steelyard mesh bracket.stl --density 2700",
    "steelyard mesh gripper.stl --scale 0.001 --mass 0.85 --draw gripper.png",
)


def mesh(
    path: Annotated[Path, typer.Argument(metavar="MESH", help="Closed triangle mesh: STL, OBJ, PLY, GLB, ...")],
    density: Annotated[
        float | None, typer.Option(metavar="KG/M3", help="Density. [default: 1000]", show_default=False)
    ] = None,
    mass: Annotated[float | None, typer.Option(metavar="KG", help="Mass, instead of the density.")] = None,
    scale: Annotated[float, typer.Option(metavar="M", help="Metres per file unit; 0.001 for millimetres.")] = 1.0,
    draw: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw mesh and covariance ellipsoid to .png or .html.")
    ] = None,
    as_json: Json = False,
):
    """Inertial parameters of a homogeneous solid given as a mesh, with snippets for URDF and MJCF."""
    with refusals():
        from steelyard.report import mesh_report_of

        found = mesh_report_of(path, density=density, mass=mass, scale=scale)
        if draw is not None:
            found.draw(draw)
    for text in found.warnings:
        typer.echo(f"warning: {text}", err=True)
    if as_json:
        show_json(found.as_dict())
    else:
        typer.echo(found.as_text())
    raise typer.Exit(FINDINGS if found.warnings else DONE)
