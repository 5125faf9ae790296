"""Which drive each joint has: as the words of a job say, then its side file, then the actuators of its model.

And which joints have the same motor: those of the left and the right, of the front and the rear, of equal limits.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.drive_kinds import DRIVE_KINDS
from steelyard.errors import OptionError, choices
from steelyard.job import AS_MODELLED
from steelyard.model import Robot
from steelyard.model.drive import Drive
from steelyard.numbers import SAME

SIDES = {"left", "right", "front", "rear", "hind", "back", "l", "r", "f", "h", "b"}
SIDES |= {a + b for a in "frhbl" for b in "lrfhb"}  # FL, RR, HL, lf, ...


def drives_of(robot: Robot, words: Sequence[str] = ()) -> dict[str, Drive]:
    """The drives of a robot's joints by name: those of its MJCF actuators and, over them, of its side file. words: a
    kind for all joints, "JOINT=KIND" for one, or "model"; joints that no word speaks of are not among them. Raises
    OptionError: a word that cannot be read, a kind or joint that is not there or not said."""
    names = [robot.dof_names[dof] for dof in robot.driven_dofs]
    every: str | None = None
    single: dict[str, str] = {}
    for word in words:
        joint, equals, kind = word.rpartition("=")
        if kind not in (*DRIVE_KINDS, AS_MODELLED) or (equals and kind == AS_MODELLED):
            raise OptionError(
                f"--drive {word}: {kind!r} is no kind of drive. Write one of {choices(DRIVE_KINDS)}, for all joints or "
                f"as JOINT=KIND, or {AS_MODELLED}."
            )
        if equals and joint not in names:
            raise OptionError(f"--drive {word}: there is no joint {joint!r} with a motor; joints are {choices(names)}.")
        if equals:
            single[joint] = kind
        else:
            every = kind
    kinds = ({} if every is None else dict.fromkeys(names, every)) | single
    return {name: _drive(robot, name, kinds[name]) for name in names if name in kinds}


def _drive(robot: Robot, name: str, kind: str) -> Drive:
    held = robot.drives.get(name)
    if kind != AS_MODELLED:
        return Drive(kind).over(held)
    if held is None or held.kind is None:
        raise OptionError(
            f"--drive {AS_MODELLED}: neither an actuator of the model nor the side file says what drives {name}. Add "
            f'kind = "position" to [drives.{name}] of the side file, or give --drive {name}=position.'
        )
    return held


def twins(robot: Robot, drives: Mapping[str, Drive], *, named: bool = True) -> tuple[np.ndarray, ...]:
    """Degrees of freedom of two joints or more with the same motor: of one `group`, or with names equal but for sides,
    and equal limits, friction, armature and drives. named: False for other names and ranges, too, which may be twins.
    """
    ranges = {joint.name: float(joint.upper[0] - joint.lower[0]) for joint in robot.free_joints}
    found: list[tuple[object, np.ndarray, list[int]]] = []
    for dof in robot.driven_dofs:
        name = robot.dof_names[dof]
        drive = drives[name]
        told = [getattr(drive, key) or np.inf for key in ("kp", "kd", "limit", "gain", "volts")]
        own = [robot.effort_limits[dof], robot.velocity_limits[dof], robot.armature[dof]]
        own.append(ranges.get(name, np.inf) if named else 0.0)
        numbers = np.array([*own, robot.damping[dof], robot.frictionloss[dof], *told])
        key = (drive.kind, "group", drive.group) if drive.group else (drive.kind, *(_stem(name) if named else ()))
        for other, theirs, dofs in found:
            if key == other and (drive.group or np.allclose(numbers, theirs, rtol=SAME)):
                dofs.append(dof)
                break
        else:
            found.append((key, numbers, [dof]))
    return tuple(np.array(dofs) for _, _, dofs in found if len(dofs) > 1)


def _stem(name: str) -> tuple[str, ...]:
    """Parts of a name but for those that say a side; all of them where nothing else is left."""
    parts = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    return tuple(part for part in parts if part not in SIDES) or tuple(parts)
