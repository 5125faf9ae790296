"""A new URDF file from a robot alone: links, joints and inertials, no geometry."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import from_vector, transform
from steelyard.model.assemble import DEFAULT_GRAVITY
from steelyard.model.changes import require_consistent
from steelyard.model.draft import Draft
from steelyard.model.joint import Joint, revolute_subspace
from steelyard.model.robot import WORLD, Robot
from steelyard.model.screw import screw
from steelyard.model.urdf_write import new_inertial
from steelyard.model.xml_edit import New, new_file, number_text
from steelyard.spatial import rpy_from_rotation

OPEN = 1e9


def draft(robot: Robot, target: Path) -> Draft:
    """A new file for `target`. Raises ModelError for what URDF has no words for: ball and helical joints."""
    for name, theta in zip(robot.body_names, robot.inertias, strict=True):
        if theta.any():
            require_consistent(name, theta)
    expected, shifted = _expressible(robot)
    links = [New("link", {"name": _unused("world", expected.body_names)})]
    for name, theta in zip(expected.body_names, expected.inertias, strict=True):
        links.append(New("link", {"name": name}, (new_inertial(theta),) if theta.any() else ()))
    joints = [_joint(expected, index, links) for index in range(expected.nj)]
    return Draft(
        files=((target, new_file(New("robot", {"name": robot.name}, (*links, *joints)))),),
        expected=expected,
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
        links=(),
    )
    return reframed, shifted


def _require_expressible(joint: Joint):
    helical = joint.nv == 1 and abs(screw(joint)[2]) > 1e-12
    if joint.kind == "spherical" or helical:
        kind = "helical" if helical else "a ball joint"
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
    if joint.kind == "revolute":
        joint = replace(joint, subspace=revolute_subspace(axis))
    if joint.mimics is not None:
        return replace(joint, position=p)
    if joint.kind == "revolute":
        R = R @ from_vector(joint.offset * axis)
    else:
        p = p + R @ axis * joint.offset
    return replace(joint, rotation=R, position=p, offset=0.0)


def _joint(robot: Robot, index: int, links: list[New]) -> New:
    joint, parent = robot.joints[index], int(robot.parents[index])
    kinds = {"revolute": "revolute", "prismatic": "prismatic", "planar": "planar", "free": "floating"}
    kind = kinds[joint.kind]
    bounds = np.array([joint.lower[0], joint.upper[0]])
    if kind == "revolute" and not np.isfinite(bounds).any():
        kind = "continuous"
    children = [
        New("parent", {"link": links[parent + 1].attributes["name"]}),
        New("child", {"link": links[index + 1].attributes["name"]}),
        New("origin", {"xyz": number_text(joint.position), "rpy": number_text(rpy_from_rotation(joint.rotation))}),
    ]
    if joint.kind != "free":
        axis = joint.subspace[3:, 2] if joint.kind == "planar" else screw(joint)[0]
        children += [New("axis", {"xyz": number_text(axis)}), *_limit(joint, kind, bounds), *_dynamics(robot, index)]
    if joint.mimics is not None:
        attributes = {
            "joint": joint.mimics,
            "multiplier": number_text([joint.ratio]),
            "offset": number_text([joint.offset]),
        }
        children.append(New("mimic", attributes))
    return New("joint", {"name": joint.name, "type": kind}, tuple(children))


def _limit(joint: Joint, kind: str, bounds) -> list[New]:
    """`<limit>`, which URDF requires of bounded joints; a missing bound becomes a number no robot reaches."""
    strength = np.array([joint.effort_limit[0], joint.velocity_limit[0]])
    if kind == "planar" or (kind == "continuous" and not np.isfinite(strength).any()):
        return []
    names = ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")
    values = strength if kind == "continuous" else np.concatenate([bounds, strength])
    return [New("limit", {n: number_text([v]) for n, v in zip(names, np.clip(values, -OPEN, OPEN), strict=True)})]


def _dynamics(robot: Robot, index: int) -> list[New]:
    joint, at = robot.joints[index], robot.v_slices[index]
    pair = {}
    for name, field in (("damping", "damping"), ("friction", "frictionloss")):
        values = getattr(robot, field)[at] if joint.mimics is None else np.array([getattr(joint, field)])
        if np.ptp(values) > 0:
            raise ModelError(
                f"Joint '{joint.name}' has {field} {values.tolist()}; URDF holds one value a joint. Make them equal."
            )
        if values[0]:
            pair[name] = number_text([values[0]])
    return [New("dynamics", pair)] if pair else []


def _unused(name: str, taken) -> str:
    while name in taken:
        name += "_"
    return name
