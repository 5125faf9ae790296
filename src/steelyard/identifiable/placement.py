"""Placement of the frames of joints; axes that are parallel, perpendicular, crossing or on one line but for the
rounding of a file, made exactly so.

A file that writes pi as 3.1416 bends its axes by 1e-5 rad. To the letter such a robot reveals more than the one that
was meant, through motions of 1e-5, and products of them, that no experiment could see. Only the relations of an axis to
the ones that it can meet matter: of its parent's joint, of joints before that which only translate, of gravity at the
root, and of its siblings, with which a mimic joint or a rotor may couple it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.identifiable.mechanism import MechanismNode
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.inertia import transform
from steelyard.model import Robot
from steelyard.model.assemble import FLOATING_BASE
from steelyard.model.joint import planar_subspace, twist_pose_coefficients
from steelyard.model.robot import WORLD
from steelyard.spatial import adjoint, crm, skew


@dataclass(frozen=True, eq=False)
class Axis:
    """A unit direction (3,), and a point (3,) that the axis passes through; None for directions only."""

    direction: np.ndarray
    point: np.ndarray | None


def rounded(nodes: Sequence[MechanismNode], gravity, tolerance: float) -> tuple[list[MechanismNode], float]:
    """Nodes with such relations, up to a tolerance in rad and m, made exact, and the largest change. gravity: (6,)."""
    ground = [Axis(gravity[:3], None)] if gravity.any() else []
    met, siblings, done, largest = [], {}, [], 0.0
    for node in nodes:
        above = (ground if node.parent == WORLD else met[node.parent]) + siblings.setdefault(node.parent, [])
        own = own_axis(node)
        if own is not None:
            R, p, change = _placed(node, own, above, tolerance)
            if change > THRESHOLDS.unchanged_axis:
                largest = max(largest, change)
                node = replace(node, rotation=R, position=p)
            point = None if own.point is None else node.position + node.rotation @ own.point
            siblings[node.parent].append(Axis(node.rotation @ own.direction, point))
        done.append(node)
        met.append(([] if own is None else [own]) + _inherited(node, own, above))
    return done, largest


def own_axis(node: MechanismNode) -> Axis | None:
    """The one axis of a joint, in its node's frame; that of the rotation for planar joints; None for other joints."""
    v, w = node.subspace[:3], node.subspace[3:]
    turning = np.flatnonzero(w.any(axis=0))
    if len(turning) == 1:
        speed = np.linalg.norm(w[:, turning[0]])
        direction = w[:, turning[0]] / speed
        return Axis(direction, np.cross(direction, v[:, turning[0]] / speed))
    if len(turning) == 0 and v.shape[1] == 1:
        return Axis(v[:, 0] / np.linalg.norm(v[:, 0]), None)
    return None


def aligned(direction, others: Sequence[Axis], tolerance: float) -> np.ndarray:
    """A unit direction, made exactly parallel to the nearest of the others, or perpendicular to those it nearly is."""
    if not others:
        return direction
    D = np.stack([other.direction for other in others])
    apart = np.linalg.norm(np.cross(D, direction), axis=1)
    nearest = int(np.argmin(apart))
    if apart[nearest] < tolerance:
        return np.sign(D[nearest] @ direction) * D[nearest]
    across = D[np.abs(D @ direction) < tolerance]
    if not len(across):
        return direction
    _, singular, Vt = np.linalg.svd(across)
    span = Vt[: int(np.count_nonzero(singular > 10 * tolerance))]
    direction = direction - span.T @ (span @ direction)
    return direction / np.linalg.norm(direction)


def _placed(node: MechanismNode, own: Axis, above: Sequence[Axis], tolerance: float):
    before = node.rotation @ own.direction
    after = aligned(before, above, tolerance)
    W = skew(np.cross(before, after))
    R = (np.eye(3) + W + W @ W / (1 + before @ after)) @ node.rotation
    p, change = node.position, float(np.linalg.norm(after - before))
    if own.point is not None:
        for other in above:
            if other.point is not None:
                offset = _offset(after, p + R @ own.point - other.point, other.direction)
                if np.linalg.norm(offset) < tolerance:
                    p, change = p - offset, max(change, float(np.linalg.norm(offset)))
    return R, p, change


def _offset(direction, between, other) -> np.ndarray:
    """Shortest way (3,) from another line to this one. between: from any point of the other to any of this."""
    normal = np.cross(direction, other)
    size = np.linalg.norm(normal)
    if size < 1e-12:
        return between - other * (other @ between)
    return normal / size * (normal / size @ between)


def _inherited(node: MechanismNode, own: Axis | None, above: Sequence[Axis]) -> list[Axis]:
    """Axes met further down: those before a joint that does not turn; their place only where it keeps it."""
    if node.subspace[3:].any():
        return []
    kept = []
    for axis in above:
        stays = own is None or np.linalg.norm(np.cross(node.rotation @ own.direction, axis.direction)) < 1e-12
        point = node.rotation.T @ (axis.point - node.position) if axis.point is not None and stays else None
        kept.append(Axis(node.rotation.T @ axis.direction, point))
    return kept


BASES = ("fixed", "floating", "planar")
BASE_BODY = "base"


@dataclass(frozen=True, eq=False)
class PlacedJoint:
    """A joint before scaling: pose at zero coordinates, subspace (6, k) per unit of v, coordinates, body or None."""

    name: str
    body: str | None
    parent: int
    rotation: np.ndarray
    position: np.ndarray
    subspace: np.ndarray
    coordinates: np.ndarray
    theta: np.ndarray
    acts: bool  # whether it can have friction and armature, as a robot's joints do and a free base does not


