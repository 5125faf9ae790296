"""A model with all that an identification found of it, also what its file has no place for.

Offsets, springs, motors that joints share, friction of any shape and by load, and mistakes of the logs are in the
summary of the result alone.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from steelyard.dynamics.closed_loop.projection import with_motors
from steelyard.dynamics.effects import effect_column, extra_torque
from steelyard.errors import OptionError
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.model.formats import MODEL_SUFFIXES
from steelyard.pipeline import Job
from steelyard.pipeline.job_run import job_of, load_with_side
from steelyard.report.record import read
from steelyard.terms import COUPLED, TERMS, ParameterLayout, layout_of
from steelyard.weighed_columns import NUISANCES, SHAPED_FRICTION


@dataclass(frozen=True, eq=False)
class Unstated:
    """joints: of the robot that was identified. terms: (nv,) parameters by term. couplings: entries of the summary."""

    joints: tuple[str, ...] = ()
    terms: dict[str, np.ndarray] = field(default_factory=dict)
    couplings: tuple[dict, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Of what there is."""
        return (*(term for term, x in self.terms.items() if np.any(x)), *(each["name"] for each in self.couplings))

    def torques(self, robot: Robot, log: Log) -> np.ndarray:
        """(n, nv) N m or N that they are in a log with q, v and a. robot: that was identified, or with some of its
        joints locked."""
        q, v, a = log.require("q", "v", "a")
        direction = None if log.direction is None else log.direction[:, : robot.nv]
        at = [self.joints.index(name) for name in robot.dof_names] if self.joints else []
        found = np.zeros_like(v)
        for term, x in self.terms.items():
            if np.any(x):
                found += x[at] * effect_column(term, v, a, direction=direction)
        layout = _layout(robot, self.couplings)
        known = {each["name"]: each["identified"] for each in self.couplings}
        kept = tuple(extra for extra in layout.extras if extra.name in known)
        values = np.array([known[extra.name] for extra in kept])
        return found + extra_torque(robot, replace(layout, extras=kept), values, q, v, a)


def _layout(robot: Robot, entries: Sequence[Mapping]) -> ParameterLayout:
    motors = {each["name"].rpartition(".")[0]: each["ratios"] for each in entries if each["term"] in COUPLED}
    motors = {name: ratios for name, ratios in motors.items() if set(ratios) <= set(robot.dof_names)}
    return layout_of(robot, coupling=list(motors.values()), friction=SHAPED_FRICTION, nuisances=NUISANCES)


def unstated_of(summary: dict, robot: Robot) -> Unstated | None:
    """What a summary of an identification holds beside its model file, of which the robot is; None where it names a
    column of the user, of which it has the value but not the function."""
    couplings = tuple(summary["couplings"])
    if any(each["term"] == "user" for each in couplings):
        return None
    joints = {each["name"]: each for each in summary["joints"]}
    terms = {
        term: np.array([joints.get(name, {}).get(term, {"identified": 0.0})["identified"] for name in robot.dof_names])
        for term, each in TERMS.items()
        if each.stated is None
    }
    return Unstated(robot.dof_names, terms, couplings)


def read_model(path, job: Job) -> tuple[Job, Robot, Unstated]:
    """What to read a model and its logs by, the model, and what moves its joints and has no place in its file."""
    if not Path(path).is_dir():
        return job, with_motors(load_with_side(job)), Unstated()
    summary = read(path).summary
    own = [name for name in summary["files"] if name.endswith(MODEL_SUFFIXES)]
    if summary["kind"] != "identification" or not own or summary["rotors"]:
        raise OptionError(f"{path} holds no identification of a robot without rotors. Give the model file itself.")
    told = summary["job"]
    base = {key: told.get(key) if getattr(job, key) is None else getattr(job, key) for key in ("gravity", "floating")}
    job = replace(job, model=str(Path(path) / own[0]), lock=job.lock or tuple(told.get("lock", ())), **base)
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
    """The robot of a result's folder, or of a model file that lies in one, with what it cannot state (friction, motors,
    offsets), and (nv,) RMS torque that both leave on samples held out; None where that is not known. options: of a
    `Job`. Raises SteelyardError for no model."""
    path = Path(path)
    folder = path if path.is_dir() else path.parent if _wrote(path) else None
    found = path if folder is None else folder
    _, robot, unstated = read_model(found, job_of(found, (), **options))
    if folder is None:
        return robot, unstated, None
    joints = {each["name"]: each["rms_after"] for each in read(folder).summary["held_out"]["joints"]}
    known = all(name in joints for name in robot.dof_names)
    return robot, unstated, np.array([joints[name] for name in robot.dof_names]) if known else None


def identified(job: Job) -> Robot | None:
    """The robot of a job whose model file an identification wrote, with what only its summary knows: friction, armature
    and gravity; None for another file, and where that is not possible."""
    path = Path(job.model)
    with suppress(OptionError):
        return read_model(path.parent, job)[1] if _wrote(path) and not (job.rotors or job.side) else None
    return None


def _wrote(path: Path) -> bool:
    """Whether the folder of a model file is that of the identification which wrote it."""
    try:
        summary = read(path.parent).summary
    except OptionError:
        return False
    return summary["kind"] == "identification" and path.name in summary["files"]
