"""A new URDF file of a robot in its normal form, and of the geometry of its links."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import choices
from steelyard.model.changes import OPEN, Draft, unused
from steelyard.model.joint import Joint, screw
from steelyard.model.meshes import Piece
from steelyard.model.normal_form import Form, Member, at_origin, fixed
from steelyard.model.references import Relocation
from steelyard.model.robot import WORLD, Link, Robot
from steelyard.model.side_mechanism import GROUND
from steelyard.model.urdf import ATTRIBUTES, FIXED
from steelyard.model.urdf_write import new_inertial
from steelyard.model.xml_edit import NewElement, new_file, number_text
from steelyard.spatial import rpy_from_rotation

STATED = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length")}
"""Primitives that every reader of URDF knows, and their attributes."""
MESHES = (".stl", ".obj", ".dae")


def mesh_problem(name: str, content: bytes, role: str) -> str:
    """As of `Shapes.problem`: readers of URDF share these kinds of files."""
    suffix = Path(name).suffix.lower()
    return "" if suffix in MESHES else f"{suffix} files are not read by all readers of URDF"


def new_model(form: Form, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    """A new file for `target`. pieces: geometry of the robot's links."""
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
        names = STATED[kind]
        values = [sizes] if len(names) == 1 else [[size] for size in sizes]
        return NewElement(kind, {name: number_text(value) for name, value in zip(names, values, strict=True)})
    assert piece.file is not None and piece.file.path is not None and piece.scale is not None  # of `shape_output`
    attributes = {"filename": Relocation(target.parent, target.parent).seen(piece.file.path)}
    if not np.array_equal(piece.scale, np.ones(3)):
        attributes["scale"] = number_text(piece.scale)
    return NewElement("mesh", attributes)


def _origin(position, rotation) -> NewElement:
    return NewElement("origin", {"xyz": number_text(position), "rpy": number_text(rpy_from_rotation(rotation))})


def _ends(member: Member, root: str) -> tuple[NewElement, ...]:
    """What a joint ties, and where."""
    ends = NewElement("parent", {"link": member.on or root}), NewElement("child", {"link": member.link.name})
    return *ends, _origin(member.position, member.rotation)


def _joint(form: Form, member: Member, root: str) -> NewElement:
    (index,) = member.joints
    joint = form.robot.joints[index]
    kind = str(joint.features.urdf)
    bounds = np.array([joint.lower[0], joint.upper[0]])
    if kind == "revolute" and not np.isfinite(bounds).any():
        kind = "continuous"
    children = [*_ends(member, root)]
    if joint.features.has_axis:
        children += [NewElement("axis", {"xyz": number_text(screw(joint)[0])}), *_limit(joint, kind, bounds)]
        values = {name: form.value(index, field) for field, name in ATTRIBUTES.items()}
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
