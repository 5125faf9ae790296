"""A new MJCF file of a robot in its normal form, and of the geometry of its links."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from steelyard.errors import choices
from steelyard.inertia.rotation import to_quaternion
from steelyard.model.changes import OPEN, Draft
from steelyard.model.compare import PROPERTIES
from steelyard.model.joint import Joint, ball_anchor, screw
from steelyard.model.loops import Loop
from steelyard.model.meshes import Piece
from steelyard.model.mjcf_drives import actuator_element, as_text, hard_friction, simulated, unwritten
from steelyard.model.mjcf_geometry import DEFAULTS, Geometry, overlapping
from steelyard.model.mjcf_write import new_inertial
from steelyard.model.normal_form import Form, Member, at_origin
from steelyard.model.robot import WORLD, Robot
from steelyard.model.side_mechanism import GROUND, rest_poses
from steelyard.model.xml_edit import NewElement, new_file, number_text
from steelyard.numbers import NEGLIGIBLE

LOOPS = ("connect", "weld")  # kinds of loop closures that MJCF has


def new_model(form: Form, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    """A new file for `target`. pieces: geometry of the robot's links."""
    robot, drives = form.robot, form.expected.drives
    geometry = Geometry(target, form.geometry(pieces))
    excluded = list(_excluded(form, geometry))

    def text(excluded) -> bytes:
        pairs = (NewElement("exclude", {"body1": one, "body2": other}) for one, other in excluded)
        sections = [
            NewElement("compiler", {"angle": "radian"} | ({"inertiafromgeom": "false"} if pieces else {})),
            NewElement("option", {"gravity": number_text(robot.gravity)} | (simulated() if drives else {})),
            *(DEFAULTS if pieces else ()),
            *_section("asset", geometry.assets),
            NewElement("worldbody", {}, world),
            *_section("contact", pairs),
            *_section("equality", (*(_coupling(robot, j) for j in robot.joints if j.mimics), *_closures(robot))),
            *_section("actuator", (actuator_element(name, name, drive) for name, drive in drives.items())),
        ]
        return new_file(NewElement("mujoco", {"model": robot.name}, tuple(sections)))

    world = (*_told_apart(form, geometry), *_inside(form, geometry))
    found = overlapping(text(excluded), target.parent) if geometry.solids > 1 else []
    return form.draft(target, text([*excluded, *found]), (*_notes(robot), *_apart(found)))


def _apart(found: list[tuple[str, str]]) -> Iterator[str]:
    if found:
        pairs = choices(" and ".join(pair) for pair in found)
        yield f"Bodies whose shapes overlap at rest do not touch each other (<exclude>): {pairs}."


def _section(tag: str, children) -> Iterator[NewElement]:
    children = tuple(children)
    if children:
        yield NewElement(tag, {}, children)


def _notes(robot: Robot) -> Iterator[str]:
    if robot.mimic_names:
        yield f"Mimic joints ({choices(robot.mimic_names)}) are coupled by <equality>, which MuJoCo holds softly."
    yield from unwritten(robot.drives)


def _is_ground(member: Member) -> bool:
    """Whether a link is the world of MJCF."""
    return member.link.name == GROUND and not member.on and not member.joints and at_origin(member.link)


def _told_apart(form: Form, geometry: Geometry) -> Iterator[NewElement]:
    """A site of the name of the ground that a file has, so that the link is told from the one that every file has."""
    still = [each for each in form.hanging[""] if not each.joints]
    others = any(at_origin(each.link) for each in still if each.link.name != GROUND)
    told = geometry.of(GROUND) or any(site.name == GROUND for site in form.robot.sites)
    if others and any(map(_is_ground, still)) and not told:
        yield NewElement("site", {"name": GROUND})


def _inside(form: Form, geometry: Geometry, body: int = WORLD) -> Iterator[NewElement]:
    """Elements of a body or the world: its geoms and sites, links that are fixed to it, and bodies on joints."""
    name = "" if body == WORLD else form.robot.body_names[body]
    yield from geometry.of(name or GROUND)
    for site in (site for site in form.robot.sites if site.body == body):
        yield NewElement("site", {"name": site.name} | _pose(site.position, site.rotation))
    for each in sorted(form.hanging[name], key=lambda each: bool(each.joints)):
        if _is_ground(each):
            continue
        link = each.link
        inertial = (new_inertial(link.theta),) if link.theta.any() else ()
        joints = (_joint(form, index) for index in each.joints)
        inner = _inside(form, geometry, link.body) if each.joints else geometry.of(link.name)
        pose = _pose(each.position, each.rotation)
        yield NewElement("body", {"name": link.name} | pose, (*inertial, *joints, *inner))


