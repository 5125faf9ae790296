"""`steelyard excite`: a motion worth recording."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options import Friction, Gravity, Model, Quiet, friction_of, words
from steelyard.cli.terminal import DONE, FINDINGS, progress_bar, refusals

EXAMPLES = """
Examples:

  steelyard excite arm.urdf --duration 10 --speed 0.5 -o traj.csv

  steelyard excite arm.urdf --after run1.csv --focus payload -o traj.yaml --explain

  steelyard excite arm.urdf -o traj.csv --preview preview.html --movie traj.gif

  steelyard excite arm.urdf --floor 0 --lock gripper --criterion condition -o traj.npz

  steelyard excite humanoid.xml --held --move "*arm*" --feet left_foot,right_foot -o traj.csv
"""


def excite(
    model: Model,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write .csv, .npz, .yaml (ROS) or .xml (MuJoCo); repeatable."),
    ] = None,
    duration: Annotated[float, typer.Option(metavar="S", help="Length of the motion, ramps included.")] = 10.0,
    speed: Annotated[float, typer.Option(metavar="SHARE", help="Share of the velocity limits to use.")] = 1.0,
    margin: Annotated[float, typer.Option(metavar="SHARE", help="Share of every limit that stays unused.")] = 0.05,
    acceleration: Annotated[
        float | None, typer.Option(metavar="A", help="Limit, rad/s^2 or m/s^2. [default: 5/s times the velocity limit]")
    ] = None,
    jerk: Annotated[float | None, typer.Option(metavar="J", help="Limit, rad/s^3 or m/s^3. [default: none]")] = None,
    cartesian_speed: Annotated[
        float | None, typer.Option(metavar="M/S", help="Limit for every corner of every body.")
    ] = None,
    clearance: Annotated[float, typer.Option(metavar="M", help="Distance that bodies keep from each other.")] = 0.02,
    collisions: Annotated[
        bool, typer.Option("--collisions/--no-collisions", help="Whether collisions are avoided.")
    ] = True,
    floor: Annotated[float | None, typer.Option(metavar="Z", help="Height that everything stays above, m.")] = None,
    criterion: Annotated[str, typer.Option(metavar="NAME", help="D, A, E, prediction or condition.")] = "D",
    focus: Annotated[
        str, typer.Option(metavar="NAMES", help="What to know: payload, friction, bodies or parameters, with commas.")
    ] = "",
    lock: Annotated[
        str, typer.Option(metavar="JOINTS", help="Joints that stay still, with commas; patterns such as left_*.")
    ] = "",
    move: Annotated[str, typer.Option(metavar="JOINTS", help="Joints that alone move, likewise. [default: all]")] = "",
    held: Annotated[
        bool, typer.Option("--held", help="Hold a free base where the model has it: hung, on a stand.")
    ] = False,
    gravity: Gravity = None,
    feet: Annotated[
        str, typer.Option(metavar="LINKS", help="The robot stands on these, with commas; balance is kept.")
    ] = "",
    balance: Annotated[
        float, typer.Option(metavar="M", help="How far inside the feet the zero-moment point stays.")
    ] = 0.01,
    rows: Annotated[
        str, typer.Option(metavar="ROWS", help="What is measured: joints, base and wrench:LINK, with commas.")
    ] = "joints",
    basis: Annotated[str, typer.Option(metavar="KIND", help="fourier or spline.")] = "fourier",
    harmonics: Annotated[int, typer.Option(metavar="N", help="Harmonics of a Fourier motion.")] = 5,
    friction: Friction = "viscous,coulomb,offset",
    armature: Annotated[bool, typer.Option("--armature", help="The motors' inertia is unknown too.")] = False,
    noise: Annotated[
        float | None, typer.Option(metavar="NM", help="Standard deviation of torques. [default: 1 % of effort limits]")
    ] = None,
    noise_share: Annotated[
        float, typer.Option(metavar="SHARE", help="Further noise, as a share of each joint's RMS torque.")
    ] = 0.0,
    after: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Earlier log or saved Information; what it left weak counts. Repeatable."),
    ] = None,
    warm: Annotated[Path | None, typer.Option(metavar="LOG", help="Motion to start from, such as an old -o.")] = None,
    target: Annotated[float | None, typer.Option(metavar="C", help="Condition number to reach; a miss is 1.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the random starts.")] = 0,
    starts: Annotated[int, typer.Option(metavar="N", help="Random starts to optimise to the end.")] = 1,
    workers: Annotated[int, typer.Option(metavar="N", help="Processes for several starts.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option("--time", metavar="S", help="Stop after this, with the best motion so far.")
    ] = None,
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
        from steelyard.excite.command import command
        from steelyard.view.command import require_outputs, written
        from steelyard.view.motion import motion_of

        def show(made):
            if preview is None and movie is None:
                return ()
            return written(made.robot, motion=motion_of(made, made.robot), page=preview, movie=movie)

        require_outputs(preview, movie)
        text, missed = command(
            model,
            out=out or (),
            limits={
                "speed": speed,
                "margin": margin,
                "acceleration": acceleration,
                "jerk": jerk,
                "cartesian_speed": cartesian_speed,
                "clearance": clearance,
                "collisions": collisions,
                "floor": floor,
                "feet": words(feet),
                "balance": balance,
            },
            after=after or (),
            explain=explain,
            show=show,
            duration=duration,
            criterion=criterion,
            focus=None if not focus else focus if focus == "payload" else words(focus),
            held=held,
            gravity=gravity,
            locked=words(lock),
            moved=words(move) or None,
            rows=words(rows),
            basis=basis,
            harmonics=harmonics,
            friction=friction_of(friction),
            armature=armature,
            noise=noise,
            noise_share=noise_share,
            warm=warm,
            target=target,
            seed=seed,
            starts=starts,
            workers=workers,
            time_limit=time_limit,
            progress=progress,
        )
    if not quiet:
        typer.echo(text)
    raise typer.Exit(FINDINGS if missed else DONE)
