"""How much of a model a misreading changes: it is really applied to the model's parameters. And repairs against it.

A part here is a link or body of a `Sketch`; a rigid body is one with all that is fixed to it, by its carrier.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from steelyard.check.rule import Hit
from steelyard.check.thresholds import THRESHOLDS
from steelyard.inertia import to_com_inertia, transform
from steelyard.inertia.hull import hull_of
from steelyard.model.sketch import Inertial, Part, Sketch

AXES = "The same tensor in the axes of the link, with rpy zero."
MERGED = "Inertials of links that are fixed to each other summed in the first of them, zero in the others."
EXPLICIT = "An explicit inertial of zero on a link that is fixed to another."


def label(sketch: Sketch, part: Part) -> str:
    return f"{sketch.word} '{part.name}'"


def percent(relative: float) -> str:
    if relative >= 10:
        return f"{relative:.2g} times its value"
    return f"{100 * relative:.0f} %" if relative >= 0.1 else f"{100 * relative:.2g} %"


def apart(wrong: np.ndarray, right: np.ndarray) -> float:
    """Frobenius norm of the error of a tensor over that of the tensor."""
    size = float(np.linalg.norm(right))
    return float(np.linalg.norm(wrong - right)) / size if size > 0 else 0.0


def usable(sketch: Sketch) -> Iterator[tuple[int, Part, Inertial]]:
    """Parts with a stated inertial of numbers."""
    for index, part, inertial in sketch.stated():
        if inertial.usable and not inertial.is_point:
            yield index, part, inertial


def impossible(sketch: Sketch) -> Iterator[tuple[Part, Inertial]]:
    """Parts whose principal moments no body has."""
    for _, part, inertial in usable(sketch):
        a, b, c = inertial.moments
        if a <= 0 or a + b < c * (1 - THRESHOLDS.rounding):
            yield part, inertial


def without_mass(sketch: Sketch) -> Iterator[tuple[Part, Inertial]]:
    """Parts with moments of inertia and a mass of zero."""
    for _, part, inertial in sketch.stated():
        if inertial.mass == 0 and np.isfinite(inertial.moments).all() and inertial.moments.any():
            yield part, inertial


def misread_tensors(sketch: Sketch, misread: Callable[[Inertial], np.ndarray], how: str, remedy: str) -> Iterator[Hit]:
    """Inertials whose tensor is read as another one. misread: (3, 3) in the part's axes, of an inertial."""
    for _, part, inertial in usable(sketch):
        error = apart(misread(inertial), inertial.tensor_in_part)
        if error > THRESHOLDS.misread:
            yield Hit(inertial.place, f"{label(sketch, part)}: {how}, its inertia is {percent(error)} off", remedy)


def fused(sketch: Sketch) -> Iterator[tuple[int, list[int]]]:
    """Carriers of rigid bodies of several parts with mass, and these; bodies that are held are left out."""
    for carrier, members in sketch.clusters.items():
        heavy = [k for k in members if (found := sketch.parts[k].inertial) is not None and found.usable]
        if sketch.parts[carrier].moves and set(heavy) - {carrier}:
            yield carrier, heavy


def summed(sketch: Sketch, members: list[int]) -> np.ndarray:
    """(10,) of parts of one rigid body, in the frame of its carrier."""
    thetas = [transform(_theta(sketch.parts[k]), *sketch.placed[k]) for k in members]
    return np.sum(thetas, axis=0)


def _theta(part: Part) -> np.ndarray:
    return np.zeros(10) if part.inertial is None or not part.inertial.usable else part.inertial.theta


def misread_sums(sketch: Sketch, misread: Callable[[int, list[int]], np.ndarray], how: str, remedy: str):
    """Hits for rigid bodies of several parts whose inertia about their centre of mass comes out otherwise.

    misread: (10,) of a carrier and the parts with mass, in the carrier's frame.
    """
    for carrier, members in fused(sketch):
        _, com, right = to_com_inertia(summed(sketch, members))
        _, moved, wrong = to_com_inertia(misread(carrier, members))
        error, far = apart(wrong, right), float(np.linalg.norm(moved - com))
        if error > THRESHOLDS.misread:
            names = ", ".join(f"'{sketch.parts[k].name}'" for k in members if k != carrier)
            part = sketch.parts[carrier]
            message = f"{label(sketch, part)} with {names}: {how}, the inertia of all is {percent(error)} off"
            yield Hit(part.place, message + (f" and its centre by {1000 * far:.3g} mm" if far > 1e-6 else ""), remedy)


def weighs(sketch: Sketch, index: int) -> bool:
    """Whether the mass of a part counts: that of a base which may float does, that of the ground does not."""
    carrier = sketch.carrier[index]
    ground = sketch.parts[carrier].name == "world" or not sketch.cluster_mass[carrier] > 0
    return sketch.parts[carrier].moves or not ground


def weighed_by_density(sketch: Sketch, remedy: str) -> Iterator[Hit]:
    """Parts without inertial on a moving body, if their collision geometry at the density of water has a mass."""
    whole = total(sketch)
    for index, part in enumerate(sketch.parts):
        if part.inertial is None and weighs(sketch, index):
            hulls = [hull_of(shape.vertices) for shape in part.shapes if shape.role == "collision"]
            volume = sum(hull.volume for hull in hulls if hull is not None)
            mass = THRESHOLDS.water * volume
            if mass > THRESHOLDS.misread * whole:
                heavier = percent(mass / max(whole, mass * 1e-3))
                message = f"{label(sketch, part)} gets {mass:.3g} kg, the robot of {whole:.3g} kg becomes {heavier}"
                yield Hit(part.place, f"{message} heavier", remedy)


def total(sketch: Sketch) -> float:
    """kg of all parts."""
    return sum(float(part.mass) for part in sketch.parts if np.isfinite(part.mass))


def axes_of_link(sketch: Sketch, index: int) -> dict[int, Inertial]:
    """A `Mend`: as `AXES` says."""
    inertial = sketch.parts[index].inertial
    if inertial is None or (inertial.rotation == np.eye(3)).all():
        return {}
    return {index: replace(inertial, rotation=np.eye(3), tensor=inertial.tensor_in_part)}


def merged(sketch: Sketch, index: int) -> dict[int, Inertial]:
    """A `Mend`: as `MERGED` says."""
    carrier = sketch.carrier[index]
    members = next((members for each, members in fused(sketch) if each == carrier), [])
    if not members:
        return {}
    mass, com, tensor = to_com_inertia(summed(sketch, members))
    places = {k: found.place for k in members if (found := sketch.parts[k].inertial) is not None}
    zero = {k: Inertial(place, 0.0, np.zeros(3), np.eye(3), np.zeros((3, 3))) for k, place in places.items()}
    place = places.get(carrier, sketch.parts[carrier].place)
    return zero | {carrier: Inertial(place, float(mass), com, np.eye(3), tensor)}


def massless(sketch: Sketch, index: int) -> dict[int, Inertial]:
    """A `Mend`: as `EXPLICIT` says, for a part that is fixed to another; what moves needs a mass."""
    part = sketch.parts[index]
    if part.inertial is not None or sketch.carrier[index] == index:
        return {}
    return {index: Inertial(part.place, 0.0, np.zeros(3), np.eye(3), np.zeros((3, 3)))}