def _pose(position, rotation) -> dict[str, str]:
    attributes = {"pos": number_text(position)} if np.any(position) else {}
    if not np.array_equal(rotation, np.eye(3)):
        attributes["quat"] = number_text(np.roll(to_quaternion(rotation), 1))
    return attributes


def _excluded(form: Form, geometry: Geometry) -> Iterator[tuple[str, str]]:
    """Pairs of a link that stands still and a body on it: MuJoCo lets all neighbours touch but those of the world."""
    still = [each.link.name for each in form.hanging[""] if not each.joints and geometry.touches(each.link.name)]
    for member in (each for each in form.hanging[""] if each.joints):
        moving = [member.link.name, *(each.link.name for each in form.hanging[member.link.name] if not each.joints)]
        if form.robot.joints[member.joints[0]].kind != "free":
            yield from product(still, filter(geometry.touches, moving))


def _closures(robot: Robot) -> Iterator[NewElement]:
    """Loops that MJCF has a constraint for; the others are left to the side file."""
    for loop in filter(lambda loop: is_stated(robot, loop), robot.loops):
        one, other = (GROUND if body is None else body for body in loop.bodies)
        attributes = {"name": loop.name, "body1": one, "body2": other}
        if loop.kind == "connect":
            yield NewElement("connect", attributes | {"anchor": number_text(loop.positions[0])})
            continue
        # MuJoCo takes the anchor in the second body, and in the first the same point with the second's orientation
        R = loop.rotations[0] @ loop.rotations[1].T
        relative = [*loop.positions[0], *np.roll(to_quaternion(R), 1)]
        yield NewElement(
            "weld", attributes | {"anchor": number_text(loop.positions[1]), "relpose": number_text(relative)}
        )


def is_stated(robot: Robot, loop: Loop) -> bool:
    """Whether MJCF has a constraint for a loop: a point, which MuJoCo takes where it is at zero, or the whole pose."""
    if loop.kind != "connect":
        return loop.kind in LOOPS
    (R, p), points = rest_poses(robot), []
    for body, position in zip(loop.bodies, loop.positions, strict=True):
        at = None if body is None else robot.body_joints[robot.body_index(body)]
        points.append(position if at is None else p[at] + R[at] @ position)
    return bool(np.abs(points[0] - points[1]).max() <= NEGLIGIBLE)


def _joint(form: Form, index: int) -> NewElement:
    joint = form.robot.joints[index]
    attributes = {"name": joint.name, "type": str(joint.features.mujoco)}
    if joint.features.quaternion and not joint.features.slides:
        attributes["pos"] = number_text(ball_anchor(joint.subspace))
    if joint.nv == 1:
        axis, anchor, _ = screw(joint)
        attributes["axis"] = number_text(axis)
        if np.any(anchor):
            attributes["pos"] = number_text(anchor)
        if joint.offset and joint.mimics is None:
            attributes["ref"] = number_text([-joint.offset])
        bounds = np.array([joint.lower[0], joint.upper[0]])
        if np.isfinite(bounds).any():
            attributes["range"] = number_text(np.clip(bounds, -OPEN, OPEN))
        if np.isfinite(joint.effort_limit[0]):
            attributes["actuatorfrcrange"] = number_text([-joint.effort_limit[0], joint.effort_limit[0]])
    values = {field: form.value(index, field) for field in PROPERTIES}
    if joint.name in form.robot.drives and values["frictionloss"]:
        attributes |= as_text(hard_friction())
    return NewElement("joint", attributes | {field: number_text([value]) for field, value in values.items() if value})


def _coupling(robot: Robot, joint: Joint) -> NewElement:
    """The mimic as `q - 0 = a0 + a1 (q_master - ref_master)`, MuJoCo's form; a reference is minus the offset."""
    master = next(j for j in robot.joints if j.name == joint.mimics)
    a0 = joint.offset - joint.ratio * master.offset
    return NewElement(
        "joint", {"joint1": joint.name, "joint2": master.name, "polycoef": number_text([a0, joint.ratio, 0, 0, 0])}
    )
