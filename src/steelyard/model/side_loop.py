"""One `[[loop]]` entry of a side file: which links a closure ties together, and where."""

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.model.loops import LOOP_KINDS, Loop
from steelyard.model.robot import WORLD, Link, Robot
from steelyard.model.side_frames import GROUND, rest_poses, z_along
from steelyard.model.side_table import Table
from steelyard.spatial import rotation_from_rpy

KEYS = (
    *("name", "kind", "link", "other", "position", "axis", "rotation"),
    *("other_position", "other_axis", "other_rotation"),
)


def loop(table: Table, robot: Robot) -> Loop:
    """Loop of a `[[loop]]` table. Raises ModelError that names the key."""
    name, kind = table.text("name"), table.text("kind")
    if name is None:
        raise ModelError(f"{table.name('name')} is missing; every loop needs a name of its own.")
    if kind not in LOOP_KINDS:
        found = "is missing" if kind is None else f"is '{kind}'"
        raise ModelError(f"{table.name('kind')} {found}; expected one of {choices(LOOP_KINDS)}.")
    ends = [_link(table, key, robot) for key in ("link", "other")]
    if ends[0].body == ends[1].body:
        raise ModelError(
            f"{table.where} ties '{ends[0].name}' to '{ends[1].name}', which are one rigid body; a loop joins two."
        )
    first = _frame(table, "", kind) or (np.eye(3), np.zeros(3))
    R, p = ends[0].rotation @ first[0], ends[0].position + ends[0].rotation @ first[1]
    second = _second(table, robot, kind, ends, (R, p))
    bodies = [None if link.body == WORLD else robot.body_names[link.body] for link in ends]
    return Loop(name, kind, (bodies[0], bodies[1]), np.stack([R, second[0]]), np.stack([p, second[1]]))


def _link(table: Table, key: str, robot: Robot):
    name = table.text(key)
    for link in robot.links:
        if link.name == name:
            return link
    if name == GROUND:
        return Link(GROUND, WORLD, np.eye(3), np.zeros(3), np.zeros(10), False)
    found = "is missing" if name is None else f"is '{name}', which robot '{robot.name}' does not have"
    names = dict.fromkeys([GROUND, *(link.name for link in robot.links)])
    raise ModelError(f"{table.name(key)} {found}. Its links: {choices(names)}.")


def _frame(table: Table, prefix: str, kind: str):
    """Rotation and position of a frame in its link, from the keys with a prefix; None where there are none."""
    position, axis, rpy = (table.numbers(f"{prefix}{key}", 3) for key in ("position", "axis", "rotation"))
    if axis is not None and rpy is not None:
        table.refuse(f"{prefix}axis", f"either an axis or {prefix}rotation, not both")
    if axis is not None and np.linalg.norm(axis) < 1e-9:
        table.refuse(f"{prefix}axis", "a direction, so not all zeros")
    if axis is not None and kind == "weld":
        table.refuse(f"{prefix}axis", f"{prefix}rotation: a weld keeps the whole orientation, which no axis gives")
    if position is None and axis is None and rpy is None:
        return None
    if axis is not None:
        R = z_along(axis / np.linalg.norm(axis))
    else:
        R = np.eye(3) if rpy is None else rotation_from_rpy(rpy)
    return R, np.zeros(3) if position is None else position


def _second(table: Table, robot: Robot, kind: str, ends, first):
    """The second frame in its body: as stated, or where the first one is when all coordinates are zero."""
    stated = _frame(table, "other_", kind)
    if stated is not None:
        R_link, p_link = ends[1].rotation, ends[1].position
        return R_link @ stated[0], p_link + R_link @ stated[1]
    (R1, p1), (R2, p2) = (_rest_pose(robot, link.body) for link in ends)
    return R2.T @ R1 @ first[0], R2.T @ (p1 + R1 @ first[1] - p2)


def _rest_pose(robot: Robot, body: int):
    if body == WORLD:
        return np.eye(3), np.zeros(3)
    R, p = rest_poses(robot)
    return R[robot.body_joints[body]], p[robot.body_joints[body]]
