"""What is known of drives before a fit to motion, where it begins, and what it says of each, in words of drives."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.drives.arrays import LOAD_FRICTION, DriveArrays, arrays_of
from steelyard.drives.drive import drives_of
from steelyard.drives.motion_fit import FREE, MotionFit
from steelyard.fit import Estimate
from steelyard.identifiable.scale_words import ALL
from steelyard.job import AS_MODELLED, Job
from steelyard.model import Robot
from steelyard.model.drive import Drive
from steelyard.pipeline.job_run import load_with_side, model_in

LEAST = {"damping": 1e-3, "frictionloss": 1e-3, "armature": 1e-4}  # times the gain: steps are of logarithms
STILL = Drive("torque", limit=1.0, delay=0.0, slope_limit=1.0)  # of a free base, nothing of whose drive is open


def starts_of(robot: Robot, drives: Mapping[str, Drive], gains: np.ndarray, estimate: Estimate) -> list[DriveArrays]:
    """Drives with the friction of a fit to torques, with the bodies of the given model and with those of the fit.
    drives: by joint; gains: (nv,) where none is stated."""
    told = {name: with_gain(drives[name], gain) for name, gain in zip(robot.dof_names, gains, strict=True)}
    arrays = arrays_of(robot, told)
    friction = estimate.friction
    found = {
        "damping": np.maximum(friction.get("viscous", robot.damping) - arrays.kd, 0.0),
        "frictionloss": friction.get("coulomb", robot.frictionloss),
        "armature": friction.get("armature", robot.armature),
    }
    plain = with_friction(arrays.changed(**found))
    return [plain, plain.changed(inertias=estimate.theta)]


def from_earlier(robot: Robot, given: DriveArrays, known: Mapping[str, np.ndarray], job: Job) -> DriveArrays:
    """Drives with what an earlier result says of the same joints and bodies, where the job names one. known: as of
    `known_of`; what is stated counts more. Raises OptionError for a result without a model."""
    if job.start is None:
        return given
    before = load_with_side(replace(job, model=str(model_in(job.start)), side=None, floating=None, lock=()))
    found = arrays_of(before, drives_of(before, (AS_MODELLED,)))
    own = [(j, before.dof_names.index(name)) for j, name in enumerate(robot.dof_names) if name in before.dof_names]
    values = {}
    for name in FREE:
        values[name], stays = np.array(getattr(given, name)), np.broadcast_to(known.get(name, False), robot.nv)
        for j, k in own:
            values[name][j] = values[name][j] if stays[j] else getattr(found, name)[k]
    inertias = given.inertias.copy()
    for body, name in enumerate(robot.body_names):
        if name in before.body_names:
            inertias[body] = before.inertias[before.body_names.index(name)]
    return given.changed(**values, inertias=inertias)


def with_friction(arrays: DriveArrays) -> DriveArrays:
    """Drives with some friction and armature at least."""
    least = {key: share * arrays.gain for key, share in LEAST.items()}
    return arrays.changed(**{key: np.maximum(getattr(arrays, key), own) for key, own in least.items()})


def with_gain(drive: Drive, gain: float) -> Drive:
    """A drive with a gain, N m per unit of what it takes, where it states none."""
    return drive if drive.torque_per_unit is not None else replace(drive, **{drive.features.gain: float(gain)})


def known_of(robot: Robot, drives: Mapping[str, Drive], job: Job) -> dict[str, np.ndarray]:
    """By name of `FREE`, (nv,) the joints of which it is stated. drives: by joint."""
    own = [drives.get(name, STILL) for name in robot.dof_names]
    stated = {
        "gain": [each.torque_per_unit is not None or bool(job.loads) for each in own],
        "delay": [each.delay is not None or not each.features.late for each in own],
        "slope_limit": [each.slope_limit is not None or "slope_limit" not in each.features.numbers for each in own],
        "limit": [each.limit is not None for each in own],
    }
    return {name: np.array(each) for name, each in stated.items()}


def with_masses(robot: Robot, arrays: DriveArrays, masses: Mapping) -> DriveArrays:
    """Drives that move bodies of known mass, their shape unchanged. masses: kg, by body, or of "all"."""
    inertias = arrays.inertias.copy()
    for body, name in enumerate(robot.body_names):
        if name in masses and inertias[body, 0] > 0:
            inertias[body] *= masses[name] / inertias[body, 0]
    if ALL in masses:
        inertias *= masses[ALL] / inertias[:, 0].sum()
    return arrays.changed(inertias=inertias)


LARGEST = 50.0  # logarithm of a factor


@dataclass(frozen=True)
class DriveEstimate(Drive):
    """A drive and the friction of its joint, with 95 % intervals by name of what was found; what has none is given."""

    damping: float = 0.0
    frictionloss: float = 0.0
    armature: float = 0.0
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    undetermined: tuple[str, ...] = ()  # names of what the motion does not show


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
            unlimited = array == "limit" and not np.isfinite(value)
            if unlimited or (array in fit.undetermined and fit.undetermined[array][j]):
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
