"""Models judged on held-out logs, by torque or by motion: `steelyard validate`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steelyard.decisions.verdict import Reason, Verdict
from steelyard.drives.arrays import arrays_of
from steelyard.drives.drive import drives_of
from steelyard.drives.held_out import JudgedMotion, judges_of
from steelyard.drives.simulation import Simulation, unbounded
from steelyard.drives.window_errors import levelled
from steelyard.drives.windows import stretches
from steelyard.dynamics.closed_loop.projection import with_motors
from steelyard.errors import OptionError, choices
from steelyard.fit import Estimate, Validation
from steelyard.fit import validate as validated
from steelyard.job import AS_MODELLED
from steelyard.log import Finding, Log, checks, joined
from steelyard.model import STEP, Robot
from steelyard.numbers import number, percent, times
from steelyard.pipeline import Job, Result
from steelyard.pipeline.job_run import job_of, load_with_side, model_in, recorded, several
from steelyard.pipeline.verdicts import LARGE, SAME
from steelyard.prepare import prepare
from steelyard.prepare.prepared import walking_states
from steelyard.prepare.undo import corrected
from steelyard.report.document import Screen
from steelyard.report.known_model import Unstated, read_model
from steelyard.report.labels import dof_units, of_joints
from steelyard.report.record import read
from steelyard.report.schema import jsonable
from steelyard.sheets import Sheet, sheet

OF_TORQUES = ("no_torque", "repeated_sample", "stamp_jitter")  # of logs that rest, and have commands


@dataclass(frozen=True, eq=False)
class ModelValidation:
    """Errors of models on the same logs, each called by the path that it was given by: the first one, another beside
    it, and by motion robots that do nothing."""

    logs: tuple[str, ...]
    models: tuple[tuple[str, Validation | JudgedMotion], ...]
    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    robot: Robot | None = None  # the first model
    log: Log | None = None  # the samples, prepared, where errors are of torques

    def _doubts(self) -> Iterator[Reason]:
        """Why the first model does not well, or not better than all others."""
        (_, first), *rest = self.models
        own = _error(first)
        if isinstance(first, Validation) and own > LARGE:
            yield Reason("large_error", f"More than {percent(LARGE)} of the torque is not predicted.")
        better = [name for name, other in rest if not own < (1 - SAME) * _error(other)]
        if better:
            yield Reason("no_better", f"The error is no smaller than that of: {', '.join(better)}.")

    @property
    def headline(self) -> str:
        """What was found, in a sentence."""
        (name, own), *others = self.models
        if isinstance(own, JudgedMotion):
            windows, whole = (number(1e3 * each) for each in own.pooled)
            said = ", ".join(f"{number(1e3 * _error(each))} {other}" for other, each in others)
            return (
                f"Error of motion on {choices(self.logs)}: {windows} mrad (mm) in windows and {whole} in one piece "
                f"with {name} (in windows {said})."
            )
        said = f"Torque prediction error on {choices(self.logs)}: {percent(own.relative_error)} with {name}"
        if not others:
            return f"{said}."
        ratio = _error(others[0][1]) / own.relative_error
        smaller = f"{times(max(ratio, 1 / ratio))} times {'smaller' if ratio > 1 else 'larger'}"
        return f"{said}, {percent(_error(others[0][1]))} with {others[0][0]}; the first error is {smaller}."

    @property
    def good(self) -> bool:
        """Whether the logs are healthy, and the first model does well and better than all others."""
        return not self.screen.reasons

    @property
    def screen(self) -> Screen:
        """What `steelyard validate` shows first."""
        reasons = (*(Reason(each.code, each.message) for each in self.findings), *self._doubts())
        return replace(Screen.judged(Verdict(reasons), self.headline), advice="")

    def as_json(self) -> dict:
        """Plain values; the keys are in docs/files.md."""
        models = [
            {"model": name, **_errors(each), "joints": of_joints(self.joint_names, self.units, **_of_joints(each))}
            for name, each in self.models
        ]
        told = {"headline": self.headline, "good": self.good, "logs": self.logs, "models": models}
        return jsonable(told | {"findings": [vars(each) for each in self.findings], "notes": self.notes})

    def table(self) -> Sheet:
        """The error of each joint."""
        first, names = self.models[0][1], [name for name, _ in self.models]
        torque = [] if isinstance(first, JudgedMotion) else [[number(float(x)) for x in _torque(first)]]
        columns = [*torque, *(_cells(each) for _, each in self.models), self.units]
        rows = [(joint, *row) for joint, *row in zip(self.joint_names, *columns, strict=True)]
        whole = ("all joints", *([""] if torque else []), *(_whole(each) for _, each in self.models), "")
        about = (
            "RMS torque error; in brackets, over the RMS of the measured torque."
            if torque
            else "RMS error of position in windows of 0.5 s that start from the measured state / in one piece."
        )
        titles = (("Joint", "text"), *(["Torque"] if torque else []), *names, ("Unit", "text"))
        return sheet("Error of each joint", about, titles, [*rows, whole])


def _errors(found: Validation | JudgedMotion) -> dict[str, float]:
    if isinstance(found, JudgedMotion):
        return dict(zip(("windows", "whole"), found.pooled, strict=True))
    return {"relative_error": found.relative_error}


def _error(found: Validation | JudgedMotion) -> float:
    return next(iter(_errors(found).values()))


def _of_joints(found: Validation | JudgedMotion) -> dict[str, np.ndarray]:
    if isinstance(found, JudgedMotion):
        return {"windows": found.windows, "whole": found.whole}
    return {"torque_rms": _torque(found), "rms": found.rms, "relative": found.relative}


def _cells(found: Validation | JudgedMotion) -> list[str]:
    if isinstance(found, JudgedMotion):
        return [f"{number(1e3 * a)} / {number(1e3 * b)}" for a, b in zip(found.windows, found.whole, strict=True)]
    return [f"{number(a)} ({percent(b)})" for a, b in zip(found.rms.tolist(), found.relative.tolist(), strict=True)]


def _whole(found: Validation | JudgedMotion) -> str:
    return (
        " / ".join(number(1e3 * x) for x in found.pooled) if isinstance(found, JudgedMotion) else percent(_error(found))
    )


def validate_models(model, logs, *, against=None, **options) -> ModelValidation:
    """Torque errors of a model, and of another one beside it, on all samples of logs.

    model, against: model files, or folders that `identify` wrote, whose torque offsets and the like count, too; a
    Robot, an Estimate or a Result. logs: a log or several, each what `read_log` takes.
    options: of a `Job`: how logs are read and filtered, gravity, base. Raises SteelyardError.
    """
    first, *others = [each for each in (model, against) if each is not None]
    own = _subject(first, logs, options)
    robot, job, recordings = recorded(own.job, own.robot, several(logs))
    options = options | {"lock": job.lock}
    if unknown := [name for name, drive in drives_of(robot, job.drive).items() if drive.torque_per_unit is None]:
        raise OptionError(
            f"The gain of the drives of {choices(unknown)} is not known, so that torques cannot be compared: give "
            "--rollout to compare motion, or state gains in [drives] of the side file."
        )
    subjects = [replace(own, job=job, robot=robot), *(_subject(each, logs, options) for each in others)]
    if job.corrections.automatic_delay:
        raise OptionError("--delay auto takes a fit, which is not made here: give each delay, as identify notes it.")
    if any(other.robot.dof_names != robot.dof_names for other in subjects[1:]):
        raise OptionError(f"{against} has other joints than {model}: {choices(subjects[1].robot.dof_names)}.")
    ready = [prepare(log, robot, **job.preparation) for log in recordings]
    log = joined([each.log for each in ready], name="all logs")
    validations = [each.judge(each.robot, log) for each in subjects]
    units = {name: unit["tau"] for name, unit in zip(robot.dof_names, dof_units(robot), strict=True)}
    return ModelValidation(
        logs=tuple(Path(path).name for path in job.logs),
        models=tuple(zip((each.name for each in subjects), validations, strict=True)),
        robot=robot,
        log=log,
        joint_names=validations[0].joint_names,
        units=tuple(units[name] for name in validations[0].joint_names),
        findings=tuple(finding for each in ready for finding in each.findings),
        notes=(*robot.notes, *(note for each in ready for note in each.log.notes)),
    )


def validate(
    model: str | Path | Robot | Estimate | Result,
    log: Any,
    *,
    rotors: bool = False,
    contacts: str | Mapping[str, str] | None = None,
    row_weights: ArrayLike | None = None,
    **options,
) -> Validation:
    """Predict the torques of a log and compare; of recordings the same as `steelyard validate`.

    Args:
        model: an Estimate or Result with all that was fitted, a Robot with what its file states, a model file, or a
            folder that `identify` wrote.
        log: one that the model was not fitted to. A Log with q, v, a and tau is taken as it is, unless the model
            is a path. A path, a Log without a, or several of these, are prepared as `identify` prepares them.
        rotors, contacts, row_weights: of a prepared Log, as of `fit.validate`.
        options: of recordings, how they are read and filtered: options of `identify` such as `cutoff`, `corrections`.

    Returns:
        The Validation, as `fit.validate`.

    Raises:
        LogError: as `fit.validate`, and for a recording that cannot be prepared.

    Example:
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> recording = sy.simulate.record(robot, duration=3.0).log
        >>> bool(sy.validate(robot, recording).relative_error < 0.05)
        True
    """
    model = model.estimate if isinstance(model, Result) else model
    prepared = isinstance(log, Log) and log.v is not None and log.a is not None
    if prepared and isinstance(model, Robot | Estimate) and not options:
        return validated(model, log, rotors=rotors, contacts=contacts, row_weights=row_weights)
    if rotors or contacts is not None or row_weights is not None:
        raise OptionError(
            "rotors, contacts and row_weights are for a Log with q, v, a and tau and a model that is no path. "
            "steelyard.prepare.prepare(log, robot).log makes one of a recording."
        )
    (_, found), *_ = validate_models(model, log, **options).models
    assert isinstance(found, Validation)
    return found


@dataclass(frozen=True)
class _Subject:
    """A model that is judged, what to read it and its logs by, and the error of its predictions on a log."""

    name: str
    job: Job
    robot: Robot
    judge: Callable[[Robot, Log], Validation]


def _subject(model, logs, options: dict) -> _Subject:
    """A path, Robot, Estimate or Result as what is judged."""
    model = model.estimate if isinstance(model, Result) else model
    if not isinstance(model, Robot | Estimate):
        job, robot, unstated = read_model(model, job_of(model, logs, **options))
        return _Subject(str(model), job, robot, partial(_validated, unstated=unstated))
    robot = with_motors(model) if isinstance(model, Robot) else model.require_robot()
    judge = validated if isinstance(model, Robot) else lambda _, log: validated(model, log)
    return _Subject(robot.name, job_of(robot, logs, **options), robot, judge)


def _validated(robot: Robot, log: Log, *, unstated: Unstated) -> Validation:
    found = validated(robot, log)
    return replace(found, predicted=found.predicted + unstated.torques(robot, log)) if unstated else found


def _torque(found: Validation) -> np.ndarray:
    """(nv,) RMS of the measured torque."""
    return replace(found, predicted=np.zeros_like(found.predicted)).rms


def validate_motion(model, logs: Sequence, *, against=None, **options) -> ModelValidation:
    """Errors of motion of a model, and of another one beside it, on all samples of logs with what the drives take.

    model, against: of robots with drives: files, or folders that `identify` wrote. options: of a `Job`: how logs are
    read, which drives the joints have. Raises SteelyardError."""
    names = [str(each) for each in (model, against) if each is not None]
    subjects = [_moving_subject(each, logs, options) for each in names]
    job, first = subjects[0]
    robot, job, read = recorded(job, first)
    if any(other.dof_names != first.dof_names for _, other in subjects[1:]):
        raise OptionError(f"{against} has other joints than {model}: {choices(subjects[1][1].dof_names)}.")
    drives = drives_of(robot, job.drive or (AS_MODELLED,))
    raw = [corrected(robot, log, job.corrections, drives) for log in read]
    bases = [walking_states(robot, log, job.contacts) if robot.floating else None for log in raw]
    recordings = stretches(robot, raw, drives, bases)
    judges, (robot, beyond) = judges_of(recordings, STEP), unbounded(robot, recordings)
    simulation = Simulation(robot, STEP)
    arrays = levelled(simulation, judges.windows, arrays_of(robot, drives))
    found = [judges.motion(names[0], simulation, arrays)]
    for name, (own, other) in zip(names[1:], subjects[1:], strict=True):
        other = recorded(replace(own, lock=job.lock), other)[0]
        simulation = Simulation(unbounded(other, recordings)[0], STEP)
        arrays = arrays_of(other, drives_of(other, own.drive or (AS_MODELLED,)))
        found.append(judges.motion(name, simulation, levelled(simulation, judges.windows, arrays)))
    idle = judges.idle(positions=all(each.features.follows_q for each in drives.values()))
    return ModelValidation(
        logs=tuple(Path(path).name for path in job.logs),
        models=tuple((each.name, each) for each in (*found, *idle)),
        joint_names=robot.dof_names,
        units=tuple(each["q"] for each in dof_units(robot)),
        findings=tuple(
            finding for log in raw for finding in checks.check(log, robot) if finding.code not in OF_TORQUES
        ),
        notes=(*robot.notes, *beyond, *(note for log in raw for note in log.notes)),
    )


def _moving_subject(path, logs: Sequence, options: dict) -> tuple[Job, Robot]:
    job = Job(model=str(model_in(path)), logs=tuple(map(str, logs)), **options)
    if Path(path).is_dir():
        told = read(path).summary["job"]
        job = replace(job, floating=told.get("floating"), lock=job.lock or tuple(told.get("lock", ())))
    return job, load_with_side(job)
