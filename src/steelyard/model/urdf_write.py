"""Writing URDF: a new file of a robot in its normal form, and inertials and `<dynamics>` spliced into a copy of the
user's file byte for byte."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from steelyard.errors import choices
from steelyard.inertia.solids import XML_SIZES
from steelyard.model.changes import OPEN, Draft, com_form, find_changes, unused
from steelyard.model.joint import Joint, screw
from steelyard.model.meshes import Meshes, Piece
from steelyard.model.normal_form import Member, NormalForm, at_origin, fixed
from steelyard.model.references import ASSET_FOLDERS, Relocation
from steelyard.model.robot import WORLD, Link, Robot
from steelyard.model.side_mechanism import GROUND
from steelyard.model.sketch import Inertial, Place, Sketch
from steelyard.model.urdf import FIXED, UrdfDocument
from steelyard.model.urdf_geometry import PROPERTIES, ROLES, TENSOR
from steelyard.model.xml import Document, Element
from steelyard.model.xml_edit import (
    Edit,
    NewElement,
    apply,
    assign,
    insert,
    new_file,
    number_text,
    set_numbers,
    update,
)
from steelyard.numbers import to_float
from steelyard.spatial import rotation_from_rpy, rpy_from_rotation


def edited(model: UrdfDocument, robot: Robot, reference: Robot, target: Path) -> Draft:
    document = model.xml
    changes = find_changes(
        robot,
        reference,
        format="URDF",
        hosts=lambda link: True,
        writable=lambda joint, field: field in PROPERTIES and joint.features.has_axis,
        drives={},
    )
    links = {e.attributes.get("name"): e for e in document.root.children if e.tag == "link"}
    joints = {e.attributes.get("name"): e for e in document.root.children if e.tag == "joint"}
    edits = []
    for index, theta in changes.links.items():
        name = reference.links[index].name
        edits += _inertial_edits(document, links[name], theta, _in_stated_axes(document, links[name], theta))
    for name, properties in changes.joints.items():
        edits += _dynamics(document, joints[name], {PROPERTIES[field]: value for field, value in properties.items()})
    moved, renamed = moved_files(document, Relocation(document.path.parent, target.parent))
    files = ((target, apply(document, edits + moved)),)
    return changes.draft("link", target, model.folders, files, renamed)


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
    document = model.xml
    links: dict[str, Element] = {}
    for element in document.root.children:
        if element.tag == "link":
            links.setdefault(element.attributes.get("name", ""), element)
    edits: list[Edit] = []
    for index, inertial in inertials.items():
        edits += _inertial_edits(document, links[sketch.parts[index].name], inertial.theta, inertial)
    moved, _ = moved_files(document, Relocation(document.path.parent, target.parent))
    return [(target, apply(document, edits + moved))]


def _inertial_edits(document: Document, link: Element, theta, inertial: Inertial) -> list[Edit]:
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


def new_model(form: NormalForm, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    shapes = form.geometry(pieces)
    root, whole, notes = _named(form.robot, shapes)
    kept = {link.name for link in whole.links}
    taken = {joint.name for joint in whole.joints}
    members = [each for each in form.members if each.link.name in kept]
    members += [fixed(whole, Link(s.name, s.body, s.rotation, s.position, np.zeros(10), False)) for s in whole.sites]
    elements = [] if root in kept else [NewElement("link", {"name": root})]
    joints = []
    for each in sorted(members, key=lambda each: (each.link.body, not each.joints)):
        name = each.link.name
        inertial = (new_inertial(each.link.theta),) if each.link.theta.any() else ()
        drawn = (_shape(piece, target) for piece in shapes.get(name, ()))
        elements.append(NewElement("link", {"name": name}, (*inertial, *drawn)))
        if each.joints:
            joints.append(_joint(form, each, root))
        elif name != root:
            joint = unused(f"{name}_fixed", taken)
            taken.add(joint)
            joints.append(NewElement("joint", {"name": joint, "type": FIXED}, _ends(each, root)))
    content = new_file(NewElement("robot", {"name": whole.name}, (*elements, *joints)))
    return form.draft(target, content, notes, whole=whole)


def _named(whole: Robot, shapes) -> tuple[str, Robot, list[str]]:
    """The root link, the robot with names that links of URDF can share, and notes on sites.

    The root is the link that has the world's frame. The ground, which MJCF names "world" in every file, is left out
    where it carries nothing and another link can take its place.
    """
    still = [link for link in whole.links if link.body == WORLD and at_origin(link)]
    full = {*shapes, *(site.name for site in whole.sites if site.body == WORLD)}
    kept = [link for link in still if link.name != GROUND or link.theta.any() or link.name in full]
    names = {link.name for link in whole.links} | set(whole.body_names)
    root = kept[0].name if kept else GROUND if still else unused(GROUND, names)
    links = tuple(
        link for link in whole.links if not (link in still and link.name == GROUND != root and link not in kept)
    )
    sites, renamed, taken = [], [], {*names, root}
    for site in whole.sites:
        if site.body == WORLD and site.name == root == GROUND and at_origin(site):  # the ground, told apart
            continue
        name = unused(site.name, taken)
        taken.add(name)
        sites.append(replace(site, name=name))
        renamed += [f"{site.name} -> {name}"] if name != site.name else []
    notes = [f"Sites are links without mass: {choices(site.name for site in sites)}."] if sites else []
    notes += [f"Sites that have the name of a link got another: {choices(renamed)}."] if renamed else []
    return root, replace(whole, links=links, sites=tuple(sites)), notes


def _shape(piece: Piece, target: Path) -> NewElement:
    children = [_origin(piece.position, piece.rotation), NewElement("geometry", {}, (_geometry(piece, target),))]
    if piece.color is not None:
        color = NewElement("color", {"rgba": number_text(piece.color)})
        children.append(NewElement("material", {"name": "_".join(f"{each:.4g}" for each in piece.color)}, (color,)))
    return NewElement(piece.role, {}, tuple(children))


def _geometry(piece: Piece, target: Path) -> NewElement:
    if piece.solid is not None:
        kind, sizes = piece.solid
        rest = iter(sizes)
        words = {name: number_text(islice(rest, count)) for name, count in XML_SIZES[kind].items()}
        return NewElement(kind, words)
    assert piece.file is not None and piece.file.path is not None and piece.scale is not None  # of `shape_output`
    attributes = {"filename": Relocation(target.parent, target.parent).seen(piece.file.path)}
    if not np.array_equal(piece.scale, np.ones(3)):
        attributes["scale"] = number_text(piece.scale)
    return NewElement("mesh", attributes)


def _origin(position, rotation) -> NewElement:
    return NewElement("origin", {"xyz": number_text(position), "rpy": number_text(rpy_from_rotation(rotation))})


def _ends(member: Member, root: str) -> tuple[NewElement, ...]:
    ends = NewElement("parent", {"link": member.on or root}), NewElement("child", {"link": member.link.name})
    return *ends, _origin(member.position, member.rotation)


def _joint(form: NormalForm, member: Member, root: str) -> NewElement:
    (index,) = member.joints
    joint = form.robot.joints[index]
    kind = str(joint.features.urdf)
    bounds = np.array([joint.lower[0], joint.upper[0]])
    if kind == "revolute" and not np.isfinite(bounds).any():
        kind = "continuous"
    children = [*_ends(member, root)]
    if joint.features.has_axis:
        children += [NewElement("axis", {"xyz": number_text(screw(joint)[0])}), *_limit(joint, kind, bounds)]
        values = {name: form.value(index, field) for field, name in PROPERTIES.items()}
        pair = {name: number_text([value]) for name, value in values.items() if value}
        children += [NewElement("dynamics", pair)] if pair else []
    if joint.mimics is not None:
        numbers = {"multiplier": number_text([joint.ratio]), "offset": number_text([joint.offset])}
        children.append(NewElement("mimic", {"joint": joint.mimics} | numbers))
    return NewElement("joint", {"name": joint.name, "type": kind}, tuple(children))


def _limit(joint: Joint, kind: str, bounds) -> list[NewElement]:
    """`<limit>`, which URDF requires of bounded joints; a missing bound becomes a number no robot reaches."""
    strength = np.array([joint.effort_limit[0], joint.velocity_limit[0]])
    if joint.nv > 1 or (kind == "continuous" and not np.isfinite(strength).any()):
        return []
    names = ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")
    values = strength if kind == "continuous" else np.concatenate([bounds, strength])
    return [
        NewElement("limit", {n: number_text([v]) for n, v in zip(names, np.clip(values, -OPEN, OPEN), strict=True)})
    ]
