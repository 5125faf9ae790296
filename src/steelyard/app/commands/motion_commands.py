"""Subcommands about motions: excite, a motion worth recording, and rehearse, one tried on simulated truths."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from steelyard.app.endings import refusals
from steelyard.app.options import JobOptions, Json, Model, Quiet, words
from steelyard.app.terminal import finish, progress_bar, subcommand
from steelyard.errors import DONE, FINDINGS, OptionError
from steelyard.motion_options import Aim, Course, Search
from steelyard.sheets import narrow

EACH = "one number, or JOINT=NUMBER with commas"


@dataclass(frozen=True)
class LimitOptions:
    """Limits of the motion."""

    speed: Annotated[float, typer.Option(metavar="SHARE", help="Share of the velocity limits to use.")] = 1.0
    margin: Annotated[float, typer.Option(metavar="SHARE", help="Share of every limit that stays unused.")] = 0.05
    velocity: Annotated[
        str | None,
        typer.Option(metavar="V", help=f"Limit, rad/s or m/s; {EACH}. [default: the lower of model, profile]"),
    ] = None
    acceleration: Annotated[
        str | None,
        typer.Option(metavar="A", help="Likewise, rad/s^2 or m/s^2. [default: profile, or 5/s times velocity]"),
    ] = None
    jerk: Annotated[
        str | None, typer.Option(metavar="J", help="Likewise, rad/s^3 or m/s^3. [default: the profile's, or none]")
    ] = None
    cartesian_speed: Annotated[
        float | None, typer.Option(metavar="M/S", help="Limit for every corner of every body.")
    ] = None
    clearance: Annotated[float, typer.Option(metavar="M", help="Distance that bodies keep from each other.")] = 0.02
    collisions: Annotated[
        bool, typer.Option("--collisions/--no-collisions", " /--no-geometry", help="Avoid collisions, by geometry.")
    ] = True
    floor: Annotated[float | None, typer.Option(metavar="Z", help="Height that everything stays above, m.")] = None
    box: Annotated[
        list[str] | None,
        typer.Option(metavar="X,Y,Z,DX,DY,DZ", help="Obstacle: centre and size of a box, m; repeatable."),
    ] = None
    scene: Annotated[
        Path | None, typer.Option(metavar="FILE", help="MJCF, SDF or USD whose fixed solids stand around the robot.")
    ] = None
    feet: Annotated[
        str, typer.Option(metavar="LINKS", help="The robot stands on these, with commas; balance is kept.")
    ] = ""
    balance: Annotated[
        float, typer.Option(metavar="M", help="How far inside the feet the zero-moment point stays.")
    ] = 0.01

    def of_limits(self) -> dict[str, Any]:
        """The same as fields of `excite.Limits`."""
        told = {name: value for name, value in vars(self).items() if name != "box"}
        return told | {"feet": words(self.feet), "boxes": tuple(map(_box, self.box or ()))}


def _box(text: str) -> tuple[float, ...]:
    """Six numbers. Raises OptionError for other words."""
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise OptionError(
            f"--box {text}: six numbers with commas are needed: x,y,z of the centre and the size, m."
        ) from None


@subcommand(
    "steelyard excite arm.urdf --duration 10 --speed 0.5 -o motion",
    "steelyard excite arm.urdf --duration 10 --speed 0.3 -o motion --player ros2",
    "steelyard excite arm.urdf --after run1.csv --focus payload -o traj.yaml --explain",
    "steelyard excite arm.urdf -o traj.csv --preview preview.html",
    "steelyard excite arm.urdf --floor 0 --lock gripper --criterion condition -o traj.npz",
    "steelyard excite arm.urdf --box 0.6,0,0.2,0.4,0.8,0.4 --scene cell.xml -o traj.csv",
    'steelyard excite humanoid.xml --held --move "*arm*" --feet left_foot,right_foot -o traj.csv',
    common="--out --duration --speed --lock --held --floor --after --focus --preview --explain",
)
def excite(
    model: Model,
    *,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write .csv, .npz, .yaml or .json (ROS), .script (UR), .xml "
            "(MuJoCo), .libfranka.csv, or a folder with all of them; repeatable.",
        ),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Write a script that plays the motion on the robot and records it, too: "
            "dynamixel, feetech, lerobot, ur_rtde, franka, xarm, ros2 or unitree; repeatable.",
        ),
    ] = None,
    course: Annotated[JobOptions, "excite", Course],
    limits: LimitOptions,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Make of the robot: panda, fr3, ur10e, ..., none. [default: recognised]"),
    ] = None,
    home: Annotated[
        str | None,
        typer.Option(
            metavar="POSE", help="JOINT=POSITION with commas, where it starts and ends. [default: a usual one]"
        ),
    ] = None,
    held: Annotated[
        bool, typer.Option("--held", help="Hold a free base where the model has it: hung, on a stand.")
    ] = False,
    aim: Annotated[JobOptions, "excite", Aim],
    after: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Earlier log, result or Information; what it left weak counts. Repeatable."),
    ] = None,
    options: Annotated[JobOptions, "excite"],
    search: Annotated[JobOptions, "excite", Search],
    preview: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Page that plays the motion.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="List active limits and determined parameters.")] = False,
    quiet: Quiet = False,
):
    """Design a motion that excites a robot's parameters, within its limits."""
    with refusals(), progress_bar(silent=quiet) as progress:
        from steelyard.excite.motion_files import design_files, prepared_for_design
        from steelyard.prepare.reading import read_undone
        from steelyard.report.record import logs_of
        from steelyard.viewer.show import require_page, view

        def show(made):
            return () if preview is None else (f"Wrote {view(made.robot, trajectory=made, path=preview)}.",)

        job = options.job()
        earlier = {log: own for path in after or () for log, own in logs_of(path, job)}

        def read(path, robot):
            own = earlier[path]
            log = read_undone(path, robot, channels=own.channels, corrections=own.corrections)
            return prepared_for_design(log, robot, own.corrections)

        if preview is not None:
            require_page(preview)
        text, missed = design_files(
            model,
            out=out or (),
            players=player or (),
            limits=limits.of_limits(),
            profile=profile,
            home=home,
            after=tuple(earlier),
            explain=explain,
            held=held,
            gravity=job.gravity,
            folders=job.folders,
            arguments=job.arguments,
            read=read,
            show=show,
            progress=progress,
            **course.of_job(),
            **aim.of_job(),
            **search.of_job(),
        )
    if not quiet:
        following = f"\nNext: record it, then steelyard identify {model} LOG" if out else ""
        typer.echo(narrow(text) + following)  # a command is not broken
    raise typer.Exit(FINDINGS if missed else DONE)


