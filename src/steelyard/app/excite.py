"""`steelyard excite`: a motion worth recording."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.excite_options import AimOptions, LimitOptions, MotionOptions, SearchOptions
from steelyard.app.groups import grouped
from steelyard.app.job_options import LogOptions
from steelyard.app.options import Folders, Gravity, Model, Quiet
from steelyard.app.terminal import DONE, FINDINGS, examples, progress_bar, refusals

EXAMPLES = examples(
    "steelyard excite arm.urdf --duration 10 --speed 0.5 -o traj.csv",
    "steelyard excite arm.urdf --after run1.csv --focus payload -o traj.yaml --explain",
    "steelyard excite arm.urdf -o traj.csv --preview preview.html --movie traj.gif",
    "steelyard excite arm.urdf --floor 0 --lock gripper --criterion condition -o traj.npz",
    'steelyard excite humanoid.xml --held --move "*arm*" --feet left_foot,right_foot -o traj.csv',
)


@grouped
def excite(
    model: Model,
    *,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write .csv, .npz, .yaml (ROS) or .xml (MuJoCo); repeatable."),
    ] = None,
    motion: MotionOptions,
    limits: LimitOptions,
    held: Annotated[
        bool, typer.Option("--held", help="Hold a free base where the model has it: hung, on a stand.")
    ] = False,
    gravity: Gravity = None,
    folder: Folders = None,
    aim: AimOptions,
    after: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Earlier log or saved Information; what it left weak counts. Repeatable."),
    ] = None,
    recorded: LogOptions,
    search: SearchOptions,
    preview: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Page that plays the motion.")] = None,
    movie: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Film of the motion: .gif, or .mp4 where ffmpeg is installed.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what holds the motion back and what it shows.")
    ] = False,
    quiet: Quiet = False,
):
    """Design a motion that shows a robot's parameters within its limits."""
    with refusals(), progress_bar(silent=quiet) as progress:
        from steelyard.excite import design_files
        from steelyard.log import read_log
        from steelyard.prepare import corrected
        from steelyard.viewer import motion_of, require_outputs, written

        def show(made):
            if preview is None and movie is None:
                return ()
            return written(made.robot, motion=motion_of(made, made.robot), page=preview, movie=movie)

        channels, corrections = recorded.read()

        def read(path, robot):
            log = read_log(path, robot, channels=channels, units=corrections.units)
            return corrected(robot, log, corrections)

        require_outputs(preview, movie)
        text, missed = design_files(
            model,
            out=out or (),
            limits=limits.of_limits(),
            after=after or (),
            explain=explain,
            held=held,
            gravity=gravity,
            folders=folder or (),
            read=read,
            show=show,
            progress=progress,
            **motion.of_design(),
            **aim.of_design(),
            **vars(search),
        )
    if not quiet:
        typer.echo(text)
    raise typer.Exit(FINDINGS if missed else DONE)