def locked_at(robot: Robot, locked) -> dict[str, float]:
    """Coordinate of each locked joint, by name."""
    free = {joint.name: joint for joint in robot.free_joints}
    if isinstance(locked, str):
        locked = (locked,)
    unknown = [name for name in locked if name not in free]
    if unknown:
        raise OptionError(f"Robot '{robot.name}' has no joint '{unknown[0]}' to lock. Its joints: {choices(free)}.")
    if isinstance(locked, Mapping):
        return {name: float(value) for name, value in locked.items()}
    at = {}
    for name in locked:
        joint = free[name]
        at[name] = float(np.clip(0.0, joint.lower[0], joint.upper[0])) if joint.nq == 1 else 0.0
    return at


def joints_at_zero(robot: Robot, locked: dict[str, float]) -> tuple[list[PlacedJoint], list[str]]:
    """The robot's joints with poses at zero (or locked) coordinates, and the names of the remaining coordinates."""
    moving = [joint for joint in robot.free_joints if joint.name not in locked]
    names = [joint.name if joint.nv == 1 else f"{joint.name}[{i}]" for joint in moving for i in range(joint.nv)]
    first, start = {}, 0
    for joint in moving:
        first[joint.name] = start
        start += joint.nv
    bodies = dict(zip(robot.body_joints.tolist(), range(robot.nb), strict=True))
    joints = []
    for i, joint in enumerate(robot.joints):
        master = joint.mimics or joint.name
        at = locked.get(master, 0.0)
        R, p = _pose(joint, joint.ratio * at + joint.offset)
        subspace, coordinates = np.zeros((6, 0)), np.zeros(0, dtype=int)
        if master in first:
            subspace = joint.ratio * joint.subspace
            coordinates = first[master] + np.arange(joint.nv)
        body = bodies.get(i)
        theta = np.zeros(10) if body is None else robot.inertias[body]
        name = None if body is None else robot.body_names[body]
        joints.append(
            PlacedJoint(
                joint.name, name, int(robot.parents[i]), R, p, subspace, coordinates, theta, joint.kind != "free"
            )
        )
    return joints, names


def _pose(joint, value: float):
    if joint.nq != 1 or value == 0.0:
        return joint.rotation, joint.position
    R, p = twist_pose_coefficients(joint)
    weights = np.array([1.0, value, np.sin(value), np.cos(value)])
    return np.tensordot(weights, R, axes=1), weights @ p


def with_base(robot: Robot, joints: list[PlacedJoint], names: list[str], base):
    """Joints and coordinate names with the base that was asked for."""
    if base is None or (isinstance(base, str) and base == "floating" and robot.floating):
        return joints, names
    subspace = _base_subspace(robot, base)
    if robot.floating:
        start = joints[0].coordinates
        if (
            isinstance(base, str) and base == "planar"
        ):  # its normal is vertical in the world, wherever the base frame points
            subspace = adjoint(joints[0].rotation.T, np.zeros(3)) @ subspace
        first = [f"{joints[0].name}[{i}]" for i in range(subspace.shape[1])]
        shift = subspace.shape[1] - len(start)
        root = replace(joints[0], subspace=subspace, coordinates=np.arange(subspace.shape[1]))
        rest = [replace(joint, coordinates=joint.coordinates + shift) for joint in joints[1:]]
        return [root, *rest], [*first, *names[len(start) :]]
    if not subspace.shape[1]:
        return joints, names
    count = subspace.shape[1]
    theta = sum((transform(x.theta, x.rotation, x.position) for x in robot.links if x.body == WORLD), np.zeros(10))
    pose = np.eye(3), np.zeros(3)
    root = PlacedJoint(
        FLOATING_BASE, _base_name(robot), WORLD, *pose, subspace, np.arange(count), np.asarray(theta), False
    )
    rest = [replace(joint, parent=joint.parent + 1, coordinates=joint.coordinates + count) for joint in joints]
    return [root, *rest], [*(f"{FLOATING_BASE}[{i}]" for i in range(count)), *names]


def _base_subspace(robot: Robot, base) -> np.ndarray:
    if isinstance(base, str):
        if base not in BASES:
            raise OptionError(f"base is one of {choices(BASES)}, a (6, k) array of twists, or None; got '{base}'.")
        if base == "planar":
            pull = np.linalg.norm(robot.gravity)
            return planar_subspace(-robot.gravity / pull if pull else np.array([0.0, 0.0, 1.0]))
        return np.eye(6) if base == "floating" else np.zeros((6, 0))
    twists = np.asarray(base, dtype=float)
    if twists.ndim != 2 or twists.shape[0] != 6 or not np.isfinite(twists).all():
        raise OptionError(f"A base given by its twists is a finite (6, k) array of columns [v; w]; got {twists.shape}.")
    brackets = (crm(twists.T) @ twists).swapaxes(0, 1).reshape(6, -1)
    outside = brackets - twists @ (np.linalg.pinv(twists) @ brackets)
    if np.abs(outside).max(initial=0.0) > 1e-9 * max(np.abs(brackets).max(initial=0.0), 1.0):
        raise OptionError(
            "The base's twists make others when done in turn (as roll and pitch make yaw) that are not among them. "
            "Add the missing ones, so that all motions the base can make are listed."
        )
    return twists


def _base_name(robot: Robot) -> str:
    """Name of the link that stands on the ground; one of our own where the model has none or uses it again."""
    names = [link.name for link in robot.links if link.body == WORLD]
    return names[0] if names and names[0] not in robot.body_names else BASE_BODY
