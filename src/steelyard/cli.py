"""The command line: one function a subcommand, each thin. Heavy modules are imported when a subcommand runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from steelyard.errors import OptionError, SteelyardError
from steelyard.pipeline import Job

DONE, FINDINGS, REFUSED = 0, 1, 2
EXIT_CODES = "Exit status: 0 done; 1 done, but look at the findings first; 2 refused, nothing written."
EXAMPLES = """
Examples:

  steelyard demo --out demo-out

  steelyard identify arm.urdf run1.csv run2.npz --out result

  steelyard identify quadruped.xml trot.npz --floating --cutoff 15 -o result
"""
IDENTIFY_EXAMPLES = """
Examples:

  steelyard identify arm.urdf run.csv -o result

  steelyard identify arm.urdf run.csv -o result --friction viscous,coulomb --no-armature

  steelyard identify arm.urdf run.csv -o result --coupling joint5+joint6 --rotors

  steelyard identify arm.urdf run.csv -o result --mass hand=0.73 --mass all=18 --fix base=all --tie left=right:y

  steelyard identify arm.xml run.npz -o result --gravity 0 0 0 --cutoff 0

  steelyard identify arm.urdf run.csv -o result --channels '{"tau": ["current1", "current2"]}'

  steelyard identify arm.urdf run.csv --json | jq .verdict
"""

ANALYZE_EXAMPLES = """
Examples:

  steelyard analyze arm.urdf

  steelyard analyze quadruped.urdf --floating --explain all

  steelyard analyze arm.urdf --motors --friction viscous,coulomb,offset --format markdown
"""
INSPECT_EXAMPLES = """
Examples:

  steelyard inspect run.mcap

  steelyard inspect run.parquet --model arm.urdf --json

  steelyard inspect run.h5 --channels '{"q": "arm/angles"}'

Exit status: 0 healthy; 1 findings; 2 refused.
"""
MESH_EXAMPLES = """
Examples:

  steelyard mesh bracket.stl --density 2700

  steelyard mesh gripper.stl --scale 0.001 --mass 0.85 --draw gripper.png
"""
PAYLOAD_EXAMPLES = """
Examples:

  steelyard payload held.npz --shape hammer.stl

  steelyard payload held.csv --arm arm.urdf --frame flange --hand empty.csv --export franka,ur

  steelyard payload joints.csv --torques --arm arm_identified.urdf --frame flange --json

Exit status: 0 done; 1 done, but look at the status and findings first; 2 refused.
"""
EXCITE_EXAMPLES = """
Examples:

  steelyard excite arm.urdf --duration 10 --speed 0.5 -o traj.csv

  steelyard excite arm.urdf --after run1.csv --focus payload -o traj.yaml --explain

  steelyard excite arm.urdf --floor 0 --lock gripper --criterion condition -o traj.npz
"""
CHECK_EXAMPLES = """
Examples:

  steelyard check robot.urdf

  steelyard check models/ --select SY1,SY2 --format sarif > models.sarif

  steelyard check robot.urdf --fix robot_fixed.urdf

