"""Mended inertials spliced into a copy of the model's files; every other byte stays."""

from pathlib import Path

import numpy as np

from steelyard.check.parts import Inertial, Sketch
from steelyard.check.scan_mjcf import body_name
from steelyard.model import (
    ORIENTATIONS,
    Body,
    Document,
    Edit,
    Element,
    Mover,
    New,
    apply,
    assign,
    bodies,
    insert,
    mjcf_write,
    number_text,
    read,
    read_files,
    relocate,
    replace_attribute,
    update,
    urdf_write,
)

TRIANGLE = np.triu_indices(3)
NAMES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
DIAGONAL = 1e-12  # relative size of products of inertia that are rounding


def edited(sketch: Sketch, inertials: dict[int, Inertial], target: Path, folders) -> list[tuple[Path, bytes]]:
    """Files of the repaired model with the path each is to be written to, the model last.

    inertials: index of a part -> its new inertial. folders: in which included files may lie. Raises ModelError where a
    part is not written in the files.
    """
    if sketch.format == "urdf":
        return [(target, _urdf(sketch, inertials, target))]
    files = read_files(sketch.path, folders)
    listed = {body_name(body, i + 1): body for i, body in enumerate(bodies(files)[0])}
    edits: dict[Document, list[Edit]] = {}
    for index, inertial in inertials.items():
        owner, made = _mjcf_inertial(listed[sketch.parts[index].name], inertial)
        edits.setdefault(owner, []).extend(made)
    places, moves, _ = relocate(files, set(edits), target)
    written = [(path, apply(document, edits.get(document, []) + moves[document])) for document, path in places.items()]
    return [*written[1:], written[0]]


def _urdf(sketch: Sketch, inertials: dict[int, Inertial], target: Path) -> bytes:
    document = read(sketch.path)
    links: dict[str, Element] = {}
    for element in document.root.children:
        if element.tag == "link":
            links.setdefault(element.attributes.get("name", ""), element)
    edits: list[Edit] = []
    for index, inertial in inertials.items():
        edits += _urdf_inertial(document, links[sketch.parts[index].name], inertial)
    moved, _ = urdf_write.moved_files(document, Mover(document.path.parent, target.parent))
    return apply(document, edits + moved)


def _urdf_inertial(document: Document, link: Element, inertial: Inertial) -> list[Edit]:
    element = link.find("inertial")
    if element is None:
        return insert(document, link, urdf_write.new_inertial(inertial.theta))
    mass, tensor, origin = element.find("mass"), element.find("inertia"), element.find("origin")
    if mass is None or tensor is None:
        return [Edit(element.start, element.end, ""), *insert(document, link, urdf_write.new_inertial(inertial.theta))]
    edits: list[Edit] = []
    if origin is None:
        if inertial.com.any():
            edits += insert(document, element, New("origin", {"xyz": number_text(inertial.com), "rpy": "0 0 0"}))
    else:
        edits += _set(document, origin, "xyz", inertial.com, default=(0.0, 0.0, 0.0))
        if (inertial.rotation == np.eye(3)).all() and "rpy" in origin.attributes:
            edits += _set(document, origin, "rpy", np.zeros(3))
    edits += _set(document, mass, "value", [inertial.mass])
    for name, value in zip(NAMES, inertial.tensor[TRIANGLE], strict=True):
        edits += _set(document, tensor, name, [value], default=(0.0,))
    return edits


def _set(document: Document, element: Element, name: str, values, *, default=None) -> list[Edit]:
    """New numbers for an attribute whatever stands there; untouched where it says them already."""
    try:
        return update(document, element, name, values, default=default)
    except ValueError:  # no numbers
        return assign(document, element, name, number_text(values))


def _mjcf_inertial(body: Body, inertial: Inertial) -> tuple[Document, list[Edit]]:
    if body.inertial is None:
        document = body.node.document
        return document, insert(document, body.node.element, mjcf_write.new_inertial(inertial.theta))
    document, element = body.inertial.document, body.inertial.element
    edits = _set(document, element, "pos", inertial.com) + _set(document, element, "mass", [inertial.mass])
    if "fullinertia" in element.attributes:
        full = inertial.turned[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        return document, edits + _set(document, element, "fullinertia", full)
    I = inertial.tensor
    if np.abs(I - np.diag(np.diag(I))).max() <= DIAGONAL * np.abs(I).max():
        return document, edits + _set(document, element, "diaginertia", np.diag(I))
    moments, quaternion = mjcf_write.principal_moments(inertial.turned)
    edits += _set(document, element, "diaginertia", moments)
    spelled = [name for name in ORIENTATIONS if name in element.attributes]
    if spelled:
        return document, edits + replace_attribute(document, element, spelled[0], "quat", number_text(quaternion))
    return document, edits + _set(document, element, "quat", quaternion, default=(1.0, 0.0, 0.0, 0.0))
