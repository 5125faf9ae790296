"""A new SDF file of a robot in its normal form: links with their geometry, joints, limits, mimics and frames.

The file declares the lowest version that has words for what is in it, so that older simulators read it, too. Links
without mass that are fixed to others become frames, as Gazebo refuses links of no mass.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np

from steelyard.errors import choices
from steelyard.inertia.solids import XML_SIZES
from steelyard.model.changes import Draft, unused
from steelyard.model.joint import Joint, ball_anchor, is_helical, screw
from steelyard.model.meshes import Piece
from steelyard.model.normal_form import NormalForm, at_origin
from steelyard.model.references import Relocation
from steelyard.model.robot import WORLD, Frame, Link, Robot
from steelyard.model.sdf_frames import WORLD_FRAME
from steelyard.model.sdf_joints import AXES, GEAR, PITCH, ROTOR
from steelyard.model.sdf_write import new_inertial, numbered
from steelyard.model.urdf_geometry import PROPERTIES
from steelyard.model.xml_edit import NewElement, new_file, number_text
from steelyard.numbers import ROUNDING
from steelyard.spatial import quaternion_of, rotation_from_rpy, rpy_from_rotation

# versions 1.x that have words for something, from the first one that is written on
SINCE = {"": 7, "capsule": 8, "ellipsoid": 8, "quaternion": 9, "screw": 10, "mimic": 11}


@dataclass(eq=False)
class SdfDraft:
    """What is being written."""

    target: Path
    version: int = SINCE[""]  # 1.x that it needs so far
    parts: list[NewElement] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)  # as they read back
    lost: list[Frame] = field(default_factory=list)  # that have no place
    notes: list[str] = field(default_factory=list)  # what is not in it

    @property
    def ground(self) -> str:
        """What stands for the world: the first link, where it is held at its origin, so that a robot can be moved."""
        first = self.links[0] if self.links and self.links[0].body == WORLD else None
        return first.name if first is not None and at_origin(first) else WORLD_FRAME

    def need(self, what: str) -> None:
        self.version = max(self.version, SINCE.get(what, 0))

    def pose(self, rotation, position, relative: str = "") -> tuple[NewElement, ...]:
        """`<pose>`, none for the one that nothing says; by a quaternion where angles would not be exact."""
        if not relative and not np.any(position) and np.array_equal(rotation, np.eye(3)):
            return ()
        attributes = {"relative_to": relative} if relative else {}
        rpy = rpy_from_rotation(rotation)
        if np.abs(rotation_from_rpy(np.array(rpy)) - rotation).max() < ROUNDING:
            return (NewElement("pose", attributes, text=number_text([*position, *rpy])),)
        self.need("quaternion")
        text = number_text([*position, *quaternion_of(rotation)])
        return (NewElement("pose", attributes | {"rotation_format": "quat_xyzw"}, text=text),)

    def link(self, link: Link, pose: tuple[NewElement, ...], drawn) -> None:
        """Write a link with its geometry."""
        children = (*pose, new_inertial(link.theta), *drawn)
        self.parts.append(NewElement("link", {"name": link.name}, children))
        self.links.append(link)


def new_model(form: NormalForm, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    sheet, frames = SdfDraft(target), []
    robot, shapes = form.robot, form.geometry(pieces)
    for each in form.members:
        link, moves = each.link, bool(each.joints)
        if link.name == WORLD_FRAME:
            continue
        drawn = shapes.get(link.name, [])
        if not moves and not link.theta.any() and (each.on or not drawn):
            frames.append(link)
            continue
        drawn = [*drawn, *(_of_frames(form, link, shapes) if moves else ())]
        parent = each.on or sheet.ground
        sheet.link(link, sheet.pose(each.rotation, each.position, each.on), _drawn(sheet, drawn))
        if not moves:
            taken = {*robot.frames, *(joint.name for joint in robot.joints)}
            ends = NewElement("parent", {}, text=parent), NewElement("child", {}, text=link.name)
            sheet.parts.append(
                NewElement("joint", {"name": unused(f"{link.name}_fixed", taken), "type": "fixed"}, ends)
            )
        elif robot.joints[each.joints[0]].kind != "free":
            sheet.parts.append(_joint(sheet, form, each.joints, parent, link.name))
    _frames(sheet, robot, frames)
    _tell(sheet, robot, pieces)
    attributes = {"version": f"1.{sheet.version}"}
    if any(":" in each.tag for part in sheet.parts for each in part.children):
        attributes["xmlns:drake"] = "http://drake.mit.edu"
    model = NewElement("model", {"name": robot.name}, tuple(sheet.parts))
    ground = () if robot.floating else (Link(WORLD_FRAME, WORLD, np.eye(3), np.zeros(3), np.zeros(10), False),)
    links = (each for each in robot.links if each not in sheet.lost and each.name != WORLD_FRAME)
    sites = (each for each in robot.sites if each not in sheet.lost)
    return form.draft(
        target,
        new_file(NewElement("sdf", attributes, (model,))),
        sheet.notes,
        expected=replace(form.expected, links=(*ground, *sheet.links)),
        whole=replace(robot, links=tuple(links), sites=tuple(sites)),
    )


def universal(robot: Robot, index: int) -> bool:
    """Whether a joint and the next are those that a universal joint of SDF is read as."""
    if index + 1 >= robot.nj or int(robot.parents[index + 1]) != index or index in robot.body_joints:
        return False
    first, second = robot.joints[index : index + 2]
    stem, names = first.name.removesuffix(f"_{AXES[0]}"), [f"_{axis}" for axis in AXES]
    hinges = all(
        each.kind == "revolute" and each.mimics is None and each.offset == 0 and not is_helical(each)
        for each in (first, second)
    )
    in_place = not second.position.any() and np.array_equal(second.rotation, np.eye(3))
    named = [first.name, second.name] == [stem + name for name in names]
    return named and hinges and in_place and np.allclose(screw(first)[1], screw(second)[1], atol=ROUNDING)


def _joint(sheet: SdfDraft, form: NormalForm, chain: tuple[int, ...], parent: str, child: str) -> NewElement:
    joint = form.robot.joints[chain[-1]]
    kind, name = _type(form.robot, chain), joint.name
    anchor = ball_anchor(joint.subspace) if joint.kind == "spherical" else screw(joint)[1]
    children = [
        *sheet.pose(np.eye(3), anchor),
        NewElement("parent", {}, text=parent),
        NewElement("child", {}, text=child),
    ]
    if joint.features.has_axis:
        children += [_axis(sheet, form, index, tag) for index, tag in zip(chain, AXES, strict=False)]
    if len(chain) > 1:
        name = name.removesuffix(f"_{AXES[1]}")
    if kind == "screw":
        sheet.need("screw")
        children += numbered({PITCH: 2 * np.pi * screw(joint)[2]})
    if len(chain) == 1 and (armature := form.value(chain[-1], "armature")):
        children += numbered({ROTOR: armature, GEAR: 1.0})
    return NewElement("joint", {"name": name, "type": kind}, tuple(children))


def _type(robot: Robot, chain: tuple[int, ...]) -> str:
    joint = robot.joints[chain[-1]]
    if len(chain) > 1:
        axes = [screw(robot.joints[index])[0] for index in chain]
        return "universal" if abs(axes[0] @ axes[1]) < ROUNDING else "revolute2"
    if joint.kind == "spherical":
        return "ball"
    if joint.kind == "prismatic":
        return "prismatic"
    if is_helical(joint):
        return "screw"
    return "revolute" if np.isfinite([joint.lower[0], joint.upper[0]]).any() else "continuous"


def _axis(sheet: SdfDraft, form: NormalForm, index: int, tag: str) -> NewElement:
    joint = form.robot.joints[index]
    bounds = {"lower": joint.lower, "upper": joint.upper, "effort": joint.effort_limit}
    limits = {key: float(value[0]) for key, value in (bounds | {"velocity": joint.velocity_limit}).items()}
    limits = {key: value for key, value in limits.items() if np.isfinite(value)}
    dynamics = {word: form.value(index, name) for name, word in PROPERTIES.items()}
    dynamics = {word: value for word, value in dynamics.items() if value}
    children = [NewElement("xyz", {}, text=number_text(screw(joint)[0]))]
    for word, values in (("limit", limits), ("dynamics", dynamics)):
        children += [NewElement(word, {}, numbered(values))] if values else []
    if joint.mimics is not None:
        sheet.need("mimic")
        numbers = {"multiplier": joint.ratio, "offset": joint.offset, "reference": 0.0}
        children.append(NewElement("mimic", _leader(form.robot, joint), numbered(numbers)))
    return NewElement(tag, {}, tuple(children))


def _leader(robot: Robot, joint: Joint) -> dict[str, str]:
    index = next(i for i, each in enumerate(robot.joints) if each.name == joint.mimics)
    for place, start in ((0, index), (1, index - 1)):
        if start >= 0 and universal(robot, start):
            return {"joint": robot.joints[start].name.removesuffix(f"_{AXES[0]}"), "axis": AXES[place]}
    return {"joint": str(joint.mimics)}


def _of_frames(form: NormalForm, main: Link, shapes: dict[str, list[Piece]]) -> Iterator[Piece]:
    """Geometry of links that become frames, on the link that carries them."""
    for link in (each.link for each in form.hanging[main.name] if not each.joints):
        if not link.theta.any():
            for piece in shapes.get(link.name, ()):
                R, p = link.rotation, link.position
                yield replace(piece, rotation=R @ piece.rotation, position=p + R @ piece.position)


def _drawn(sheet: SdfDraft, pieces) -> Iterator[NewElement]:
    """`<collision>` and `<visual>` of pieces that have words in SDF."""
    numbers = {"collision": 0, "visual": 0}
    for piece in pieces:
        geometry = _geometry(sheet, piece)
        if piece.role not in numbers or geometry is None:
            continue
        numbers[piece.role] += 1
        children = [*sheet.pose(piece.rotation, piece.position), NewElement("geometry", {}, (geometry,))]
        if piece.color is not None and piece.role == "visual":
            color = number_text(piece.color)
            shown = tuple(NewElement(word, {}, text=color) for word in ("ambient", "diffuse"))
            children.append(NewElement("material", {}, shown))
        yield NewElement(piece.role, {"name": f"{piece.role}_{numbers[piece.role]}"}, tuple(children))


def _geometry(sheet: SdfDraft, piece: Piece) -> NewElement | None:
    if piece.solid is not None:
        kind, rest = piece.solid[0], iter(piece.solid[1])
        sheet.need(kind)
        words = ((word, number_text(islice(rest, count))) for word, count in XML_SIZES[kind].items())
        return NewElement(kind, {}, tuple(NewElement(word, {}, text=text) for word, text in words))
    if piece.problem or piece.file is None:
        return None
    name = piece.name
    if piece.file.path is not None and "://" not in name:
        name = Relocation(piece.file.path.parent, sheet.target.parent).seen(piece.file.path)
    name = name.replace("package://", "model://", 1) if name.startswith("package://") else name
    scale = np.ones(3) if piece.scale is None else piece.scale
    scaled = (NewElement("scale", {}, text=number_text(scale)),) if np.any(scale != 1) else ()
    return NewElement("mesh", {}, (NewElement("uri", {}, text=name), *scaled))


def _frames(sheet: SdfDraft, robot: Robot, links: list[Link]) -> None:
    """Write links without mass, and places that the robot's file names, as frames."""
    ground = next((link for link in sheet.links if link.body == WORLD), None)
    taken = {part.attributes["name"] for part in sheet.parts} | {joint.name for joint in robot.joints}
    for each in (*links, *robot.sites):
        if each.name in taken or (each.body == WORLD and ground is None):
            sheet.lost.append(each)
            continue
        taken.add(each.name)
        R, p = each.rotation, each.position
        if each.body == WORLD and ground is not None:
            R, p = ground.rotation.T @ R, ground.rotation.T @ (p - ground.position)
        on = ground.name if each.body == WORLD and ground is not None else robot.body_names[each.body]
        sheet.parts.append(NewElement("frame", {"name": each.name, "attached_to": on}, sheet.pose(R, p)))
    if sheet.lost:
        names = choices(each.name for each in sheet.lost)
        sheet.notes.append(f"Frames {names} are on no link of the file, or have its name; they are not in it.")


def _tell(sheet: SdfDraft, robot: Robot, pieces: tuple[Piece, ...]) -> None:
    empty = [name for name, theta in zip(robot.body_names, robot.inertias, strict=True) if not theta.any()]
    if empty:
        sheet.notes.append(f"Links {choices(empty)} move and have no mass, which Gazebo refuses.")
    unsaid = [piece for piece in pieces if piece.role and _geometry(SdfDraft(sheet.target), piece) is None]
    if unsaid:
        names = choices(dict.fromkeys(piece.link for piece in unsaid))
        sheet.notes.append(f"{len(unsaid)} pieces of the geometry of {names} have no file or no words in SDF.")
    if robot.armature.any():
        sheet.notes.append(f"Armature is written as <{ROTOR}>, which Drake reads and others pass over.")
