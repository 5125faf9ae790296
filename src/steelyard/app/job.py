"""The whole job from Python: read, fit, validate, and hand over model, summary and report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.app.redraw import drawn
from steelyard.errors import FitError, choices
from steelyard.fit import Tied, fixed_words, mass_words, tied_words, validate
from steelyard.model import load, read_known, read_side, save, side_path, write_side
from steelyard.pipeline import Job, Progress, Result, run, side_of
from steelyard.prepare import Corrections, corrections_from
from steelyard.report import FILES, NOTHING, Record, curves, inputs_of, percent, render, staged, summary, write
from steelyard.storage import require_folder
from steelyard.terms import TERMS, text_of

SUFFIX = "_identified"


def identify(
    model: str | Path,
    logs: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    floating: bool | None = Job.floating,
    gravity: tuple[float, float, float] | None = Job.gravity,
    cutoff: float | None = Job.cutoff,
    torque_cutoff: float | None = Job.torque_cutoff,
    smoother: str = Job.smoother,
    friction: str | Sequence[str] = Job.friction,
    armature: bool = Job.armature,
    coupling=Job.coupling,
    rotors: bool = Job.rotors,
    side: str | Path | None = Job.side,
    folders: Sequence[str | Path] = Job.folders,
    validation: float = Job.validation,
    weight: float = Job.weight,
    reversal_weight: float = Job.reversal_weight,
    regularizer: str = Job.regularizer,
    within: str = Job.within,
    masses: Mapping | Sequence[str] = Job.masses,
    fixed: Mapping | Sequence[str] = Job.fixed,
    tied: Sequence[Tied | str] = Job.tied,
    channels: Mapping | None = Job.channels,
    corrections: Corrections | Mapping = Job.corrections,
    drive_gains: bool = Job.drive_gains,
    loads: Sequence[str] = Job.loads,
    accept: Sequence[str] = Job.accept,
) -> Result:
    """Identify a robot from recorded motion; the same as `steelyard identify`.

    model: path of a URDF or MJCF file. logs: path of a log or several. out: folder for the identified model (the
    model's file name with `_identified`), `summary.json`, `report.html`, `report.md` and `curves.npz` (to draw it
    again), which appear together or not at all; None writes nothing. progress: called with a stage and the share
    done, 0 to 1. cutoff: Hz, None chooses it from each log's spectrum, 0 takes v and a as recorded; torque_cutoff:
    Hz, of torques, None: the same, or 10 where the log chooses the cutoff; smoother: butterworth, kalman or savgol.
    friction: any of `terms.friction_terms`. validation: share of each log held out to measure the torque error.
    coupling: groups of joints with a common motor, see `accumulate`; rotors: whether the motors' rotors that the side
    file describes are bodies; side: that file, by default the model's name with `.steelyard.toml`. weight,
    regularizer: of the model as prior; within: "geometry" or "consistent"; masses, fixed, tied: what else is known of
    links, as for `fit.consistent` or in words such as `link7=0.73`. reversal_weight: of samples where a joint stands
    still, see `reversal_weights`. floating, gravity, folders: see `load`. channels: see `read_log`. corrections:
    mistakes of the logs to undo, see `Corrections`; drive_gains, loads: the torques are motor currents, see `Job`;
    accept: codes of fatal findings in spite of which to go on. Raises SteelyardError with a remedy; input files are
    never changed.
    """
    job = Job(
        model=str(model),
        logs=(str(logs),) if isinstance(logs, str | Path) else tuple(str(log) for log in logs),
        floating=floating,
        gravity=gravity,
        cutoff=cutoff,
        torque_cutoff=torque_cutoff,
        smoother=smoother,
        friction=(friction,) if isinstance(friction, str) else tuple(friction),
        armature=armature,
        coupling=tuple(text_of(group) for group in ((coupling,) if isinstance(coupling, str | Mapping) else coupling)),
        rotors=rotors,
        side=None if side is None else str(side),
        folders=tuple(map(str, folders)),
        validation=validation,
        weight=weight,
        reversal_weight=reversal_weight,
        regularizer=regularizer,
        within=within,
        masses=mass_words(masses),
        fixed=fixed_words(fixed),
        tied=tied_words(tied),
        channels=None if channels is None else dict(channels),
        corrections=corrections if isinstance(corrections, Corrections) else corrections_from(corrections),
        drive_gains=drive_gains,
        loads=tuple(loads),
        accept=tuple(accept),
    )
    return carry_out(job, out=out, progress=progress).result


@dataclass(frozen=True, eq=False)
class Outcome:
    """A result and its summary, which names the files written."""

    result: Result
    summary: dict


def carry_out(job: Job, *, out=None, progress: Progress | None = None) -> Outcome:
    """Run a job and write its files to `out`, if given. Raises SteelyardError; `out` is then as it was before."""
    if out is not None:
        require_folder(out)  # before the work, not after
    result = run(job, progress=progress)
    if not result.estimate.status.usable:
        causes = "".join(f" {fault.message}" for fault in result.diagnosis.faults)
        raise FitError(f"The fit was refused and nothing was written: {result.estimate.status.value}.{causes}")
    require_explained(result)
    if out is None:
        return Outcome(result, summary(result))
    with staged(out, inputs=[Path(path) for _, path in inputs_of(job)]) as stage:
        return Outcome(result, _write(result, stage, out))


def require_explained(result: Result) -> None:
    """Raise FitError where the identified model predicts held-out torques worse than no model at all would."""
    error = result.after.relative_error
    if error > NOTHING:
        causes = "".join(f"\n- {finding.message}" for finding in result.findings)
        raise FitError(
            f"Nothing was explained and nothing was written: on held-out samples the identified torque errs by "
            f"{percent(error)} of the measured one, more than no model at all. Check that model and logs are of the "
            f"same robot, in the same units and signs.{causes}"
        )


def _write(result: Result, stage: Path, out) -> dict:
    """Write model, summary and report to the folder `stage`, which will become `out`. Returns the summary."""
    model = Path(result.job.model)
    saved = save(result.robot, stage / f"{model.stem}{SUFFIX}{model.suffix}")
    models = [file.relative_to(stage).as_posix() for file in saved.files]
    in_model = load(saved.path, folders=_folders(result)).loop_names if result.robot.loops else ()
    if result.job.rotors or set(result.robot.loop_names) - set(in_model):
        models.append(write_side(result.robot, side_path(saved.path), known=in_model).name)
    found = summary(result, out=out, files=[*models, *FILES], notes=[*saved.notes, *_unwritten(result, saved.path)])
    record = Record(found, curves(result))
    write(record, stage)
    render(drawn(record, stage, result.job.folders), stage)
    return found


def _folders(result: Result) -> tuple[Path, ...]:
    """Folders of the files that the given model names, and a copy of it."""
    return () if result.prior.source is None else result.prior.source.folders


def _unwritten(result: Result, path: Path):
    """What the model file cannot hold, and what that costs."""
    unstated = [term for term in result.estimate.layout.terms if TERMS[term].stated is None]
    if unstated:
        yield f"Of friction, {choices(unstated)} has no place in a model file and is in the summary only."
    if result.job.coupling:
        yield "Motors shared by joints have no place in a model file; they are in the summary only."
    side = side_of(result.job)
    if side is not None and any(read_known(side, result.prior).words()):
        yield f"What {side.name} knows of links is not written again; --side reads it for another model, too."
    written = load(path, floating=result.job.floating, gravity=result.job.gravity, folders=_folders(result))
    rotors, side = result.job.rotors, side_path(path)
    if side.exists():
        written = read_side(side, written)
    error, full = validate(written, result.held_out, rotors=rotors).relative_error, result.after.relative_error
    if error > 1.01 * full:
        which = "The model and side files" if side.exists() else "The model file"
        yield f"{which} alone: held-out torques to {error:.2%}; with what has no place there, {full:.2%}."
