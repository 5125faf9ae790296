"""SY5xx, second part: angles in degrees where the format wants radians."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.rule import Hit, reported, rule
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model import Sketch

RANGED = ("revolute", "hinge")
ANGLES = (
    (("lower", "upper"), THRESHOLDS.turned, "position", "rad"),
    (("velocity",), THRESHOLDS.fast, "velocity", "rad/s"),
)
"""Limits of one unit, what is far beyond it, and its name."""
REMEDY = "Multiply by pi/180."


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


RULES = (degrees,)
