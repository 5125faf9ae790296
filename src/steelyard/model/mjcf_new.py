"""A new MJCF file from a robot and the geometry of its links."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import to_com_inertia
from steelyard.inertia.rotation import to_quaternion
from steelyard.model.carried import Carried, carried
from steelyard.model.changes import OPEN, Draft, property_of, require_consistent, unused
from steelyard.model.compare import PROPERTIES, TOLERANCE
from steelyard.model.compound import without_massless
from steelyard.model.joint import Joint, ball_anchor, is_helical, pieces_of, screw
from steelyard.model.loops import Loop
from steelyard.model.meshes import Piece
from steelyard.model.mjcf_drives import actuator_element, as_text, expressible, hard_friction, simulated, unwritten
from steelyard.model.mjcf_geometry import DEFAULTS, Geometry, overlapping
from steelyard.model.mjcf_write import new_inertial
from steelyard.model.robot import WORLD, Frame, Link, Robot
from steelyard.model.side_mechanism import rest_poses
from steelyard.model.xml_edit import NewElement, new_file, number_text

GRAIN = np.array([1e-6, 0, 0, 0, 1e-9, 0, 1e-9, 0, 0, 1e-9])  # a milligram, in place of a body without mass
GROUND = "world"
LOOPS = ("connect", "weld")  # kinds of loop closures that MJCF has


def new_model(robot: Robot, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    """A new file for `target`. Raises ModelError for what MJCF cannot hold: helical joints, bodies without inertia."""
    if GROUND in robot.body_names:
        raise ModelError("Body 'world' moves, and MJCF keeps this name for the ground. Rename the link and try again.")
    robot, left_out = without_massless(robot, {piece.link for piece in pieces})
    for name, theta in zip(robot.body_names, robot.inertias, strict=True):
        _require_writable(name, theta)
    whole, renamed = _named(_expressible(robot))
    loads = carried(whole, _stands_alone)
    geometry = Geometry(target, pieces, renamed)
    drives = expressible(whole)
    excluded = list(_excluded(whole, loads, geometry))

    def text(excluded) -> bytes:
        pairs = (NewElement("exclude", {"body1": one, "body2": other}) for one, other in excluded)
        sections = [
            NewElement("compiler", {"angle": "radian"} | ({"inertiafromgeom": "false"} if pieces else {})),
            NewElement("option", {"gravity": number_text(robot.gravity)} | (simulated() if drives else {})),
            *(DEFAULTS if pieces else ()),
            *_section("asset", geometry.assets),
            NewElement("worldbody", {}, world),
            *_section("contact", pairs),
            *_section("equality", (*(_coupling(whole, j) for j in whole.joints if j.mimics), *_closures(whole))),
            *_section("actuator", (actuator_element(name, name, drive) for name, drive in drives.items())),
        ]
        return new_file(NewElement("mujoco", {"model": robot.name}, tuple(sections)))

    world = tuple(_world(whole, loads, geometry))
    found = overlapping(text(excluded), target.parent) if geometry.solids > 1 else []
    return Draft(
        files=((target, text([*excluded, *found])),),
        expected=replace(whole, links=(), sites=(), drives=drives),
        changed=("new file: bodies, joints, inertials",),
        notes=(*_notes(robot), *left_out, *_renamings(renamed), *_apart(found), *loads.notes),
        rescaled=loads.rescaled,
        whole=whole,
    )


def _apart(found: list[tuple[str, str]]) -> Iterator[str]:
    if found:
        pairs = choices(" and ".join(pair) for pair in found)
        yield f"Bodies whose shapes overlap at rest do not touch each other (<exclude>): {pairs}."


def _section(tag: str, children) -> Iterator[NewElement]:
    children = tuple(children)
    if children:
        yield NewElement(tag, {}, children)


def mjcf_text(robot: Robot) -> str:
    """Text of a new MJCF file of the moving bodies of a robot, for MuJoCo alone: massless bodies weigh 1 mg there.

    Fixed links count to their bodies, and loops are open; otherwise it is as `save` would write it.

    Args:
        robot: what is written.

    Returns:
        The text.

    Raises:
        ModelError: as `save`.
    """
    weighed = np.where(robot.inertias.any(axis=1, keepdims=True), robot.inertias, GRAIN)
    alone = replace(robot.with_inertias(weighed), links=(), sites=(), loops=())
    return new_model(alone, Path("robot.xml")).files[-1][1].decode()


def _require_writable(name: str, theta):
    """Raise ModelError for what MuJoCo does not compile: bodies that cannot be, and moving ones without mass or extent.

    theta: (10,).
    """
    if not theta.any():
        raise ModelError(
            f"Body '{name}' cannot be written: it moves and has no mass, and MuJoCo needs some. State its inertial, or "
            "let it stand still: --lock JOINT=0 (lock={JOINT: 0})."
        )
    require_consistent(name, theta)
    if not to_com_inertia(theta)[2].any():
        raise ModelError(
            f"Body '{name}' cannot be written: it moves and is a point, and MuJoCo needs moments of inertia. State "
            "the tensor that the part has."
        )


def _stands_alone(theta) -> bool:
    """Whether MuJoCo takes a body of these inertial parameters (10,) that is fixed to another one."""
    try:
        require_consistent("", theta)
    except ModelError:
        return False
    return True


def _notes(robot: Robot):
    if robot.mimic_names:
        yield f"Mimic joints ({choices(robot.mimic_names)}) are coupled by <equality>, which MuJoCo holds softly."
    for joint in robot.joints:
        if joint.features.pieces:
            yield f"{joint.kind.capitalize()} joint '{joint.name}' is written as {joint.features.told}."
    yield from unwritten(robot.drives)


def _named(robot: Robot) -> tuple[Robot, dict[str, str]]:
    """The robot with names that bodies of MJCF can have, and the new names of links that get another."""
    ground = {link.name for link in robot.links if _is_ground(link)}
    taken = {*robot.body_names, *(link.name for link in robot.links), GROUND}
    renamed = {
        link.name: unused(link.name, taken) for link in robot.links if link.name == GROUND and link.name not in ground
    }
    links = tuple(replace(link, name=renamed.get(link.name, link.name)) for link in robot.links)
    return replace(robot, links=links), renamed


def _renamings(renamed: dict[str, str]) -> Iterator[str]:
    for old, new in renamed.items():
        yield f"Link '{old}' is called '{new}': MJCF keeps this name for the ground."


def _is_ground(link: Link) -> bool:
    """Whether a link is the world of MJCF."""
    return link.name == GROUND and link.body == WORLD and _is_origin(link)


def _is_origin(frame: Frame) -> bool:
    return not frame.position.any() and np.array_equal(frame.rotation, np.eye(3))


def _expressible(robot: Robot) -> Robot:
    """The robot in MuJoCo's joints: a planar joint is three, one property a joint."""
    joints, parents, last = [], [], {WORLD: WORLD}
    values = {field: [] for field in PROPERTIES}
    for index, joint in enumerate(robot.joints):
        parent = last[int(robot.parents[index])]
        _require_expressible(joint, parent, inner=index not in robot.body_joints)
        for piece in pieces_of(joint):
            joints.append(piece)
            parents.append(parent)
            parent = len(joints) - 1
        last[index] = parent
        for field, rows in values.items():
            if joint.mimics is None:
                rows += property_of(robot, index, field, format=None if joint.features.pieces else "MJCF").tolist()
    arrays = {field: np.array(rows) for field, rows in values.items()}
    body_joints = np.array([last[int(j)] for j in robot.body_joints])
    return replace(robot, joints=tuple(joints), parents=np.array(parents), body_joints=body_joints, **arrays)


