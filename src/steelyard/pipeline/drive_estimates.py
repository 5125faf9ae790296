"""What a fit to motion says of each drive, in words of drives: values, intervals, and what the motion does not show."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from steelyard.drives.arrays import LOAD_FRICTION
from steelyard.drives.motion_fit import FREE, MotionFit
from steelyard.model import Robot
from steelyard.model.drive import Drive

LARGEST = 50.0  # logarithm of a factor


@dataclass(frozen=True)
class DriveEstimate(Drive):
    """A drive and the friction of its joint, with 95 % intervals by name of what was found; what has none is given.

    undetermined: names of what the motion does not show.
    """

    damping: float = 0.0
    frictionloss: float = 0.0
    armature: float = 0.0
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    undetermined: tuple[str, ...] = ()


def named_drives(robot: Robot, drives: Mapping[str, Drive], fit: MotionFit) -> dict[str, DriveEstimate]:
    """The drive of each joint as a fit to motion has it. drives: by joint, as the model and the job say."""
    found, means = {}, fit.friction
    for j in robot.driven_dofs:
        name = robot.dof_names[j]
        drive = drives[name]
        values, intervals, open_ends, loaded = {}, {}, [], bool(fit.drives.loaded[j])
        for array in FREE:
            if array in LOAD_FRICTION and not loaded:
                continue
            other = {"gain": drive.features.gain} | ({"frictionloss": "friction_base"} if loaded else {})
            key = other.get(array, array)
            value = float(getattr(fit.drives, array)[j])
            if array == "delay" and value < 0:  # commands do not act before they are given
                values["early"], value = -value, 0.0
            if array in fit.undetermined and fit.undetermined[array][j]:
                open_ends.append(key)
                continue
            half = float(fit.half_width[array][j]) if array in fit.half_width else 0.0
            if not np.isfinite(value) or (array == "slope_limit" and array not in drive.features.numbers):
                continue
            values[key] = value
            if array == "delay" and "early" in values:
                intervals["early"] = (max(values["early"] - half, 0.0), values["early"] + half)
            elif half > 1e-4 * abs(value):
                intervals[key] = _interval(value, half, positive=array != "delay")
        if drive.kind == "position":
            values["kd"] = drive.kd
        if loaded:
            values["frictionloss"] = float(means[j])
        found[name] = DriveEstimate(
            **{key: value for key, value in vars(drive).items() if key not in values}, **values,
            intervals=intervals, undetermined=tuple(open_ends),
        )  # fmt: skip
    return found


def _interval(value: float, half: float, *, positive: bool) -> tuple[float, float]:
    """Bounds about a value: of its logarithm where it is positive; what could as well be none begins at zero."""
    if not positive:
        return max(value - half, 0.0), value + half
    factor = float(np.exp(min(half / value, LARGEST)))
    return (value / factor if half < value else 0.0), value * factor
