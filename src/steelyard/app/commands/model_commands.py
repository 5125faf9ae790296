"""Subcommands about robot models: analyze, check, convert, mesh, view."""

import os
from pathlib import Path
from typing import Annotated

import typer

from steelyard.app.endings import refusals
from steelyard.app.options import FRICTION_HELP, JobOptions, Json, Model, Quiet, friction_of, words
from steelyard.app.terminal import finish, progress_bar, subcommand
from steelyard.errors import DONE, OptionError


@subcommand(
    "steelyard analyze arm.urdf",
    "steelyard analyze quadruped.urdf --floating --explain all",
    "steelyard analyze arm.urdf --drive position --drive gripper=current",
    "steelyard analyze panda.urdf --lock panda_finger_joint1=0.02 --expressions",
    "steelyard analyze arm.urdf --motors --friction viscous,coulomb,offset --format markdown",
    common="--floating --sensors --drive --lock --mass --expressions --explain --log --format",
)
def analyze(
    model: Model,
    *,
    floating: Annotated[bool, typer.Option("--floating", help="Put the robot on a free base.")] = False,
    planar: Annotated[bool, typer.Option("--planar", help="Let the base slide and turn on the ground.")] = False,
    motors: Annotated[bool, typer.Option("--motors", help="Count the rotors of the side file as bodies.")] = False,
    static: Annotated[bool, typer.Option("--static", help="Poses held at rest instead of motion.")] = False,
    sensors: Annotated[
        str, typer.Option(metavar="NAMES", help="joints, base, or joint and link names with commas.")
    ] = "joints",
    locked: Annotated[str, typer.Option(metavar="JOINTS", help="Joints that never move, with commas.")] = "",
    friction: Annotated[
        str | None, typer.Option(metavar="TERMS", help=f"{FRICTION_HELP} [default: none; with --drive as identify]")
    ] = None,
    armature: Annotated[
        bool | None,
        typer.Option(
            "--armature/--no-armature", help="Count the motors' reflected inertia too. [default: with --drive]"
        ),
    ] = None,
    expressions: Annotated[
        bool, typer.Option("--expressions", help="Write out the base parameters, the identifiable combinations.")
    ] = False,
    explain: Annotated[
        str, typer.Option(metavar="LINKS", help="Explain links in words: names with commas, or all.")
    ] = "",
    contacts: Annotated[
        list[str] | None,
        typer.Option(metavar="FRAMES", help="Feet that stand still, with commas; once for each stance."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="LOG", help="Excitation of each identifiable combination by this motion.")
    ] = None,
    options: Annotated[JobOptions, "analyze"],
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, markdown, html, latex or json.")] = "text",
):
    """List identifiable parameters and combinations, from the kinematics alone."""
    with refusals():
        from rich.console import Console

        from steelyard.fit.knowledge import fixed_from, masses_from
        from steelyard.identifiable.analysis_report import analyze_report
        from steelyard.model import load
        from steelyard.model.locking import locked as lock
        from steelyard.model.side import read_known, read_side, side_path
        from steelyard.model.side_known import SideKnown
        from steelyard.prepare.prepared import with_motion
        from steelyard.prepare.reading import lock_words, read_undone

        if floating and planar:
            raise OptionError("The base is either --floating or --planar.")
        job = options.job()
        stances = tuple(words(each) for each in contacts) if contacts else None
        standing = True if stances and floating else None  # on feet that somebody else's forces would not explain
        robot = load(model, floating=standing, gravity=job.gravity, folders=job.folders, arguments=job.arguments)
        side = side_path(model) if job.side is None else Path(job.side)
        robot = read_side(side, robot, gravity=job.gravity) if side.exists() or motors else robot
        robot = lock(robot, lock_words(job.lock, robot))
        known = read_known(side, robot) if job.drive and side.exists() else SideKnown()
        text = analyze_report(
            robot,
            format=format,
            width=screen.width if (screen := Console()).is_terminal else None,
            expressions=expressions,
            explain="all" if explain == "all" else words(explain),
            log=None if log is None else with_motion(read_undone(log, robot)),
            base="floating" if floating else "planar" if planar else None,
            motion="static" if static else "dynamic",
            sensors=sensors if sensors in ("joints", "base") else words(sensors),
            motors=motors,
            coupling=job.coupling,
            locked=words(locked),
            friction=None if friction is None else friction_of(friction),
            armature=armature,
            drive=job.drive,
            contacts=stances,
            masses=known.masses | masses_from(job.masses),
            fixed=known.fixed | fixed_from(job.fixed),
        )
    typer.echo(text)


