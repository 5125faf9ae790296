"""Numbers of joints and drives that configurations of simulators and controllers take, as far as they are known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.codegen.languages import harmless
from steelyard.errors import OptionError
from steelyard.model import Robot
from steelyard.model.drive import Drive
from steelyard.model.formats import BY_NAME
from steelyard.report.labels import dof_units
from steelyard.report.record import SUMMARY, read, usable
from steelyard.terms import TERMS

UNDETERMINED = "the motion does not show it"
NO_PLACE = "the model file has no place for it"
NOT_FITTED = "it was not fitted"
BY_PRIOR = "the logs do not determine it"
DETERMINED = ("data-determined", "model-dependent", "given")
OF_JOINTS = ("damping", "frictionloss", "armature")
OF_DRIVES = ("kp", "kd", "gain", "limit", "delay", "slope_limit")


@dataclass(frozen=True, eq=False)
class JointNumbers:
    """A joint of one degree of freedom."""

    name: str  # of the joint
    slides: bool  # whether it slides
    kind: str | None  # of its drive, None without one
    numbers: Mapping[str, float]  # SI units, by the names of `drive_kinds.DRIVE_NUMBERS`
    left_out: Mapping[str, str]  # reasons by the names of numbers that are not known


@dataclass(frozen=True, eq=False)
class Configured:
    """A robot and what is known of its joints. source: file or folder that it is from; notes: on the numbers."""

    robot: Robot
    joints: tuple[JointNumbers, ...]
    source: str
    notes: tuple[str, ...] = ()


def configured(robot: Robot, source: str | Path) -> Configured:
    """What a model states, or, of a result's folder or a model file in one, what was identified or stated there; what
    the logs do not determine is left out. Raises OptionError: no joint of one degree of freedom, and another robot's
    result."""
    told, notes = _Told(), ()
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    summary = read(folder).summary if (folder / SUMMARY).is_file() else None
    if summary is not None and (folder == Path(source) or Path(source).name in summary["files"]):
        kinds = {"drives": _by_motion, "identification": _by_torques}
        if summary["kind"] not in kinds:
            raise OptionError(f"{folder} holds no identified robot; give a model, or a folder of steelyard identify.")
        told, notes = kinds[summary["kind"]](usable(folder).summary)
    joints = tuple(_joints(robot, told))
    if not joints:
        raise OptionError(f"Robot '{robot.name}' has no joint of one degree of freedom to configure.")
    return Configured(robot, joints, Path(source).name, notes)


@dataclass(frozen=True)
class _Told:
    """What a summary says: numbers by joint, which count over those of the model file (that may have no place for
    them), and reasons by joint and number why it is left out."""

    numbers: dict[str, dict[str, float]] = field(default_factory=dict)
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)


def _by_motion(summary: dict) -> tuple[_Told, tuple[str, ...]]:
    numbers, left_out = {}, {}
    for joint, own in summary["drives"].items():
        known = {key: number for key, number in own.items() if key in (*OF_JOINTS, *OF_DRIVES)}
        left_out[joint] = {key: UNDETERMINED for key, each in known.items() if each["state"] == "undetermined"}
        numbers[joint] = {
            key: each["value"]
            for key, each in known.items()
            if key not in left_out[joint] and each["value"] is not None
        }
        left_out[joint].pop("slope_limit", None)  # no destination takes it, so that none lacks it
    notes = ["kd shares its column with damping: what is not stated as kd is in the damping of the joint."]
    if summary["scale"]["open"]:
        where = ", ".join(map(harmless, summary["scale"]["open"]))
        notes.append(f"Numbers count in masses of the given model at {where}.")
    loaded = [joint for joint, own in summary["drives"].items() if "load_friction_motor" in own]
    if loaded:
        notes.append(f"Friction of {', '.join(map(harmless, loaded))} grows with load; this is its mean.")
    return _Told(numbers, left_out), tuple(notes)


def _by_torques(summary: dict) -> tuple[_Told, tuple[str, ...]]:
    stated = {each.stated: name for name, each in TERMS.items() if each.stated}
    numbers, left_out = {}, {}
    for own in summary["joints"]:
        found = {key: own[term] for key, term in stated.items() if term in own}
        left_out[own["name"]] = {
            key: BY_PRIOR if key in found else NOT_FITTED
            for key in stated
            if key not in found or found[key]["label"] not in DETERMINED
        }
        numbers[own["name"]] = {key: each["identified"] for key, each in found.items()}
    return _Told(numbers, left_out), ()


def _joints(robot: Robot, told: _Told) -> Iterator[JointNumbers]:
    units, dof = dof_units(robot), 0
    lacks = BY_NAME[robot.source.format].lacks if robot.source else ()
    for joint in robot.free_joints:
        if joint.nv == 1:
            drive = robot.drives.get(joint.name, Drive())
            numbers = {key: float(getattr(robot, key)[dof]) for key in OF_JOINTS}
            numbers |= {key: value for key in OF_DRIVES if (value := getattr(drive, key)) is not None}
            out = {key: NO_PLACE for key in OF_JOINTS if key in lacks and numbers[key] == 0}
            own = told.numbers.get(joint.name, {})
            out = {key: reason for key, reason in out.items() if key not in own} | told.left_out.get(joint.name, {})
            kept = {key: float(value) for key, value in (numbers | own).items() if key not in out}
            yield JointNumbers(joint.name, units[dof]["q"] == "m", drive.kind, kept, out)
        dof += joint.nv
