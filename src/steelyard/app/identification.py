"""The whole job from Python: read, fit, validate, and hand over model, summary and report."""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass
from functools import reduce
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.app.job_file import NAME, job_text, repeatable
from steelyard.app.redraw import drawn
from steelyard.arguments import unknown_option
from steelyard.errors import OptionError, choices
from steelyard.fit import save_draws, validate
from steelyard.fit.draws import FILE as DRAWS
from steelyard.job import Job
from steelyard.job_options import Option, options_of
from steelyard.model import Robot, load, save, write_side
from steelyard.model.formats import BY_NAME, of_mujoco, options_of_copy
from steelyard.model.locking import locked
from steelyard.model.side import read_known, read_side, side_path
from steelyard.native import one_blas_thread
from steelyard.pipeline import Progress, Result
from steelyard.pipeline.identification import run
from steelyard.pipeline.job_run import job_of, several, side_of
from steelyard.pipeline.verdicts import require_explained
from steelyard.prepare.reading import lock_words
from steelyard.report.identification_report import summary
from steelyard.report.outputs import staged
from steelyard.report.provenance import inputs_of
from steelyard.report.record import FILES, Record, render, write
from steelyard.report.signal_curves import Curves, curves
from steelyard.storage import require_report_folder
from steelyard.terms import TERMS
from steelyard.viewer.recording import require_recording, write_recording

if TYPE_CHECKING:
    from mujoco import MjModel, MjSpec

    from steelyard.pipeline.drive_identification import DriveResult

SUFFIX = "_identified"
MJCF, SIMULATED = ".xml", "_simulated.xml"

WEIGH = (
    "Torques did not ask for that: state what is known, such as --mass LINK=KG for a body with all that is fixed to it."
)


def identify(
    model: "str | Path | Robot | MjModel | MjSpec",
    logs: Any,
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options,
) -> "Result | DriveResult":
    """Identify a robot from recorded motion; the same as `steelyard identify`.

    Args:
        model: path of a model file (URDF, MJCF, SDF, USD, xacro), an MjModel or MjSpec, or a Robot; none of them is
            changed.
        logs: one or several, each a path, a Log, arrays by name or a data frame, as `read_log` takes them.
        out: folder for the identified model (the model's file name with `_identified`), `summary.json`, `report.html`,
            `report.md`, `draws.npz` (samples of the posterior), `curves.npz` and `job.toml`, together or not at all;
            None writes nothing.
        progress: called with a stage and the share done, 0 to 1.
        {options}

    Returns:
        The verified estimate with its intervals, its prediction error on held-out samples, and the diagnosis; of logs
        of commands (`drive`) a robot with drives, judged by motion.

    Raises:
        SteelyardError: for what cannot be used, with a remedy.

    Example:
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> _ = sy.write_csv(sy.simulate.record(robot, duration=3.0).log, "run.csv")
        >>> _ = sy.save(robot.with_inertias(1.3 * robot.inertias), "heavy.urdf")
        >>> result = sy.identify("heavy.urdf", "run.csv", friction=("viscous", "coulomb"))
        >>> result.after.relative_error < 0.1 * result.before.relative_error
        True
    """
    if unknown := sorted(set(options) - set(options_of(Job))):
        raise TypeError(unknown_option("identify()", unknown, options_of(Job)))
    if of_mujoco(model):
        model = load(model, **{name: options[name] for name in ("floating", "gravity") if name in options})
    job = job_of(model, logs, **options)
    robot = model if isinstance(model, Robot) else None
    return carry_out(job, robot=robot, logs=several(logs), out=out, progress=progress).result


@dataclass(frozen=True, eq=False)
class Outcome:
    """A result and its summary, which names the files written."""

    result: "Result | DriveResult"
    summary: dict


