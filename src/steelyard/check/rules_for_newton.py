"""SY71x and SY72x: what Newton, Isaac and the converter of URDF to USD read otherwise than it is written."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.destinations import Misread
from steelyard.check.misreadings import (
    AXES,
    MERGED,
    apart,
    axes_of_link,
    impossible,
    label,
    merged,
    misread_sums,
    misread_tensors,
    percent,
    summed,
    weighed_by_density,
)
from steelyard.check.rule import Hit, rule
from steelyard.check.thresholds import THRESHOLDS
from steelyard.inertia import from_com_inertia, to_com_inertia
from steelyard.model.sketch import Inertial, Sketch

URDF, ALL = ("urdf",), ("urdf", "mjcf", "usd")
SAME_MOMENT = 1e-9  # kg m^2, absolute: moments that the converter takes for equal
PAD = 1e-6  # kg m^2 that Newton adds beyond the triangle inequality


@rule(
    "SY711",
    "collapsed-off-centre",
    "warning",
    repairs=MERGED,
    mend=merged,
    misread=(Misread(("newton",), "newton", ALL, "measured in 1.8.0"),),
)
def collapsed_off_centre(sketch: Sketch) -> Iterator[Hit]:
    """Links that are fixed to each other are merged about the wrong point.

    Why: With `collapse_fixed_joints` Newton moves the tensor of a merged link by the offset of its frame, not of its
    centre of mass, and leaves that of the other where it was. The sum is then taken about the common centre.
    Example:
        <joint name="flange" type="fixed"><origin xyz="0 0 0.4"/>...</joint>
    Remedy: Merge the inertials in the file, or load it without collapse_fixed_joints.
    """

    def off_centre(carrier, members):
        mass, com, _ = to_com_inertia(summed(sketch, members))
        tensor = np.zeros((3, 3))
        for k in members:
            inertial, (R, p) = sketch.parts[k].inertial, sketch.placed[k]
            if inertial is not None:
                shift = inertial.mass * (p @ p * np.eye(3) - np.outer(p, p)) if k != carrier else 0.0
                tensor = tensor + R @ inertial.tensor_in_part @ R.T + shift
        return from_com_inertia(mass, com, tensor)

    yield from misread_sums(sketch, off_centre, "collapsed", "Merge the inertials: --fix.")


@rule(
    "SY712",
    "half-rotated",
    "warning",
    repairs=AXES,
    mend=axes_of_link,
    misread=(Misread(("newton",), "newton", URDF, "newton#2245", mended="1.1.0"),),
)
def half_rotated(sketch: Sketch) -> Iterator[Hit]:
    """The tensor of a rotated inertial is multiplied by its rotation on one side only.

    Why: R I in the place of R I R^T is not symmetric, and no inertia.
    Example:
        <inertial><origin rpy="0 0.5 0"/>...</inertial>
    Remedy: Turn the tensor into the axes of the link and write rpy="0 0 0".
    """
    how = "with half of the rotation of its inertial"
    remedy = "Turn the tensor into the axes of the link: --fix."
    yield from misread_tensors(sketch, lambda inertial: inertial.rotation @ inertial.tensor, how, remedy)


@rule(
    "SY713",
    "unset-mass-as-value",
    "warning",
    misread=(Misread(("newton",), "newton", ("usd",), "newton#3418, newton#3594", mended="1.5.0"),),
)
def unset_mass_as_value(sketch: Sketch) -> Iterator[Hit]:
    """Mass properties that a USD file leaves to geometry are taken for values.

    Why: USD writes "no opinion" as mass 0, inertia 0 and a centre of mass at minus infinity. These were taken as
    numbers, and colliders that are disabled were weighed.
    Example:
        def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {}
    Remedy: State mass, centre of mass, moments and principal axes of each body.
    """
    for part in sketch.parts:
        if part.inferred > 0:
            message = f"{label(sketch, part)} has its {part.inferred:.3g} kg from geometry, which may not be found"
            yield Hit(part.place, message, "State mass, centre of mass, moments and principal axes.")


@rule(
    "SY714",
    "mimic-in-radians",
    "warning",
    misread=(Misread(("newton",), "newton", ("usd",), "newton#3596", mended="1.5.0"),),
)
def mimic_in_radians(sketch: Sketch) -> Iterator[Hit]:
    """The offset of a joint that follows another is taken in radians.

    Why: USD states it in degrees; the joint stands 57 times as far from its place.
    Example:
        float newton:mimicCoef0 = 30
    Remedy: Choose zero positions of the joints at which the offset is zero.
    """
    for joint in sketch.joints:
        offset = 0.0 if joint.placed is None else float(np.max(np.abs(joint.placed.offset), initial=0.0))
        if joint.mimics and offset > 0 and joint.kind not in ("prismatic", "slide"):
            message = f"joint '{joint.name}' stands {np.degrees(offset) - offset:.3g} rad from its place"
            yield Hit(joint.place, message, "Choose zero positions at which the offset is zero.")


@rule(
    "SY715",
    "inertia-padded",
    "warning",
    misread=(Misread(("newton",), "newton", ALL, "measured in 1.8.0"),),
)
def inertia_padded(sketch: Sketch) -> Iterator[Hit]:
    """An impossible inertia is made possible by adding to all of its moments.

    Why: Newton adds the same amount to the three principal moments until they meet the triangle inequality, which
    changes the small ones most: they can be many times too large.
    Example:
        ixx="0.01" iyy="0.01" izz="0.05"
    Remedy: Repair the inertia: --fix=SY203.
    """
    for part, inertial in impossible(sketch):
        a, b, c = inertial.moments
        padded = inertial.moments + max(c - a - b, -a) + PAD
        message = (
            f"{label(sketch, part)}: {padded[0] - a:.3g} kg m^2 are added, {percent(apart(padded, inertial.moments))}"
        )
        yield Hit(inertial.place, f"{message} of its inertia", "Repair the inertia: --fix=SY203.")


@rule(
    "SY716",
    "principal-axes-conjugated",
    "warning",
    misread=(Misread(("newton", "isaac"), "urdf-usd-converter", URDF, "urdf-usd-converter#118", mended="0.3.0"),),
)
def principal_axes_conjugated(sketch: Sketch) -> Iterator[Hit]:
    """Principal axes are written as their inverse rotation.

    Why: The eigenvectors are columns, and the matrices of OpenUSD act on rows. A tensor that is diagonal with ascending
    moments is right, all others are not. The importer of Isaac Sim is pinned to version 0.1.3.
    Example:
        <inertia ixx="0.03" ixy="0.01" ixz="0" iyy="0.03" iyz="0" izz="0.01"/>
    Remedy: Convert with version 0.3.3 or later.
    """
    how = "with its principal axes inverted"
    yield from misread_tensors(sketch, _conjugated, how, "Convert with urdf-usd-converter 0.3.3 or later.")


def _conjugated(inertial: Inertial) -> np.ndarray:
    """(3, 3) in the link's axes. Which of the many matrices of eigenvectors is inverted matters."""
    moments, V = np.linalg.eigh(inertial.tensor)
    low, high = (abs(moments[k] - moments[k + 1]) < SAME_MOMENT for k in (0, 1))
    if low and high:
        V = np.eye(3)
    elif low or high:
        alone = 2 if low else 0
        axis = V[:, alone] * np.sign(V[np.argmax(np.abs(V[:, alone])), alone])
        first = np.eye(3)[0] - axis[0] * axis
        if np.linalg.norm(first) < 1e-10:
            first = np.eye(3)[1] - axis[1] * axis
        first = first / np.linalg.norm(first)
        first = first * np.sign(first[np.argmax(np.abs(first))])
        pair = [first, np.cross(axis, first)]
        V = np.column_stack([*pair, axis] if low else [axis, *pair])
    else:
        V = V * np.sign(V[np.argmax(np.abs(V), axis=0), range(3)])
        V[:, 2] *= np.sign(np.linalg.det(V))
    R = inertial.rotation
    return R @ V.T @ np.diag(moments) @ V @ R.T


