"""URDF write-back: new inertials and `<dynamics>` spliced into a copy of the user's file, byte for byte."""

import numpy as np

from steelyard.model.changes import com_form, find_changes
from steelyard.model.draft import Draft
from steelyard.model.paths import Mover
from steelyard.model.references import left_behind
from steelyard.model.robot import Robot
from steelyard.model.xml_edit import Document, Edit, Element, New, apply, assign, insert, number_text, read, update
from steelyard.spatial import rotation_from_rpy

INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
ATTRIBUTES = {"damping": "damping", "frictionloss": "friction"}


def draft(robot: Robot, reference: Robot, target) -> Draft:
    """The edited copy of the robot's URDF, to be written at `target`. reference: the robot as its file reads now."""
    assert reference.source is not None
    document = read(reference.source.path)
    changes = find_changes(
        robot,
        reference,
        format="URDF",
        hosts=lambda link: True,
        holds=lambda joint, field: field in ATTRIBUTES and joint.kind != "free",
    )
    links = {e.attributes.get("name"): e for e in document.root.children if e.tag == "link"}
    joints = {e.attributes.get("name"): e for e in document.root.children if e.tag == "joint"}
    edits, changed = [], []
    for index, theta in changes.links.items():
        name = reference.links[index].name
        edits += _inertial(document, links[name], theta)
        changed.append(f"link '{name}': inertial")
    for name, properties in changes.joints.items():
        edits += _dynamics(document, joints[name], {ATTRIBUTES[field]: value for field, value in properties.items()})
        changed.append(f"joint '{name}': {', '.join(properties)}")
    moved, renamed = moved_files(document, Mover(document.path.parent, target.parent))
    return Draft(
        files=((target, apply(document, edits + moved)),),
        expected=changes.expected,
        changed=(*changed, *renamed),
        notes=(*changes.notes, *(left_behind(reference.source.folders, target) if renamed else ())),
    )


def new_inertial(theta) -> New:
    """`<inertial>` of a link. theta: (10,) in its frame."""
    mass, com, inertia = com_form(theta)
    values = zip(INERTIA, inertia[np.triu_indices(3)], strict=True)
    return New(
        "inertial",
        {},
        (
            New("origin", {"xyz": number_text(com), "rpy": "0 0 0"}),
            New("mass", {"value": number_text([mass])}),
            New("inertia", {key: number_text([value]) for key, value in values}),
        ),
    )


def _inertial(document: Document, link: Element, theta) -> list[Edit]:
    inertial = link.find("inertial")
    if inertial is None:
        return insert(document, link, new_inertial(theta))
    mass, com, inertia = com_form(theta)
    origin, mass_element, matrix = (inertial.find(tag) for tag in ("origin", "mass", "inertia"))
    assert mass_element is not None and matrix is not None  # the reader requires both
    edits = []
    if origin is None:
        edits += insert(document, inertial, New("origin", {"xyz": number_text(com), "rpy": "0 0 0"}))
    else:
        # the rotation the user chose stays, and the inertia is written in its axes
        R = rotation_from_rpy(np.array([float(word) for word in origin.attributes.get("rpy", "0 0 0").split()]))
        inertia = R.T @ inertia @ R
        edits += update(document, origin, "xyz", com, default=(0.0, 0.0, 0.0))
    edits += update(document, mass_element, "value", [mass])
    for key, value in zip(INERTIA, inertia[np.triu_indices(3)], strict=True):
        edits += update(document, matrix, key, [value], default=(0.0,))
    return edits


def _dynamics(document: Document, joint: Element, values: dict[str, float]) -> list[Edit]:
    element = joint.find("dynamics")
    if element is None:
        return insert(document, joint, New("dynamics", {k: number_text([v]) for k, v in values.items()}), last=True)
    return [edit for key, value in values.items() for edit in update(document, element, key, [value])]


def moved_files(document: Document, mover: Mover) -> tuple[list[Edit], list[str]]:
    """Relative mesh and texture files, and MuJoCo's folders, seen from the new folder."""
    edits, renamed = [], []
    for element in document.root.walk():
        names = {"mesh": ("filename",), "texture": ("filename",), "compiler": ("meshdir", "texturedir", "assetdir")}
        for name in names.get(element.tag, ()):
            new = mover.moved(element.attributes.get(name))
            if new is not None:
                edits += assign(document, element, name, new)
                renamed.append(f'<{element.tag}> in line {document.line(element)}: {name}="{new}"')
    return edits, renamed
