"""SY73x: what PyBullet reads otherwise than it is written."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.destinations import Misread
from steelyard.check.misreadings import (
    EXPLICIT,
    apart,
    impossible,
    label,
    massless,
    misread_sums,
    percent,
    total,
    usable,
    weighs,
)
from steelyard.check.rule import Hit, rule
from steelyard.check.thresholds import THRESHOLDS
from steelyard.inertia import from_com_inertia
from steelyard.model.sketch import Inertial, Part, Sketch

URDF = ("urdf",)
MARGIN = 1e-3  # m that Bullet adds around collision shapes


@rule(
    "SY731",
    "inertia-recomputed",
    "warning",
    misread=(Misread(("pybullet",), "pybullet", URDF, "measured in 3.2.7"),),
)
def inertia_recomputed(sketch: Sketch) -> Iterator[Hit]:
    """The stated inertia is ignored, and that of a box around the collision geometry is taken.

    Why: PyBullet reads <inertia> only when it is told to. The box is aligned with the axes of the inertial; a link
    without collision geometry becomes a point.
    Example:
        pybullet.loadURDF("robot.urdf")
    Remedy: Load it with flags=pybullet.URDF_USE_INERTIA_FROM_FILE.
    """
    for _, part, inertial in usable(sketch):
        moments = np.diag(_box(part, inertial))
        error = apart(moments, inertial.tensor)
        if error > THRESHOLDS.misread:
            message = f"{label(sketch, part)}: its inertia becomes that of a box, {percent(error)} off"
            yield Hit(inertial.place, message, "Load it with URDF_USE_INERTIA_FROM_FILE.")


def _box(part: Part, inertial: Inertial) -> np.ndarray:
    """(3,) moments of the box around what can be touched, in the axes of the inertial."""
    solids = [(shape.vertices - inertial.com) @ inertial.rotation for shape in part.shapes if shape.role == "collision"]
    sides = np.ptp(np.concatenate(solids), axis=0) if solids else np.zeros(3)
    squares = (sides + 2 * MARGIN) ** 2
    return inertial.mass / 12 * (squares.sum() - squares)


@rule(
    "SY732",
    "merged-without-centres",
    "warning",
    misread=(Misread(("pybullet",), "pybullet", URDF, "measured in 3.2.7"),),
)
def merged_without_centres(sketch: Sketch) -> Iterator[Hit]:
    """Links that are fixed to each other are merged as if each had its centre of mass at its origin.

    Why: With URDF_MERGE_FIXED_LINKS positions and rotations of the inertials are lost; tensors are summed component by
    component.
    Example:
        pybullet.loadURDF("robot.urdf", flags=pybullet.URDF_MERGE_FIXED_LINKS)
    Remedy: Leave the flag out.
    """

    def by_origins(_, members):
        inertials = [(sketch.parts[k].inertial, sketch.placed[k][1]) for k in members]
        stated = [(each, p) for each, p in inertials if each is not None]
        mass = sum(each.mass for each, _ in stated)
        com = sum((each.mass * p for each, p in stated), np.zeros(3)) / mass
        tensor = np.zeros((3, 3))
        for each, p in stated:
            d = p - com
            tensor = tensor + each.tensor + each.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return from_com_inertia(mass, com, tensor)

    yield from misread_sums(sketch, by_origins, "merged", "Leave out the flag.")


@rule(
    "SY733",
    "inertia-zeroed",
    "warning",
    misread=(Misread(("pybullet",), "pybullet", URDF, "measured in 3.2.7"),),
)
def inertia_zeroed(sketch: Sketch) -> Iterator[Hit]:
    """An impossible inertia becomes zero.

    Why: PyBullet prints "Bad inertia tensor properties, setting inertia to zero" and goes on with a point mass.
    Example:
        ixx="0.01" iyy="0.01" izz="0.05"
    Remedy: Repair the inertia: --fix=SY203.
    """
    for part, inertial in impossible(sketch):
        message = f"{label(sketch, part)}: its inertia is impossible and becomes zero, 100 % off"
        yield Hit(inertial.place, message, "Repair the inertia: --fix=SY203.")


@rule(
    "SY734",
    "assumed-unit-inertial",
    "warning",
    repairs=EXPLICIT,
    mend=massless,
    misread=(
        Misread(("pybullet",), "pybullet", URDF, "measured in 3.2.7"),
        Misread(("dart",), "dartpy", URDF, "measured in 6.20"),
    ),
)
def unit_inertial(sketch: Sketch) -> Iterator[Hit]:
    """A link without inertial weighs 1 kg, and its moments of inertia are 1 kg m^2.

    Why: Frames of tools and sensors, which have neither mass nor geometry, get this default as well. At the end of an
    arm it changes every torque.
    Example:
        <link name="tool0"/>
    Remedy: State the inertial; on a fixed link that has no mass, zero.
    """
    whole = total(sketch)
    for index, part in enumerate(sketch.parts):
        if part.inertial is None and weighs(sketch, index):
            message = f"{label(sketch, part)} gets 1 kg and 1 kg m^2, in a robot of {whole:.3g} kg"
            yield Hit(part.place, message, "State its inertial: --fix.")
