"""SY5xx: joints, limits, the tree, and angles in degrees where the format wants radians."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.rule import Hit, reported, rule
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import Sketch

DRIVEN = ("revolute", "prismatic")
SINGLE = ("hinge", "slide", *DRIVEN)
RANGED = ("revolute", "hinge")
ANGLES = (
    (("lower", "upper"), THRESHOLDS.turned, "position", "rad"),
    (("velocity",), THRESHOLDS.fast, "velocity", "rad/s"),
)
"""Limits of one unit, what is far beyond it, and its name."""
REMEDY = "Multiply by pi/180."


@rule("SY501", "mass-ratio", "warning")
def mass_ratio(sketch: Sketch) -> Iterator[Hit]:
    """A light body carries one that is a thousand times heavier.

    Why: Iterative solvers converge with the ratio of the masses they couple; beyond a thousand, joints stretch,
    contacts sink in, and double precision is soon used up. The carried mass is that of everything beyond the joint.
    Example:
        A 1 g adapter that carries a 5 kg arm
    Remedy: Fix the light part to its neighbour, or give it its real mass.
    """
    for carrier, mass in sketch.cluster_mass.items():
        part = sketch.parts[carrier]
        if not part.moves or not mass > 0:
            continue
        carried = sketch.subtree_mass[carrier] - mass
        if carried > THRESHOLDS.ratio * mass:
            message = f"{sketch.word} '{part.name}' of {mass:.3g} kg carries {carried:.3g} kg."
            place = part.inertial.place if part.inertial else part.place
            yield Hit(place, message, "Fix it to its neighbour, or give it its real mass.")


@rule("SY502", "no-armature", "info")
def no_armature(sketch: Sketch) -> Iterator[Hit]:
    """A driven joint has no armature (MJCF).

    Why: The rotor behind a gear of ratio n adds n^2 times its inertia to the joint, on small arms more than the links
    have. Without it the simulated robot is faster than the real one and stiff gains oscillate. Directly driven joints
    are the exception.
    Example:
        <joint name="elbow"/> ... <position joint="elbow" kp="2000"/>
    Remedy: Set armature on the joint (rotor inertia times gear ratio squared).
    """
    for joint in sketch.joints:
        if joint.gear is not None and joint.armature == 0 and joint.kind in SINGLE:
            message = f"joint '{joint.name}' is driven and has no armature."
            yield Hit(joint.place, message, "Set armature: rotor inertia times gear ratio squared.")


@rule("SY503", "no-limits", "info")
def no_limits(sketch: Sketch) -> Iterator[Hit]:
    """A driven joint has no effort or velocity limit.

    Why: Excitation design, controllers and simulators need them; URDF requires both on revolute and prismatic joints,
    and some parsers refuse the file without. In MJCF a force or control range of the actuator counts.
    Example:
        <joint type="revolute"><limit lower="-1" upper="1"/></joint>
    Remedy: State effort (N m, N) and velocity (rad/s, m/s) from the data sheet.
    """
    for joint in sketch.joints:
        missing = [key for key in joint.required_limits if key not in joint.limits]
        if missing:
            message = f"joint '{joint.name}' has no {' and no '.join(missing)} limit."
            yield Hit(joint.limit_place or joint.place, message, "State the limits from the data sheet.")


@rule("SY504", "void-limits", "warning")
def void_limits(sketch: Sketch) -> Iterator[Hit]:
    """A limit leaves the joint nothing to do.

    Why: The lower position limit is not below the upper one, or effort or velocity may not exceed zero (a generator's
    default): planners find no path, controllers command nothing, and some simulators lock the joint. A zero effort or
    velocity limit is reported as a note; where all joints of a model have it, they mean "unknown".
    Example:
        <limit lower="1.5" upper="-1.5" effort="0" velocity="0"/>
    Remedy: State the true limits.
    """
    for joint in sketch.joints:
        lower, upper = joint.limits.get("lower", -np.inf), joint.limits.get("upper", np.inf)
        place = joint.limit_place or joint.place
        if lower > upper:
            yield Hit(
                place, f"joint '{joint.name}' has lower limit {lower:g} above upper limit {upper:g}.", "Swap them."
            )
        elif joint.kind in DRIVEN and lower == upper and not joint.mimics:
            message = f"joint '{joint.name}' may move from {lower:g} to {upper:g} only: it is locked."
            yield Hit(place, message, "State the range, or make the joint fixed.", "info")
        for key in ("effort", "velocity"):
            value = joint.limits.get(key, np.nan)
            if value <= 0 and joint.kind in (*SINGLE, "continuous"):
                message = f"joint '{joint.name}' has {key} limit {value:g}."
                yield Hit(place, message, f"State the true {key} limit.", None if value < 0 else "info")


@rule("SY511", "degrees", "warning")
def degrees(sketch: Sketch) -> Iterator[Hit]:
    """Angles or joint speeds are in degrees.

    Why: URDF wants rad and rad/s. A limit of 170 rad is 27 turns: planners and motion design leave the true range,
    and 180 rad/s is reached by no arm. Limits are reported where most revolute joints have whole numbers far beyond
    a turn, or beyond such a speed; powers of ten stand for "no limit" and do not count. Each orientation (rpy)
    beyond a turn is reported.
    Example:
        <limit lower="-170" upper="170" effort="80" velocity="180"/>
    Remedy: Multiply by pi/180.
    """
    joints = [joint for joint in sketch.joints if joint.kind in RANGED and not joint.mimics]
    places, said = [], []
    for keys, least, name, unit in ANGLES:
        stated = [joint for joint in joints if any(joint.limits.get(key) for key in keys)]
        found = {joint: value for joint in stated if (value := _in_degrees(joint.limits, keys, least))}
        if 2 * len(found) > len(stated):
            places += [joint.limit_place or joint.place for joint in found]
            values = ", ".join(f"{value:g}" for value in sorted(set(found.values()))[:6])
            said.append(f"{name} limits of {values} {unit} on {len(found)} of {len(stated)} joints")
    if said:
        yield Hit(places[0], f"the model has {' and '.join(said)}; degrees?", REMEDY)
    yield from reported(sketch, "SY511", REMEDY)


def _in_degrees(limits: dict[str, float], keys, least: float) -> float:
    """Largest of the stated limits if all are whole and it is a likely number of degrees, else 0."""
    values = np.abs([limits[key] for key in keys if key in limits])
    largest = values.max()
    if not least <= largest <= THRESHOLDS.degrees or (values != np.round(values)).any():
        return 0.0
    return 0.0 if np.log10(largest).is_integer() else float(largest)
