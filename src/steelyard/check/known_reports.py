"""SY7xx: what programs are known to read otherwise than it is written, a row a report.

Programs that can be asked what they read are (`engines`); here is what a model's own numbers say of others. A part is a
link or body of a `Sketch`; a rigid body is one with all that is fixed to it, by its carrier.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from steelyard.check.destinations import Misread
from steelyard.check.rule import Hit, Rule, documented
from steelyard.check.thresholds import THRESHOLDS
from steelyard.inertia.hull import hull_of
from steelyard.model.sketch import Place, Sketch, SketchJoint
from steelyard.model.xml import Element, Reader, read
from steelyard.numbers import SAME, to_float

URDF, MJCF, SDF = "urdf", "mjcf", "sdf"
CONVERTER = "urdf-usd-converter"
Test = Callable[[Sketch], Iterator[tuple[Place, str]]]
"""Places of a model that a program reads otherwise than they are written, with how much that changes, in words."""


def joints(told: Callable[[SketchJoint], str], then: str) -> Test:
    """Joints that there are words about, and what becomes of these."""

    def test(sketch: Sketch):
        for joint in sketch.joints:
            if words := told(joint):
                yield joint.place, f"joint '{joint.name}' {words}{then}"

    return test


def parts(told: Callable[[Sketch, int], str]) -> Test:
    """Parts that there are words about, by index."""

    def test(sketch: Sketch):
        for index, part in enumerate(sketch.parts):
            if words := told(sketch, index):
                yield part.place, f"{sketch.word} '{part.name}' {words}"

    return test


def elements(tag: str, told: Callable[[Element], str]) -> Test:
    """Elements of the file with this tag that there are words about."""

    def test(sketch: Sketch):
        document = read(sketch.path)
        for element in document.root.every(tag):
            if words := told(element):
                name = f"{tag} '{element.attributes.get('name', '')}'"
                yield Reader(document).place(element, name), f"{name}{words}"

    return test


def weighs_water(sketch: Sketch, index: int) -> str:
    """Of parts without inertial that weigh what can be touched as water. The ground is none of them."""
    part, carrier, whole = sketch.parts[index], int(sketch.carrier[index]), _total(sketch)
    ground = sketch.parts[carrier].name == "world" or not sketch.cluster_mass[carrier] > 0
    if part.inertial is not None or (ground and not sketch.parts[carrier].moves):
        return ""
    hulls = [hull_of(shape.vertices) for shape in part.shapes if shape.role == "collision"]
    mass = THRESHOLDS.water * sum(hull.volume for hull in hulls if hull is not None)
    heavier = _percent(mass / max(whole, mass * 1e-3)) if mass > THRESHOLDS.misread * whole else ""
    return f"gets {mass:.3g} kg, the robot of {whole:.3g} kg becomes {heavier} heavier" if heavier else ""


def rotor(transmission: Element) -> str:
    rotors, gears = (_numbers(transmission.every(tag)) for tag in ("motorInertia", "mechanicalReduction"))
    lost = max(rotors, default=0.0) * max(gears, default=1.0) ** 2
    return f": {lost:.3g} kg m^2 at its joint are lost" if lost > 0 else ""


def _numbers(elements: Iterator[Element]) -> Iterator[float]:
    for each in elements:
        with suppress(ValueError):
            yield to_float(each.text.strip())


def originless(link: Element) -> str:
    inertial = link.find("inertial")
    stated = inertial is not None and inertial.find("origin") is None and inertial.find("mass") is not None
    return ": its inertia is dropped" if stated else ""


def becomes_world(sketch: Sketch, index: int) -> str:
    part, mass, whole = sketch.parts[index], sketch.cluster_mass.get(index, 0.0), _total(sketch)
    if part.parent is not None or part.moves or mass <= THRESHOLDS.misread * whole:
        return ""
    return f"and what is fixed to it, {mass:.3g} kg of {whole:.3g} kg, become the world"


def takes_in(sketch: Sketch, index: int) -> str:
    names = [f"'{sketch.parts[k].name}'" for k in sketch.clusters.get(index, ()) if k != index]
    return f"takes in {', '.join(names[:3])}{' ...' * (len(names) > 3)}" if names else ""


def drops_tree(sketch: Sketch, index: int) -> str:
    mass = sketch.cluster_mass.get(index, np.inf)
    if not sketch.parts[index].moves or mass >= SAME:  # kg
        return ""
    beyond = f"{sketch.subtree_mass[index]:.3g} of {_total(sketch):.3g} kg beyond it"
    return f"has {mass:.2g} kg and is dropped, with {beyond}"


def follows(joint: SketchJoint) -> str:
    leader = "another" if joint.placed is None else f"'{joint.placed.mimics}'"
    return f"should follow {leader}" if joint.mimics else ""


def rubs(joint: SketchJoint) -> str:
    friction = 0.0 if joint.placed is None else joint.placed.frictionloss
    return f"has a friction of {friction:g} N m" if friction > THRESHOLDS.rounding else ""


def loses(joint: SketchJoint) -> str:
    placed = joint.placed
    if placed is None or not (placed.damping or placed.frictionloss):
        return ""
    speed, effort = joint.limits.get("velocity", np.nan), joint.limits.get("effort", np.nan)
    lost = (placed.damping * speed + placed.frictionloss) / effort if effort else np.nan
    share = f", {_percent(lost)} of its effort limit at full speed" if np.isfinite(lost) else ""
    return f"has damping {placed.damping:g} and friction {placed.frictionloss:g}{share}"


def _percent(relative: float) -> str:
    if relative >= 10:
        return f"{relative:.2g} times its value"
    return f"{100 * relative:.0f} %" if relative >= 0.1 else f"{100 * relative:.2g} %"


def _total(sketch: Sketch) -> float:
    return sum(float(part.mass) for part in sketch.parts if np.isfinite(part.mass))


def _report(
    head: str,
    test: Test,
    misread: tuple[Misread, ...],
    title: str,
    why: str,
    example: str,
    remedy: str,
) -> Rule:
    """A `Rule` of a test. head: code, name and severity."""

    def look(sketch: Sketch) -> Iterator[Hit]:
        return (Hit(place, message, remedy) for place, message in test(sketch))

    return documented(head, look, title, why, example, remedy, misread=misread)


REPORTS = (
    _report(
        "SY703 mimic-lost warning",
        joints(follows, " and moves on its own"),
        (
            Misread(("pinocchio",), "pinocchio", (URDF,), "off unless mimic=True"),
            Misread(("idyntree",), "idyntree", (URDF,), "measured"),
            Misread(("pybullet",), "pybullet", (URDF,), "measured"),
        ),
        "A joint that follows another moves on its own.",
        "The mimic element is not read, so the robot has a degree of freedom too many, and the joint that leads "
        "carries neither the weight nor the friction of its follower.",
        '<mimic joint="finger_left" multiplier="-1"/>',
        "Couple the joints where the model is loaded: mimic=True in Pinocchio.",
    ),
    _report(
        "SY706 base-dropped info",
        parts(becomes_world),
        (Misread(("mujoco",), "mujoco", (URDF,), "by design"),),
        "The root link is fused into the world, and its mass is gone.",
        "MuJoCo reads the root of a URDF as the world. A robot that walks or flies needs a body there; when a free "
        "joint is added afterwards, the mass of its trunk is missing.",
        '<link name="trunk"><inertial>...</inertial></link>',
        "Put a link above the root, with a floating joint between them, or convert with --floating.",
    ),
    _report(
        "SY717 density-in-usd warning",
        parts(weighs_water),
        (Misread(("newton", "isaac"), CONVERTER, (URDF,), f"{CONVERTER}#145"),),
        "A link without inertial becomes a body in USD, and weighs its collision geometry at 1000 kg/m^3.",
        "A body of USD without a mass takes that of its colliders: ANYmal B has 67 kg for 30. A stated mass of zero "
        "means no opinion in USD and changes nothing.",
        '<link name="cover"><collision>...</collision></link>',
        "Move the collision geometry to the link that carries it, or give the link its share of the mass.",
    ),
    _report(
        "SY721 joint-losses-dropped warning",
        joints(loses, ", which are dropped"),
        (Misread(("isaac",), "isaacsim", (URDF,), "IsaacSim#841", first="6.1.0"),),
        "Damping and friction of a joint are dropped.",
        "The importer reads neither; policies that are trained without them move a robot that is easier to move than "
        "the real one.",
        '<dynamics damping="0.5" friction="0.2"/>',
        "State them in the configuration of the articulation: damping, friction.",
    ),
    _report(
        "SY742 friction-ignored info",
        joints(rubs, ", which is left out"),
        (Misread(("drake",), "drake", (URDF, MJCF), "drake's parser"),),
        "Dry friction of a joint is not read.",
        "Joints of Drake have viscous damping only; a friction loss is warned about and left out.",
        '<dynamics friction="0.2"/>',
        "Add the friction where torques are applied.",
    ),
    _report(
        "SY743 mimic-in-discrete-plants info",
        joints(follows, ", and is free outside discrete plants"),
        (Misread(("drake",), "drake", (URDF, SDF), "drake's parser"),),
        "A joint follows another in discrete simulations only.",
        "The coupler constraint needs a MultibodyPlant with a time step and the SAP solver; inverse dynamics and "
        "continuous plants have the joint free.",
        '<mimic joint="finger_left"/>',
        "Use a discrete plant, or couple the joints yourself.",
    ),
    _report(
        "SY744 rotor-ignored warning",
        elements("transmission", rotor),
        (Misread(("drake",), "drake", (URDF,), "drake#21948"),),
        "The rotor inertia that a transmission states is ignored.",
        "Behind a gear it is often larger than the inertia of the arm. Drake reads rotors from elements of its own.",
        "<motorInertia>1e-4</motorInertia><mechanicalReduction>100</mechanicalReduction>",
        "Add drake:rotor_inertia and drake:gear_ratio to the actuator.",
    ),
    _report(
        "SY761 fixed-links-lumped info",
        parts(takes_in),
        (Misread(("gazebo",), "sdformat", (URDF,), "by design"),),
        "Links that are fixed to others are lumped into them.",
        "The robot is the same, but link and joint are gone: plugins, sensors and logs that name them find nothing.",
        '<joint name="flange" type="fixed">...</joint>',
        'Keep a joint with <gazebo reference="flange"><preserveFixedJoint>true</preserveFixedJoint></gazebo>.',
    ),
    _report(
        "SY762 massless-links-dropped warning",
        parts(drops_tree),
        (Misread(("gazebo",), "sdformat", (URDF, SDF), "sdformat#199"),),
        "A moving link without mass is dropped with all that it carries.",
        "The converter of URDF to SDF leaves out a link of less than about 1e-6 kg, and with it the tree beyond it.",
        '<link name="wrist_yaw"/> between two moving joints',
        "Give the link a mass and an inertia.",
    ),
    _report(
        "SY771 inertial-without-origin warning",
        elements("link", originless),
        (Misread(("genesis",), "genesis-world", (URDF,), "genesis-world#3184"),),
        "The inertia of an inertial without origin is dropped.",
        "The reader takes mass and tensor only beside an <origin>; elsewhere it estimates them from geometry.",
        '<inertial><mass value="1"/><inertia .../></inertial>',
        'Write <origin xyz="0 0 0" rpy="0 0 0"/> into the inertial.',
    ),
)
