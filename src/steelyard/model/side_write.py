"""Writing a side file: what of a robot its model file does not say."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from steelyard.errors import choices
from steelyard.inertia import to_com_inertia
from steelyard.model.changes import OPEN
from steelyard.model.compare import PROPERTIES
from steelyard.model.drive import KEYS, Drive
from steelyard.model.joint import Joint
from steelyard.model.loops import Loop
from steelyard.model.robot import Robot
from steelyard.model.rotor import Rotor
from steelyard.model.side import LIMITS
from steelyard.model.side_mechanism import GROUND
from steelyard.numbers import NEGLIGIBLE
from steelyard.spatial import rpy_from_rotation

UPPER = (np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2]))  # ixx ixy ixz iyy iyz izz


def write_side(robot: Robot, path, *, known=(), driven: Mapping[str, Drive] | None = None) -> Path:
    """Write rotors, loops and drives of a robot to a `.steelyard.toml` file.

    Args:
        robot: the robot.
        path: of the file.
        known: names of loops that the model file has.
        driven: drives that the model file has; what they leave open or have otherwise is written.

    Returns:
        The path.
    """
    path = Path(path)
    path.write_text(side_text(robot, known=known, driven=driven), encoding="utf-8")
    return path


def side_text(
    robot: Robot,
    *,
    known=(),
    driven: Mapping[str, Drive] | None = None,
    written: Robot | None = None,
    tolerance: float = NEGLIGIBLE,
) -> str:
    """Content of the side file of a robot. known, driven: as of `write_side`. written: the robot as its model file
    reads, in the place of both: what this lacks (gravity, sites, joints) to a relative tolerance is written."""
    if written is not None:
        known, driven = written.loop_names, written.drives
    top, joints = ([], []) if written is None else rest_lines(robot, written, tolerance)
    lines = ["version = 1", *top]
    loops = [loop for loop in robot.loops if loop.name not in known]
    if robot.actuated and (loops if written is None else robot.loops and robot.actuated != written.actuated):
        lines.append(f"actuated = {json.dumps(list(robot.actuated))}")
    lines += joints
    for loop in loops:
        lines += ["", "[[loop]]", *(f"{key} = {value}" for key, value in _closure(robot, loop))]
    for rotor in robot.rotors:
        lines += ["", "[[rotor]]", *(f"{key} = {value}" for key, value in _entry(robot, rotor))]
    for name, drive in robot.drives.items():
        told = _told(drive, Drive() if driven is None else driven.get(name, Drive()), tolerance)
        if told:
            lines += ["", f"[drives.{json.dumps(name)}]", *told]
    return "\n".join(lines) + "\n"


def contents(text: str) -> str:
    """What is in a side file, in a few words; empty for one that says nothing."""
    words = {"gravity": "gravity", "sites": "sites", "loop": "closed loops", "actuated": "driven joints",
             "rotor": "rotors", "drives": "drives"}  # fmt: skip
    parsed = tomllib.loads(text)
    joints = dict.fromkeys(key for joint in parsed.get("joints", {}).values() for key in joint)
    found = [word for key, word in words.items() if key in parsed]
    return choices([*found, *(key.replace("_", " ").replace("frictionloss", "friction") for key in joints)])


def _told(drive: Drive, before: Drive, tolerance: float) -> list[str]:
    """Lines of the numbers of a drive that another description of it does not say; of all where it has another kind."""
    keys = drive.differing(before, tolerance)
    found = {key: getattr(drive, key) for key in (KEYS if keys == KEYS[:1] else keys)}
    return [f"{key} = {json.dumps(value)}" for key, value in found.items() if value is not None]


def _closure(robot: Robot, loop: Loop) -> Iterator[tuple[str, str]]:
    yield "name", json.dumps(loop.name)
    yield "kind", json.dumps(loop.kind)
    for key, prefix, body, R_body, p_body in zip(
        ("link", "other"), ("", "other_"), loop.bodies, loop.rotations, loop.positions, strict=True
    ):
        R, p = _link_pose(robot, body)
        yield key, json.dumps(body or GROUND)
        yield f"{prefix}position", _numbers(R.T @ (p_body - p))
        yield f"{prefix}rotation", _numbers(rpy_from_rotation(R.T @ R_body))


def _link_pose(robot: Robot, name: str | None):
    """Pose in its body of the link with a body's name, whose frame the numbers of the file are in."""
    for link in robot.links:
        if link.name == name:
            return link.rotation, link.position
    return np.eye(3), np.zeros(3)


def _entry(robot: Robot, rotor: Rotor) -> Iterator[tuple[str, str]]:
    R, p = _link_pose(robot, rotor.carrier)
    joints, ratios = zip(*rotor.gears, strict=True)
    yield "joint", json.dumps(list(joints) if rotor.also else rotor.joint)
    yield "gear_ratio", _numbers(ratios) if rotor.also else repr(float(rotor.gear_ratio))
    yield "carrier", json.dumps(rotor.carrier or GROUND)
    yield "axis", _numbers(R.T @ rotor.axis)
    yield "position", _numbers(R.T @ (rotor.position - p))
    yield "rotation", _numbers(rpy_from_rotation(R.T @ rotor.rotation))
    if rotor.theta.any():
        mass, com, inertia = to_com_inertia(rotor.theta)
        yield "mass", repr(float(mass))
        yield "com", _numbers(com)
        yield "inertia", _numbers(inertia[UPPER])
    yield "symmetric", "true" if rotor.symmetric else "false"


def _numbers(values) -> str:
    return json.dumps([float(value) for value in values])


def rest_lines(robot: Robot, written: Robot, tolerance: float = NEGLIGIBLE) -> tuple[list[str], list[str]]:
    """Lines of what a model file lacks of a robot, for the top of a side file, and its tables. written: the robot as
    its model file reads, with the same names of joints; tolerance: relative, to which the file says a number."""
    top, tables = [], []
    if not np.allclose(robot.gravity, written.gravity, rtol=tolerance, atol=tolerance):
        top.append(f"gravity = {_numbers(robot.gravity)}")
    sites = {site.name for site in robot.sites} - {site.name for site in written.sites}
    links = [link.name for link in written.links if link.name in sites]
    if links:
        top.append(f"sites = {json.dumps(links)}")
    places = {joint.name: (joint, place) for joint, place in zip(written.joints, written.v_slices, strict=True)}
    for joint, place in zip(robot.joints, robot.v_slices, strict=True):
        if joint.name not in places:
            continue
        lines = list(_lacking(robot, joint, place, written, *places[joint.name], tolerance))
        if lines:
            tables += ["", f"[joints.{json.dumps(joint.name)}]", *lines]
    return top, tables


def _lacking(
    robot: Robot, joint: Joint, place: slice, written: Robot, other: Joint, there: slice, tolerance: float
) -> Iterator[str]:
    if joint.nv != other.nv:
        return
    pairs = {key: (getattr(joint, key), getattr(other, key)) for key in LIMITS}
    if joint.mimics is None:
        pairs |= {field: (getattr(robot, field)[place], getattr(written, field)[there]) for field in PROPERTIES}
    for key, (own, found) in pairs.items():
        if not np.allclose(own, found, rtol=tolerance, atol=0.0):
            values = np.clip(own, -OPEN, OPEN)
            yield f"{key} = {json.dumps(float(values[0])) if np.ptp(values) == 0 else _numbers(values)}"
