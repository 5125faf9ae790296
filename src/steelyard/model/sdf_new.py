"""Writing a new SDF file of a robot: links, fixed ones too, with their geometry, joints, limits, mimics and frames.

The file declares the lowest version that has words for what is in it, so that older simulators read it, too. Links
without mass that are fixed to others become frames, as Gazebo refuses links of no mass.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia.rotation import to_quaternion
from steelyard.model.assemble import DEFAULT_GRAVITY, FLOATING_BASE
from steelyard.model.carried import carried
from steelyard.model.changes import Draft, property_of, require_consistent, unused
from steelyard.model.compare import PROPERTIES as FIELDS
from steelyard.model.joint import Joint, ball_anchor, is_helical, pieces_of, screw
from steelyard.model.meshes import Piece
from steelyard.model.references import Relocation
from steelyard.model.robot import WORLD, Frame, Link, Robot
from steelyard.model.sdf_frames import SEPARATOR, WORLD_FRAME
from steelyard.model.sdf_geometry import SIZES
from steelyard.model.sdf_joints import AXES, GEAR, PITCH, PROPERTIES, ROTOR
from steelyard.model.sdf_write import new_inertial, numbered
from steelyard.model.xml_edit import NewElement, new_file, number_text
from steelyard.spatial import exponential, rotation_from_rpy, rpy_from_rotation

# versions that have words for something
OLDEST, QUATERNIONS, SCREWS, MIMICS = (1, 7), (1, 9), (1, 10), (1, 11)
SOLIDS = {"capsule": (1, 8), "ellipsoid": (1, 8)}
EXACT = 1e-12  # of a rotation that angles say
ZERO = np.zeros(10)


@dataclass(eq=False)
class Sheet:
    """What is being written. version: that it needs so far. links: of the robot that it is, as they read back. lost:
    frames that have no place. notes: what is not in it."""

    target: Path
    version: tuple[int, int] = OLDEST
    parts: list[NewElement] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    lost: list[Frame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ground(self) -> str:
        """What stands for the world: the first link, where it is held at its origin, so that a robot can be moved."""
        first = self.links[0] if self.links and self.links[0].body == WORLD else None
        held = first is not None and not first.position.any() and np.array_equal(first.rotation, np.eye(3))
        return first.name if first is not None and held else WORLD_FRAME

    def need(self, version: tuple[int, int]) -> None:
        self.version = max(self.version, version)

    def pose(self, rotation, position, relative: str = "") -> tuple[NewElement, ...]:
        """`<pose>`, none for the one that nothing says; by a quaternion where angles would not be exact."""
        if not relative and not np.any(position) and np.array_equal(rotation, np.eye(3)):
            return ()
        attributes = {"relative_to": relative} if relative else {}
        rpy = rpy_from_rotation(rotation)
        if np.abs(rotation_from_rpy(np.array(rpy)) - rotation).max() < EXACT:
            return (NewElement("pose", attributes, text=number_text([*position, *rpy])),)
        self.need(QUATERNIONS)
        text = number_text([*position, *to_quaternion(rotation)])
        return (NewElement("pose", attributes | {"rotation_format": "quat_xyzw"}, text=text),)

    def link(self, link: Link, pose: tuple[NewElement, ...], drawn) -> None:
        """Write a link with its geometry."""
        children = (*pose, new_inertial(link.theta), *drawn)
        self.parts.append(NewElement("link", {"name": link.name}, children))
        self.links.append(link)


def new_model(robot: Robot, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    """A new file for `target`. pieces: geometry of the robot's links.

    Raises ModelError for what SDF has no words for: free joints other than that of a base.
    """
    for name, theta in zip(robot.body_names, robot.inertias, strict=True):
        if theta.any():
            require_consistent(name, theta)
    sheet = Sheet(target)
    robot, names = _named(_with_links(robot, sheet.notes), sheet.notes)
    whole = _expressible(robot)
    expected = _as_read(whole)
    shapes: dict[str, list[Piece]] = {}
    for piece in pieces:
        shapes.setdefault(names.get(piece.link, piece.link), []).append(piece)
    frames, done = [], 0
    for link in robot.links:
        if link.body == WORLD or link.name != robot.body_names[link.body]:
            if not link.theta.any() and (link.body != WORLD or link.name not in shapes):
                frames.append(link)
                continue
            on = "" if link.body == WORLD else robot.body_names[link.body]
            parent = on or sheet.ground
            sheet.link(link, sheet.pose(link.rotation, link.position, on), _drawn(sheet, shapes.get(link.name, ())))
            sheet.parts.append(_weld(unused(f"{link.name}_fixed", _names(robot, expected)), parent, link.name))
            continue
        own = [*shapes.get(link.name, ()), *_of_frames(robot, link, shapes)]
        while done < expected.nb:  # links without mass between the joints of a body come before it
            name = expected.body_names[done]
            theta = link.theta if name == link.name else ZERO
            _moving(sheet, expected, done, replace(link, name=name, theta=theta), own if name == link.name else ())
            done += 1
            if name == link.name:
                break
    _frames(sheet, robot, frames)
    _tell(sheet, robot, expected, pieces)
    return _draft(sheet, robot, expected, replace(whole, **_places(sheet, robot, whole)))


def _places(sheet: Sheet, robot: Robot, whole: Robot) -> dict[str, tuple[Frame, ...]]:
    """Links and sites of a robot on the bodies that it has in the file, but for those that are lost."""

    def placed(frame: Frame) -> Frame:
        body = WORLD if frame.body == WORLD else whole.body_index(robot.body_names[frame.body])
        return replace(frame, body=body, name=frame.name.replace(SEPARATOR, "_"))

    kept = {key: [each for each in getattr(robot, key) if each not in sheet.lost] for key in ("links", "sites")}
    return {key: tuple(map(placed, frames)) for key, frames in kept.items()}


def _draft(sheet: Sheet, robot: Robot, expected: Robot, whole: Robot) -> Draft:
    model = NewElement("model", {"name": robot.name}, tuple(sheet.parts))
    attributes = {"version": ".".join(map(str, sheet.version))}
    if any(":" in each.tag for part in sheet.parts for each in part.children):
        attributes["xmlns:drake"] = "http://drake.mit.edu"
    ground = () if expected.floating else (Link(WORLD_FRAME, WORLD, np.eye(3), np.zeros(3), ZERO, False),)
    return Draft(
        files=((sheet.target, new_file(NewElement("sdf", attributes, (model,)))),),
        expected=replace(expected, links=(*ground, *sheet.links)),
        changed=("new file: links, geometry, joints, inertials",),
        notes=tuple(sheet.notes),
        whole=whole,
    )


def _with_links(robot: Robot, notes: list[str]) -> Robot:
    """The robot with links whose inertials add up to those of its bodies, as `save` divides them."""
    loads = carried(robot)
    notes += loads.notes
    shares = {link.name: link for group in (loads.own.values(), *loads.fixed.values()) for link in group}
    ordered = [shares.pop(link.name) for link in robot.links if link.name in shares]
    links = (*ordered, *shares.values())
    return replace(robot, links=tuple(each for each in links if (each.name, each.body) != (WORLD_FRAME, WORLD)))


def _named(robot: Robot, notes: list[str]) -> tuple[Robot, dict[str, str]]:
    """The robot with names that SDF takes: none of two things, none of a nested model. And new names of links."""
    if WORLD_FRAME in robot.body_names:
        raise ModelError("SDF keeps the name 'world' for the ground. Rename the link in the model and try again.")
    joints = {joint.name: joint.name.replace(SEPARATOR, "_") for joint in robot.joints}
    taken, links = set(joints.values()), {}
    for name in (*(link.name for link in robot.links), *robot.body_names):
        if name not in links:
            links[name] = name.replace(SEPARATOR, "_")
            while links[name] in taken:
                links[name] += "_link"
            taken.add(links[name])
    renamed = [old for old, new in (*joints.items(), *links.items()) if old != new]
    if not renamed:
        return robot, links
    notes.append(f"SDF has one name for one thing; {choices(renamed)} were renamed.")

    def body(name: str | None) -> str | None:
        return name if name is None else links[name]

    return replace(
        robot,
        joints=tuple(replace(j, name=joints[j.name], mimics=j.mimics and joints[j.mimics]) for j in robot.joints),
        body_names=tuple(links[name] for name in robot.body_names),
        links=tuple(replace(link, name=links[link.name]) for link in robot.links),
        loops=tuple(replace(loop, bodies=tuple(map(body, loop.bodies))) for loop in robot.loops),
        rotors=tuple(
            replace(
                rotor,
                joint=joints[rotor.joint],
                carrier=body(rotor.carrier),
                also=tuple((joints[each], ratio) for each, ratio in rotor.also),
            )
            for rotor in robot.rotors
        ),
        actuated=tuple(joints[name] for name in robot.actuated),
        drives={joints.get(name, name): drive for name, drive in robot.drives.items()},
    ), links


def _expressible(robot: Robot) -> Robot:
    """The robot in joints of SDF: planar joints are three, zero positions are in the poses, and each joint has a link,
    but for the first of a universal joint."""
    bodies = {int(joint): body for body, joint in enumerate(robot.body_joints)}
    joints, parents, names, held, thetas = [], [], [], [], []
    values: dict[str, list[float]] = {each: [] for each in FIELDS}
    last: dict[int, int] = {WORLD: WORLD}
    for index, joint in enumerate(robot.joints):
        _require_expressible(joint, index)
        parent, pieces = last[int(robot.parents[index])], pieces_of(joint)
        for number, piece in enumerate(pieces, start=1):
            joints.append(_folded(piece))
            parents.append(parent)
            parent = len(joints) - 1
            body = bodies.get(index) if number == len(pieces) else None
            if body is None and _universal(robot, index):
                continue
            held.append(parent)
            names.append(unused(f"{piece.name}_link", _names(robot)) if body is None else robot.body_names[body])
            thetas.append(ZERO if body is None else robot.inertias[body])
        last[index] = parent
        for each, rows in values.items():
            if joint.mimics is None:
                rows += property_of(robot, index, each, format=None).tolist()
    return replace(
        robot,
        joints=tuple(joints),
        parents=np.array(parents),
        body_names=tuple(names),
        body_joints=np.array(held),
        inertias=np.array(thetas),
        **{each: np.array(rows) for each, rows in values.items()},
    )


def _as_read(whole: Robot) -> Robot:
    """The robot without what SDF has no place for."""
    axes = np.array([joint.features.has_axis for joint in whole.free_joints for _ in range(joint.nv)], dtype=bool)
    return replace(
        whole,
        gravity=np.array(DEFAULT_GRAVITY),
        links=(),
        sites=(),
        loops=(),
        rotors=(),
        drives={},
        **{each: np.where(axes, getattr(whole, each), 0.0) for each in FIELDS},
    )


def _require_expressible(joint: Joint, index: int):
    moved = np.any(joint.position) or not np.allclose(joint.rotation, np.eye(3), atol=EXACT)
    if joint.kind == "free" and (index or moved):
        raise ModelError(
            f"Joint '{joint.name}' is free and not that of a base at the origin of the world, which alone flies. "
            "Save the robot as URDF (.urdf) or MJCF (.xml)."
        )


def _folded(joint: Joint) -> Joint:
    """The joint with its zero position in its pose; a free one as it reads back."""
    if joint.kind == "free":
        return replace(joint, name=FLOATING_BASE, rotation=np.eye(3), position=np.zeros(3))
    if joint.nv != 1 or joint.mimics is not None or joint.offset == 0:
        return joint
    R, p = exponential(joint.subspace[:, 0], np.asarray(joint.offset))
    position = joint.position + joint.rotation @ p
    return replace(joint, rotation=joint.rotation @ R, position=position, offset=0.0)


def _universal(robot: Robot, index: int) -> bool:
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
    return named and hinges and in_place and np.allclose(screw(first)[1], screw(second)[1], atol=EXACT)


def _moving(sheet: Sheet, robot: Robot, body: int, link: Link, pieces) -> None:
    """Write a body of the robot, and the joint that carries it."""
    index = int(robot.body_joints[body])
    chain = [index]
    while int(robot.parents[chain[0]]) not in (WORLD, *robot.body_joints):
        chain.insert(0, int(robot.parents[chain[0]]))
    parent, first = int(robot.parents[chain[0]]), robot.joints[chain[0]]
    carriers = {int(joint): name for joint, name in zip(robot.body_joints, robot.body_names, strict=True)}
    on = carriers.get(parent, "")
    sheet.link(link, sheet.pose(first.rotation, first.position, on), _drawn(sheet, pieces))
    if first.kind != "free":
        sheet.parts.append(_joint(sheet, robot, chain, on or sheet.ground, link.name))


def _joint(sheet: Sheet, robot: Robot, chain: list[int], parent: str, child: str) -> NewElement:
    """A joint of SDF, of one or two of the robot."""
    joint = robot.joints[chain[-1]]
    kind, name = _type(robot, chain), joint.name
    anchor = ball_anchor(joint.subspace) if joint.kind == "spherical" else screw(joint)[1]
    children = [
        *sheet.pose(np.eye(3), anchor),
        NewElement("parent", {}, text=parent),
        NewElement("child", {}, text=child),
    ]
    if joint.features.has_axis:
        children += [_axis(sheet, robot, index, tag) for index, tag in zip(chain, AXES, strict=False)]
    if len(chain) > 1:
        name = name.removesuffix(f"_{AXES[1]}")
    if kind == "screw":
        sheet.need(SCREWS)
        children += numbered({PITCH: 2 * np.pi * screw(joint)[2]})
    armature = _value(robot, chain[0], "armature")
    if armature and len(chain) == 1:
        children += numbered({ROTOR: armature, GEAR: 1.0})
    return NewElement("joint", {"name": name, "type": kind}, tuple(children))


def _type(robot: Robot, chain: list[int]) -> str:
    joint = robot.joints[chain[-1]]
    if len(chain) > 1:
        axes = [screw(robot.joints[index])[0] for index in chain]
        return "universal" if abs(axes[0] @ axes[1]) < EXACT else "revolute2"
    if joint.kind == "spherical":
        return "ball"
    if joint.kind == "prismatic":
        return "prismatic"
    if is_helical(joint):
        return "screw"
    return "revolute" if np.isfinite([joint.lower[0], joint.upper[0]]).any() else "continuous"


def _value(robot: Robot, index: int, name: str) -> float:
    joint = robot.joints[index]
    return 0.0 if not joint.features.has_axis else float(property_of(robot, index, name, format=None)[0])


def _axis(sheet: Sheet, robot: Robot, index: int, tag: str) -> NewElement:
    joint = robot.joints[index]
    bounds = {"lower": joint.lower, "upper": joint.upper, "effort": joint.effort_limit}
    limits = {key: float(value[0]) for key, value in (bounds | {"velocity": joint.velocity_limit}).items()}
    limits = {key: value for key, value in limits.items() if np.isfinite(value)}
    dynamics = {word: _value(robot, index, name) for name, word in PROPERTIES.items()}
    dynamics = {word: value for word, value in dynamics.items() if value}
    children = [NewElement("xyz", {}, text=number_text(screw(joint)[0]))]
    for word, values in (("limit", limits), ("dynamics", dynamics)):
        children += [NewElement(word, {}, numbered(values))] if values else []
    if joint.mimics is not None:
        sheet.need(MIMICS)
        numbers = {"multiplier": joint.ratio, "offset": joint.offset, "reference": 0.0}
        children.append(NewElement("mimic", _leader(robot, joint), numbered(numbers)))
    return NewElement(tag, {}, tuple(children))


def _leader(robot: Robot, joint: Joint) -> dict[str, str]:
    """Attributes of the `<mimic>` of a joint."""
    index = next(i for i, each in enumerate(robot.joints) if each.name == joint.mimics)
    for place, start in ((0, index), (1, index - 1)):
        if start >= 0 and _universal(robot, start):
            return {"joint": robot.joints[start].name.removesuffix(f"_{AXES[0]}"), "axis": AXES[place]}
    return {"joint": str(joint.mimics)}


def _weld(name: str, parent: str, child: str) -> NewElement:
    ends = NewElement("parent", {}, text=parent), NewElement("child", {}, text=child)
    return NewElement("joint", {"name": name, "type": "fixed"}, ends)


def _of_frames(robot: Robot, main: Link, shapes: dict[str, list[Piece]]) -> Iterator[Piece]:
    """Geometry of links that become frames, on the link that carries them."""
    for link in robot.links:
        if link.body == main.body and link.name != main.name and not link.theta.any():
            for piece in shapes.get(link.name, ()):
                R, p = link.rotation, link.position
                yield replace(piece, rotation=R @ piece.rotation, position=p + R @ piece.position)


def _drawn(sheet: Sheet, pieces) -> Iterator[NewElement]:
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


def _geometry(sheet: Sheet, piece: Piece) -> NewElement | None:
    """The shape of a piece, None where SDF has no words for it."""
    if piece.solid is not None:
        kind, size = piece.solid[0], list(piece.solid[1])
        sheet.need(SOLIDS.get(kind, OLDEST))
        words = [
            NewElement(word, {}, text=number_text([size.pop(0) for _ in range(count)]))
            for word, count in SIZES[kind].items()
        ]
        return NewElement(kind, {}, tuple(words))
    if piece.problem or piece.file is None:
        return None
    name = piece.name
    if piece.file.path is not None and "://" not in name:
        name = Relocation(piece.file.path.parent, sheet.target.parent).seen(piece.file.path)
    name = name.replace("package://", "model://", 1) if name.startswith("package://") else name
    scale = np.ones(3) if piece.scale is None else piece.scale
    scaled = (NewElement("scale", {}, text=number_text(scale)),) if np.any(scale != 1) else ()
    return NewElement("mesh", {}, (NewElement("uri", {}, text=name), *scaled))


def _frames(sheet: Sheet, robot: Robot, links: list[Link]) -> None:
    """Write links without mass, and places that the robot's file names, as frames."""
    ground = next((link for link in sheet.links if link.body == WORLD), None)
    taken = {part.attributes["name"] for part in sheet.parts} | {joint.name for joint in robot.joints}
    for each in (*links, *robot.sites):
        name = each.name.replace(SEPARATOR, "_")
        if name in taken or (each.body == WORLD and ground is None):
            sheet.lost.append(each)
            continue
        taken.add(name)
        R, p = each.rotation, each.position
        if each.body == WORLD and ground is not None:
            R, p = ground.rotation.T @ R, ground.rotation.T @ (p - ground.position)
        on = ground.name if each.body == WORLD and ground is not None else robot.body_names[each.body]
        sheet.parts.append(NewElement("frame", {"name": name, "attached_to": on}, sheet.pose(R, p)))
    if sheet.lost:
        names = choices(each.name for each in sheet.lost)
        sheet.notes.append(f"Frames {names} are on no link of the file, or have its name; they are not in it.")


