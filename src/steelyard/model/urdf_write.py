"""Writing URDF back: inertials and `<dynamics>` spliced into a copy of the user's file byte for byte."""

from pathlib import Path

import numpy as np

from steelyard.model.changes import Draft, com_form, find_changes
from steelyard.model.meshes import Meshes
from steelyard.model.references import ASSET_FOLDERS, Relocation, left_behind
from steelyard.model.robot import Robot
from steelyard.model.sketch import Inertial, Place, Sketch
from steelyard.model.urdf import ATTRIBUTES, TENSOR, UrdfDocument
from steelyard.model.urdf_geometry import ROLES
from steelyard.model.xml import Document, Element
from steelyard.model.xml_edit import (
    Edit,
    NewElement,
    apply,
    assign,
    insert,
    number_text,
    set_numbers,
    update,
)
from steelyard.numbers import to_float
from steelyard.spatial import rotation_from_rpy


def edited(model: UrdfDocument, robot: Robot, reference: Robot, target: Path) -> Draft:
    """As of `ModelDocument.edited`."""
    document = model.xml
    changes = find_changes(
        robot,
        reference,
        format="URDF",
        hosts=lambda link: True,
        writable=lambda joint, field: field in ATTRIBUTES and joint.features.has_axis,
        drives={},
    )
    links = {e.attributes.get("name"): e for e in document.root.children if e.tag == "link"}
    joints = {e.attributes.get("name"): e for e in document.root.children if e.tag == "joint"}
    edits, changed = [], []
    for index, theta in changes.links.items():
        name = reference.links[index].name
        edits += _inertial(document, links[name], theta, _in_stated_axes(document, links[name], theta))
        changed.append(f"link '{name}': inertial")
    for name, properties in changes.joints.items():
        edits += _dynamics(document, joints[name], {ATTRIBUTES[field]: value for field, value in properties.items()})
        changed.append(f"joint '{name}': {', '.join(properties)}")
    moved, renamed = moved_files(document, Relocation(document.path.parent, target.parent))
    return Draft(
        files=((target, apply(document, edits + moved)),),
        expected=changes.expected,
        changed=(*changed, *renamed),
        rescaled=changes.rescaled,
        notes=(*changes.notes, *(left_behind(model.folders, target) if renamed else ())),
    )


def new_inertial(theta) -> NewElement:
    """`<inertial>` of a link. theta: (10,) in its frame."""
    mass, com, inertia = com_form(theta)
    values = zip(TENSOR, inertia[np.triu_indices(3)], strict=True)
    return NewElement(
        "inertial",
        {},
        (
            NewElement("origin", {"xyz": number_text(com), "rpy": "0 0 0"}),
            NewElement("mass", {"value": number_text([mass])}),
            NewElement("inertia", {key: number_text([value]) for key, value in values}),
        ),
    )


def _in_stated_axes(document: Document, link: Element, theta) -> Inertial:
    """Inertial of theta (10,) in the axes that the link states, which stay as the user chose them."""
    mass, com, inertia = com_form(theta)
    stated = link.find("inertial")
    origin = None if stated is None else stated.find("origin")
    rpy = "0 0 0" if origin is None else origin.attributes.get("rpy", "0 0 0")
    R = rotation_from_rpy(np.array([to_float(word) for word in rpy.split()]))
    return Inertial(Place(document.path, document.line(link), "link"), mass, com, R, R.T @ inertia @ R)


def _dynamics(document: Document, joint: Element, values: dict[str, float]) -> list[Edit]:
    element = joint.find("dynamics")
    if element is None:
        return insert(
            document, joint, NewElement("dynamics", {k: number_text([v]) for k, v in values.items()}), last=True
        )
    return [edit for key, value in values.items() for edit in update(document, element, key, [value])]


def moved_files(document: Document, mover: Relocation) -> tuple[list[Edit], list[str]]:
    """Relative mesh and texture files, and MuJoCo's folders, seen from the new folder."""
    edits, renamed = [], []
    for element in document.root.walk():
        names = {"mesh": ("filename",), "texture": ("filename",), "compiler": ASSET_FOLDERS}
        for name in names.get(element.tag, ()):
            new = mover.moved(element.attributes.get(name))
            if new is not None:
                edits += assign(document, element, name, new)
                renamed.append(f'<{element.tag}> in line {document.line(element)}: {name}="{new}"')
    return edits, renamed


def alone(model: UrdfDocument, *, geometry: bool) -> bytes:
    """As of `ModelDocument.alone`: meshes by their full paths; what may not be opened is left out."""
    document, source = model.xml, Meshes(model.path.parent, model.folders)
    edits: list[Edit] = []
    for link in (each for each in document.root.children if each.tag == "link"):
        for element in (each for each in link.children if each.tag in ROLES):
            meshes = [*element.every("mesh")]
            found = [source.find(mesh.attributes.get("filename", "").strip()).path for mesh in meshes]
            if element.tag == "visual" or not geometry or None in found:
                edits.append(Edit(element.start, element.end, ""))
                continue
            for mesh, path in zip(meshes, found, strict=True):
                edits += assign(document, mesh, "filename", str(path))
    return apply(document, edits)


def with_inertials(
    model: UrdfDocument, sketch: Sketch, inertials: dict[int, Inertial], target: Path
) -> list[tuple[Path, bytes]]:
    """As of `ModelDocument.with_inertials`."""
    document = model.xml
    links: dict[str, Element] = {}
    for element in document.root.children:
        if element.tag == "link":
            links.setdefault(element.attributes.get("name", ""), element)
    edits: list[Edit] = []
    for index, inertial in inertials.items():
        edits += _inertial(document, links[sketch.parts[index].name], inertial.theta, inertial)
    moved, _ = moved_files(document, Relocation(document.path.parent, target.parent))
    return [(target, apply(document, edits + moved))]


def _inertial(document: Document, link: Element, theta, inertial: Inertial) -> list[Edit]:
    """Edits that give a link its inertial. theta: (10,) the same where a new element is written."""
    element = link.find("inertial")
    if element is None:
        return insert(document, link, new_inertial(theta))
    mass, tensor, origin = element.find("mass"), element.find("inertia"), element.find("origin")
    if mass is None or tensor is None:
        return [Edit(element.start, element.end, ""), *insert(document, link, new_inertial(theta))]
    edits: list[Edit] = []
    if origin is None:
        if inertial.com.any():
            edits += insert(document, element, NewElement("origin", {"xyz": number_text(inertial.com), "rpy": "0 0 0"}))
    else:
        edits += set_numbers(document, origin, "xyz", inertial.com, default=(0.0, 0.0, 0.0))
        if (inertial.rotation == np.eye(3)).all() and "rpy" in origin.attributes:
            edits += set_numbers(document, origin, "rpy", np.zeros(3))
    edits += set_numbers(document, mass, "value", [inertial.mass])
    for name, value in zip(TENSOR, inertial.tensor[np.triu_indices(3)], strict=True):
        edits += set_numbers(document, tensor, name, [value], default=(0.0,))
    return edits