def carry_out(
    job: Job,
    *,
    robot: Robot | None = None,
    logs: Sequence | None = None,
    out=None,
    progress: Progress | None = None,
    export=None,
) -> Outcome:
    """Run a job and write its files to `out`, if given. Raises SteelyardError; `out` is then as it was before.

    robot, logs: as of `run`. export: a recording of the held-out samples for other viewers.
    """
    if out is not None:
        require_report_folder(out)  # before the work, not after
    if export is not None:
        require_recording(export)
        if job.drive:
            raise OptionError("--export is of torques; of logs of commands there are none. Leave it out.")
    with one_blas_thread():
        if job.drive:
            from steelyard.pipeline.drive_identification import run_drives  # drives take half the start of the rest

            return _handed_over(run_drives(job, robot=robot, logs=logs, progress=progress), job, out)
        outcome = _handed_over(run(job, robot=robot, logs=logs, progress=progress), job, out)
    if export is not None and isinstance(outcome.result, Result):
        found = outcome.result
        write_recording(export, found.robot, found.held_out, {"given": found.before, "identified": found.after})
    return outcome


def _handed_over(result: "Result | DriveResult", job: Job, out) -> Outcome:
    """A result that explains its logs, and its files in `out`, if given. Raises FitError for one that does not."""
    summed: Callable[..., dict]
    curved: Callable[..., Curves]
    written: Callable[..., tuple[list[str], dict]]
    if isinstance(result, Result):
        require_explained(result)
        summed, curved, written = summary, curves, _models
    else:
        from steelyard.report.drive_report import drive_curves, drive_summary

        summed, curved, written = drive_summary, drive_curves, _drive_models
    if out is None:
        return Outcome(result, summed(result))
    with staged(out, inputs=[Path(path) for _, path in inputs_of(job)]) as stage:
        models, told = written(result, stage)
        samples = [] if result.samples is None else [save_draws(result.samples, stage / DRAWS).name]
        files = [*models, *FILES, *samples, *_job_file(result.job, stage, out)]
        record = Record(summed(result, out=out, files=files, **told), curved(result))
        write(record, stage)
        render(drawn(record, stage, job.folders), stage)
        return Outcome(result, record.summary)


def _drive_models(result: "DriveResult", stage: Path) -> tuple[list[str], dict]:
    """Names of the model files written, with drives, and where their format has no actuators an MJCF file beside."""
    reports = [save(result.robot, stage / _model_name(result))]
    path = reports[0].path
    if path.suffix != MJCF:  # the user's own file keeps its ground, geometry and base
        reports.append(save(result.robot, path.with_name(f"{path.stem}{SIMULATED}")))
    models = [file.relative_to(stage).as_posix() for each in reports for file in each.files]
    for each in reports:
        if side_path(each.path) in each.files:
            continue
        written = load(each.path, **_options(result)).drives
        models.append(write_side(result.robot, side_path(each.path), driven=written).name)
    return models, {"notes": [note for each in reports for note in each.notes]}


def _models(result: Result, stage: Path) -> tuple[list[str], dict]:
    saved = save(result.robot, stage / _model_name(result))
    models = [file.relative_to(stage).as_posix() for file in saved.files]
    in_model = load(saved.path, **_options(result)).loop_names if result.robot.loops else ()
    stated = side_path(saved.path) in saved.files
    if not stated and (result.job.rotors or set(result.robot.loop_names) - set(in_model)):
        models.append(write_side(result.robot, side_path(saved.path), known=in_model).name)
    notes = [*(note for note in saved.notes if note not in saved.rescaled), *_unwritten(result, saved.path)]
    return models, {"notes": notes, "written": [f"{line} {WEIGH}" for line in saved.rescaled]}


def _model_name(result: "Result | DriveResult") -> str:
    model = Path(result.job.model if result.prior.source else f"{result.prior.name}.urdf")
    own = None if result.prior.source is None else BY_NAME[result.prior.source.format]
    if own is None or not own.copies:
        return f"{model.stem}{SUFFIX}{model.suffix}"
    return f"{model.stem.removesuffix(own.copies)}{SUFFIX}{own.copies}"


