"""SDF write-back: inertials and joint properties spliced into a copy of the user's file byte for byte.

An identified link of an included model changes a copy of that file beside the new one, one for each use of it, since
two uses of a file may be identified differently.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError
from steelyard.model.changes import Draft, com_form, find_changes
from steelyard.model.references import Relocation
from steelyard.model.robot import Robot
from steelyard.model.sdf import SdfDocument, inertial_of
from steelyard.model.sdf_frames import TRUE, SdfUse
from steelyard.model.sdf_joints import AXES, ROTOR, gear_of, joint_names
from steelyard.model.sdf_tree import SdfBody, SdfJoint, SdfTree
from steelyard.model.sketch import Inertial, Sketch
from steelyard.model.urdf_geometry import PROPERTIES, TENSOR
from steelyard.model.xml import Document, Element
from steelyard.model.xml_edit import (
    Edit,
    NewElement,
    apply,
    assign,
    assign_text,
    insert,
    number_text,
    set_text_numbers,
    substitute,
)
from steelyard.numbers import to_float

NAMING = ("uri", "texture", "diffuse", "normal")  # elements that may name a file, and those of maps
MAP = "_map"


@dataclass(eq=False)
class Copies:
    """Edits of the uses of files, and the files that they become: the model at `target`, copies of others beside it."""

    main: SdfUse
    target: Path
    edits: dict[SdfUse, list[Edit]] = field(default_factory=dict)

    def add(self, sheet: SdfUse, edits: Iterable[Edit]) -> None:
        self.edits.setdefault(sheet, []).extend(edits)

    def files(self, sheets: list[SdfUse]) -> tuple[list[tuple[Path, bytes]], list[str]]:
        """Path and content of each file, the model last, and what was renamed. Raises ModelError for a target that is a
        sheet."""
        if self.target.exists() and any(self.target.samefile(each.document.path) for each in sheets):
            raise ModelError(
                f"{self.target} is a file of the model itself; input files are never changed. Choose another name."
            )
        paths: dict[SdfUse, Path] = {}
        for sheet in reversed(sheets):  # an inner file is there before the outer one names it
            if sheet is self.main:
                paths[sheet] = self.target
            elif self.edits.get(sheet):
                name = f"{self.target.stem}_{sheet.document.path.stem}_{sheets.index(sheet)}.sdf"
                paths[sheet] = self.target.parent / name
                uri = None if sheet.include is None else sheet.include.find("uri")
                assert sheet.above is not None and uri is not None  # of an included file
                self.add(sheet.above, assign_text(sheet.above.document, uri, name))
        found, renamed = [], []
        for sheet, path in paths.items():
            document, copied = sheet.document, {each.include for each in paths if each.above is sheet}
            moved, said = _moved_files(document, Relocation(document.path.parent, path.parent), copied)
            found.append((path, apply(document, self.edits.get(sheet, []) + moved)))
            renamed += said
            if sheet is not self.main:
                renamed.append(f"<include> of {document.path.name}: {path.name}, a copy")
        return found, renamed


def _moved_files(document: Document, mover: Relocation, copied) -> tuple[list[Edit], list[str]]:
    """Relative names of files, seen from the new folder. copied: includes that name copies already."""
    edits, renamed = [], []
    for element in document.root.walk():
        if (element.tag not in NAMING and not element.tag.endswith(MAP)) or element.children:
            continue
        if element.parent is not None and element.parent in copied:
            continue
        new = mover.moved(element.text.strip())
        if new is not None:
            edits += assign_text(document, element, new)
            renamed.append(f"<{element.tag}> in line {document.line(element)}: {new}")
    return edits, renamed


def edited(model: SdfDocument, robot: Robot, reference: Robot, target: Path) -> Draft:
    files, tree, _ = model.read()
    bodies = {tree.named(index): tree.bodies[index] for index in tree.chosen}
    joints = _joints_of(tree)

    def writable(joint, field):
        if joint.name not in joints:
            return False
        element, axis = joints[joint.name]
        if field == "armature":
            return axis == AXES[0] and element.item.element.find(ROTOR) is not None and gear_of(element.item) != 0
        return joint.features.has_axis and element.item.element.find(axis) is not None

    changes = find_changes(
        robot,
        reference,
        format="SDF",
        hosts=lambda link: reference.links[link].name in bodies,
        writable=writable,
        drives={},
    )
    copies = Copies(files.sheets[0], target)
    for index, theta in changes.links.items():
        name = reference.links[index].name
        body = bodies[name]
        stated = inertial_of(body, f"link '{name}'", model.meshes, strict=True)
        R = np.eye(3) if stated is None else stated.rotation
        mass, com, inertia = com_form(theta)
        place = body.item.sheet.reader.place(body.item.element, f"link '{name}'")
        copies.add(body.item.sheet, _inertial(body, Inertial(place, mass, com, R, R.T @ inertia @ R)))
    for name, properties in changes.joints.items():
        joint, axis = joints[name]
        copies.add(joint.item.sheet, _properties(joint, axis, properties))
    written, renamed = copies.files(files.sheets)
    return changes.draft("link", target, model.folders, written, renamed)


def _joints_of(tree: SdfTree) -> dict[str, tuple[SdfJoint, str]]:
    """Joints of the robot by name, each with its joint and axis in the file."""
    found = {}
    for body, carrier in tree.over.carriers.items():
        joint = tree.joints[carrier.joints[0][0]]
        if body in tree.chosen:
            found |= {name: (joint, axis) for name, axis in zip(joint_names(tree, joint), AXES, strict=False)}
    return found


def _properties(joint: SdfJoint, axis: str, properties: dict[str, float]) -> list[Edit]:
    document, element = joint.item.sheet.document, joint.item.element
    edits: list[Edit] = []
    if "armature" in properties:
        rotor = element.find(ROTOR)
        assert rotor is not None  # `writable`
        edits += set_text_numbers(document, rotor, [properties["armature"] / gear_of(joint.item) ** 2])
    values = {PROPERTIES[field]: value for field, value in properties.items() if field in PROPERTIES}
    holder = element.find(axis)
    assert holder is not None  # `writable`
    return edits + (_children(document, holder, "dynamics", values, {}) if values else [])


def _children(document: Document, parent: Element, tag: str, values: dict[str, float], defaults) -> list[Edit]:
    """Numbers of children of the child of a tag, made where they are missing and not what is meant by that."""
    holder = parent.find(tag)
    if holder is None:
        return insert(document, parent, NewElement(tag, {}, numbered(values)), last=True)
    edits: list[Edit] = []
    missing = {}
    for name, value in values.items():
        child = holder.find(name)
        if child is None:
            missing |= {name: value} if value != defaults.get(name) else {}
        else:
            edits += set_text_numbers(document, child, [value])
    if missing and holder.empty:
        return substitute(document, holder, NewElement(tag, dict(holder.attributes), numbered(missing)))
    return edits + [edit for new in numbered(missing) for edit in insert(document, holder, new, last=True)]


def numbered(values: dict[str, float]) -> tuple[NewElement, ...]:
    return tuple(NewElement(tag, {}, text=number_text([value])) for tag, value in values.items())


def new_inertial(theta) -> NewElement:
    """`<inertial>` of a link. theta: (10,) in its frame."""
    mass, com, inertia = com_form(theta) if np.any(theta) else (0.0, np.zeros(3), np.zeros((3, 3)))
    tensor: dict[str, float] = dict(zip(TENSOR, inertia[np.triu_indices(3)].tolist(), strict=True))
    pose = (NewElement("pose", {}, text=number_text([*com, 0, 0, 0])),) if np.any(com) else ()
    return NewElement("inertial", {}, (*pose, *numbered({"mass": mass}), NewElement("inertia", {}, numbered(tensor))))


def _inertial(body: SdfBody, inertial: Inertial) -> list[Edit]:
    """Edits that give a link its inertial, in the axes of the one that it has."""
    sheet = body.item.sheet
    document, link = sheet.document, body.item.element
    element = link.find("inertial")
    if element is None:
        return insert(document, link, new_inertial(inertial.theta))
    if element.empty:
        others = {name: value for name, value in element.attributes.items() if name != "auto"}
        new = new_inertial(inertial.theta)
        return substitute(document, element, NewElement("inertial", others, new.children))
    edits: list[Edit] = []
    if element.attributes.get("auto", "").strip().lower() in TRUE:
        edits += assign(document, element, "auto", "false")
    tensor: dict[str, float] = dict(zip(TENSOR, inertial.tensor[np.triu_indices(3)].tolist(), strict=True))
    mass = element.find("mass")
    if mass is None:
        edits += insert(document, element, *numbered({"mass": inertial.mass}))
    else:
        edits += set_text_numbers(document, mass, [inertial.mass])
    edits += _pose(sheet, element, inertial)
    return edits + _children(document, element, "inertia", tensor, dict.fromkeys(("ixy", "ixz", "iyz"), 0.0))


def _pose(sheet: SdfUse, element: Element, inertial: Inertial) -> list[Edit]:
    """Edits of the place of an inertial; its orientation stays, where it is not to be none."""
    pose = element.find("pose")
    document = sheet.document
    if pose is None or not pose.text.strip():
        text = number_text([*inertial.com, 0, 0, 0])
        if not inertial.com.any():
            return []
        if pose is None:
            return insert(document, element, NewElement("pose", {}, text=text))
        return assign_text(document, pose, text)
    none = [0.0, 0.0, 0.0, 1.0] if pose.attributes.get("rotation_format") == "quat_xyzw" else [0.0, 0.0, 0.0]
    turn = _numbers(pose.text.split()[3:])
    if len(turn) != len(none) or (inertial.rotation == np.eye(3)).all():
        turn = none
    return set_text_numbers(document, pose, [*inertial.com, *turn])


def _numbers(words: list[str]) -> list[float]:
    try:
        return [to_float(word) for word in words]
    except ValueError:
        return []


def with_inertials(
    model: SdfDocument, sketch: Sketch, inertials: dict[int, Inertial], target: Path
) -> list[tuple[Path, bytes]]:
    files, tree, _ = model.read()
    copies = Copies(files.sheets[0], target)
    for index, inertial in inertials.items():
        body = tree.bodies[tree.listed[index]]
        copies.add(body.item.sheet, _inertial(body, inertial))
    return copies.files(files.sheets)[0]
