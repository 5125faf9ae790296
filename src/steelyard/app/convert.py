"""`steelyard convert`: a robot in the other model format."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.options import Folders, Gravity, Json, Model, Quiet
from steelyard.app.terminal import DONE, examples, refusals, show_json
from steelyard.errors import OptionError

EXAMPLES = examples(
    "steelyard convert arm.urdf arm.xml",
    "steelyard convert quadruped.urdf quadruped.xml --floating",
    "steelyard convert result/arm_identified.xml arm_identified.urdf",
)


def convert(
    model: Model,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write: .urdf, or .xml for MJCF.")],
    floating: Annotated[
        bool | None,
        typer.Option("--floating/--fixed", help="Free or fixed base. [default: as the model says]", show_default=False),
    ] = None,
    gravity: Gravity = None,
    folder: Folders = None,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Write a robot in the other format, read back and compared: bodies, joints, limits, inertials; no meshes."""
    with refusals():
        from steelyard.model import format_of, load, save

        robot = load(model, floating=floating, gravity=gravity, folders=folder or ())
        if robot.source and robot.source.format == format_of(robot, out) and (floating, gravity) != (None, None):
            raise OptionError(
                f"{out} has the format of {model}: a copy of the file, which keeps its base and gravity. Leave out "
                "--floating, --fixed and --gravity, or choose the other format."
            )
        written = save(robot, out)
    if as_json:
        files = [str(path) for path in written.files]
        show_json({"files": files, "changed": list(written.changed), "notes": [*robot.notes, *written.notes]})
    elif not quiet:
        mass = float(robot.inertias[:, 0].sum())
        typer.echo(f"Wrote {out}: {robot.nb} bodies, {robot.nv} degrees of freedom, {mass:.6g} kg that move.")
        notes = (*robot.notes, *written.notes)
        less = ", but for what follows" if notes else ""
        typer.echo(f"Read back, it is the same robot in kinematics, inertias and joint properties{less}.")
        for note in notes:
            typer.echo(f"- {note}")
    raise typer.Exit(DONE)