@rule(
    "SY717",
    "density-in-usd",
    "warning",
    misread=(Misread(("newton", "isaac"), "urdf-usd-converter", URDF, "urdf-usd-converter#145"),),
)
def density_in_usd(sketch: Sketch) -> Iterator[Hit]:
    """A link without inertial becomes a body in USD, and weighs its collision geometry at 1000 kg/m^3.

    Why: A body of USD without a mass takes that of its colliders: ANYmal B has 67 kg for 30. A stated mass of zero
    means no opinion in USD and changes nothing.
    Example:
        <link name="cover"><collision>...</collision></link>
    Remedy: Move the collision geometry to the link that carries it, or give the link its share of the mass.
    """
    yield from weighed_by_density(sketch, "Move its geometry to the link that carries it.")


@rule(
    "SY721",
    "joint-losses-dropped",
    "warning",
    misread=(Misread(("isaac",), "isaacsim", URDF, "IsaacSim#841", first="6.1.0"),),
)
def joint_losses_dropped(sketch: Sketch) -> Iterator[Hit]:
    """Damping and friction of a joint are dropped.

    Why: The importer reads neither; policies that are trained without them move a robot that is easier to move than the
    real one.
    Example:
        <dynamics damping="0.5" friction="0.2"/>
    Remedy: State them in the configuration of the articulation: damping, friction.
    """
    for joint in sketch.joints:
        placed = joint.placed
        if placed is not None and (placed.damping or placed.frictionloss):
            told = f"damping {placed.damping:g} and friction {placed.frictionloss:g}"
            speed, effort = joint.limits.get("velocity", np.nan), joint.limits.get("effort", np.nan)
            lost = (placed.damping * speed + placed.frictionloss) / effort if effort else np.nan
            share = f", {percent(lost)} of its effort limit at full speed," if np.isfinite(lost) else ""
            message = f"joint '{joint.name}': {told}{share} are dropped"
            yield Hit(joint.place, message, "State them in the configuration of the articulation.")


@rule(
    "SY722",
    "friction-by-force",
    "warning",
    misread=(Misread(("isaac",), "isaaclab", ("urdf", "mjcf", "usd"), "IsaacLab#3410", mended="6.0.0"),),
)
def friction_by_force(sketch: Sketch) -> Iterator[Hit]:
    """Joint friction is multiplied by the force that the joint transmits.

    Why: PhysX takes the number as a coefficient, not as a torque. A friction loss in N m becomes anything.
    Example:
        <dynamics friction="0.2"/>
    Remedy: Leave the friction of the file out, and state a torque where the simulator has a place for one.
    """
    for joint in sketch.joints:
        if joint.placed is not None and joint.placed.frictionloss > THRESHOLDS.rounding:
            message = f"joint '{joint.name}': {joint.placed.frictionloss:g} N m of friction become a coefficient"
            yield Hit(joint.place, message, "Leave it out, or state it as a torque.")
