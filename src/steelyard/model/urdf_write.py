"""Writing URDF: inertials and `<dynamics>` spliced into a copy of the user's file byte for byte, or a new file."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import transform
from steelyard.inertia.rotation import from_vector
from steelyard.model.assemble import DEFAULT_GRAVITY
from steelyard.model.changes import OPEN, Draft, com_form, find_changes, property_of, require_consistent
from steelyard.model.joint import Joint, is_helical, revolute_subspace, screw
from steelyard.model.meshes import Meshes, Piece
from steelyard.model.references import ASSET_FOLDERS, Relocation, left_behind
from steelyard.model.robot import WORLD, Robot
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
    new_file,
    number_text,
    set_numbers,
    update,
)
from steelyard.numbers import to_float
from steelyard.spatial import rotation_from_rpy, rpy_from_rotation


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


def new_model(robot: Robot, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    """A new file for `target`. Raises ModelError for what URDF has no words for: ball and helical joints."""
    for name, theta in zip(robot.body_names, robot.inertias, strict=True):
        if theta.any():
            require_consistent(name, theta)
    expected, shifted = _expressible(robot)
    links = [NewElement("link", {"name": _unused("world", expected.body_names)})]
    for name, theta in zip(expected.body_names, expected.inertias, strict=True):
        links.append(NewElement("link", {"name": name}, (new_inertial(theta),) if theta.any() else ()))
    joints = [_new_joint(expected, index, links) for index in range(expected.nj)]
    return Draft(
        files=((target, new_file(NewElement("robot", {"name": robot.name}, (*links, *joints)))),),
        expected=replace(expected, drives={}),
        changed=("new file: links, joints, inertials",),
        notes=tuple(_notes(robot, expected, shifted)),
    )


def _notes(robot: Robot, expected: Robot, shifted: list[str]):
    if shifted:
        yield f"URDF puts link frames on joint axes; those of {choices(shifted)} were moved there with their inertials."
    if expected.nb > robot.nb:
        added = [name for name in expected.body_names if name not in robot.body_names]
        yield f"Bodies with several joints got massless links between them: {choices(added)}."
    if robot.armature.any():
        yield "URDF has no place for armature; it was not written."
    lost = [name for name in ATTRIBUTES if np.any(getattr(robot, name)[~_with_axis(robot)])]
    if lost:
        yield f"URDF has no place for the {' and '.join(lost)} of joints without an axis; it was not written."
    if not np.array_equal(robot.gravity, DEFAULT_GRAVITY):
        yield f"URDF has no place for gravity {robot.gravity.tolist()}; it was not written."


def _expressible(robot: Robot) -> tuple[Robot, list[str]]:
    """The robot with link frames on joint axes, zero positions folded into the frames, and a link for every joint.

    Returns it and the names of the bodies whose frame moved.
    """
    shifts, joints = {WORLD: np.zeros(3)}, []
    for index, joint in enumerate(robot.joints):
        _require_expressible(joint)
        shift = screw(joint)[1] if joint.nv == 1 else np.zeros(3)
        shifts[index] = shift
        joints.append(_reframed(joint, shifts[int(robot.parents[index])], shift))
    bodies = {int(j): body for body, j in enumerate(robot.body_joints)}
    names, inertias, shifted = [], [], []
    for index, joint in enumerate(robot.joints):
        body = bodies.get(index)
        names.append(robot.body_names[body] if body is not None else _unused(f"{joint.name}_link", robot.body_names))
        theta = np.zeros(10) if body is None else robot.inertias[body]
        inertias.append(transform(theta, np.eye(3), -shifts[index]))
        if body is not None and np.any(shifts[index]):
            shifted.append(robot.body_names[body])
    reframed = replace(
        robot,
        joints=tuple(joints),
        body_names=tuple(names),
        body_joints=np.arange(robot.nj),
        inertias=np.array(inertias),
        gravity=np.array(DEFAULT_GRAVITY),
        armature=np.zeros(robot.nv),
        **{field: np.where(_with_axis(robot), getattr(robot, field), 0.0) for field in ATTRIBUTES},
        links=(),
        sites=(),
    )
    return reframed, shifted


def _with_axis(robot: Robot) -> np.ndarray:
    """(nv,) whether a freedom is that of a joint about or along an axis, which alone have <dynamics>."""
    return np.array([joint.features.has_axis for joint in robot.free_joints for _ in range(joint.nv)])


def _require_expressible(joint: Joint):
    if joint.features.urdf is None or is_helical(joint):
        kind = "helical" if is_helical(joint) else joint.features.title
        raise ModelError(
            f"Joint '{joint.name}' is {kind}, which URDF cannot say. Save the robot as MJCF (.xml), or model the joint "
            "as three hinges."
        )


def _reframed(joint: Joint, parent_shift, shift) -> Joint:
    """The joint between shifted frames. Both shifts (3,) are along the axes of the frame they move."""
    R, p = joint.rotation, joint.position - parent_shift + joint.rotation @ shift
    if joint.nv != 1:
        return replace(joint, position=p)
    axis, _, _ = screw(joint)
    if joint.turns:
        joint = replace(joint, subspace=revolute_subspace(axis))
    if joint.mimics is not None:
        return replace(joint, position=p)
    if joint.turns:
        R = R @ from_vector(joint.offset * axis)
    else:
        p = p + R @ axis * joint.offset
    return replace(joint, rotation=R, position=p, offset=0.0)


def _new_joint(robot: Robot, index: int, links: list[NewElement]) -> NewElement:
    joint, parent = robot.joints[index], int(robot.parents[index])
    kind = joint.features.urdf
    assert kind is not None  # `_require_expressible`
    bounds = np.array([joint.lower[0], joint.upper[0]])
    if kind == "revolute" and not np.isfinite(bounds).any():
        kind = "continuous"
    children = [
        NewElement("parent", {"link": links[parent + 1].attributes["name"]}),
        NewElement("child", {"link": links[index + 1].attributes["name"]}),
        NewElement(
            "origin", {"xyz": number_text(joint.position), "rpy": number_text(rpy_from_rotation(joint.rotation))}
        ),
    ]
    if joint.features.has_axis:
        children += [
            NewElement("axis", {"xyz": number_text(screw(joint)[0])}),
            *_new_limit(joint, kind, bounds),
            *_new_dynamics(robot, index),
        ]
    if joint.mimics is not None:
        attributes = {
            "joint": joint.mimics,
            "multiplier": number_text([joint.ratio]),
            "offset": number_text([joint.offset]),
        }
        children.append(NewElement("mimic", attributes))
    return NewElement("joint", {"name": joint.name, "type": kind}, tuple(children))


def _new_limit(joint: Joint, kind: str, bounds) -> list[NewElement]:
    """`<limit>`, which URDF requires of bounded joints; a missing bound becomes a number no robot reaches."""
    strength = np.array([joint.effort_limit[0], joint.velocity_limit[0]])
    if joint.nv > 1 or (kind == "continuous" and not np.isfinite(strength).any()):
        return []
    names = ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")
    values = strength if kind == "continuous" else np.concatenate([bounds, strength])
    return [
        NewElement("limit", {n: number_text([v]) for n, v in zip(names, np.clip(values, -OPEN, OPEN), strict=True)})
    ]


def _new_dynamics(robot: Robot, index: int) -> list[NewElement]:
    values = {name: property_of(robot, index, field, format="URDF")[0] for field, name in ATTRIBUTES.items()}
    pair = {name: number_text([value]) for name, value in values.items() if value}
    return [NewElement("dynamics", pair)] if pair else []


def _unused(name: str, taken) -> str:
    while name in taken:
        name += "_"
    return name
