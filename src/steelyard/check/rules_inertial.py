"""SY1xx and SY2xx: masses, and which tensors a body can have."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.rule import Hit, figures, rule
from steelyard.check.rules_kinds import twin_of
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import Inertial, Sketch

NEAREST = "Nearest consistent inertia with the stated mass and centre of mass, inside the geometry where it is known."


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


def _physical(sketch: Sketch) -> Iterator[tuple[str, Inertial]]:
    for _, part, inertial in sketch.stated():
        if np.isfinite(inertial.moments).all() and inertial.mass != 0 and not inertial.is_point:
            yield part.name, inertial


@rule("SY201", "not-positive", "error", repairs=NEAREST)
def not_positive(sketch: Sketch) -> Iterator[Hit]:
    """An inertia tensor has a principal moment that is zero or negative.

    Why: Turning the body about that axis would take no energy, or give some. Simulators refuse or explode.
    Example:
        <inertia ixx="0.01" ixy="0.02" ixz="0" iyy="0.01" iyz="0" izz="0.02"/>
    Remedy: Check signs and magnitudes of the products of inertia; copy the tensor again from CAD.
    """
    for name, inertial in _physical(sketch):
        low, high = inertial.moments[0], np.abs(inertial.moments).max()
        if high > 0 and low <= THRESHOLDS.rounding * high:
            message = f"{sketch.word} '{name}' has principal moments {figures(inertial.moments)} kg m^2."
            yield Hit(inertial.place, message, "All three must be positive; check the products of inertia.")


@rule(
    "SY202",
    "zero-tensor",
    "warning",
    repairs="From the geometry at the stated mass; without geometry, that of a ball of water.",
)
def zero_tensor(sketch: Sketch) -> Iterator[Hit]:
    """A body has mass but an inertia tensor of zeros.

    Why: That is a point mass. It is harmless on a link that is fixed to a larger body and reported only for bodies that
    have no other inertia: there it makes the mass matrix singular, and MuJoCo and Gazebo refuse it.
    Example:
        <mass value="1"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>
    Remedy: State the tensor.
    """
    for index, part, inertial in sketch.stated():
        if inertial.mass > 0 and inertial.is_point:
            members = sketch.clusters[sketch.carrier[index]]
            others = [sketch.parts[i].inertial for i in members]
            if not any(other is not None and not other.is_point for other in others):
                message = f"{sketch.word} '{part.name}' has {inertial.mass:g} kg and no moment of inertia."
                yield Hit(inertial.place, message, "State its inertia tensor.")


@rule("SY203", "triangle-inequality", "error", repairs=NEAREST)
def triangle_inequality(sketch: Sketch) -> Iterator[Hit]:
    """The principal moments violate the triangle inequality.

    Why: The largest principal moment of any distribution of mass is at most the sum of the other two. MuJoCo refuses
    such a body, Bullet and Gazebo compute nonsense, and no identification with physical consistency can use it. The
    same is to say that the pseudo-inertia has a negative eigenvalue.
    Example:
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.05"/>
    Remedy: Usually two numbers are swapped, units are mixed, or the tensor was transformed wrongly; export it again.
    """
    for name, inertial in _physical(sketch):
        a, b, c = inertial.moments
        if a > THRESHOLDS.rounding * c and a + b - c < -THRESHOLDS.rounding * c:
            message = f"{sketch.word} '{name}': largest principal moment {c:.6g} exceeds {a:.6g} + {b:.6g} kg m^2"
            percent = 100 * (c - a - b) / (a + b)
            yield Hit(
                inertial.place, f"{message} by {percent:.2g} %.", "Export the tensor again; check swapped numbers."
            )


@rule("SY204", "no-thickness", "warning", repairs=NEAREST)
def no_thickness(sketch: Sketch) -> Iterator[Hit]:
    """A body is infinitely thin: its pseudo-inertia is singular.

    Why: A rod or plate without thickness is a limit no body reaches. Charts and barriers of physically consistent
    inertias (log-Cholesky, log det) are undefined there, and MuJoCo accepts it only within rounding.
    Example:
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.02"/>
    Remedy: Give the tensor the thickness the part has.
    """
    for name, inertial in _physical(sketch):
        low, _, high = inertial.spread
        a, b, c = inertial.moments
        violates = a <= THRESHOLDS.rounding * c or a + b - c < -THRESHOLDS.rounding * c
        if inertial.mass > 0 and not violates and low < THRESHOLDS.flat * high:
            message = f"{sketch.word} '{name}' is flat: second moments {figures(inertial.spread)} kg m^2."
            yield Hit(inertial.place, message, "Give it the thickness the part has.")
