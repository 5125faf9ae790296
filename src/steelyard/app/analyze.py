"""`steelyard analyze`: what an experiment can reveal."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.options import Coupling, Folders, Friction, Gravity, Model, Side, friction_of, words
from steelyard.app.terminal import console, examples, refusals
from steelyard.errors import OptionError

EXAMPLES = examples(
    "steelyard analyze arm.urdf",
    "steelyard analyze quadruped.urdf --floating --explain all",
    "steelyard analyze arm.urdf --motors --friction viscous,coulomb,offset --format markdown",
)


def analyze(
    model: Model,
    floating: Annotated[bool, typer.Option("--floating", help="Put the robot on a free base.")] = False,
    planar: Annotated[bool, typer.Option("--planar", help="Let the base slide and turn on the ground.")] = False,
    motors: Annotated[bool, typer.Option("--motors", help="Count the rotors of the side file as bodies.")] = False,
    side: Side = None,
    coupling: Coupling = None,
    static: Annotated[bool, typer.Option("--static", help="Poses held at rest instead of motion.")] = False,
    sensors: Annotated[
        str, typer.Option(metavar="NAMES", help="joints, base, or joint and link names with commas.")
    ] = "joints",
    locked: Annotated[str, typer.Option(metavar="JOINTS", help="Joints that never move, with commas.")] = "",
    friction: Friction = "none",
    armature: Annotated[bool, typer.Option("--armature", help="Count the motors' reflected inertia too.")] = False,
    explain: Annotated[
        str, typer.Option(metavar="LINKS", help="Explain links in words: names with commas, or all.")
    ] = "",
    log: Annotated[
        Path | None, typer.Option(metavar="LOG", help="Say how well this motion excites what can be known.")
    ] = None,
    gravity: Gravity = None,
    folder: Folders = None,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, markdown, html, latex or json.")] = "text",
):
    """Say which inertial parameters an experiment can reveal, from the kinematics alone."""
    with refusals():
        from steelyard.identifiable import analyze_report
        from steelyard.log import read_log
        from steelyard.model import load, read_side, side_path
        from steelyard.prepare import with_motion

        if floating and planar:
            raise OptionError("The base is either --floating or --planar.")
        robot = load(model, gravity=gravity, folders=folder or ())
        side = side if side is not None else side_path(model)
        robot = read_side(side, robot) if side.exists() or motors else robot
        text = analyze_report(
            robot,
            format=format,
            width=screen.width if (screen := console()).is_terminal else None,
            explain="all" if explain == "all" else words(explain),
            log=None if log is None else with_motion(read_log(log, robot)),
            base="floating" if floating else "planar" if planar else None,
            motion="static" if static else "dynamic",
            sensors=sensors if sensors in ("joints", "base") else words(sensors),
            motors=motors,
            coupling=tuple(coupling or ()),
            locked=words(locked),
            friction=friction_of(friction),
            armature=armature,
        )
    typer.echo(text)