def _tell(sheet: Sheet, robot: Robot, expected: Robot, pieces: tuple[Piece, ...]) -> None:
    notes = sheet.notes
    for joint in robot.joints:
        if joint.features.pieces:
            notes.append(f"{joint.kind.capitalize()} joint '{joint.name}' is written as {joint.features.told}.")
        if joint.kind == "free" and joint.name != FLOATING_BASE:
            notes.append(f"A base that flies has no joint in SDF; '{joint.name}' is read back as '{FLOATING_BASE}'.")
    empty = [name for name, theta in zip(expected.body_names, expected.inertias, strict=True) if not theta.any()]
    if empty:
        notes.append(f"Links {choices(empty)} move and have no mass, which Gazebo refuses.")
    unsaid = [piece for piece in pieces if piece.role and _geometry(Sheet(sheet.target), piece) is None]
    if unsaid:
        names = choices(dict.fromkeys(piece.link for piece in unsaid))
        notes.append(f"{len(unsaid)} pieces of the geometry of {names} have no file or no words in SDF.")
    if robot.armature.any():
        notes.append(f"Armature is written as <{ROTOR}>, which Drake reads and others pass over.")


def _names(*robots: Robot) -> set[str]:
    return {each for robot in robots for each in (*robot.frames, *(joint.name for joint in robot.joints))}
