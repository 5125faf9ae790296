"""One `[[rotor]]` entry of a side file: where the rotor sits at zero joint coordinates, and what it weighs."""

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import parameters, pseudo
from steelyard.model.joint import planar_subspace
from steelyard.model.loops import LOOP_KINDS, Loop
from steelyard.model.robot import WORLD, Link, Robot
from steelyard.model.rotor import Rotor
from steelyard.model.side_table import Table
from steelyard.numbers import NEGLIGIBLE, SAME
from steelyard.spatial import identity, inverse, rotation_from_rpy, then

GROUND = "world"


def rest_poses(robot: Robot):
    """World poses of all joint frames at zero coordinates: rotations (nj, 3, 3) and positions (nj, 3), m."""
    R, p = np.zeros((robot.nj, 3, 3)), np.zeros((robot.nj, 3))
    for i, (joint, parent) in enumerate(zip(robot.joints, robot.parents, strict=True)):
        above = identity() if parent == WORLD else (R[parent], p[parent])
        R[i], p[i] = then(above, (joint.rotation, joint.position))
    return R, p


def z_along(axis):
    """Rotation by the smallest angle that carries z to a unit axis: the frame planar joints use too."""
    Phi = planar_subspace(axis)
    return np.column_stack([Phi[:3, 0], Phi[:3, 1], Phi[3:, 2]])


ROTOR_KEYS = ("joint", "gear_ratio", "carrier", "axis", "position", "rotation", "mass", "com", "inertia", "symmetric")


def read_rotor(table: Table, robot: Robot) -> Rotor:
    """Rotor of a `[[rotor]]` table. Raises ModelError that names the key."""
    (index, gear_ratio), *also = _gears(table, robot)
    carrier, axis, R, p = _placed(table, robot, index)
    theta = _theta(table)
    symmetric = table.flag("symmetric")
    symmetric = True if symmetric is None else symmetric
    if symmetric and not _is_symmetric(theta, R.T @ axis):
        raise ModelError(
            f"{table.where}: com or inertia change as the rotor spins about its axis, {(R.T @ axis).round(6).tolist()} "
            "in the rotor frame. Put com on the axis and make the transverse moments equal, or set symmetric = false."
        )
    name = robot.joints[index].name
    others = tuple((robot.joints[other].name, ratio) for other, ratio in also)
    return Rotor(name, gear_ratio, carrier, axis, R, p, theta, symmetric, others)


def _gears(table: Table, robot: Robot) -> list[tuple[int, float]]:
    """Indices of the joints that turn a rotor, with their ratios: one, or a list of both."""
    if not isinstance(table.values.get("joint"), list):
        index, ratio = _joint_index(table, table.text("joint"), robot), table.number("gear_ratio")
        if not ratio:
            found = "is missing" if ratio is None else "is 0"
            raise ModelError(f"{table.name('gear_ratio')} {found}; expected rotor speed over joint speed, not zero.")
        return [(index, ratio)]
    names = table.texts("joint") or ()
    if len(names) != len(set(names)) or not names:
        table.refuse("joint", "the name of a joint, or a list of different ones")
    ratios = table.numbers("gear_ratio", len(names))
    if ratios is None or not ratios.all():
        table.refuse("gear_ratio", f"{len(names)} ratios of rotor speed over joint speed, none of them zero")
    return [(_joint_index(table, name, robot), float(ratio)) for name, ratio in zip(names, ratios, strict=True)]


def _joint_index(table: Table, name: str | None, robot: Robot) -> int:
    names = [joint.name for joint in robot.joints]
    if name not in names:
        found = "is missing" if name is None else f"is '{name}', which robot '{robot.name}' does not have"
        raise ModelError(f"{table.name('joint')} {found}. Its joints: {choices(names)}.")
    joint = robot.joints[names.index(name)]
    if joint.nv != 1:
        raise ModelError(
            f"{table.name('joint')} is '{name}', a {joint.kind} joint with {joint.nv} degrees of freedom; "
            "a gear drives joints with one."
        )
    return names.index(name)