def _require_expressible(joint: Joint, parent: int, *, inner: bool):
    moved = not np.allclose(joint.rotation, np.eye(3), atol=1e-12) or np.any(joint.position)
    if is_helical(joint):
        raise ModelError(
            f"Joint '{joint.name}' is helical; MJCF has no helical joints, so this robot cannot be written as MJCF."
        )
    if joint.kind == "free" and (parent != WORLD or moved or inner):
        raise ModelError(
            f"Joint '{joint.name}' is free and not at the origin of the world; MJCF frees only such bodies."
        )


def _chain(robot: Robot, body: int) -> tuple[int, list[int]]:
    """Joints between a body and the one it hangs on, outermost first, and that one's joint (WORLD for none)."""
    chain = [int(robot.body_joints[body])]
    ends = {WORLD, *(int(j) for j in robot.body_joints)}
    while (parent := int(robot.parents[chain[0]])) not in ends:
        chain.insert(0, parent)
    return parent, chain


def _world(robot: Robot, loads: Carried, geometry: Geometry) -> Iterator[NewElement]:
    """Elements of the world: its geoms and sites, links that stand still, and bodies on joints."""
    empty = any(map(_is_ground, robot.links)) and not geometry.of(GROUND)
    if empty and any(_is_origin(link) for link in loads.fixed[WORLD] if link.name != GROUND):
        yield NewElement("site", {"name": GROUND})  # so that the link is told from the ground that every file has
    yield from geometry.of(GROUND)
    yield from _riders(robot, loads, geometry, WORLD)
    for body in range(robot.nb):
        if _chain(robot, body)[0] == WORLD:
            yield _body(robot, body, loads, geometry)