Exit status: 0 clean; 1 findings (with --fix: those that remain); 2 a model could not be checked.
"""

app = typer.Typer(
    name="steelyard",
    help="Find the inertial parameters of robots, from a model and recorded motion.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main():
    """Entry point of `steelyard` and `python -m steelyard`."""
    app()


def _version(wanted: bool):
    if wanted:
        from importlib.metadata import version

        typer.echo(f"steelyard {version('steelyard')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
):
    """Find the inertial parameters of robots, from a model and recorded motion."""


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Side = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Side file with rotors, loops and known facts. [default: beside the model]",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output, and nothing else.")]


@app.command(epilog=IDENTIFY_EXAMPLES)
def identify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Robot model: .urdf or MJCF .xml.")],
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="Recorded motion: CSV, NPZ, Parquet, MAT, HDF5, MCAP, bags.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for model, summary.json and report.html."),
    ] = None,
    cutoff: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Low-pass cutoff; 0 takes v and a as recorded. [default: from the log's rate]"),
    ] = Job.cutoff,
    friction: Annotated[
        str, typer.Option(metavar="TERMS", help="Any of viscous,coulomb,offset with commas, or none.")
    ] = ",".join(Job.friction),
    armature: Annotated[
        bool, typer.Option("--armature/--no-armature", help="Identify the motors' inertia too.")
    ] = True,
    coupling: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINTS", help="Joints that share a motor, such as joint5+joint6; may be repeated."),
    ] = None,
    rotors: Annotated[bool, typer.Option("--rotors", help="Rotors of the side file are bodies.")] = False,
    side: Side = None,
    floating: Annotated[
        bool | None,
        typer.Option("--floating/--fixed", help="Free or fixed base. [default: as the model says]", show_default=False),
    ] = None,
    gravity: Annotated[
        tuple[float, float, float] | None,
        typer.Option(metavar="X Y Z", help="In the world, m/s^2. [default: the model's, or 0 0 -9.81]"),
    ] = None,
    validation: Annotated[float, typer.Option(metavar="SHARE", help="Share of every log held out.")] = Job.validation,
    weight: Annotated[float, typer.Option(metavar="W", help="Weight of the given model as prior.")] = Job.weight,
    reversal_weight: Annotated[
        float, typer.Option(metavar="W", help="Weight of samples where a joint stands still; 1: as any other.")
    ] = Job.reversal_weight,
    regularizer: Annotated[
        str, typer.Option(metavar="NAME", help="Distance to the prior: pullback, entropic or euclidean.")
    ] = Job.regularizer,
    within: Annotated[
        str,
        typer.Option(
            metavar="WORD", help="Where mass can be: inside the geometry of its link, or anywhere (consistent)."
        ),
    ] = Job.within,
    masses: Annotated[
        list[str] | None,
        typer.Option("--mass", metavar="LINK=KG", help="Known mass; LINK1+LINK2=KG of several, all=KG; repeatable."),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--fix", metavar="LINK=PARTS", help="Keep the model's mass,com,inertia of a link, or all; repeatable."
        ),
    ] = None,
    tied: Annotated[
        list[str] | None,
        typer.Option("--tie", metavar="LEFT=RIGHT[:y]", help="Links that are equal, or mirror images; repeatable."),
    ] = None,
    channels: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml", help="Which column is which signal: a TOML file, or JSON text in braces."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Identify a robot from a model and logs, and write the identified model with a report."""
    with _refusals(), _progress(silent=quiet or as_json) as progress:
        from steelyard.identify import carry_out

        job = Job(
            model=str(model),
            logs=tuple(map(str, logs)),
            floating=floating,
            gravity=gravity,
            cutoff=cutoff,
            friction=_friction(friction),
            armature=armature,
            coupling=tuple(coupling or ()),
            rotors=rotors,
            side=None if side is None else str(side),
            validation=validation,
            weight=weight,
            reversal_weight=reversal_weight,
            regularizer=regularizer,
            within=within,
            masses=tuple(masses or ()),
            fixed=tuple(fixed or ()),
            tied=tuple(tied or ()),
            channels=None if channels is None else _channels(channels),
        )
        summary = carry_out(job, out=out, progress=progress).summary
    if as_json:
        typer.echo(json.dumps(summary, indent=1, ensure_ascii=False))
    elif not quiet:
        from steelyard.report.tables import overview

        _console().print(overview(summary))
    raise typer.Exit(FINDINGS if summary["verdict"]["reasons"] else DONE)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for everything the demo writes.")],
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Identify a PUMA 560 whose given model is wrong, from a motion recorded in MuJoCo."""
    with _refusals(), _progress(silent=quiet or as_json) as progress:
        from steelyard.demo import demo as run_demo

        done = run_demo(out, progress=progress)
    summary = done.outcome.summary
    if as_json:
        typer.echo(json.dumps(summary, indent=1, ensure_ascii=False))
    elif not quiet:
        from steelyard.report.tables import overview
        from steelyard.report.truth import truth_tables

        _console().print(truth_tables(done.truth, done.outcome.result), overview(summary, links=False))
    raise typer.Exit(FINDINGS if summary["verdict"]["reasons"] else DONE)


@app.command(epilog=ANALYZE_EXAMPLES)
def analyze(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Robot model: .urdf or MJCF .xml.")],
    floating: Annotated[bool, typer.Option("--floating", help="Put the robot on a free base.")] = False,
    planar: Annotated[bool, typer.Option("--planar", help="Let the base slide and turn on the ground.")] = False,
    motors: Annotated[bool, typer.Option("--motors", help="Count the rotors of the side file as bodies.")] = False,
    side: Side = None,
    coupling: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINTS", help="Joints that share a motor, such as joint5+joint6; may be repeated."),
    ] = None,
    static: Annotated[bool, typer.Option("--static", help="Poses held at rest instead of motion.")] = False,
    sensors: Annotated[
        str, typer.Option(metavar="NAMES", help="joints, base, or joint and link names with commas.")
    ] = "joints",
    locked: Annotated[str, typer.Option(metavar="JOINTS", help="Joints that never move, with commas.")] = "",
    friction: Annotated[
        str, typer.Option(metavar="TERMS", help="Any of viscous,coulomb,offset with commas, or none.")
    ] = "none",
    armature: Annotated[bool, typer.Option("--armature", help="Count the motors' reflected inertia too.")] = False,
    explain: Annotated[
        str, typer.Option(metavar="LINKS", help="Explain links in words: names with commas, or all.")
    ] = "",
    log: Annotated[
        Path | None, typer.Option(metavar="LOG", help="Say how well this motion excites what can be known.")
    ] = None,
    gravity: Annotated[
        tuple[float, float, float] | None,
        typer.Option(metavar="X Y Z", help="In the world, m/s^2. [default: the model's, or 0 0 -9.81]"),
    ] = None,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, markdown, html or latex.")] = "text",
):
    """Say which inertial parameters an experiment can reveal, from the kinematics alone."""
    with _refusals():
        from steelyard.identifiability.report import analyze_report
        from steelyard.log import read_log
        from steelyard.model import load
        from steelyard.model.side import read_side, side_path
        from steelyard.pipeline import prepared

        if floating and planar:
            raise OptionError("The base is either --floating or --planar.")
        robot = load(model, gravity=gravity)
        side = side if side is not None else side_path(model)
        robot = read_side(side, robot) if side.exists() or motors else robot
        text = analyze_report(
            robot,
            format=format,
            explain="all" if explain == "all" else _words(explain),
            log=None if log is None else prepared(read_log(log, robot)),
            base="floating" if floating else "planar" if planar else None,
            motion="static" if static else "dynamic",
            sensors=sensors if sensors in ("joints", "base") else _words(sensors),
            motors=motors,
            coupling=tuple(coupling or ()),
            locked=_words(locked),
            friction=_friction(friction),
            armature=armature,
        )
    typer.echo(text)


@app.command(epilog=INSPECT_EXAMPLES)
def inspect(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log in any format, or the folder of a ROS 2 bag.")],
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Compare with a robot model: delays, wrong signs, units, ...")
    ] = None,
    channels: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml", help="Which column is which signal: a TOML file, or JSON text in braces."),
    ] = None,
    as_json: Json = False,
):
    """Say what a log holds, how good it is, and what to do about what is wrong with it."""
    with _refusals():
        from steelyard.inspect import inspect as look
        from steelyard.log import read_log
        from steelyard.model import load

        robot = None if model is None else load(model)
        found = look(read_log(log, robot, channels=None if channels is None else _channels(channels)), robot)
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=1, ensure_ascii=False))
    else:
        from steelyard.inspect.text import report

        _console().print(report(found))
    raise typer.Exit(FINDINGS if found.findings or found.faults else DONE)


@app.command(epilog=MESH_EXAMPLES)
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
    with _refusals():
        from steelyard.report import solid as page

        found = page.solid(path, density=density, mass=mass, scale=scale)
        if draw is not None:
            page.draw(found, draw)
    for text in found.warnings:
        typer.echo(f"warning: {text}", err=True)
    typer.echo(json.dumps(page.as_dict(found), indent=1) if as_json else page.as_text(found))
    raise typer.Exit(FINDINGS if found.warnings else DONE)


@app.command(epilog=PAYLOAD_EXAMPLES)
def payload(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Wrench log, or joint log with --torques: .npz or .csv.")],
    shape: Annotated[
        Path | None, typer.Option(metavar="MESH", help="Shape in the sensor frame: mesh or point cloud.")
    ] = None,
    scale: Annotated[float, typer.Option(metavar="M", help="Metres per unit of the shape's file.")] = 1.0,
    shape_pose: Annotated[
        tuple[float, float, float, float, float, float] | None,
        typer.Option(metavar="X Y Z ROLL PITCH YAW", help="Frame of the shape in the sensor frame, m and rad."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="auto, density, pmd, pmd-squared, geo, ellipsoid, hull, consistent, ols, rtls."
        ),
    ] = "auto",
    arm: Annotated[Path | None, typer.Option(metavar="MODEL", help="Arm that carries the sensor.")] = None,
    frame: Annotated[
        str | None,
        typer.Option(metavar="LINK", help="Link of the sensor. [default: the last body]", show_default=False),
    ] = None,
    torques: Annotated[bool, typer.Option("--torques", help="No sensor: use the joint torques of the arm.")] = False,
    cutoff: Annotated[float, typer.Option(metavar="HZ", help="Low-pass cutoff with --torques.")] = 10.0,
    hand: Annotated[
        Path | None, typer.Option(metavar="LOG", help="The same with an empty hand: finds its weight and the bias.")
    ] = None,
    bias: Annotated[bool, typer.Option("--bias", help="Estimate a constant wrench beside the payload.")] = False,
    axes: Annotated[str, typer.Option(metavar="AXES", help="Axes of wrench and motion: sensor or world.")] = "sensor",
    negate: Annotated[bool, typer.Option("--negate", help="The sensor reports the reaction.")] = False,
    gravity: Annotated[
        tuple[float, float, float] | None,
        typer.Option(metavar="X Y Z", help="In the world, m/s^2. [default: the file's, or 0 0 -9.81]"),
    ] = None,
    export: Annotated[
        str, typer.Option(metavar="FORMATS", help="Any of franka,ur,kuka,ros,urdf,mjcf: print for these controllers.")
    ] = "",
    as_json: Json = False,
):
    """Identify what a robot holds, from a wrist force-torque sensor or from joint torques."""
    with _refusals():
        from steelyard.payload import command

        request = command.Request(
            log, method, shape, scale, shape_pose, arm, frame, torques, cutoff, hand, bias, axes, negate, gravity
        )
        found = command.identify_files(request)
        exports = command.export_text(found, _words(export))
    if as_json:
        typer.echo(json.dumps(found.as_dict() | {"export": exports}, indent=1, ensure_ascii=False))
    else:
        typer.echo("\n\n".join(text for text in (found.summary(), exports) if text))
    raise typer.Exit(DONE if found.status.usable and not found.findings else FINDINGS)


@app.command(epilog=EXCITE_EXAMPLES)
def excite(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Robot model: .urdf or MJCF .xml.")],
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
    criterion: Annotated[str, typer.Option(metavar="NAME", help="D, A, E or condition.")] = "D",
    focus: Annotated[
        str, typer.Option(metavar="NAMES", help="What to know: payload, friction, bodies or parameters, with commas.")
    ] = "",
    lock: Annotated[str, typer.Option(metavar="JOINTS", help="Joints that stay still, with commas.")] = "",
    basis: Annotated[str, typer.Option(metavar="KIND", help="fourier or spline.")] = "fourier",
    harmonics: Annotated[int, typer.Option(metavar="N", help="Harmonics of a Fourier motion.")] = 5,
    friction: Annotated[
        str, typer.Option(metavar="TERMS", help="Any of viscous,coulomb,offset with commas, or none.")
    ] = "viscous,coulomb,offset",
    armature: Annotated[bool, typer.Option("--armature", help="The motors' inertia is unknown too.")] = False,
    noise: Annotated[
        float | None, typer.Option(metavar="NM", help="Standard deviation of torques. [default: 1 % of effort limits]")
    ] = None,
    after: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Earlier log; its weakest directions count. Repeatable.")
    ] = None,
    target: Annotated[float | None, typer.Option(metavar="C", help="Condition number to reach; a miss is 1.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the random starts.")] = 0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what holds the motion back and what it shows.")
    ] = False,
    quiet: Quiet = False,
):
    """Design a motion that shows a robot's parameters within its limits."""
    with _refusals(), _progress(silent=quiet) as progress:
        from steelyard.excite.command import command

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
            },
            after=after or (),
            explain=explain,
            duration=duration,
            criterion=criterion,
            focus=None if not focus else focus if focus == "payload" else _words(focus),
            locked=_words(lock),
            basis=basis,
            harmonics=harmonics,
            friction=_friction(friction),
            armature=armature,
            noise=noise,
            target=target,
            seed=seed,
            progress=progress,
        )
    if not quiet:
        typer.echo(text)
    raise typer.Exit(FINDINGS if missed else DONE)