@subcommand(
    "steelyard check robot.urdf",
    "steelyard check models/ --summary",
    "steelyard check models/ --select SY1,SY2 --format sarif > models.sarif",
    "steelyard check robot.urdf --fix robot_fixed.urdf",
    "steelyard check robot.urdf --for mujoco==3.12 --for newton",
    "steelyard check robot.urdf --engines",
    status="0 clean; 1 findings (with --fix: those that remain), or engines differ; 2 a model could not be checked.",
)
def check(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model files, folders, patterns.")],
    *,
    fix: Annotated[
        str | None,
        typer.Option(
            metavar="OUT|WHAT",
            help="Write a copy with errors repaired: a file, or a folder for several models. Or what is repaired, into "
            "--out: errors, all, or rule codes with commas.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="OUT", help="Path of the repaired copy, with --fix WHAT.")
    ] = None,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, json, sarif, markdown, github.")] = "text",
    select: Annotated[str, typer.Option(metavar="CODES", help="Only these rules: codes or beginnings, commas.")] = "",
    ignore: Annotated[str, typer.Option(metavar="CODES", help="Not these rules.")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Let findings of severity info fail too.")] = False,
    fail_on: Annotated[str, typer.Option(metavar="SEVERITY", help="Fail from: error, warning, info.")] = "warning",
    details: Annotated[bool, typer.Option("--details", help="Every finding of several models, not a table.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Count the findings of each rule.")] = False,
    destination: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="SIMULATOR",
            help="What it misreads: mujoco, newton, isaac, drake, ...; with a version as mujoco==3.12.",
        ),
    ] = None,
    engines: Annotated[bool, typer.Option("--engines", help="Compare with readings by installed engines.")] = False,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known findings: only others are shown and count.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Store the present findings as known; they do not count.")
    ] = None,
    as_json: Json = False,
    options: Annotated[JobOptions, "check"],
):
    """Find wrong inertias, units, limits and paths in robot models, and repair them."""
    from steelyard.check import check_models

    one = len(models) == 1 and not os.path.isdir(models[0])  # noqa: PTH112  False for names that cannot be
    with progress_bar(silent=one) as progress:
        code = check_models(
            models,
            fix=fix,
            out=out,
            format="json" if as_json else format,
            select=words(select),
            ignore=words(ignore),
            strict=strict,
            fail_on=fail_on,
            folders=options.job().folders,
            destination=destination or (),
            engines=engines,
            arguments=options.job().arguments,
            details=details,
            summary=summary,
            baseline=baseline,
            write_baseline=write_baseline,
            progress=progress,
        )
    raise typer.Exit(code)


@subcommand(
    "steelyard convert arm.urdf arm.xml",
    "steelyard convert arm.urdf arm.sdf",
    "steelyard convert arm.urdf arm.h --functions momentum_observer",
    "steelyard convert quadruped.urdf quadruped.xml --floating",
    "steelyard convert result/arm_identified.xml arm_identified.urdf",
    "steelyard convert result actuators.py --as isaaclab",
    "steelyard convert result variants --draws 20",
)
def convert(
    model: Model,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File: .urdf, .xml (MJCF), .sdf, .usda, .h for C, .py for NumPy; or a folder."
        ),
    ],
    *,
    destination: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="Configuration of isaaclab, mjlab, newton or usd (.py), dcmotor (.xml) or ros2_control (.yaml).",
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Folder of N models, samples of a result's posterior, to randomise simulations."
        ),
    ] = None,
    functions: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Of code, joined by commas: gravity, inverse_dynamics, regressor (by default), slotine_li_regressor, "
            "momentum, and in C natural_step, momentum_observer.",
        ),
    ] = None,
    options: Annotated[JobOptions, "convert"],
    as_json: Json = False,
    quiet: Quiet = False,
):
    """Write a robot in another format, read back and compared: links, joints, inertials, geometry, drives, and beside
    it a side file with what has no place there. Or its gravity, inverse dynamics and regressor as code."""
    with refusals():
        from steelyard.codegen import configuration, controller_code
        from steelyard.codegen.generate import CODE
        from steelyard.pipeline.job_run import load_with_side
        from steelyard.report.known_model import identified

        found: dict
        job = options.job(model)
        if destination is not None and draws is not None:
            raise OptionError("--as writes a configuration and --draws models: give one of them.")
        if destination is not None:
            path, left_out = configuration(load_with_side(job), model, destination, out)
            found, lines = {"files": [str(path)], "left_out": left_out}, [f"Wrote {path}.", *left_out]
        elif draws is not None:
            from steelyard.app.model_variants import variants, without_place

            paths = variants(model, out, draws)
            notes = without_place(paths)
            lines = [f"Wrote {len(paths)} models to {out}: {paths[0].name} to {paths[-1].name}.", *notes]
            found = {"files": [str(path) for path in paths], "notes": notes}
        elif out.suffix in CODE:
            asked = {} if functions is None else {"functions": tuple(functions.split(","))}
            code = controller_code(identified(job) or load_with_side(job), out, rotors=job.rotors, **asked)
            found = {name: getattr(code, name) for name in ("operations", "compiled", "left_out")}
            found, lines = {"files": [str(code.path)], **found}, [repr(code)]
        elif job.rotors or job.side or functions is not None:
            raise OptionError(f"--rotors, --side and --functions are for code, .h or .py; {out} is a model.")
        else:
            found, lines = _converted(job, model, out)
    finish(found, lambda: "\n".join(lines), as_json=as_json, quiet=quiet)


