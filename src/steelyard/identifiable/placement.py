"""The joints of a robot as an experiment uses them: placed, locked where asked, and on the base that was asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.identifiable.mechanism import GROUND
from steelyard.inertia import transform
from steelyard.model import FLOATING_BASE, WORLD, Robot, planar_subspace, twist_pose_coefficients
from steelyard.spatial import adjoint, crm

BASES = ("fixed", "floating", "planar")
BASE_BODY = "base"


@dataclass(frozen=True, eq=False)
class PlacedJoint:
    """A joint before scaling: pose at zero coordinates, subspace (6, k) per unit of v, coordinates, body or None.

    acts: whether it can have friction and armature, as a robot's joints do and a free base does not.
    """

    name: str
    body: str | None
    parent: int
    rotation: np.ndarray
    position: np.ndarray
    subspace: np.ndarray
    coordinates: np.ndarray
    theta: np.ndarray
    acts: bool


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
        FLOATING_BASE, _base_name(robot), GROUND, *pose, subspace, np.arange(count), np.asarray(theta), False
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