@app.command(epilog=CHECK_EXAMPLES)
def check(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="URDF or MJCF files, or folders of them.")],
    fix: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write a repaired copy: a file, or a folder for several models.")
    ] = None,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, json, sarif or markdown.")] = "text",
    select: Annotated[str, typer.Option(metavar="CODES", help="Only these rules: codes or beginnings, commas.")] = "",
    ignore: Annotated[str, typer.Option(metavar="CODES", help="Not these rules.")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Let findings of severity info fail too.")] = False,
):
    """Find wrong inertias, units, limits and paths in robot models, and mend them."""
    from steelyard.check import command

    code = command(models, fix=fix, format=format, select=_words(select), ignore=_words(ignore), strict=strict)
    raise typer.Exit(code)


def _friction(text: str) -> tuple[str, ...]:
    return () if text == "none" else _words(text)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _channels(text: str) -> dict:
    """A channel map from a TOML file, or from JSON text. Raises OptionError."""
    import tomllib

    try:
        if text.lstrip().startswith("{"):
            return json.loads(text)
        return tomllib.loads(Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(
            f"Channel file {text} cannot be read: {error.strerror}. Give the path of a TOML file."
        ) from error
    except ValueError as error:
        raise OptionError(
            f'--channels {text}: {error}. Expected a TOML file with lines such as tau = ["a", "b"].'
        ) from error


@contextmanager
def _refusals() -> Iterator[None]:
    """One readable message and exit status 2 for input that cannot be used. Other exceptions are faults: they pass."""
    try:
        yield
    except SteelyardError as error:
        typer.echo(f"steelyard: {error}", err=True)
        raise typer.Exit(REFUSED) from error


@contextmanager
def _progress(*, silent: bool):
    """A progress callback: a bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    if silent or not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda stage, share: bar.update(task, description=stage, completed=share)


def _console() -> Console:
    """Standard output; wide enough for the tables where the width is unknown."""
    console = Console()
    return console if console.is_terminal else Console(width=120)
