"""SY74x to SY77x: what Drake, Pinocchio, Gazebo and Genesis read otherwise than it is written."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.destinations import Misread
from steelyard.check.misreadings import apart, impossible, label, percent, total, without_mass
from steelyard.check.rule import Hit, rule
from steelyard.check.thresholds import THRESHOLDS
from steelyard.errors import ModelError
from steelyard.lazy import later
from steelyard.model.formats import opened
from steelyard.model.sketch import Place, Sketch
from steelyard.model.xml import Element, Reader, read
from steelyard.numbers import to_float

URDF, SDF, MJCF = "urdf", "sdf", "mjcf"
compile_files = later("steelyard.model", "mjcf_compile.compile_files")


@rule(
    "SY741",
    "ball-for-inertia",
    "warning",
    misread=(Misread(("drake",), "drake", (URDF,), "measured in 1.51.1"),),
)
def ball_for_inertia(sketch: Sketch) -> Iterator[Hit]:
    """An impossible inertia is replaced by that of a ball of water.

    Why: Drake warns, and takes a homogeneous ball with the stated mass and the density of water.
    Example:
        ixx="0.01" iyy="0.01" izz="0.05"
    Remedy: Repair the inertia: --fix=SY203.
    """
    for part, inertial in impossible(sketch):
        radius = (3 * inertial.mass / (4 * np.pi * THRESHOLDS.water)) ** (1 / 3)
        error = apart(np.full(3, 0.4 * inertial.mass * radius**2), inertial.moments)
        message = f"{label(sketch, part)}: its inertia becomes that of a ball of water, {percent(error)} off"
        yield Hit(inertial.place, message, "Repair the inertia: --fix=SY203.")


@rule(
    "SY742",
    "friction-ignored",
    "info",
    misread=(Misread(("drake",), "drake", (URDF, MJCF), "drake's parser"),),
)
def friction_ignored(sketch: Sketch) -> Iterator[Hit]:
    """Dry friction of a joint is not read.

    Why: Joints of Drake have viscous damping only; a friction loss is warned about and left out.
    Example:
        <dynamics friction="0.2"/>
    Remedy: Add the friction where torques are applied.
    """
    for joint in sketch.joints:
        if joint.placed is not None and joint.placed.frictionloss > 0:
            message = f"joint '{joint.name}': its friction of {joint.placed.frictionloss:g} N m is left out"
            yield Hit(joint.place, message, "Add it where torques are applied.")


@rule(
    "SY743",
    "mimic-in-discrete-plants",
    "info",
    misread=(Misread(("drake",), "drake", (URDF, SDF), "drake's parser"),),
)
def mimic_in_discrete_plants(sketch: Sketch) -> Iterator[Hit]:
    """A joint follows another in discrete simulations only.

    Why: The coupler constraint needs a MultibodyPlant with a time step and the SAP solver; inverse dynamics and
    continuous plants have the joint free.
    Example:
        <mimic joint="finger_left"/>
    Remedy: Use a discrete plant, or couple the joints yourself.
    """
    for joint in sketch.joints:
        if joint.mimics:
            message = f"joint '{joint.name}' is free outside discrete plants"
            yield Hit(joint.place, message, "Use a discrete plant, or couple the joints yourself.")


@rule(
    "SY744",
    "rotor-ignored",
    "warning",
    misread=(Misread(("drake",), "drake", (URDF,), "drake#21948"),),
)
def rotor_ignored(sketch: Sketch) -> Iterator[Hit]:
    """The rotor inertia that a transmission states is ignored.

    Why: Behind a gear it is often larger than the inertia of the arm. Drake reads rotors from elements of its own.
    Example:
        <motorInertia>1e-4</motorInertia><mechanicalReduction>100</mechanicalReduction>
    Remedy: Add drake:rotor_inertia and drake:gear_ratio to the actuator.
    """
    document = read(sketch.path)
    reader = Reader(document)
    for transmission in document.root.every("transmission"):
        for element in transmission.every("motorInertia"):
            rotor = _number(element.text, 0.0)
            ratios = [_number(each.text, 1.0) for each in transmission.every("mechanicalReduction")]
            joints = [each.attributes.get("name", "") for each in transmission.every("joint")]
            if rotor > 0:
                place = reader.place(element, f"joint '{joints[0] if joints else ''}' > motorInertia")
                lost = rotor * max(ratios, default=1.0) ** 2
                yield Hit(place, f"{lost:.3g} kg m^2 at the joint are lost", "Add drake:rotor_inertia and gear_ratio.")


def _number(text: str, other: float) -> float:
    try:
        return to_float(text.strip())
    except ValueError:
        return other


@rule(
    "SY745",
    "compound-joint-displaced",
    "warning",
    misread=(Misread(("drake",), "drake", (MJCF,), "measured in 1.51.1"),),
)
def compound_joint_displaced(sketch: Sketch) -> Iterator[Hit]:
    """Of several joints of a body all but the last are at the origin of the parent.

    Why: Drake puts bodies without mass between the joints, and the position of the body behind the last of them. Links
    swing about points that are as far away as the body is from its parent.
    Example:
        <body pos="0 0 0.3"><joint name="hip_x" .../><joint name="hip_y" .../></body>
    Remedy: Give each joint a body of its own.
    """
    for index, part in enumerate(sketch.parts):
        joints = [joint.name for joint in sketch.joints if joint.part == index]
        far = float(np.linalg.norm(part.position))
        if len(joints) > 1 and far > DISPLACED:
            names = ", ".join(f"'{name}'" for name in joints[:-1])
            message = f"{label(sketch, part)}: {names} {'are' if len(joints) > 2 else 'is'} {1000 * far:.3g} mm away"
            yield Hit(part.place, message, "Give each joint a body of its own.")


DISPLACED = 1e-6  # m


@rule(
    "SY746",
    "mass-from-nowhere",
    "warning",
    misread=(Misread(("drake",), "drake", (URDF,), "measured in 1.51.1"),),
)
def mass_from_nowhere(sketch: Sketch) -> Iterator[Hit]:
    """A link with an inertia and a mass of zero weighs 1 kg.

    Why: Drake takes the inertial for impossible and replaces it by a ball of water of 1 kg, with a warning. Feet and
    frames of sensors are often written so.
    Example:
        <mass value="0"/><inertia ixx="1e-6" .../>
    Remedy: State the mass, or an inertia of zero.
    """
    whole = total(sketch)
    for part, inertial in without_mass(sketch):
        message = f"{label(sketch, part)} gets 1 kg, in a robot of {whole:.3g} kg"
        yield Hit(inertial.place, message, "State the mass, or an inertia of zero.")


@rule(
    "SY747",
    "inertia-without-mass-dropped",
    "info",
    misread=(
        Misread(("mujoco",), "mujoco", (URDF,), "measured in 4.0.0"),
        Misread(("idyntree",), "idyntree", (URDF,), "measured in 15.1"),
    ),
)
def inertia_without_mass_dropped(sketch: Sketch) -> Iterator[Hit]:
    """The inertia of a link whose mass is zero is dropped.

    Why: A body without mass has no inertia; others add the moments to the body that the link is fixed to.
    Example:
        <mass value="0"/><inertia ixx="1e-6" .../>
    Remedy: State the mass, or an inertia of zero.
    """
    for part, inertial in without_mass(sketch):
        largest = np.abs(inertial.moments).max()
        message = f"{label(sketch, part)}: {largest:.3g} kg m^2 are dropped"
        yield Hit(inertial.place, message, "State the mass, or an inertia of zero.")


@rule(
    "SY751",
    "total-mass-ignored",
    "warning",
    misread=(
        Misread(("pinocchio",), "pinocchio", (MJCF,), "measured in 4.1"),
        Misread(("drake",), "drake", (MJCF,), "measured in 1.51.1"),
    ),
)
def total_mass_ignored(sketch: Sketch) -> Iterator[Hit]:
    """Masses are not scaled to the total that the file states.

    Why: With `settotalmass` MuJoCo scales all masses and inertias after it has read them. Other readers of MJCF take
    the unscaled ones: dm_control's cheetah weighs 21.2 kg for 14.
    Example:
        <compiler settotalmass="14"/>
    Remedy: Write the scaled inertials: load the model and save it as MJCF.
    """
    document = read(sketch.path)
    elements = [each for each in document.root.every("compiler") if "settotalmass" in each.attributes]
    stated = [value for each in elements if (value := _number(each.attributes["settotalmass"], 0.0)) > 0]
    unscaled = _unscaled(sketch) if stated else 0.0
    if unscaled > 0 and abs(unscaled / stated[0] - 1) > THRESHOLDS.misread:
        place = Reader(document).place(elements[0], "compiler")
        message = (
            f"the robot weighs {unscaled:.4g} kg for {stated[0]:.4g}, {percent(abs(unscaled / stated[0] - 1))} off"
        )
        yield Hit(place, message, "Save it with scaled inertials.")


def _unscaled(sketch: Sketch) -> float:
    """kg of an MJCF file without its total mass; 0 where it cannot be compiled."""
    from steelyard.model.mjcf import MjcfDocument  # a URDF does without

    try:
        document = opened(sketch.path)
        model = compile_files(document.files, _without_total)[0] if isinstance(document, MjcfDocument) else None
    except ModelError:
        return 0.0
    return 0.0 if model is None else float(model.body_mass.sum())


def _without_total(spec):
    spec.compiler.settotalmass = -1.0


@rule(
    "SY761",
    "fixed-links-lumped",
    "info",
    misread=(Misread(("gazebo",), "sdformat", (URDF,), "by design"),),
)
def fixed_links_lumped(sketch: Sketch) -> Iterator[Hit]:
    """Links that are fixed to others are lumped into them.

    Why: The robot is the same, but link and joint are gone: plugins, sensors and logs that name them find nothing.
    Example:
        <joint name="flange" type="fixed">...</joint>
    Remedy: Keep a joint with <gazebo reference="flange"><preserveFixedJoint>true</preserveFixedJoint></gazebo>.
    """
    for carrier, members in sketch.clusters.items():
        others = [sketch.parts[k] for k in members if k != carrier]
        if others:
            names = ", ".join(f"'{part.name}'" for part in others[:3]) + (" ..." if len(others) > 3 else "")
            message = f"{label(sketch, sketch.parts[carrier])} takes in {names}"
            yield Hit(others[0].place, message, "Set preserveFixedJoint on joints whose links are named elsewhere.")


@rule(
    "SY762",
    "massless-links-dropped",
    "warning",
    misread=(Misread(("gazebo",), "sdformat", (URDF, SDF), "sdformat#199"),),
)
def massless_links_dropped(sketch: Sketch) -> Iterator[Hit]:
    """A moving link without mass is dropped with all that it carries.

    Why: The converter of URDF to SDF leaves out a link of less than about 1e-6 kg, and with it the tree beyond it.
    Example:
        <link name="wrist_yaw"/> between two moving joints
    Remedy: Give the link a mass and an inertia.
    """
    whole = total(sketch)
    for carrier, mass in sketch.cluster_mass.items():
        part = sketch.parts[carrier]
        if part.moves and mass < LEAST:
            lost = sketch.subtree_mass[carrier]
            message = (
                f"{label(sketch, part)} has {mass:.2g} kg and is dropped, with {lost:.3g} of {whole:.3g} kg beyond it"
            )
            yield Hit(part.place, message, "Give it a mass and an inertia.")


LEAST = 1e-6  # kg of a link of SDF


@rule(
    "SY771",
    "inertial-without-origin",
    "warning",
    misread=(Misread(("genesis",), "genesis-world", (URDF,), "genesis-world#3184"),),
)
def inertial_without_origin(sketch: Sketch) -> Iterator[Hit]:
    """The inertia of an inertial without origin is dropped.

    Why: The reader takes mass and tensor only beside an <origin>; elsewhere it estimates them from geometry.
    Example:
        <inertial><mass value="1"/><inertia .../></inertial>
    Remedy: Write <origin xyz="0 0 0" rpy="0 0 0"/> into the inertial.
    """
    document = read(sketch.path)
    for link in (each for each in document.root.children if each.tag == "link"):
        inertial = link.find("inertial")
        if inertial is not None and inertial.find("origin") is None and inertial.find("mass") is not None:
            yield Hit(_place(Reader(document), link, inertial), f"{_name(link)}: its inertia is dropped", ORIGIN)


ORIGIN = 'Write <origin xyz="0 0 0" rpy="0 0 0"/> into the inertial.'


def _name(link: Element) -> str:
    return f"link '{link.attributes.get('name', '')}'"


def _place(reader: Reader, link: Element, inertial: Element) -> Place:
    return reader.place(inertial, f"{_name(link)} > inertial")
