"""`steelyard view`: a robot to look at."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.options import Folders, Model, Quiet
from steelyard.app.terminal import DONE, examples, refusals

EXAMPLES = examples(
    "steelyard view arm.urdf",
    "steelyard view arm.urdf --estimate result --trajectory traj.csv -o view.html --no-open",
    "steelyard view arm.urdf --trajectory traj.csv --movie traj.gif",
)


def view(
    model: Model,
    estimate: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Output folder of identify, to be drawn beside the model.")
    ] = None,
    trajectory: Annotated[Path | None, typer.Option(metavar="LOG", help="Motion to play, a log of any format.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.html", help="Page to write.")] = Path("view.html"),
    movie: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Film of the motion too: .gif, or .mp4 where ffmpeg is installed."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Whether a browser opens the page.")] = True,
    folder: Folders = None,
    quiet: Quiet = False,
):
    """Write a page with a 3D view of a robot, its masses and a motion, and open it. It works offline."""
    with refusals():
        from steelyard.viewer import view_files

        lines = view_files(model, estimate=estimate, trajectory=trajectory, out=out, movie=movie, folders=folder or ())
    if browser:
        typer.launch(str(out.absolute()))
    if not quiet:
        typer.echo("\n".join(lines))
    raise typer.Exit(DONE)
