"""Models judged by motion on logs: `steelyard validate --rollout`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.drives import Motion, Simulation, arrays_of, drives_of, judges_of, stretches, unbounded
from steelyard.errors import OptionError, choices
from steelyard.job import AS_MODELLED
from steelyard.log import Finding, checks
from steelyard.model import MODEL_SUFFIXES, STEP, Robot
from steelyard.pipeline import Job, load_with_side, recorded
from steelyard.prepare import corrected
from steelyard.report.document import Screen, Sheet, sheet
from steelyard.report.first_screen import SAME
from steelyard.report.labels import dof_units
from steelyard.report.numbers import number
from steelyard.report.record import read

OF_TORQUES = ("no_torque", "repeated_sample", "stamp_jitter")  # of logs that rest, and have commands
SIMULATED = "_simulated.xml"  # of the models in a result, the one that has drives, friction and armature


@dataclass(frozen=True, eq=False)
class MotionValidation:
    """Errors of motion of one or two models on the same logs, each called by the path that it was given by, and of
    robots that do nothing."""

    logs: tuple[str, ...]
    motion: tuple[Motion, ...]
    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether the logs are healthy, and the first model moves more like them than all others do."""
        own, *others = (each.pooled[0] for each in self.motion)
        return not self.findings and all(own < (1 - SAME) * other for other in others)

    @property
    def headline(self) -> str:
        """What was found, in a sentence."""
        own, *others = self.motion
        windows, whole = (number(1e3 * each) for each in own.pooled)
        said = ", ".join(f"{number(1e3 * each.pooled[0])} {each.name}" for each in others)
        return (
            f"Error of motion on {choices(self.logs)}: {windows} mrad (mm) in windows and {whole} in one piece with "
            f"{own.name} (in windows {said})."
        )

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
            "models": [
                {
                    "model": each.name,
                    "windows": _finite(each.pooled[0]),
                    "whole": _finite(each.pooled[1]),
                    "joints": [
                        {
                            "name": name,
                            "unit": unit,
                            "windows": _finite(each.windows[j]),
                            "whole": _finite(each.whole[j]),
                        }
                        for j, (name, unit) in enumerate(zip(self.joint_names, self.units, strict=True))
                    ],
                }
                for each in self.motion
            ],
            "findings": [vars(each) for each in self.findings],
            "notes": list(self.notes),
        }

    def table(self) -> Sheet:
        """The error of each joint."""
        rows = [
            (
                name,
                *(f"{number(1e3 * m.windows[j])} / {number(1e3 * m.whole[j])}" for m in self.motion),
                f"m{self.units[j]}",
            )
            for j, name in enumerate(self.joint_names)
        ]
        whole = ("all joints", *(" / ".join(number(1e3 * each) for each in m.pooled) for m in self.motion), "")
        return sheet(
            "Error of each joint",
            "RMS error of position in windows of 0.5 s that start from the measured state / in one piece.",
            (("Joint", "text"), *(m.name for m in self.motion), ("Unit", "text")),
            [*rows, whole],
        )


def _finite(value) -> float | None:
    return float(value) if np.isfinite(value) else None


def validate_motion(model, logs: Sequence, *, against=None, **options) -> MotionValidation:
    """Errors of motion of a model, and of another one beside it, on all samples of logs.

    Args:
        model: of a robot with drives: a file, or a folder that `identify` wrote.
        logs: with what the drives take.
        against: another one, or None.
        options: of a `Job`: how logs are read, which drives the joints have.

    Returns:
        The MotionValidation.

    Raises:
        SteelyardError: for what cannot be used, with a remedy.
    """
    names = [str(each) for each in (model, against) if each is not None]
    subjects = [_subject(each, logs, options) for each in names]
    job, first = subjects[0]
    robot, job, read = recorded(job, first)
    if any(other.dof_names != first.dof_names for _, other in subjects[1:]):
        raise OptionError(f"{against} has other joints than {model}: {choices(subjects[1][1].dof_names)}.")
    drives = drives_of(robot, job.drive or (AS_MODELLED,))
    raw = [corrected(robot, log, job.corrections, drives) for log in read]
    recordings = stretches(robot, raw, drives)
    judges, (robot, beyond) = judges_of(recordings, STEP), unbounded(robot, recordings)
    found = [judges.motion(names[0], Simulation(robot, STEP), arrays_of(robot, drives))]
    for name, (own, other) in zip(names[1:], subjects[1:], strict=True):
        other = recorded(replace(own, lock=job.lock), other)[0]
        arrays = arrays_of(other, drives_of(other, own.drive or (AS_MODELLED,)))
        found.append(judges.motion(name, Simulation(unbounded(other, recordings)[0], STEP), arrays))
    idle = judges.idle(positions=all(each.kind == "position" for each in drives.values()))
    return MotionValidation(
        logs=tuple(Path(path).name for path in job.logs),
        motion=(*found, *idle),
        joint_names=robot.dof_names,
        units=tuple(each["q"] for each in dof_units(robot)),
        findings=tuple(
            finding for log in raw for finding in checks.check(log, robot) if finding.code not in OF_TORQUES
        ),
        notes=(*robot.notes, *beyond, *(note for log in raw for note in log.notes)),
    )


def _subject(path, logs: Sequence, options: dict) -> tuple[Job, Robot]:
    """What to read a model and its logs by, and the model."""
    job = Job(model=str(path), logs=tuple(map(str, logs)), **options)
    if Path(path).is_dir():
        summary = read(path).summary
        own = sorted((name for name in summary["files"] if name.endswith(MODEL_SUFFIXES)), key=_simulated)
        if not own:
            raise OptionError(f"{path} holds no model. Give the model file itself.")
        told = summary["job"]
        job = replace(
            job,
            model=str(Path(path) / own[0]),
            floating=told.get("floating"),
            lock=job.lock or tuple(told.get("lock", ())),
        )
    return job, load_with_side(job)


def _simulated(name: str) -> bool:
    return not name.endswith(SIMULATED)
