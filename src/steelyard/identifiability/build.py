"""From a Robot and the options of an experiment to a Mechanism."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import ModelError, OptionError, choices
from steelyard.identifiability.mechanism import GROUND, NO_COLUMN, Mechanism, Node
from steelyard.identifiability.motors import with_motors
from steelyard.inertia.parameters import transform
from steelyard.model.joint import planar_subspace, twist_pose_coefficients
from steelyard.model.robot import WORLD, Robot
from steelyard.parameters import TERMS, ParameterLayout
from steelyard.spatial import adjoint, crm

BASES = ("fixed", "floating", "planar")
BASE_JOINT = "base"
BODY_POWERS = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])  # of length in each inertial parameter


@dataclass(frozen=True, eq=False)
class _Joint:
    """A joint before scaling: pose at zero coordinates, subspace (6, k) per unit of v, coordinates, body or None."""

    name: str
    body: str | None
    parent: int
    rotation: np.ndarray
    position: np.ndarray
    subspace: np.ndarray
    coordinates: np.ndarray
    theta: np.ndarray


def build(robot: Robot, *, base=None, locked=(), motors: bool = False, reduce: bool = True, terms=()) -> Mechanism:
    """Mechanism of a robot.

    base: None (as the robot has it), "fixed", "floating", "planar", or (6, k) columns of twists `[v; w]` that the base
    body may have, in its frame. locked: names of joints that never move, or {name: coordinate}. motors: whether the
    robot's rotors are bodies of their own; reduce: see `with_motors`. terms: of `parameters.TERMS`. Raises OptionError and ModelError.
    """
    joints, names = _placed_joints(robot, _locked(robot, locked))
    joints, names = _based(robot, joints, names, base)
    length = _characteristic_length(joints)
    bodies = [joint.body for joint in joints if joint.body is not None]
    acting = [k for k, name in enumerate(names) if not _is_base(robot, name)]
    layout = ParameterLayout(
        body_names=tuple(bodies),
        dof_names=tuple(names[k] for k in acting),
        dofs=tuple(acting),
        terms=tuple(t for t in TERMS if t in terms),
    )
    size = _coordinate_sizes(joints, length, len(names))
    pull = np.linalg.norm(robot.gravity)
    mechanism = Mechanism(
        nodes=tuple(_nodes(joints, length, size)),
        spins=(),
        gravity=np.concatenate([robot.gravity / pull if pull else np.zeros(3), np.zeros(3)]),
        coordinate_names=tuple(names),
        viscous_columns=_term_columns(layout, "viscous", len(names)),
        coulomb_columns=_term_columns(layout, "coulomb", len(names)),
        offset_columns=_term_columns(layout, "offset", len(names)),
        armature_columns=_term_columns(layout, "armature", len(names)),
        scale=_column_scale(layout, length, size, pull),
        names=layout.names,
        units=layout.units,
        values=_values(robot, joints, layout, names),
        layout=layout,
        length=length,
        notes=_notes(robot),
    )
    return with_motors(mechanism, robot, size, reduce=reduce) if motors else mechanism


def _locked(robot: Robot, locked) -> dict[str, float]:
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


def _placed_joints(robot: Robot, locked: dict[str, float]) -> tuple[list[_Joint], list[str]]:
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
        joints.append(_Joint(joint.name, name, int(robot.parents[i]), R, p, subspace, coordinates, theta))
    return joints, names


def _pose(joint, value: float):
    if joint.nq != 1 or value == 0.0:
        return joint.rotation, joint.position
    R, p = twist_pose_coefficients(joint)
    weights = np.array([1.0, value, np.sin(value), np.cos(value)])
    return np.tensordot(weights, R, axes=1), weights @ p


def _based(robot: Robot, joints: list[_Joint], names: list[str], base):
    """Joints and coordinate names with the base that was asked for."""
    if base is None or (isinstance(base, str) and base == "floating" and robot.floating):
        return joints, names
    subspace = _base_subspace(robot, base)
    if robot.floating:
        start = joints[0].coordinates
        if isinstance(base, str) and base == "planar":  # its normal is vertical in the world, wherever the base frame points
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
    root = _Joint(
        BASE_JOINT, _base_name(robot), GROUND, np.eye(3), np.zeros(3), subspace, np.arange(count), np.asarray(theta)
    )
    rest = [replace(joint, parent=joint.parent + 1, coordinates=joint.coordinates + count) for joint in joints]
    return [root, *rest], [*(f"{BASE_JOINT}[{i}]" for i in range(count)), *names]


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
            "The base's twists make others when done in turn (as roll and pitch make yaw), and those are not among them. "
            "Add the missing ones, so that all motions the base can make are listed."
        )
    return twists


def _base_name(robot: Robot) -> str:
    """Name of the link that stands on the ground; one of our own where the model has none or uses it again."""
    names = [link.name for link in robot.links if link.body == WORLD]
    return names[0] if names and names[0] not in robot.body_names else BASE_JOINT


def _is_base(robot: Robot, coordinate: str) -> bool:
    joint = coordinate.split("[")[0]
    return joint == BASE_JOINT or any(j.kind == "free" and j.name == joint for j in robot.joints)


def _characteristic_length(joints) -> float:
    """Mean distance between consecutive frames and from frames to their axes, over those that are not zero; metres."""
    distances = [np.linalg.norm(joint.position) for joint in joints]
    for joint in joints:
        v, w = joint.subspace[:3], joint.subspace[3:]
        turning = (w != 0).any(axis=0)
        distances += list(np.linalg.norm(v, axis=0)[turning] / np.linalg.norm(w, axis=0)[turning])
    distances = np.array(distances)
    distances = distances[distances > 1e-9 * distances.max(initial=0.0)]
    return float(distances.mean()) if distances.size else 1.0


def _coordinate_sizes(joints, length, count) -> np.ndarray:
    """(nc,) largest speed, in radians and characteristic lengths, that each coordinate gives a joint."""
    size = np.zeros(count)
    for joint in joints:
        v, w = joint.subspace[:3] / length, joint.subspace[3:]
        np.maximum.at(size, joint.coordinates, np.maximum(np.linalg.norm(w, axis=0), np.linalg.norm(v, axis=0)))
    if not (size > 0).all():
        raise ModelError("A column of the base's twists, or a joint's motion, is zero; leave it out.")
    return size


def _nodes(joints, length, size):
    """Scaled nodes; bodies take ten columns each in order."""
    column = 0
    for joint in joints:
        subspace = joint.subspace / size[joint.coordinates]
        subspace[:3] /= length
        count = 0 if joint.body is None else 10
        yield Node(
            name=joint.body or joint.name,
            joint=joint.name,
            parent=joint.parent,
            rotation=joint.rotation,
            position=joint.position / length,
            subspace=subspace,
            coordinates=joint.coordinates,
            content=np.eye(10)[:, :count],
            columns=column + np.arange(count),
        )
        column += count


def _term_columns(layout: ParameterLayout, term: str, count: int) -> np.ndarray:
    columns = np.full(count, NO_COLUMN)
    if term in layout.terms:
        columns[list(layout.dofs)] = np.arange(layout.size)[layout.term(term)]
    return columns


def _column_scale(layout: ParameterLayout, length, size, pull) -> np.ndarray:
    """(p,) unit of each column for masses of one kilogram and lengths of one characteristic length."""
    scale = np.ones(layout.size)
    scale[layout.inertial] = np.tile(length**BODY_POWERS, len(layout.body_names))
    own = size[list(layout.dofs)]
    if "armature" in layout.terms:
        scale[layout.term("armature")] = length**2 * own**2
    if "offset" in layout.terms:
        scale[layout.term("offset")] = length * own * (pull or 1.0)
    return scale


def _values(robot: Robot, joints, layout: ParameterLayout, names) -> np.ndarray:
    """(p,) the model's own parameters; offsets are zero."""
    values = np.zeros(layout.size)
    values[layout.inertial] = np.concatenate([joint.theta for joint in joints if joint.body is not None])
    index = {name: k for k, name in enumerate(robot.dof_names)}
    kept = [index[names[k]] for k in layout.dofs]
    for term, field in (("viscous", "damping"), ("coulomb", "frictionloss"), ("armature", "armature")):
        if term in layout.terms:
            values[layout.term(term)] = getattr(robot, field)[kept]
    return values


def _notes(robot: Robot) -> tuple[str, ...]:
    coupled = robot.mimic_names
    return (f"Joints that follow others: {choices(coupled)}.",) if coupled else ()
