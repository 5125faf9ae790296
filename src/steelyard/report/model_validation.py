"""Validation of models on held-out logs: `steelyard validate`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from steelyard.drives import drives_of, gain_of
from steelyard.dynamics import with_motors
from steelyard.errors import OptionError, choices
from steelyard.fit import Estimate, Validation, validate
from steelyard.log import Finding, Log, joined
from steelyard.model import MODEL_SUFFIXES, Robot
from steelyard.pipeline import Job, Result, job_of, load_with_side, recorded, several
from steelyard.prepare import prepare
from steelyard.report.document import Screen, Sheet, sheet
from steelyard.report.first_screen import LARGE, SAME
from steelyard.report.labels import dof_units
from steelyard.report.numbers import number, percent, times
from steelyard.report.record import read
from steelyard.report.unstated import Unstated, unstated_of
from steelyard.terms import TERMS


@dataclass(frozen=True, eq=False)
class ModelValidation:
    """Torque errors of one or two models on the same logs, each called by the path that it was given by."""

    logs: tuple[str, ...]
    models: tuple[tuple[str, Validation], ...]
    units: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether the logs are healthy, the error is small, and smaller than that of the other model."""
        errors = [each.relative_error for _, each in self.models]
        return not self.findings and errors[0] <= LARGE and all(errors[0] < (1 - SAME) * other for other in errors[1:])

    @property
    def headline(self) -> str:
        """What was found, in a sentence."""
        (name, own), *others = self.models
        said = f"Torque prediction error on {choices(self.logs)}: {percent(own.relative_error)} with {name}"
        if not others:
            return f"{said}."
        other, error = others[0][0], others[0][1].relative_error
        ratio = error / own.relative_error
        smaller = f"{times(max(ratio, 1 / ratio))} times {'smaller' if ratio > 1 else 'larger'}"
        return f"{said}, {percent(error)} with {other}; the first error is {smaller}."

    @property
    def screen(self) -> Screen:
        """What `steelyard validate` shows first."""
        level = "good" if self.good else "care"
        return Screen(level, self.headline, reasons=tuple(each.message for each in self.findings))

    def as_json(self) -> dict:
        """Plain values; the keys are in docs/command_line.md."""
        return {
            "headline": self.headline,
            "good": self.good,
            "logs": list(self.logs),
            "models": [{"model": name, **self._errors(each)} for name, each in self.models],
            "findings": [vars(each) for each in self.findings],
            "notes": list(self.notes),
        }

    def _errors(self, found: Validation) -> dict:
        columns = {"torque_rms": _torque(found), "rms": found.rms, "relative": found.relative}
        joints = [
            {"name": joint, "unit": self.units[j]} | {key: float(each[j]) for key, each in columns.items()}
            for j, joint in enumerate(found.joint_names)
        ]
        return {"relative_error": found.relative_error, "joints": joints}

    def table(self) -> Sheet:
        """The error of each joint."""
        first = self.models[0][1]
        rows = [
            (
                joint,
                number(float(_torque(first)[j])),
                *(f"{number(float(each.rms[j]))} ({percent(float(each.relative[j]))})" for _, each in self.models),
                self.units[j],
            )
            for j, joint in enumerate(first.joint_names)
        ]
        whole = ("all joints", "", *(percent(each.relative_error) for _, each in self.models), "")
        return sheet(
            "Error of each joint",
            "RMS torque error; in brackets, over the RMS of the measured torque.",
            (("Joint", "text"), "Torque", *(name for name, _ in self.models), ("Unit", "text")),
            [*rows, whole],
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
    if unknown := [name for name, drive in drives_of(robot, job.drive).items() if gain_of(drive) is None]:
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
        units=tuple(units[name] for name in validations[0].joint_names),
        findings=tuple(finding for each in ready for finding in each.findings),
        notes=(*robot.notes, *(note for each in ready for note in each.log.notes)),
    )


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
        job, robot, unstated = _read_model(model, job_of(model, logs, **options))
        return _Subject(str(model), job, robot, partial(_validated, unstated=unstated))
    robot = with_motors(model) if isinstance(model, Robot) else model.require_robot()
    judge = validate if isinstance(model, Robot) else lambda _, log: validate(model, log)
    return _Subject(robot.name, job_of(robot, logs, **options), robot, judge)


def _read_model(path, job: Job) -> tuple[Job, Robot, Unstated]:
    """What to read a model and its logs by, the model, and what moves its joints and has no place in its file."""
    if not Path(path).is_dir():
        return job, with_motors(load_with_side(job)), Unstated()
    summary = read(path).summary
    own = [name for name in summary["files"] if name.endswith(MODEL_SUFFIXES)]
    if summary["kind"] != "identification" or not own or summary["rotors"]:
        raise OptionError(f"{path} holds no identification of a robot without rotors. Give the model file itself.")
    job = replace(job, model=str(Path(path) / own[0]), lock=job.lock or tuple(summary["job"].get("lock", ())))
    robot = load_with_side(job)
    unstated = unstated_of(summary, robot)
    if tuple(each["name"] for each in summary["joints"]) != robot.dof_names or robot.loops or unstated is None:
        raise OptionError(
            f"{path}: its summary and {own[0]} have other joints, or loops, or columns of the user. Give the model "
            "file itself."
        )
    stated = {
        each.stated: np.array([joint.get(term, {"identified": 0.0})["identified"] for joint in summary["joints"]])
        for term, each in TERMS.items()
        if each.stated
    }
    return job, robot.with_joint_properties(**stated), unstated


def known_model(path, **options) -> tuple[Robot, Unstated, np.ndarray | None]:
    """A model with all that is known of it: of the folder of a result, or of a model file that lies in one, its
    friction, motors and torque offsets, too.

    Args:
        path: model file, or folder that `identify` wrote.
        options: of a `Job`: gravity, folders, joints that are locked.

    Returns:
        The robot, what it cannot state, and (nv,) RMS torque [N m, N] that both leave on the samples held out of its
        identification; None where that is not known.

    Raises:
        SteelyardError: no model, or a folder without.
    """
    path = Path(path)
    folder = path if path.is_dir() else path.parent if _wrote(path) else None
    found = path if folder is None else folder
    _, robot, unstated = _read_model(found, job_of(found, (), **options))
    if folder is None:
        return robot, unstated, None
    joints = {each["name"]: each["rms_after"] for each in read(folder).summary["held_out"]["joints"]}
    known = all(name in joints for name in robot.dof_names)
    return robot, unstated, np.array([joints[name] for name in robot.dof_names]) if known else None


def _wrote(path: Path) -> bool:
    """Whether the folder of a model file is that of the identification which wrote it."""
    try:
        summary = read(path.parent).summary
    except OptionError:
        return False
    return summary["kind"] == "identification" and path.name in summary["files"]


def _validated(robot: Robot, log: Log, *, unstated: Unstated) -> Validation:
    found = validate(robot, log)
    return replace(found, predicted=found.predicted + unstated.torques(robot, log)) if unstated else found


def _torque(found: Validation) -> np.ndarray:
    """(nv,) RMS of the measured torque."""
    return replace(found, predicted=np.zeros_like(found.predicted)).rms
