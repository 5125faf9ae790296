"""Gravity, sites, and properties and limits of joints in a side file: what some model format has no place for."""

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.errors import choices
from steelyard.model.changes import OPEN
from steelyard.model.compare import PROPERTIES
from steelyard.model.joint import Joint
from steelyard.model.robot import Frame, Robot
from steelyard.model.side_table import Table
from steelyard.numbers import NEGLIGIBLE

REST_KEYS = ("gravity", "sites", "joints")
LIMITS = {"lower": "nq", "upper": "nq", "velocity_limit": "nv", "effort_limit": "nv"}
"""Limits of a joint, and the size of each."""


def read_rest(document: Table, robot: Robot) -> Robot:
    """The robot with what a side file says of gravity, sites and joints. Raises ModelError that names the key."""
    gravity = document.numbers("gravity", 3)
    if gravity is not None:
        robot = replace(robot, gravity=gravity)
    return _with_joints(document.table("joints"), _with_sites(document, robot))


def _with_sites(document: Table, robot: Robot) -> Robot:
    """The robot with links that are sites in the model that its file was made from."""
    names = document.texts("sites") or ()
    links = {link.name: link for link in robot.links if link.name not in robot.body_names and not link.theta.any()}
    if set(names) - set(links) - {site.name for site in robot.sites}:
        document.refuse("sites", f"names of links without mass that are fixed to others: {choices(links)}")
    sites = tuple(
        Frame(name, links[name].body, links[name].rotation, links[name].position) for name in names if name in links
    )
    kept = tuple(link for link in robot.links if link.name not in {site.name for site in sites})
    return replace(robot, links=kept, sites=(*robot.sites, *sites))


def _with_joints(table: Table, robot: Robot) -> Robot:
    """The robot with properties and limits of joints."""
    arrays = {field: getattr(robot, field).copy() for field in PROPERTIES}
    joints = []
    known = {joint.name: joint for joint in robot.joints}
    for name in table.values:
        if name not in known:
            table.refuse(name, f"the table of a joint of robot '{robot.name}': {choices(known)}")
    for joint, place in zip(robot.joints, robot.v_slices, strict=True):
        own = table.table(joint.name)
        own.refuse_unknown((*LIMITS, *(() if joint.mimics else PROPERTIES)))
        for field, array in arrays.items():
            values = _values(own, field, joint.nv)
            if values is not None:
                if (values < 0).any():
                    own.refuse(field, "numbers that are not negative")
                array[place] = values
        found = {key: _values(own, key, getattr(joint, size)) for key, size in LIMITS.items()}
        joints.append(replace(joint, **{key: values for key, values in found.items() if values is not None}))
    return replace(robot, joints=tuple(joints), **arrays)


def with_limits(robot: Robot, other: Robot) -> Robot:
    """A robot with the limits that joints of the same names have in another one."""
    limits = {joint.name: {key: getattr(joint, key) for key in LIMITS} for joint in other.joints}
    return replace(robot, joints=tuple(replace(joint, **limits.get(joint.name, {})) for joint in robot.joints))


def _values(table: Table, key: str, count: int) -> np.ndarray | None:
    """(count,) numbers: a list, or one for all."""
    if isinstance(table.values.get(key), list):
        return table.numbers(key, count)
    number = table.number(key)
    return None if number is None else np.full(count, number)


def rest_lines(robot: Robot, written: Robot, tolerance: float = NEGLIGIBLE) -> tuple[list[str], list[str]]:
    """Lines of what a model file lacks of a robot.

    Args:
        robot: the robot.
        written: the robot as its model file reads, with the same names of joints.
        tolerance: relative, to which the file says a number.

    Returns:
        Lines for the top of a side file, and its tables.
    """
    top, tables = [], []
    if not np.allclose(robot.gravity, written.gravity, rtol=tolerance, atol=tolerance):
        top.append(f"gravity = {_text(robot.gravity)}")
    sites = {site.name for site in robot.sites} - {site.name for site in written.sites}
    links = [link.name for link in written.links if link.name in sites]
    if links:
        top.append(f"sites = {json.dumps(links)}")
    places = {joint.name: (joint, place) for joint, place in zip(written.joints, written.v_slices, strict=True)}
    for joint, place in zip(robot.joints, robot.v_slices, strict=True):
        if joint.name not in places:
            continue
        lines = list(_told(robot, joint, place, written, *places[joint.name], tolerance))
        if lines:
            tables += ["", f"[joints.{json.dumps(joint.name)}]", *lines]
    return top, tables


def _told(
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
            yield f"{key} = {json.dumps(float(values[0])) if np.ptp(values) == 0 else _text(values)}"


def _text(values) -> str:
    return json.dumps([float(value) for value in values])
