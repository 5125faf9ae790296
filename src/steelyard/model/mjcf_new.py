"""A new MJCF file from a robot alone: bodies, joints, inertials and mimics, no geometry."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import to_com_inertia
from steelyard.inertia.rotation import to_quaternion
from steelyard.model.changes import OPEN, Draft, property_of, require_consistent
from steelyard.model.compare import PROPERTIES
from steelyard.model.joint import Joint, ball_anchor, is_helical, pieces_of, screw
from steelyard.model.meshes import Piece
from steelyard.model.mjcf_drives import actuator_element, as_text, expressible, hard_friction, simulated, unwritten
from steelyard.model.mjcf_write import new_inertial
from steelyard.model.robot import WORLD, Robot
from steelyard.model.xml_edit import NewElement, new_file, number_text

GRAIN = np.array([1e-6, 0, 0, 0, 1e-9, 0, 1e-9, 0, 0, 1e-9])  # a milligram, in place of a body without mass


def new_model(robot: Robot, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    """A new file for `target`. Raises ModelError for what MJCF cannot hold: helical joints, bodies without inertia."""
    for name, theta in zip(robot.body_names, robot.inertias, strict=True):
        _require_writable(name, theta)
    if "world" in robot.body_names:
        raise ModelError("Body 'world' moves, and MJCF keeps this name for the ground. Rename the link and try again.")
    expected = _expressible(robot)
    top = [_body(expected, body) for body in range(expected.nb) if _chain(expected, body)[0] == WORLD]
    drives = expressible(expected)
    sections = [
        NewElement("compiler", {"angle": "radian"}),
        NewElement("option", {"gravity": number_text(robot.gravity)} | (simulated() if drives else {})),
        NewElement("worldbody", {}, tuple(top)),
    ]
    if robot.mimic_names:
        sections.append(
            NewElement("equality", {}, tuple(_coupling(robot, j) for j in robot.joints if j.mimics is not None))
        )
    if drives:
        actuators = (actuator_element(name, name, drive) for name, drive in drives.items())
        sections.append(NewElement("actuator", {}, tuple(actuators)))
    return Draft(
        files=((target, new_file(NewElement("mujoco", {"model": robot.name}, tuple(sections)))),),
        expected=replace(expected, drives=drives),
        changed=("new file: bodies, joints, inertials" + (", actuators" if drives else ""),),
        notes=tuple(_notes(robot)),
    )


def mjcf_text(robot: Robot) -> str:
    """Text of a new MJCF file of a robot, as `save` would write it, for MuJoCo alone: massless bodies weigh 1 mg there.

    Args:
        robot: what is written.

    Returns:
        The text.

    Raises:
        ModelError: as `save`.
    """
    weighed = np.where(robot.inertias.any(axis=1, keepdims=True), robot.inertias, GRAIN)
    return new_model(robot.with_inertias(weighed), Path("robot.xml")).files[-1][1].decode()


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


def _notes(robot: Robot):
    if robot.mimic_names:
        yield f"Mimic joints ({choices(robot.mimic_names)}) are coupled by <equality>, which MuJoCo holds softly."
    for joint in robot.joints:
        if joint.features.pieces:
            yield f"{joint.kind.capitalize()} joint '{joint.name}' is written as {joint.features.told}."
    if np.isfinite(robot.velocity_limits).any():
        yield "MJCF has no place for velocity limits; they were not written."
    yield from unwritten(robot.drives)


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
    return replace(
        robot, joints=tuple(joints), parents=np.array(parents), body_joints=body_joints, links=(), sites=(), **arrays
    )


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


def _body(robot: Robot, body: int) -> NewElement:
    _, chain = _chain(robot, body)
    first = robot.joints[chain[0]]
    attributes = {"name": robot.body_names[body]}
    if np.any(first.position):
        attributes["pos"] = number_text(first.position)
    if not np.array_equal(first.rotation, np.eye(3)):
        attributes["quat"] = number_text(np.roll(to_quaternion(first.rotation), 1))
    children = [b for b in range(robot.nb) if _chain(robot, b)[0] == chain[-1]]
    joints = [_joint(robot, index) for index in chain]
    return NewElement(
        "body", attributes, (new_inertial(robot.inertias[body]), *joints, *(_body(robot, b) for b in children))
    )


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
