"""Write a side file: a robot's rotors, every number spelled out, such that `read_side` gives the same rotors back."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from steelyard.inertia.parameters import to_com_inertia
from steelyard.model.robot import Robot
from steelyard.model.rotor import Rotor
from steelyard.model.side_rotor import GROUND
from steelyard.spatial import rpy_from_rotation

UPPER = (np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2]))  # ixx ixy ixz iyy iyz izz


def write_side(robot: Robot, path) -> Path:
    """Write the rotors of a robot to a `.steelyard.toml` file. Returns its path."""
    path = Path(path)
    path.write_text(side_text(robot), encoding="utf-8")
    return path


def side_text(robot: Robot) -> str:
    """Content of the side file of a robot."""
    lines = ["version = 1"]
    for rotor in robot.rotors:
        lines += ["", "[[rotor]]", *(f"{key} = {value}" for key, value in _entry(robot, rotor))]
    return "\n".join(lines) + "\n"


def _entry(robot: Robot, rotor: Rotor) -> Iterator[tuple[str, str]]:
    R, p = np.eye(3), np.zeros(3)
    for link in robot.links:  # numbers of the file are in the frame of the link with the carrier's name
        if link.name == rotor.carrier:
            R, p = link.rotation, link.position
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
