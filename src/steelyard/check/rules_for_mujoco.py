"""SY70x: what MuJoCo reads otherwise than it is written, and what others do likewise."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.destinations import Misread
from steelyard.check.misreadings import (
    AXES,
    EXPLICIT,
    MERGED,
    apart,
    axes_of_link,
    impossible,
    label,
    massless,
    merged,
    misread_sums,
    misread_tensors,
    percent,
    total,
    weighed_by_density,
)
from steelyard.check.rule import Hit, rule
from steelyard.check.thresholds import THRESHOLDS
from steelyard.inertia import from_com_inertia
from steelyard.model.sketch import Sketch
from steelyard.model.xml import read

URDF, MJCF = "urdf", "mjcf"
TURN = "Turn the tensor into the axes of the link: --fix."


@rule(
    "SY701",
    "inertial-axes-lost",
    "warning",
    repairs=AXES,
    mend=axes_of_link,
    misread=(
        Misread(("mujoco",), "mujoco", (URDF,), "mujoco#3559", mended="3.14.0"),
        Misread(("isaac",), "isaacsim.asset.importer.urdf", (URDF,), "its changelog", mended="2.4.14"),
        Misread(("newton",), "urdf-usd-converter", (URDF,), "urdf-usd-converter#131", first="0.2.0", mended="0.3.2"),
    ),
)
def inertial_axes_lost(sketch: Sketch) -> Iterator[Hit]:
    """The rotation of an inertial is lost.

    Why: The six numbers of the tensor are taken in the axes of the link, as if rpy were zero. The converter of URDF to
    USD does so in `newton:inertia` alone, which overrides the right principal axes beside it.
    Example:
        <inertial><origin xyz="0 0 0.2" rpy="0 0.5 0"/>...</inertial>
    Remedy: Turn the tensor into the axes of the link and write rpy="0 0 0".
    """
    how = "without the rotation of its inertial"
    yield from misread_tensors(sketch, lambda inertial: inertial.tensor, how, TURN)


@rule(
    "SY702",
    "fused-axes-lost",
    "warning",
    repairs=MERGED,
    mend=merged,
    misread=(Misread(("mujoco",), "mujoco", (URDF,), "mujoco#2982", first="3.3.3", mended="3.11.0"),),
)
def fused_axes_lost(sketch: Sketch) -> Iterator[Hit]:
    """A link that is fixed to another is merged in the wrong place and axes.

    Why: MuJoCo fuses fixed links when it reads URDF (`fusestatic`). It composed the pose of the link and that of its
    principal axes in the wrong order: the principal axes turn the offset of the link, and the rotation of the link is
    lost. Only offsets without rotation of links with moments in descending order are right. Later versions of these
    rotate the tensor, so that its error is another.
    Example:
        <joint name="flange" type="fixed"><origin xyz="0 0 0.4" rpy="1.57 0 0"/>...</joint>
    Remedy: Merge the inertials in the file, or compile with fusestatic="false".
    """

    def exchanged(carrier, members):
        thetas = []
        for k in members:
            inertial, p = sketch.parts[k].inertial, sketch.placed[k][1]
            if inertial is not None:
                moved = np.zeros(3) if k == carrier else _principal_axes(inertial.tensor) @ p
                thetas.append(from_com_inertia(inertial.mass, inertial.com + moved, inertial.tensor))
        return np.sum(thetas, axis=0)

    yield from misread_sums(sketch, exchanged, "fused", "Merge the inertials: --fix.")


def _principal_axes(tensor: np.ndarray) -> np.ndarray:
    """(3, 3) rotation to principal axes as MuJoCo chooses it among those that there are."""
    import mujoco

    moments, axes, quaternion = np.zeros(3), np.zeros(9), np.zeros(4)
    mujoco.mju_eig3(moments, axes, quaternion, np.ravel(tensor))
    return axes.reshape(3, 3)


@rule(
    "SY703",
    "mimic-lost",
    "warning",
    misread=(
        Misread(("mujoco",), "mujoco", (URDF,), "measured", mended="3.13.0"),
        Misread(("pinocchio",), "pinocchio", (URDF,), "off unless mimic=True"),
        Misread(("idyntree",), "idyntree", (URDF,), "measured"),
        Misread(("pybullet",), "pybullet", (URDF,), "measured"),
    ),
)
def mimic_lost(sketch: Sketch) -> Iterator[Hit]:
    """A joint that follows another moves on its own.

    Why: The mimic element is not read, so the robot has a degree of freedom too many, and the joint that leads carries
    neither the weight nor the friction of its follower. From 3.13.0 on MuJoCo makes it an equality constraint, which is
    soft.
    Example:
        <mimic joint="finger_left" multiplier="-1"/>
    Remedy: Couple the joints where the model is loaded: an equality in MJCF, mimic=True in Pinocchio.
    """
    for joint in sketch.joints:
        if joint.mimics:
            leader = "another" if joint.placed is None else f"'{joint.placed.mimics}'"
            message = f"joint '{joint.name}' should follow {leader} and moves on its own"
            yield Hit(joint.place, message, "Couple the joints where the model is loaded.")


@rule(
    "SY704",
    "balanced-inertia",
    "warning",
    misread=(Misread(("mujoco",), "mujoco", (URDF, MJCF), "measured in 3.3.2 to 4.0.0"),),
)
def balanced_inertia(sketch: Sketch) -> Iterator[Hit]:
    """An impossible inertia is replaced by a ball's without a word.

    Why: With `balanceinertia` MuJoCo sets all three moments of a body that violates the triangle inequality to their
    mean. The file compiles, and the body is another one.
    Example:
        <compiler balanceinertia="true"/> and diaginertia="0.01 0.01 0.05"
    Remedy: Repair the inertia: --fix=SY203. Remove the attribute, so that MuJoCo refuses such inertias.
    """
    asked = (each.attributes.get("balanceinertia") for each in read(sketch.path).root.every("compiler"))
    if "true" not in asked:
        return
    for part, inertial in impossible(sketch):
        error = apart(np.full(3, inertial.moments.mean()), inertial.moments)
        message = f"{label(sketch, part)}: its moments are set to their mean, {percent(error)} off"
        yield Hit(inertial.place, message, "Repair the inertia and remove balanceinertia.")


@rule(
    "SY705",
    "density-for-inertial",
    "warning",
    repairs=EXPLICIT,
    mend=massless,
    misread=(
        Misread(("mujoco",), "mujoco", (URDF,), "measured"),
        Misread(("newton",), "newton", (URDF,), "measured in 1.8.0"),
    ),
)
def density_for_inertial(sketch: Sketch) -> Iterator[Hit]:
    """A link without inertial weighs what its collision geometry would at 1000 kg/m^3.

    Why: URDF says that such a link has no mass. Housings, feet and adapters that are fixed to a link with a mass for
    all of them weigh a second time.
    Example:
        <link name="cover"><collision>...</collision></link>
    Remedy: State the inertial; on a fixed link that has no mass, zero.
    """
    yield from weighed_by_density(sketch, "State its inertial: --fix.")


@rule(
    "SY706",
    "base-dropped",
    "info",
    misread=(Misread(("mujoco",), "mujoco", (URDF,), "by design"),),
)
def base_dropped(sketch: Sketch) -> Iterator[Hit]:
    """The root link is fused into the world, and its mass is gone.

    Why: MuJoCo reads the root of a URDF as the world. A robot that walks or flies needs a body there; when a free joint
    is added afterwards, the mass of its trunk is missing.
    Example:
        <link name="trunk"><inertial>...</inertial></link>
    Remedy: Put a link above the root, with a floating joint between them, or convert with --floating.
    """
    whole = total(sketch)
    for carrier, mass in sketch.cluster_mass.items():
        part = sketch.parts[carrier]
        if part.parent is None and not part.moves and mass > THRESHOLDS.misread * whole:
            message = f"{label(sketch, part)} and what is fixed to it, {mass:.3g} kg of {whole:.3g}, become the world"
            yield Hit(part.place, message, "For a robot that moves about: convert it with --floating.")
