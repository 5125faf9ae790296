"""Joints that have the same motor: those of the left and the right, of the front and the rear, of equal limits."""

import re
from collections.abc import Mapping

import numpy as np

from steelyard.model import Drive, Robot

SIDES = {"left", "right", "front", "rear", "hind", "back", "l", "r", "f", "h", "b"}
SIDES |= {a + b for a in "frhbl" for b in "lrfhb"}  # FL, RR, HL, lf, ...
SAME = 1e-6  # relative difference of limits that are one


def twins(robot: Robot, drives: Mapping[str, Drive]) -> tuple[np.ndarray, ...]:
    """Groups of joints with the same motor.

    Args:
        robot: the model.
        drives: by joint. Those of one `group` belong together; those that state none where names are equal but for
            sides, and limits, friction, armature and what is stated of drives are equal, too.

    Returns:
        For each group of two joints or more, their degrees of freedom.
    """
    ranges = robot.upper - robot.lower
    found: list[tuple[object, np.ndarray, list[int]]] = []
    for dof, name in enumerate(robot.dof_names):
        drive = drives[name]
        told = [getattr(drive, key) or np.inf for key in ("kp", "kd", "limit", "gain", "volts")]
        own = [robot.effort_limits[dof], robot.velocity_limits[dof], ranges[dof], robot.armature[dof]]
        numbers = np.array([*own, robot.damping[dof], robot.frictionloss[dof], *told])
        key = (drive.kind, "group", drive.group) if drive.group else (drive.kind, *_stem(name))
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
