"""Numbers of joints and drives that configurations of simulators and controllers take, as far as they are known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.codegen.languages import harmless
from steelyard.errors import OptionError
from steelyard.model import Robot
from steelyard.model.drive import Drive
from steelyard.report.labels import dof_units
from steelyard.report.record import SUMMARY, read
from steelyard.terms import TERMS

UNDETERMINED = "the motion does not show it"
NOT_FITTED = "it was not fitted"
BY_PRIOR = "the logs do not determine it"
OF_JOINTS = ("damping", "frictionloss", "armature")
OF_DRIVES = ("kp", "kd", "gain", "limit", "delay", "slope_limit")


@dataclass(frozen=True, eq=False)
class JointNumbers:
    """A joint of one degree of freedom.

    name: of the joint. slides: whether it slides. kind: of its drive, None without one. numbers: SI units, by the names
    of `drive_kinds.DRIVE_NUMBERS`. left_out: reasons by the names of numbers that are not known.
    """

    name: str
    slides: bool
    kind: str | None
    numbers: Mapping[str, float]
    left_out: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Configured:
    """A robot and what is known of its joints. source: file or folder that it is from; notes: on the numbers."""

    robot: Robot
    joints: tuple[JointNumbers, ...]
    source: str
    notes: tuple[str, ...] = ()


def configured(robot: Robot, source: str | Path) -> Configured:
    """What a model states, or, of a result or a model file in one, what was identified or stated there.

    Args:
        robot: with drives.
        source: its model file, or the folder of a result.

    Returns:
        The Configured. Numbers of a result that the logs do not determine are left out, with the reason.

    Raises:
        OptionError: a robot without a joint of one degree of freedom, and a result of another robot.
    """
    found, notes = {}, ()
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    summary = read(folder).summary if (folder / SUMMARY).is_file() else None
    if summary is not None and (folder == Path(source) or Path(source).name in summary["files"]):
        kinds = {"drives": _by_motion, "identification": _by_torques}
        if summary["kind"] not in kinds:
            raise OptionError(f"{folder} holds no identified robot; give a model, or a folder of steelyard identify.")
        found, notes = kinds[summary["kind"]](summary)
    joints = tuple(_joints(robot, found))
    if not joints:
        raise OptionError(f"Robot '{robot.name}' has no joint of one degree of freedom to configure.")
    return Configured(robot, joints, Path(source).name, notes)


def _by_motion(summary: dict) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Reasons by joint and number that are left out, of a fit to motion; notes."""
    found = {
        joint: {
            key: UNDETERMINED
            for key, number in own.items()
            if isinstance(number, dict) and number["state"] == "undetermined"
        }
        for joint, own in summary["drives"].items()
    }
    notes = ["kd shares its column with damping: what is not stated as kd is in the damping of the joint."]
    if summary["scale"]["open"]:
        notes.append(
            f"Numbers count in masses of the given model at {', '.join(map(harmless, summary['scale']['open']))}."
        )
    loaded = [joint for joint, own in summary["drives"].items() if "load_friction_motor" in own]
    if loaded:
        notes.append(f"Friction of {', '.join(map(harmless, loaded))} grows with load; this is its mean.")
    return found, tuple(notes)


def _by_torques(summary: dict) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """The same of a fit to torques."""
    stated = {each.stated: name for name, each in TERMS.items() if each.stated}
    known = ("data-determined", "model-dependent", "given")
    found = {}
    for own in summary["joints"]:
        reasons = {key: NOT_FITTED for key, term in stated.items() if term not in own}
        reasons |= {key: BY_PRIOR for key, term in stated.items() if term in own and own[term]["label"] not in known}
        found[own["name"]] = reasons
    return found, ()


def _joints(robot: Robot, left_out: Mapping[str, Mapping[str, str]]) -> Iterator[JointNumbers]:
    units, dof = dof_units(robot), 0
    for joint in robot.free_joints:
        if joint.nv == 1:
            drive = robot.drives.get(joint.name, Drive())
            numbers = {key: float(getattr(robot, key)[dof]) for key in OF_JOINTS}
            numbers |= {key: value for key in OF_DRIVES if (value := getattr(drive, key)) is not None}
            out = dict(left_out.get(joint.name, {}))
            kept = {key: value for key, value in numbers.items() if key not in out}
            yield JointNumbers(joint.name, units[dof]["q"] == "m", drive.kind, kept, out)
        dof += joint.nv
