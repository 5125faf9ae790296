"""How much of a model a misreading changes: it is really applied to the model's parameters. And repairs against it.

A part here is a link or body of a `Sketch`; a rigid body is one with all that is fixed to it, by its carrier. Tests are
made of what is read in the place of what is written, or of words about it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from steelyard.check.thresholds import THRESHOLDS
from steelyard.inertia import to_com_inertia, transform
from steelyard.inertia.hull import hull_of
from steelyard.model.sketch import Inertial, Part, Place, Sketch, SketchJoint
from steelyard.model.xml import Element, Reader, read
from steelyard.numbers import to_float

Test = Callable[[Sketch], Iterator[tuple[Place, str]]]
"""Places of a model that a program reads otherwise than they are written, with how much that changes, in words."""


def tensors(misread: Callable[[Part, Inertial], np.ndarray], how: str) -> Test:
    """Inertials whose tensor is read as another one: `misread`, (3, 3) in the part's axes."""

    def test(sketch: Sketch):
        for part, inertial in _usable(sketch):
            error = _apart(misread(part, inertial), inertial.tensor_in_part)
            if error > THRESHOLDS.misread:
                yield inertial.place, f"{_label(sketch, part)}: {how}, its inertia is {_percent(error)} off"

    return test


def balanced(sketch: Sketch) -> Iterator[tuple[Place, str]]:
    """A `Test`: inertials with moments that no body has, in files that have MuJoCo set all three to their mean."""
    if all(each.attributes.get("balanceinertia") != "true" for each in read(sketch.path).root.every("compiler")):
        return
    for part, inertial in _usable(sketch):
        a, b, c = inertial.moments
        if a <= 0 or a + b < c * (1 - THRESHOLDS.rounding):
            error = _apart(np.full(3, inertial.moments.mean()), inertial.moments)
            told = f"its moments are set to their mean, {_percent(error)} off"
            yield inertial.place, f"{_label(sketch, part)}: {told}"


def sums(misread: Callable[[Sketch, int, list[int]], np.ndarray], how: str) -> Test:
    """Rigid bodies of several parts with mass whose inertia about their centre of mass comes out otherwise: as the
    tensor (3, 3) `misread` about it, of a carrier and these parts, in the carrier's axes."""

    def test(sketch: Sketch):
        for carrier, members in _fused(sketch):
            *_, right = to_com_inertia(_summed(sketch, members))
            error = _apart(misread(sketch, carrier, members), right)
            if error > THRESHOLDS.misread:
                names = ", ".join(f"'{sketch.parts[k].name}'" for k in members if k != carrier)
                part = sketch.parts[carrier]
                told = f"{how}, the inertia of all is {_percent(error)} off"
                yield part.place, f"{_label(sketch, part)} with {names}: {told}"

    return test


def unstated(assumed: Callable[[Part], float], more: str = "") -> Test:
    """Parts without inertial that get a mass (kg): `assumed`. That of a base which may float counts, that of the ground
    does not."""

    def test(sketch: Sketch):
        whole = _total(sketch)
        for part, carrier in zip(sketch.parts, map(int, sketch.carrier), strict=True):
            ground = sketch.parts[carrier].name == "world" or not sketch.cluster_mass[carrier] > 0
            if part.inertial is not None or (ground and not sketch.parts[carrier].moves):
                continue
            mass = assumed(part)
            if mass > THRESHOLDS.misread * whole:
                heavier = _percent(mass / max(whole, mass * 1e-3))
                told = f"gets {mass:.3g} kg{more}, the robot of {whole:.3g} kg becomes {heavier} heavier"
                yield part.place, f"{_label(sketch, part)} {told}"

    return test


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
                yield part.place, f"{_label(sketch, part)} {words}"

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


def at_density(part: Part) -> float:
    """kg of the hulls of what can be touched, as water."""
    hulls = [hull_of(shape.vertices) for shape in part.shapes if shape.role == "collision"]
    return THRESHOLDS.water * sum(hull.volume for hull in hulls if hull is not None)


def box_around(part: Part, inertial: Inertial) -> np.ndarray:
    """Tensor of the box around what can be touched, along the axes of the inertial, with the margin of Bullet."""
    solids = [(shape.vertices - inertial.com) @ inertial.rotation for shape in part.shapes if shape.role == "collision"]
    squares = (2e-3 + (np.ptp(np.concatenate(solids), axis=0) if solids else np.zeros(3))) ** 2
    return inertial.rotation @ np.diag(inertial.mass / 12 * (squares.sum() - squares)) @ inertial.rotation.T


