"""SY1xx: masses and stated values."""

from collections.abc import Iterator

from steelyard.check.rule import Hit, rule
from steelyard.check.rules_kinds import twin_of
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import Sketch


@rule(
    "SY101",
    "missing-inertial",
    "error",
    repairs="From the geometry at the density of water, when the link has geometry.",
)
def missing_inertial(sketch: Sketch) -> Iterator[Hit]:
    """A moving link has no inertial.

    Why: Simulators treat such a link differently: some drop it with all that it carries, some give it 1 kg, MuJoCo
    refuses it. An identification has no prior for it. Links that are fixed to a body with an inertial are fine.
    With a body beyond it the link is a warning; without geometry too it only splits a compound joint, which many
    published models do on purpose and most simulators handle: that is a note. It is an error where the link of the
    other side has an inertial; then what is fixed to the link (a rotor, a foot) is no excuse.
    Example:
        <link name="forearm"><visual>...</visual></link>
    Remedy: Add an <inertial> with mass, centre of mass and inertia.
    """
    for carrier, members in sketch.clusters.items():
        part = sketch.parts[carrier]
        if not part.moves:
            continue
        twin = twin_of(sketch, carrier)
        if any(sketch.parts[i].inertial is not None for i in members):
            if part.inertial is None and twin is not None and _is_most(sketch, twin):
                message = f"{sketch.word} '{part.name}' has no inertial, its twin '{sketch.parts[twin].name}' has one."
                yield Hit(part.place, message, "Add an <inertial>, the mirror image of the twin's.", "error")
            continue
        if sketch.cluster_mass[carrier] > 0 or any(
            f.place.element.startswith(part.place.element) for f in sketch.faults
        ):
            continue
        leaf = sketch.subtree_mass[carrier] <= THRESHOLDS.least
        message = f"{sketch.word} '{part.name}' moves, but neither it nor anything fixed to it has an inertial."
        if twin is not None and sketch.cluster_mass[sketch.carrier[twin]] > THRESHOLDS.least:
            message = f"{message[:-1]}, and its twin '{sketch.parts[twin].name}' has one."
            yield Hit(part.place, message, "Add an <inertial>, the mirror image of the twin's.", "error")
            continue
        drawn = any(sketch.parts[i].shapes or sketch.parts[i].partial for i in members)
        yield Hit(part.place, message, "Add an <inertial>.", "error" if leaf else "warning" if drawn else "info")


def _is_most(sketch: Sketch, index: int) -> bool:
    """Whether a part has an inertial of its own, of a mass that counts among what is fixed to it."""
    own, whole = sketch.parts[index].inertial, sketch.cluster_mass[sketch.carrier[index]]
    return own is not None and own.usable and own.mass > THRESHOLDS.mass_apart * whole


@rule("SY102", "zero-mass", "error", repairs="From the geometry at the density of water, when the link has geometry.")
def zero_mass(sketch: Sketch) -> Iterator[Hit]:
    """A moving body has a stated mass of zero.

    Why: Zero mass makes the mass matrix singular or the link vanish; a stated zero usually is a forgotten number.
    Example:
        <inertial><mass value="0"/><inertia ixx="0" .../></inertial>
    Remedy: State the mass; for a mere frame, fix it to its parent instead of jointing it, or leave the inertial out.
    """
    for _, part, inertial in sketch.stated():
        carrier = sketch.carrier[sketch.parts_by_name[part.name]]
        if inertial.mass == 0 and sketch.parts[carrier].moves and sketch.cluster_mass[carrier] == 0:
            leaf = sketch.subtree_mass[carrier] <= THRESHOLDS.least
            message = f"{sketch.word} '{part.name}' moves, and its mass is stated as 0."
            yield Hit(inertial.place, message, "State its mass in kg.", "error" if leaf else "warning")


@rule(
    "SY103", "negative-mass", "error", repairs="From the geometry at the density of water, when the link has geometry."
)
def negative_mass(sketch: Sketch) -> Iterator[Hit]:
    """A mass is negative.

    Why: No body has one. Some optimisers and CAD subtractions leave it behind; a simulation with it gains energy.
    Example:
        <mass value="-0.3"/>
    Remedy: State the true mass.
    """
    for _, part, inertial in sketch.stated():
        if inertial.mass < 0:
            message = f"{sketch.word} '{part.name}' has mass {inertial.mass:g} kg."
            yield Hit(inertial.place, message, "State the true mass in kg, which is positive.")


@rule("SY106", "massless-leaf", "warning")
def massless_leaf(sketch: Sketch) -> Iterator[Hit]:
    """A moving end of the chain weighs next to nothing.

    Why: With no mass beyond a joint, the joint's own inertia is (nearly) zero and any torque accelerates it without
    bound: the classic exploding gripper. Armature hides it in MuJoCo only.
    Example:
        <link name="finger_tip"><inertial><mass value="1e-9"/>...</inertial></link>
    Remedy: Give it its mass, or fix it to its parent.
    """
    for carrier, mass in sketch.subtree_mass.items():
        part = sketch.parts[carrier]
        if part.moves and 0 < mass < THRESHOLDS.least:
            message = f"{sketch.word} '{part.name}' and all beyond it weigh {mass:.3g} kg."
            place = part.inertial.place if part.inertial else part.place
            yield Hit(place, message, "State its true mass, or fix it to its parent.")
