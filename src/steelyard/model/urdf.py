"""A URDF file as a `Sketch`, from which the strict `Robot` is made: one walk notes what is odd and what a robot lacks.

The sketch refuses nothing; everything odd becomes a fault. The robot is refused by the first fault that its links and
joints cannot be understood with. Only `<link>` inertials and `<joint>`s matter to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.lazy import later
from steelyard.model.assemble import assemble, forest, segments_of
from steelyard.model.document import ModelDocument
from steelyard.model.joint import KINDS, Joint, bounds_of
from steelyard.model.meshes import Meshes, Piece
from steelyard.model.robot import ModelSource, Robot
from steelyard.model.sketch import Inertial, Sketch, SketchJoint, SketchPart
from steelyard.model.urdf_dialects import implicit_world, leftovers, reflected_inertias, unread_loops
from steelyard.model.urdf_geometry import (
    LIMITS,
    PROPERTIES,
    TENSOR,
    label_of,
    named_files,
    origin,
    pieces_of,
    shapes_of,
    unstated_tensor,
)
from steelyard.model.xml import Document, Element, Reader, rooted
from steelyard.spatial import GRAVITY, identity

ROOT = "robot"
FIXED = "fixed"
TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    FIXED: None,
} | {kind.urdf: name for name, kind in KINDS.items() if kind.urdf}
"""Types of joints in URDF -> kinds of a `Joint`."""
BOUNDED = ("revolute", "prismatic")  # types that have a range
TWINS = {"iyx": "ixy", "izx": "ixz", "izy": "iyz"}
TOLD = ("SY105", "SY507", "SY509", "SY510", "SY511", "SY606")  # faults that a robot is read in spite of, and is told of


class UrdfTree(NamedTuple):
    """Elements of a file by name."""

    links: dict[str, Element]
    joints: dict[str, Element]
    incoming: dict[str, tuple[Element, str]]  # child link -> its joint and parent link
    order: list[str]  # links, parents first
    notes: tuple[str, ...]  # what of the file is not read, or in its own way


@dataclass(frozen=True, eq=False)
class UrdfDocument(ModelDocument):
    """A URDF file. format: name of the `Format` of what is read."""

    format: ClassVar[str] = "urdf"

    @cached_property
    def xml(self) -> Document:
        """What is in it. Raises ModelError for what is no URDF."""
        return rooted(self.path, "a URDF", ROOT)

    def referenced(self) -> Iterator[Path]:
        return named_files(self.xml, self.meshes)

    def robot(self, *, floating, gravity) -> Robot:
        path, document = self.path, self.xml
        name = document.root.attributes.get("name")
        reader, tree = _walked(document)
        if not tree.links and not reader.refusals:
            raise ModelError(f"{path} has no <link>; a robot needs at least two links and a movable joint.")
        parts, joints = _parts(reader, tree, None, self.meshes), _joints(reader, tree)
        if reader.refusals:
            raise ModelError(reader.refusals[0])
        notes = [*tree.notes, *(each.line for each in reader.faults if each.code in TOLD)]
        if not name:
            notes.append(f"{path.name}: <robot> has no name; '{path.stem}' is used.")
        place = {name: index for index, name in enumerate(tree.links)}
        return assemble(
            name or path.stem,
            segments_of(dict(sorted(enumerate(parts), key=lambda each: place[each[1].name])), joints),
            floating=floating,
            gravity=GRAVITY if gravity is None else gravity,
            source=ModelSource(path.absolute(), self.format, self.folders, arguments=self.arguments),
            notes=notes,
        )

    def sketch(self, *, meshes: bool = True) -> Sketch:
        reader, tree = _walked(self.xml)
        if not tree.links:
            raise ModelError(f"{self.path} has no <link>; there is nothing to check.")
        source = self.meshes
        for color in self.xml.root.every("color"):
            reader.numbers(color, "rgba", 4, "color", default=np.zeros(4), code=None, strict="")

        def shapes(link: Element, label: str):
            return shapes_of(reader, link, label, source, meshes=meshes)

        parts, joints = _parts(reader, tree, shapes, source), _joints(reader, tree)
        return Sketch(self.path, self.format, "link", tuple(parts), tuple(joints), tuple(reader.faults), tree.notes)

    def pieces(self) -> Iterator[Piece]:
        return pieces_of(self.xml, self.meshes)

    def left_out(self) -> Iterator[str]:
        found = [each.tag for each in self.xml.root.children if each.tag not in ("link", "joint", "material")]
        found += [each.tag for each in self.xml.root.every("texture", "safety_controller", "calibration")]
        tags = {tag: found.count(tag) for tag in found}
        if tags:
            yield f"Not in the new file: {choices(f'{count} <{tag}>' for tag, count in tags.items())}."

    edited = later("steelyard.model", "urdf_write.edited")
    with_inertials = later("steelyard.model", "urdf_write.with_inertials")
    alone = later("steelyard.model", "urdf_write.alone")


def _walked(document: Document) -> tuple[Reader, UrdfTree]:
    """A reader of the document, and its links and joints. Raises ModelError as `leftovers` does."""
    notes = document.notes + leftovers(document)
    reader = Reader(document)
    links = _named(reader, "link")
    joints = _named(reader, "joint")
    implicit_world(reader, links, joints)
    incoming = _incoming(reader, links, joints)
    order = _parents_first(reader, links, incoming) if links else []
    unread_loops(reader, links, set(links) - set(incoming))
    return reader, UrdfTree(links, joints, incoming, order, notes)


def _named(reader: Reader, tag: str) -> dict[str, Element]:
    named: dict[str, Element] = {}
    for element in reader.document.root.children:
        if element.tag != tag:
            continue
        name = element.attributes.get("name")
        if not name:
            reader.fault("SY505", element, tag, f"<{tag}> has no name.", remedy="")
        elif name in named:
            said = f"{tag} '{name}' is already defined in line {reader.line(named[name])}."
            reader.fault("SY505", element, label_of(element), said, remedy="")
        else:
            named[name] = element
    return named


def _incoming(reader: Reader, links, joints) -> dict[str, tuple[Element, str]]:
    incoming: dict[str, tuple[Element, str]] = {}
    for joint in joints.values():
        label = label_of(joint)
        ends = {}
        for tag in ("parent", "child"):
            element = joint.find(tag)
            name = None if element is None else element.attributes.get("link")
            if name in links:
                ends[tag] = name
                continue
            said = f"has no {tag} link"
            if name is not None:
                said = f"names '{name[:60]}' as its {tag}, which is no link here"
            remedy = f"Links of this file: {choices(links)}."
            reader.fault("SY505", element or joint, label, f"{label} {said}.", remedy=remedy)
        if len(ends) < 2:
            continue
        child = ends["child"]
        if child in incoming:
            other = incoming[child][0].attributes["name"]
            said = f"{label} is a second parent for link '{child}' (the first is joint '{other}')."
            remedy = "URDF describes trees; close a loop in an MJCF model instead."
            reader.fault("SY505", joint, label, said, remedy=remedy)
        else:
            incoming[child] = (joint, ends["parent"])
    return incoming


def _parents_first(reader: Reader, links, incoming) -> list[str]:
    roots = [name for name in links if name not in incoming]
    one = "A URDF has exactly one link that is no joint's child."
    if len(roots) > 1:
        said = f"the kinematic tree has {len(roots)} root links ({choices(roots)})."
        reader.fault("SY505", links[roots[1]], label_of(links[roots[1]]), said, remedy=one)
    tree = forest({child: (parent, child) for child, (_, parent) in incoming.items()}, lambda _: roots)
    lost = [name for name in links if name not in tree.root]
    if lost:
        said = f"links {choices(lost)} form a loop that hangs on no root link."
        reader.fault("SY505", incoming[lost[0]][0], label_of(links[lost[0]]), said, remedy=one)
        for name in lost:  # cut open, so that their inertials are still checked
            incoming.pop(name)
    return tree.order + lost


def _parts(reader: Reader, tree: UrdfTree, shapes, source: Meshes) -> list[SketchPart]:
    """Links, parents first. shapes: of a link and its label, and whether some are unknown; None for a robot, which has
    none, and a tensor wherever the file states a mass."""
    index = {name: i for i, name in enumerate(tree.order)}
    parts = []
    for name in tree.order:
        link = tree.links[name]
        joint, parent = tree.incoming.get(name, (None, None))
        R, p = identity() if joint is None else origin(reader, joint, label_of(joint), code="SY506")
        moves = joint is not None and joint.attributes.get("type") != FIXED
        label = label_of(link)
        found, partial = shapes(link, label) if shapes else ((), False)
        known = np.nan_to_num(R), np.nan_to_num(p)  # an unreadable pose is reported once, then ignored
        above = None if parent is None else index.get(parent)
        inertial = _inertial(reader, link, label, None if shapes else source)
        parts.append(
            SketchPart(name, reader.place(link, label), above, *known, moves, inertial, found, partial=partial)
        )
    return parts


def _inertial(reader: Reader, link: Element, label: str, source: Meshes | None) -> Inertial | None:
    """source: of geometry that stands for a missing tensor, which is NaN without."""
    inertial = link.find("inertial")
    if inertial is None:
        return None
    label = f"{label} > inertial"
    R, com = origin(reader, inertial, label)
    mass, tensor, how = np.nan, np.full((3, 3), np.nan), ""
    if (element := inertial.find("mass")) is None:
        reader.fault("SY105", inertial, label, "<inertial> has no <mass>.", remedy="Add it, or remove the <inertial>.")
    else:
        mass = reader.number(element, "value", f"{label} > mass")
    if (element := inertial.find("inertia")) is not None:
        tensor = _tensor(reader, element, f"{label} > inertia")
    else:
        if source is not None:
            R, (tensor, how) = np.eye(3), unstated_tensor(reader, link, mass, source)
        said = f"<inertial> has no <inertia>{how and f'; it was taken for {how}'}."
        reader.fault("SY105", inertial, label, said)
    return Inertial(reader.place(inertial, label), mass, com, R, tensor)


def _tensor(reader: Reader, element: Element, label: str) -> np.ndarray:
    off = ("ixy", "ixz", "iyz")
    xx, xy, xz, yy, yz, zz = (reader.number(element, key, label, default=0.0 if key in off else None) for key in TENSOR)
    for twin, key in TWINS.items():
        if twin in element.attributes:
            other = reader.number(element, twin, label, strict="")
            value = {"ixy": xy, "ixz": xz, "iyz": yz}[key]
            if np.isfinite([other, value]).all() and abs(other - value) > 1e-9 * max(abs(other), abs(value)):
                reader.fault("SY205", element, label, f"{twin} = {other:g} but {key} = {value:g}.")
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _joints(reader: Reader, tree: UrdfTree) -> list[SketchJoint]:
    index = {name: i for i, name in enumerate(tree.order)}
    carried = {joint: index[child] for child, (joint, _) in tree.incoming.items()}
    armature = reflected_inertias(reader)
    return [_joint(reader, element, carried.get(element), tree.joints, armature) for element in tree.joints.values()]


def _joint(reader: Reader, element: Element, part: int | None, joints, armature) -> SketchJoint:
    label, name, given = label_of(element), element.attributes["name"], element.attributes.get("type")
    if given not in TYPES:
        said = f"joint type '{(given or '')[:40]}' is unknown; URDF has {choices(TYPES)}."
        reader.fault("SY506", element, label, said, remedy="")
    kind = TYPES.get(given or "")
    axis = _axis(reader, element, label) if kind and KINDS[kind].has_axis else np.zeros(3)
    mimic, limit = element.find("mimic"), element.find("limit")
    if mimic is not None:
        _check_mimic(reader, mimic, f"{label} > mimic", element, joints, moves=bool(kind) and KINDS[kind].nq == 1)
    stated = _limits(reader, limit, f"{label} > limit", given)
    # a bound that is missing is 0, as the format says
    unstated = dict.fromkeys(("lower", "upper"), 0.0) if given in BOUNDED else {}
    placed = None
    if kind:
        fields: dict[str, Any] = {"armature": armature.get(name, 0.0)}
        dynamics = element.find("dynamics")
        if dynamics is not None:
            fields |= {
                f: reader.number(dynamics, word, label, default=0.0, code=None) for f, word in PROPERTIES.items()
            }
        if not KINDS[kind].has_axis:
            fields = {}
        if KINDS[kind].nq == 1:
            bounds = bounds_of(unstated | stated, ranged=given in BOUNDED)
            fields |= _mimicked(reader, element, label, joints) | bounds
        placed = Joint(name, kind, KINDS[kind].subspace(axis, np.zeros(3)), *identity(), **fields)
    bounded = stated if limit is None else unstated | stated
    required = ("effort", "velocity") if given in BOUNDED else ()
    others = {"mimics": mimic is not None, "required_limits": required, "placed": placed}
    return reader.joint(element, name, given or "", part, bounded, limit, **others)


def _axis(reader: Reader, joint: Element, label: str) -> np.ndarray:
    axis = joint.find("axis")
    if axis is None:
        return np.array([1.0, 0.0, 0.0])
    label = f"{label} > axis"
    return reader.direction(reader.numbers(axis, "xyz", 3, label, default=(1, 0, 0), code="SY506"), axis, label)


def _mimicked(reader: Reader, joint: Element, label: str, joints) -> dict[str, Any]:
    mimic = joint.find("mimic")
    if mimic is None:
        return {}
    master = mimic.attributes.get("joint")
    if not master:
        reader.refuse(joint, "its <mimic> names no joint.")
    ratio = reader.number(mimic, "multiplier", label, default=1.0, code=None)
    master = _meant(master or "", joint.attributes["name"], joints)
    return {"mimics": master, "ratio": ratio, "offset": reader.number(mimic, "offset", label, default=0.0, code=None)}


def _limits(reader: Reader, limit: Element | None, label: str, given: str | None) -> dict[str, float]:
    """Limits that a joint states. A robot is refused for those of its own type only, and may have infinite ones."""
    if limit is None:
        return {}
    used = LIMITS if given in BOUNDED else ("effort", "velocity") if given == "continuous" else ()
    return {
        key: reader.number(limit, key, label, code="SY506", strict="number" if key in used else "")
        for key in LIMITS
        if key in limit.attributes
    }


def _meant(master: str, follower: str, joints) -> str:
    """The joint that a mimic names, in a part that was put into a robot under a prefix (`Left_`) that its own names
    never got: the only one whose name is the given one behind the start of the follower's."""
    if master in joints or not master:
        return master
    fitting = [name for name in joints if name.endswith(master) and follower.startswith(name.removesuffix(master))]
    return fitting[0] if len(fitting) == 1 and fitting[0] != follower else master


def _check_mimic(reader: Reader, mimic: Element, label: str, joint: Element, joints, *, moves: bool):
    """Report a joint that follows nothing. moves: whether it would, which no robot is made without."""
    chain, current = [joint.attributes["name"]], mimic.attributes.get("joint", "")
    while current in joints and current not in chain:
        chain.append(current)
        following = joints[current].find("mimic")
        if following is None:
            return
        current = following.attributes.get("joint", "")
    if current in chain:
        reader.fault("SY507", mimic, label, f"joints {choices([*chain, current])} mimic each other in a circle.")
    elif len(chain) == 1 and (meant := _meant(current, chain[0], joints)) in joints:
        said = f"it mimics '{current}', which is no joint of this file; '{meant}' is taken."
        reader.fault("SY507", mimic, label, said)
    elif len(chain) == 1:
        said = f"it mimics '{current[:60]}', which is no joint of this file."
        remedy = (
            f"Correct the name, or remove the <mimic>, and it moves on its own. Joints of the file: {choices(joints)}."
        )
        reader.fault("SY507", mimic, label, said, remedy=remedy if moves and current else None)