def _converted(job, model: Path, out: Path) -> tuple[dict, list[str]]:
    """Write a model of another format, or a copy of the file; what is said of it as JSON and in lines."""
    from steelyard.model import load, save
    from steelyard.model.side import read_known
    from steelyard.model.write_back import format_of
    from steelyard.pipeline.job_run import load_with_side, side_of

    robot = load(model, floating=job.floating, gravity=job.gravity, folders=job.folders, arguments=job.arguments)
    copied = robot.source is not None and robot.source.format == format_of(robot, out)
    if copied and (job.floating, job.gravity) != (None, None):
        raise OptionError(
            f"{out} has the format of {model}: a copy of the file, which keeps its base and gravity. Leave out "
            "--floating, --fixed and --gravity, or choose another format."
        )
    robot, side = robot if copied else load_with_side(job, robot), side_of(job)
    written = save(robot, out)
    notes = [*robot.notes, *written.notes]
    if side is not None and not copied and any(read_known(side, robot).words()):
        notes.append(f"What {side.name} knows of bodies is not in the new side file; copy its [known] tables.")
    mass = float(robot.inertias[:, 0].sum())
    lines = [
        f"Wrote {out}: {robot.nb} bodies, {robot.nv} degrees of freedom, {mass:.6g} kg that move.",
        *(() if copied else (f"It holds {written.changed[0].removeprefix('new file: ')}.",)),
        "Read back, it is the same robot in kinematics, inertias and joint properties"
        f"{', but for what follows' if notes else ''}.",
        *(f"- {note}" for note in notes),
    ]
    return {"files": [str(path) for path in written.files], "changed": list(written.changed), "notes": notes}, lines


@subcommand("steelyard mesh bracket.stl --density 2700", "steelyard mesh gripper.stl --scale 0.001 --mass 0.85")
def mesh(
    path: Annotated[Path, typer.Argument(metavar="MESH", help="Closed triangle mesh: STL, OBJ, PLY, GLB, ...")],
    density: Annotated[
        float | None, typer.Option(metavar="KG/M3", help="Density. [default: 1000]", show_default=False)
    ] = None,
    mass: Annotated[float | None, typer.Option(metavar="KG", help="Mass, instead of the density.")] = None,
    scale: Annotated[float, typer.Option(metavar="M", help="Metres per file unit; 0.001 for millimetres.")] = 1.0,
    as_json: Json = False,
):
    """Inertial parameters of a homogeneous solid given as a mesh, with snippets for URDF and MJCF."""
    with refusals():
        from steelyard.report.mesh_report import mesh_report_of

        found = mesh_report_of(path, density=density, mass=mass, scale=scale)
    for text in found.warnings:
        typer.echo(f"warning: {text}", err=True)
    finish(found.as_dict(), found.as_text, as_json=as_json, findings=found.warnings)


@subcommand(
    "steelyard view arm.urdf", "steelyard view arm.urdf --estimate result --trajectory traj.csv -o view.html --no-open"
)
def view(
    model: Model,
    *,
    estimate: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Output folder of identify, to be drawn beside the model.")
    ] = None,
    trajectory: Annotated[Path | None, typer.Option(metavar="LOG", help="Motion to play, a log of any format.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.html", help="Page to write.")] = Path("view.html"),
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    options: Annotated[JobOptions, "check"],
    quiet: Quiet = False,
):
    """Write a page with a 3D view of a robot, its masses and a motion, and open it. It works offline."""
    with refusals():
        from steelyard.model import load
        from steelyard.viewer.show import require_page
        from steelyard.viewer.show import view as write_page

        require_page(out)
        robot = load(model, folders=options.job().folders, arguments=options.job().arguments)
        write_page(robot, estimate=estimate, trajectory=trajectory, path=out)
    if browser:
        typer.launch(str(out.absolute()))
    if not quiet:
        typer.echo(f"Wrote {out}.")
    raise typer.Exit(DONE)