@subcommand(
    "steelyard rehearse arm.urdf motion/motion.csv",
    "steelyard rehearse arm.urdf --html rehearsal.html",
    "steelyard rehearse so101.urdf motion.csv --drive position",
    status="0 it shows the robot well; 1 with reservations, or not; 2 refused.",
)
def rehearse(
    model: Model,
    motion: Annotated[
        Path | None,
        typer.Argument(metavar="[MOTION]", help="A file of `excite`, or any log of it. [default: one is designed]"),
    ] = None,
    *,
    drive: Annotated[
        str, typer.Option(metavar="KINDS", help="Record commands in place of torques; as of identify.")
    ] = "",
    trials: Annotated[
        int | None, typer.Option(metavar="N", help="Truths that are drawn. [default: 3, of commands 1]")
    ] = None,
    wrong: Annotated[
        float, typer.Option(metavar="SHARE", help="By how much masses and shapes of the truths differ from the model.")
    ] = 0.2,
    noise: Annotated[float, typer.Option(metavar="SHARE", help="Noise of torques, of each joint's RMS torque.")] = 0.01,
    resolution: Annotated[float, typer.Option(metavar="RAD", help="Step of the encoders, rad or m.")] = 2e-5,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Samples a second.")] = 500.0,
    folder: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Folder of meshes and packages; repeatable.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page, too.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """What a motion would show: robots with known truth play it in MuJoCo, are recorded and identified.

    Each truth differs from the model in masses, centres, shapes and friction. Promised intervals stand beside the
    errors that were made, and a faster random motion judges what was found.
    """
    with refusals(), progress_bar(silent=quiet or as_json) as progress:
        from steelyard.excite.rehearsal import rehearse as tried
        from steelyard.excite.rehearsal_report import as_json as values
        from steelyard.excite.rehearsal_report import rehearsal_view, write_rehearsal_page
        from steelyard.model import load
        from steelyard.prepare.reading import read_undone
        from steelyard.report.outputs import require_other
        from steelyard.simulate import Sensors

        inputs = [each for each in (model, motion) if each is not None]
        if html is not None:
            require_other(html, inputs)
        robot = load(model, floating=False, folders=tuple(folder or ()))
        log = None if motion is None else read_undone(motion, robot)
        sensors = Sensors(encoder_resolution=resolution, torque_noise=noise, rate=rate)
        own: dict[str, Any] = {"drive": words(drive)} if drive else {}
        found = tried(robot, log, trials=trials, wrong=wrong, sensors=sensors, progress=progress, **own)
        if html is not None:
            write_rehearsal_page(found, html, inputs=inputs)
        view = rehearsal_view(found)
        from steelyard.report.console import view_overview

    told = values(found) | {"verdict": view.screen.as_json()}
    findings = view.screen.level != "good"
    finish(told, lambda: view_overview(view), as_json=as_json, quiet=quiet, findings=findings)
