"""From a Robot and the options of an experiment to a Mechanism."""

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.identifiable.mechanism import NO_COLUMN, Mechanism, MechanismNode
from steelyard.identifiable.motor_rotors import with_motors
from steelyard.identifiable.placement import joints_at_zero, locked_at, rounded, with_base
from steelyard.model import Robot
from steelyard.terms import TERMS, ParameterLayout, stated_values

BODY_POWERS = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])  # of length in each inertial parameter


def mechanism_of(
    robot: Robot, *, base=None, locked=(), motors: bool = False, reduce: bool = True, terms=(), tolerance: float = 0.0
) -> Mechanism:
    """Mechanism of a robot. base: None (as it is), "fixed", "floating", "planar", or (6, k) twists `[v; w]` of the base
    body. locked: joints that never move, or {name: coordinate}. motors: rotors are bodies; reduce: see `with_motors`.
    tolerance: of `snapping`. Raises OptionError and ModelError."""
    joints, names = joints_at_zero(robot, locked_at(robot, locked))
    joints, names = with_base(robot, joints, names, base)
    length = _characteristic_length(joints)
    bodies = [joint.body for joint in joints if joint.body is not None]
    idle = {int(k) for joint in joints if not joint.acts for k in joint.coordinates}
    if robot.loops:  # only joints with motors have friction and torque of their own
        idle |= set(range(len(names))) - set(robot.driven_dofs)
    acting = [k for k in range(len(names)) if k not in idle]
    layout = ParameterLayout(
        body_names=tuple(bodies),
        dof_names=tuple(names[k] for k in acting),
        dofs=tuple(acting),
        terms=tuple(t for t in TERMS if t in terms),
    )
    size = _coordinate_sizes(joints, length, len(names))
    pull = np.linalg.norm(robot.gravity)
    gravity = np.concatenate([robot.gravity / pull if pull else np.zeros(3), np.zeros(3)])
    nodes, change = list(_nodes(joints, length, size)), 0.0
    if tolerance > 0:
        nodes, change = rounded(nodes, gravity, tolerance)
    coupled = (f"Joints that follow others: {choices(robot.mimic_names)}.",) if robot.mimic_names else ()
    mechanism = Mechanism(
        nodes=tuple(nodes),
        spins=(),
        gravity=gravity,
        coordinate_names=tuple(names),
        term_columns={term: term_columns(layout, term, len(names)) for term in TERMS},
        scale=column_scale(layout, length, size, pull),
        names=layout.names,
        units=layout.units,
        values=model_values(robot, joints, layout, names),
        layout=layout,
        length=length,
        stands_on_node=len(joints) > robot.nj,
        rounded=change,
        notes=(*coupled, *robot.notes),
    )
    return with_motors(mechanism, robot, size, reduce=reduce, tolerance=tolerance) if motors else mechanism


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
        yield MechanismNode(
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


def term_columns(layout: ParameterLayout, term: str, count: int) -> np.ndarray:
    columns = np.full(count, NO_COLUMN)
    if term in layout.terms:
        columns[list(layout.dofs)] = np.arange(layout.size)[layout.term(term)]
    return columns


def column_scale(layout: ParameterLayout, length, size, pull) -> np.ndarray:
    """(p,) unit of each column for masses of one kilogram and lengths of one characteristic length."""
    scale = np.ones(layout.size)
    scale[layout.inertial] = np.tile(length**BODY_POWERS, len(layout.body_names))
    own = size[list(layout.dofs)]
    if "armature" in layout.terms:
        scale[layout.term("armature")] = length**2 * own**2
    if "offset" in layout.terms:
        scale[layout.term("offset")] = length * own * (pull or 1.0)
    return scale


def model_values(robot: Robot, joints, layout: ParameterLayout, names) -> np.ndarray:
    """(p,) the model's own parameters; offsets are zero."""
    values = np.zeros(layout.size)
    values[layout.inertial] = np.concatenate([joint.theta for joint in joints if joint.body is not None])
    index = {name: k for k, name in enumerate(robot.dof_names)}
    kept = [index[names[k]] for k in layout.dofs]
    for term, stated in stated_values(robot).items():
        if term in layout.terms:
            values[layout.term(term)] = stated[kept]
    return values