def conjugated(_, inertial: Inertial) -> np.ndarray:
    """Tensor with its principal axes inverted; which of the many matrices of eigenvectors is inverted matters."""
    moments, V = np.linalg.eigh(inertial.tensor)
    low, high = np.diff(moments) < SAME_MOMENT
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


SAME_MOMENT = 1e-9  # kg m^2, absolute: moments that the converter of URDF to USD takes for equal


def about_frames(sketch: Sketch, carrier: int, members: list[int]) -> np.ndarray:
    """Sum of tensors, each moved by the offset of its frame in the place of that of its centre of mass."""
    total = np.zeros((3, 3))
    for k in members:
        inertial, (R, p) = sketch.parts[k].inertial, sketch.placed[k]
        if inertial is not None:
            shift = inertial.mass * (p @ p * np.eye(3) - np.outer(p, p)) if k != carrier else 0.0
            total = total + R @ inertial.tensor_in_part @ R.T + shift
    return total


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
    if not sketch.parts[index].moves or mass >= LEAST:
        return ""
    beyond = f"{sketch.subtree_mass[index]:.3g} of {_total(sketch):.3g} kg beyond it"
    return f"has {mass:.2g} kg and is dropped, with {beyond}"


LEAST = 1e-6  # kg of a link of SDF


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


def axes_of_link(sketch: Sketch, index: int) -> dict[int, Inertial]:
    """The same tensor in the axes of the link, with rpy zero."""
    inertial = sketch.parts[index].inertial
    if inertial is None or (inertial.rotation == np.eye(3)).all():
        return {}
    return {index: replace(inertial, rotation=np.eye(3), tensor=inertial.tensor_in_part)}


def merged(sketch: Sketch, index: int) -> dict[int, Inertial]:
    """Inertials of links that are fixed to each other summed in the first of them, zero in the others."""
    carrier = sketch.carrier[index]
    members = next((members for each, members in _fused(sketch) if each == carrier), [])
    if not members:
        return {}
    mass, com, tensor = to_com_inertia(_summed(sketch, members))
    places = {k: found.place for k in members if (found := sketch.parts[k].inertial) is not None}
    zero = {k: Inertial(place, 0.0, np.zeros(3), np.eye(3), np.zeros((3, 3))) for k, place in places.items()}
    place = places.get(carrier, sketch.parts[carrier].place)
    return zero | {carrier: Inertial(place, float(mass), com, np.eye(3), tensor)}


def massless(sketch: Sketch, index: int) -> dict[int, Inertial]:
    """An explicit inertial of zero on a link that is fixed to another."""
    part = sketch.parts[index]
    if part.inertial is not None or sketch.carrier[index] == index:  # what moves needs a mass
        return {}
    return {index: Inertial(part.place, 0.0, np.zeros(3), np.eye(3), np.zeros((3, 3)))}


def _label(sketch: Sketch, part: Part) -> str:
    return f"{sketch.word} '{part.name}'"


def _percent(relative: float) -> str:
    if relative >= 10:
        return f"{relative:.2g} times its value"
    return f"{100 * relative:.0f} %" if relative >= 0.1 else f"{100 * relative:.2g} %"


def _apart(wrong: np.ndarray, right: np.ndarray) -> float:
    """Norm of the error of a tensor over that of the tensor."""
    size = float(np.linalg.norm(right))
    return float(np.linalg.norm(wrong - right)) / size if size > 0 else 0.0


def _usable(sketch: Sketch) -> Iterator[tuple[Part, Inertial]]:
    return ((part, each) for _, part, each in sketch.stated() if each.usable and not each.is_point)


def _fused(sketch: Sketch) -> Iterator[tuple[int, list[int]]]:
    """Carriers of rigid bodies of several parts with mass, and these; bodies that are held are left out."""
    for carrier, members in sketch.clusters.items():
        heavy = [k for k in members if (found := sketch.parts[k].inertial) is not None and found.usable]
        if sketch.parts[carrier].moves and set(heavy) - {carrier}:
            yield carrier, heavy


def _summed(sketch: Sketch, members: list[int]) -> np.ndarray:
    """(10,) of parts of one rigid body with mass, in the frame of its carrier."""
    inertials = ((k, sketch.parts[k].inertial) for k in members)
    return np.sum([transform(each.theta, *sketch.placed[k]) for k, each in inertials if each is not None], axis=0)


def _total(sketch: Sketch) -> float:
    return sum(float(part.mass) for part in sketch.parts if np.isfinite(part.mass))
