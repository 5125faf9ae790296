"""SY4xx, first part: densities, units and placeholders."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from steelyard.check.rule import Hit, rule
from steelyard.check.shaped_inertials import (
    com_in_millimetres,
    in_grams,
    is_placeholder,
    shaped_inertials,
    tensor_in_grams,
    tensor_in_millimetres,
)
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import SMALL, Sketch


@rule("SY401", "density", "warning")
def density(sketch: Sketch) -> Iterator[Hit]:
    """The density is impossible.

    Why: Mass over the volume of the convex hull is above osmium (23,000 kg/m^3) or below 1 kg/m^3: mass and geometry
    belong to different parts, or one of them has wrong units. A link that counts and weighs more than its hull
    of solid steel is named where the other links are a third as dense: robots are housings with air in them.
    Example:
        <mass value="50"/>  on a link that is a box of 5 cm
    Remedy: Check mass in kg and mesh scale.
    """
    all_of = sorted(w.density for w in shaped_inertials(sketch) if w.geometry.thickness > THRESHOLDS.solid)
    usual = all_of[(len(all_of) - 1) // 2] if len(all_of) > THRESHOLDS.several else THRESHOLDS.dense
    counts = SMALL * sum(sketch.cluster_mass.values())
    for w in shaped_inertials(sketch):
        whole = sketch.cluster_mass[sketch.carrier[w.index]]
        airy = w.part.moves and w.inertial.mass > counts
        most = min(THRESHOLDS.dense, max(THRESHOLDS.steel, THRESHOLDS.airy * usual)) if airy else THRESHOLDS.dense
        dense = w.density > most and w.geometry.thickness > THRESHOLDS.solid and not in_grams(w)
        if dense or whole / w.volume < THRESHOLDS.light:
            message = f"{sketch.word} '{w.name}' has {w.inertial.mass:g} kg in a hull of {w.volume:.3g} m^3"
            yield Hit(
                w.inertial.place, f"{message}: {w.density:.3g} kg/m^3.", "Check the mass and the scale of the mesh."
            )


@rule("SY402", "millimetres", "warning", repairs="Millimetres converted to metres.")
def millimetres(sketch: Sketch) -> Iterator[Hit]:
    """An inertia or a centre of mass is in millimetres.

    Why: CAD programs export kg mm^2 and mm; all formats want kg m^2 and m. The tensor is a million times too large
    (known from the geometry, or from a radius of gyration above 10 m), or the centre of mass is metres away.
    Example:
        <inertia ixx="2500" .../>  for a part of 1 kg and 0.1 m
    Remedy: Divide the tensor by 1e6, the centre of mass by 1e3.
    """
    known = {w.index: w for w in shaped_inertials(sketch)}
    for index, part, inertial in sketch.stated():
        if not inertial.usable or not sketch.matters(index):
            continue
        if tensor_in_millimetres(inertial, known.get(index)):
            radius = np.sqrt(max(np.trace(inertial.tensor), 0.0) / 2 / inertial.mass)
            message = f"{sketch.word} '{part.name}' has a radius of gyration of {radius:.4g} m; kg mm^2 for kg m^2?"
            yield Hit(inertial.place, message, "Divide the tensor by 1e6.")
        if com_in_millimetres(inertial, known.get(index)):
            distance = np.linalg.norm(inertial.com)
            message = f"{sketch.word} '{part.name}' has its centre of mass {distance:.4g} m from its frame; mm for m?"
            yield Hit(inertial.place, message, "Divide the centre of mass by 1000.")


@rule("SY403", "grams", "warning", repairs="Grams converted to kilograms.")
def grams(sketch: Sketch) -> Iterator[Hit]:
    """A mass or an inertia is in grams.

    Why: The density is a thousand times that of materials, or the tensor a thousand times what the geometry and the
    mass allow.
    Example:
        <mass value="350"/>  for a part of 350 g
    Remedy: Divide by 1000.
    """
    for w in shaped_inertials(sketch):
        if in_grams(w):
            message = (
                f"{sketch.word} '{w.name}' has {w.inertial.mass:g} kg, a density of {w.density:.3g} kg/m^3; g for kg?"
            )
            yield Hit(w.inertial.place, message, "Divide the mass (and the tensor, if it is in g m^2) by 1000.")
        elif tensor_in_grams(w):
            message = f"{sketch.word} '{w.name}': tensor {w.gyration:.3g} times that of the geometry; g m^2 for kg m^2?"
            yield Hit(w.inertial.place, message, "Divide the tensor by 1000.")


@rule(
    "SY404",
    "placeholder",
    "warning",
    repairs="From the geometry at the stated mass; without geometry nothing is changed.",
)
def placeholder(sketch: Sketch) -> Iterator[Hit]:
    """The inertia tensor is a placeholder.

    Why: A power of ten on the diagonal and zeros beside it (1, 0.1, 0.01, 1e-3 ...) is what generators and people write
    when they do not know. Bodies of a cube's or ball's symmetry with exactly such a value hardly exist.
    Example:
        <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/>
    Remedy: Take the tensor from CAD, from the mesh, or identify it.
    """
    for index, part, inertial in sketch.stated():
        if is_placeholder(inertial) and sketch.parts[sketch.carrier[index]].moves and sketch.matters(index):
            value = inertial.tensor[0, 0]
            message = f"{sketch.word} '{part.name}' has the inertia {value:g} times the identity: a placeholder."
            yield Hit(inertial.place, message, "State the real tensor.")


@rule("SY405", "copies", "info")
def copies(sketch: Sketch) -> Iterator[Hit]:
    """Links with different geometry have the very same inertial.

    Why: Mass, centre of mass and tensor copied from one link to the next: at most one of them is right. Links with the
    same geometry (wheels, fingers) may well be equal and are not reported.
    Example:
        Six links with different meshes and mass 1, inertia 0.05 0.05 0.05
    Remedy: State each link's own values.
    """
    groups: dict[tuple, list[int]] = defaultdict(list)
    for index, part, inertial in sketch.stated():
        if inertial.usable and part.shapes and sketch.matters(index):
            groups[(inertial.mass, *inertial.com, *inertial.tensor_in_part.flat)].append(index)
    for members in groups.values():
        kinds = {frozenset(_stem(shape.source) for shape in sketch.parts[i].shapes) for i in members}
        if len(kinds) < 2:
            continue
        plural = "links" if sketch.word == "link" else "bodies"
        names = ", ".join(f"'{sketch.parts[i].name}'" for i in members[:6])
        more = f" and {len(members) - 6} more" if len(members) > 6 else ""
        first = sketch.parts[members[1]]
        assert first.inertial is not None
        message = f"{len(members)} {plural} of different geometry have the same inertial: {names}{more}."
        yield Hit(first.inertial.place, message, "State each link's own values.")


def _stem(source: str) -> str:
    text = source.lower()
    for side in ("left", "right"):
        text = text.replace(side, "")
    return "".join(c for c in text.rsplit("/", 1)[-1] if c not in "lr_-")