def _job_file(job: Job, stage: Path, out) -> list[str]:
    """Name of the file that repeats a job, written to the folder `stage` where it can be repeated."""
    if not repeatable(job):
        return []
    (stage / NAME).write_text(job_text(job, Path(out)), "utf-8")
    return [NAME]


def _options(result: "Result | DriveResult") -> dict[str, Any]:
    return options_of_copy(result.prior.source)


def _unwritten(result: Result, path: Path):
    """What the model file cannot hold, and what that costs."""
    unstated = [term for term in result.estimate.layout.terms if TERMS[term].stated is None]
    if unstated:
        yield f"Of friction, {choices(unstated)} has no place in a model file and is in the summary only."
    if result.nearest:
        yield (
            "A model file has no place for friction near standstill or by load: the written one has the viscous and "
            "Coulomb friction that come closest. The summary has all of it."
        )
    if any(extra.kind != "user" for extra in result.estimate.layout.extras):
        yield "Shared motors and springs have no place in a model file; they are in the summary only."
    side = side_of(result.job)
    if side is not None and any(read_known(side, result.prior).words()):
        yield f"What {side.name} knows of links is not written again; --side reads it for another model, too."
    written = load(path, floating=result.job.floating, gravity=result.job.gravity, **_options(result))
    written = locked(written, lock_words(result.job.lock, written))
    rotors, side = result.job.rotors, side_path(path)
    if side.exists():
        written = read_side(side, written, gravity=result.job.gravity)
    error, full = validate(written, result.held_out, rotors=rotors).relative_error, result.after.relative_error
    if error > 1.01 * full:
        which = "The model and side files" if side.exists() else "The model file"
        yield f"{which} alone: held-out torques to {error:.2%}; with what has no place there, {full:.2%}."


LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
WIDTH = 120
OF_COMMANDS = {  # words of the command line, and those of Python
    r" auto: ([^;]*);": r" None: \1;",
    r" None means auto\.| See \w+\.": "",
    "`auto` chooses": "None chooses",
    "([Ww])ith `?auto`?,?": r"\1ithout it,",
    "--drive-gains": "drive_gains",
    r"--(?=[a-z])": "",
    r", or none\.": "; () for none.",
    "a TOML file, or JSON text in braces": "by name",
}


def describe(function: Callable) -> None:
    """Give a function with `**options` the options of a Job as keywords, in its signature and its docstring."""
    own = signature(function)
    keywords = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=each.default, annotation=python_type(each, how))
        for name, (each, how) in options_of(Job).items()
    ]
    first = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    function.__signature__ = own.replace(parameters=[*first, *keywords])  # type: ignore[attr-defined]
    text = "\n".join(line for name, (_, how) in options_of(Job).items() for line in _argument(name, how))
    function.__doc__ = (function.__doc__ or "").replace("        {options}", textwrap.indent(text, " " * 8))


def python_type(each: Field, how: Option) -> str:
    """The type of an option as Python takes it."""
    if how.accepts:
        return how.accepts
    if each.type == tuple[str, ...]:
        return "Sequence[str | Path]" if how.path else "str | Sequence[str]"
    if how.path:
        return "str | Path | None"
    return each.type.__name__ if type(each.type) is type else str(each.type)


def _argument(name: str, how: Option) -> list[str]:
    text = LINK.sub(r"\1", f"{how.help} {how.more}".strip())
    text += f" None means {how.auto or how.unset}." if how.auto or how.unset else ""
    text = reduce(lambda text, pair: re.sub(*pair, text), OF_COMMANDS.items(), text)
    unit = f" [{how.unit}]" if how.unit else ""
    return textwrap.wrap(f"{name}{unit}: {text}", WIDTH - 8, subsequent_indent="    ")


describe(identify)
