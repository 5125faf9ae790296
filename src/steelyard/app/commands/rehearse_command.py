"""`steelyard rehearse`: a motion tried on simulated truths before the robot plays it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from steelyard.app.endings import refusals
from steelyard.app.options import Json, Model, Quiet, words
from steelyard.app.terminal import finish, progress_bar, subcommand


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
        from steelyard.log import read_log
        from steelyard.model import load
        from steelyard.report.outputs import require_other
        from steelyard.simulate import Sensors

        inputs = [each for each in (model, motion) if each is not None]
        if html is not None:
            require_other(html, inputs)
        robot = load(model, floating=False, folders=tuple(folder or ()))
        log = None if motion is None else read_log(motion, robot)
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