def _placed(table: Table, robot: Robot, index: int):
    """Carrier name, and axis, rotation and position of the rotor frame in the carrier body's frame."""
    body, R_link, p_link = _carrier(table, robot, index)
    R_rest, p_rest = rest_poses(robot)
    R_joint, p_joint = then(inverse(_rest_pose(robot, body)), (R_rest[index], p_rest[index]))  # in the carrier
    v, w = robot.joints[index].subspace[:3, 0], robot.joints[index].subspace[3:, 0]

    axis = table.numbers("axis", 3)
    if axis is None:
        along = R_joint @ (w if w.any() else v)
    elif np.linalg.norm(axis) < NEGLIGIBLE:
        table.refuse("axis", "a direction, so not all zeros")
    else:
        along = R_link @ axis / np.linalg.norm(axis)
    position = table.numbers("position", 3)
    nearest = p_joint + R_joint @ np.cross(w, v)  # the point of the joint's axis nearest to its frame
    p = nearest if position is None else p_link + R_link @ position
    rpy = table.numbers("rotation", 3)
    R = z_along(along) if rpy is None else R_link @ rotation_from_rpy(rpy)
    return (None if body == WORLD else robot.body_names[body]), along, R, p


def _carrier(table: Table, robot: Robot, index: int):
    """Body that holds the motor housing, and the pose in it of the frame that the entry's numbers refer to."""
    name = table.text("carrier")
    if name is None:
        return robot.carrier(index), *identity()
    link = _link(table, "carrier", robot)
    return link.body, link.rotation, link.position


def _theta(table: Table) -> np.ndarray:
    """(10,) inertial parameters in the rotor frame, zeros when the entry states none."""
    mass, com, I = table.number("mass"), table.numbers("com", 3), _inertia(table)
    if mass is None and com is None and I is None:
        return np.zeros(10)
    if mass is None or I is None:
        missing = table.name("mass" if mass is None else "inertia")
        raise ModelError(f"{missing} is missing; give mass and inertia together, or neither where they are unknown.")
    com = np.zeros(3) if com is None else com
    # the spread about the centre of mass decides, and keeps its digits where the centre is far away
    if mass <= 0 or pseudo.smallest_eigenvalue(parameters.from_com_inertia(mass, np.zeros(3), I)) <= 0:
        raise ModelError(
            f"{table.where}: no body has mass {mass:g} kg and inertia {np.diag(I).tolist()} (diagonal) about its "
            "centre of mass. Mass is positive, and each principal moment is less than the sum of the other two."
        )
    return parameters.from_com_inertia(mass, com, I)


def _inertia(table: Table) -> np.ndarray | None:
    """(3, 3) inertia about the centre of mass in the rotor frame, None when absent."""
    if isinstance(table.values.get("inertia"), str | bool | dict):
        table.refuse("inertia", "a spin inertia or a list of 6: ixx, ixy, ixz, iyy, iyz, izz")
    if isinstance(table.values.get("inertia"), list):
        six = table.numbers("inertia", 6)
        return None if six is None else six[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
    spin = table.number("inertia")
    # a spin inertia alone: the transverse moments of a motor's rotor are about as large
    return None if spin is None else spin * np.eye(3)


def _is_symmetric(theta, axis) -> bool:
    """Whether turning the rotor about its axis by a third changes nothing; then no turn does."""
    third = 2 * np.pi / 3
    turn = z_along(axis) @ rotation_from_rpy(np.array([0.0, 0.0, third])) @ z_along(axis).T
    change = np.abs(parameters.transform(theta, turn, np.zeros(3)) - theta)
    moment = np.abs(theta[4:]).max()
    first = np.sqrt(theta[0] * moment)  # a first moment of the size the mass and its moments allow
    return bool((change[4:] <= SAME * moment).all() and (change[1:4] <= SAME * first).all())


LOOP_KEYS = (
    *("name", "kind", "link", "other", "position", "axis", "rotation"),
    *("other_position", "other_axis", "other_rotation"),
)


def read_loop(table: Table, robot: Robot) -> Loop:
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
    places = [(link.rotation, link.position) for link in ends]
    first, stated = then(places[0], _frame(table, "", kind) or identity()), _frame(table, "other_", kind)
    if stated is None:  # where the first one is when all coordinates are zero
        at_rest, other = (_rest_pose(robot, link.body) for link in ends)
        second = then(inverse(other), then(at_rest, first))
    else:
        second = then(places[1], stated)
    one, other = (None if link.body == WORLD else robot.body_names[link.body] for link in ends)
    return Loop(name, kind, (one, other), *map(np.stack, zip(first, second, strict=True)))


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
    if axis is not None and np.linalg.norm(axis) < NEGLIGIBLE:
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


def _rest_pose(robot: Robot, body: int):
    if body == WORLD:
        return identity()
    R, p = rest_poses(robot)
    return R[robot.body_joints[body]], p[robot.body_joints[body]]
