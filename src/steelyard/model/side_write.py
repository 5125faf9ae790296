"""Write a side file, every number spelled out, such that `read_side` gives the same rotors and loops back."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from steelyard.inertia import to_com_inertia
from steelyard.model.loops import Loop
from steelyard.model.robot import Robot
from steelyard.model.rotor import Rotor
from steelyard.model.side_frames import GROUND
from steelyard.spatial import rpy_from_rotation

UPPER = (np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2]))  # ixx ixy ixz iyy iyz izz


def write_side(robot: Robot, path, *, known=()) -> Path:
    """Write rotors and loops of a robot to a `.steelyard.toml` file. Returns its path.

    known: names of loops that the model file has.
    """
    path = Path(path)
    path.write_text(side_text(robot, known=known), encoding="utf-8")
    return path


def side_text(robot: Robot, *, known=()) -> str:
    """Content of the side file of a robot; known: as of `write_side`."""
    lines = ["version = 1"]
    loops = [loop for loop in robot.loops if loop.name not in known]
    if loops and robot.actuated:
        lines.append(f"actuated = {json.dumps(list(robot.actuated))}")
    for loop in loops:
        lines += ["", "[[loop]]", *(f"{key} = {value}" for key, value in _closure(robot, loop))]
    for rotor in robot.rotors:
        lines += ["", "[[rotor]]", *(f"{key} = {value}" for key, value in _entry(robot, rotor))]
    return "\n".join(lines) + "\n"


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
    yield "joint", json.dumps(rotor.joint)
    yield "gear_ratio", repr(float(rotor.gear_ratio))
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