def _riders(robot: Robot, loads: Carried, geometry: Geometry, body: int) -> Iterator[NewElement]:
    """Sites and fixed links of a body."""
    for site in (site for site in robot.sites if site.body == body):
        yield NewElement("site", {"name": site.name} | _pose(site.position, site.rotation))
    for link in loads.fixed[body]:
        if not _is_ground(link):
            attributes = {"name": link.name} | _pose(link.position, link.rotation)
            yield NewElement("body", attributes, (*_inertial(link), *geometry.of(link.name)))


def _inertial(link: Link) -> Iterator[NewElement]:
    if link.theta.any():
        yield new_inertial(link.theta)


def _pose(position, rotation) -> dict[str, str]:
    attributes = {"pos": number_text(position)} if np.any(position) else {}
    if not np.array_equal(rotation, np.eye(3)):
        attributes["quat"] = number_text(np.roll(to_quaternion(rotation), 1))
    return attributes


def _body(robot: Robot, body: int, loads: Carried, geometry: Geometry) -> NewElement:
    _, chain = _chain(robot, body)
    first, name = robot.joints[chain[0]], robot.body_names[body]
    children = [b for b in range(robot.nb) if _chain(robot, b)[0] == chain[-1]]
    return NewElement(
        "body",
        {"name": name} | _pose(first.position, first.rotation),
        (
            *_inertial(loads.own[body]),
            *(_joint(robot, index) for index in chain),
            *geometry.of(name),
            *_riders(robot, loads, geometry, body),
            *(_body(robot, child, loads, geometry) for child in children),
        ),
    )


def _excluded(robot: Robot, loads: Carried, geometry: Geometry) -> Iterator[tuple[str, str]]:
    """Pairs of a link that stands still and a body on it: MuJoCo lets all neighbours touch but those of the world."""
    still = [link.name for link in loads.fixed[WORLD] if geometry.touches(link.name)]
    for body, name in enumerate(robot.body_names):
        parent, chain = _chain(robot, body)
        moving = [name, *(link.name for link in loads.fixed[body])]
        if parent == WORLD and robot.joints[chain[0]].kind != "free":
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
    return bool(np.abs(points[0] - points[1]).max() <= TOLERANCE)


def _joint(robot: Robot, index: int) -> NewElement:
    joint = robot.joints[index]
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
    values = {field: property_of(robot, index, field, format=None)[0] for field in PROPERTIES}
    if joint.name in robot.drives and values["frictionloss"]:
        attributes |= as_text(hard_friction())
    return NewElement("joint", attributes | {field: number_text([value]) for field, value in values.items() if value})


def _coupling(robot: Robot, joint: Joint) -> NewElement:
    """The mimic as `q - 0 = a0 + a1 (q_master - ref_master)`, MuJoCo's form; a reference is minus the offset."""
    master = next(j for j in robot.joints if j.name == joint.mimics)
    a0 = joint.offset - joint.ratio * master.offset
    return NewElement(
        "joint", {"joint1": joint.name, "joint2": master.name, "polycoef": number_text([a0, joint.ratio, 0, 0, 0])}
    )
