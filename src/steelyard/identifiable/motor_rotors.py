"""Motor rotors as bodies of a Mechanism (paper C, section 8 and Appendix I), and their columns in a regression.

A symmetric rotor on the parent of the joint that it drives becomes a `Spin`; any other one becomes a node of its own
that shares the joint's coordinate. A regression has ten columns for every rotor, of which a symmetric one has four.
"""

from dataclasses import replace

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.identifiable.basis import Basis, from_dependence
from steelyard.identifiable.coupled_joints import clusters
from steelyard.identifiable.mechanism import Mechanism, MechanismNode, Spin
from steelyard.identifiable.placement import Axis, aligned, own_axis
from steelyard.inertia import transform_matrix
from steelyard.inertia.parameters import NAMES, UNITS
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.model.rotor import Rotor
from steelyard.spatial import skew
from steelyard.terms import ParameterLayout

SYMMETRIC_NAMES = ("m", "h", "It", "Im")  # mass, first moment along the axis, transverse and axial moments of inertia
SYMMETRIC_UNITS = ("kg", "kg m", "kg m^2", "kg m^2")


def with_motors(
    mechanism: Mechanism, robot: Robot, size: np.ndarray, *, reduce: bool = True, tolerance: float = 0.0
) -> Mechanism:
    """Mechanism with the robot's rotors.

    size (nc,): speed of a joint per unit of its coordinate here. reduce: whether to make spins of the rotors that can
    be, or nodes of all.
    """
    apart = set(range(len(mechanism.coordinate_names))) if reduce else set()
    while True:
        made = _add(mechanism, robot, size, apart, tolerance)
        coupled = {k for cluster in clusters(made) for k in cluster.coordinates}
        if not any(spin.coordinate in coupled for spin in made.spins):
            return made
        apart -= coupled  # a rotor among joints that share coordinates is one more of them


def _add(mechanism: Mechanism, robot: Robot, size: np.ndarray, apart: set[int], tolerance: float) -> Mechanism:
    """apart: coordinates whose rotors may become spins."""
    nodes, spins = list(mechanism.nodes), []
    names, units, values, scale = list(mechanism.names), list(mechanism.units), [], []
    for rotor in robot.rotors:
        rotor = _aligned(mechanism, rotor, tolerance) if tolerance else rotor
        content = rotor.content
        columns = len(names) + np.arange(content.shape[1])
        names += [f"{rotor.name}.{n}" for n in (SYMMETRIC_NAMES if rotor.symmetric else NAMES)]
        units += SYMMETRIC_UNITS if rotor.symmetric else UNITS
        values.append(np.linalg.lstsq(content, rotor.theta, rcond=None)[0])
        scale.append(mechanism.length ** np.array([0.0, 1, 2, 2] if rotor.symmetric else [0.0, 1, 1, 1, *[2] * 6]))
        made = _made(mechanism, robot, rotor, content, columns, size, apart)
        if isinstance(made, Spin):
            scale[-1][3] /= made.ratio**2
            spins.append(made)
        else:
            nodes.append(made)
    return replace(
        mechanism,
        nodes=tuple(nodes),
        spins=tuple(spins),
        names=tuple(names),
        units=tuple(units),
        values=np.concatenate([mechanism.values, *values]),
        scale=np.concatenate([mechanism.scale, *scale]),
    )


def _made(
    mechanism: Mechanism, robot: Robot, rotor: Rotor, content, columns, size, apart: set[int]
) -> Spin | MechanismNode:
    driven = [mechanism.nodes[_found(mechanism, "joint", joint, "A rotor drives joint")] for joint, _ in rotor.gears]
    carrier = _carrier(mechanism, rotor)
    position = rotor.position / mechanism.length
    follows = {joint.name: joint.ratio for joint in robot.joints}
    turns: dict[int, float] = {}  # by coordinate; locked joints have none
    for node, (joint, ratio) in zip(driven, rotor.gears, strict=True):
        for k in node.coordinates:
            turns[int(k)] = turns.get(int(k), 0.0) + ratio * follows[joint] / size[k]
    alone = len(turns) == 1 and set(turns) <= apart and len(mechanism.riders[next(iter(turns))]) == 1
    if rotor.symmetric and driven[0].parent == carrier and alone and not rotor.also:
        (coordinate, ratio), *_ = turns.items()
        return Spin(
            name=rotor.name,
            coordinate=coordinate,
            carrier=carrier,
            axis=rotor.axis,
            ratio=ratio,
            lump=transform_matrix(rotor.rotation, position) @ content / [1.0, 1.0, 1.0, ratio**2],
            columns=columns,
        )
    turn = np.concatenate([np.zeros(3), rotor.own_axis])[:, None]
    return MechanismNode(
        name=rotor.name,
        joint=rotor.name,
        parent=carrier,
        rotation=rotor.rotation,
        position=position,
        subspace=turn * np.array(list(turns.values())),
        coordinates=np.array(list(turns), dtype=int),
        content=content,
        columns=columns,
    )


def _aligned(mechanism: Mechanism, rotor: Rotor, tolerance: float) -> Rotor:
    """The rotor with its axis exactly along or across those of its carrier and of the joints there, if it nearly is."""
    carrier = _carrier(mechanism, rotor)
    axes = [own_axis(mechanism.nodes[carrier])] if carrier != WORLD else []
    for i in mechanism.children[carrier]:
        node = mechanism.nodes[i]
        own = own_axis(node)
        axes.append(None if own is None else Axis(node.rotation @ own.direction, None))
    after = aligned(rotor.axis, [axis for axis in axes if axis is not None], tolerance)
    W = skew(np.cross(rotor.axis, after))
    turn = np.eye(3) + W + W @ W / (1 + rotor.axis @ after)
    return replace(rotor, axis=after, rotation=turn @ rotor.rotation)


def _carrier(mechanism: Mechanism, rotor: Rotor) -> int:
    """Node that holds the motor; what stood on the ground rides on the base where the experiment moves it."""
    if rotor.carrier is None:
        return 0 if mechanism.stands_on_node else WORLD
    return _found(mechanism, "name", rotor.carrier, f"The rotor of joint '{rotor.joint}' rides on body")


def _found(mechanism: Mechanism, field: str, name: str, what: str) -> int:
    names = [getattr(node, field) for node in mechanism.nodes]
    if name not in names:
        raise ModelError(f"{what} '{name}', which the robot does not have. It has {choices(names)}.")
    return names.index(name)


def with_rotor_columns(robot: Robot, layout: ParameterLayout, basis: Basis) -> Basis:
    """Basis, of a mechanism's columns `[links | terms | numbers of each rotor]`, in those of a layout with rotors."""
    reading, choice = _reading(robot, layout)
    columns = np.sort([choice[c] for c in basis.columns])
    expressed = basis.regrouping @ reading
    dependent = np.setdiff1d(np.arange(layout.size), columns)
    return from_dependence(dependent, np.linalg.solve(expressed[:, columns], expressed[:, dependent]))


def _reading(robot: Robot, layout: ParameterLayout) -> tuple[np.ndarray, np.ndarray]:
    """Matrix (pm, p) from parameters of the layout to those of the mechanism, and a column to stand for each (pm,)."""
    plain = np.setdiff1d(np.arange(layout.size), np.arange(layout.size)[layout.rotors])
    sizes = [rotor.content.shape[1] for rotor in robot.rotors]
    reading = np.zeros((len(plain) + sum(sizes), layout.size))
    choice = np.zeros(len(reading), dtype=int)
    reading[np.arange(len(plain)), plain] = 1.0
    choice[: len(plain)] = plain
    start = len(plain)
    for body, (rotor, size) in enumerate(zip(robot.rotors, sizes, strict=True), start=len(layout.body_names)):
        block = layout.body(body)
        reading[start : start + size, block] = rotor.reading
        choice[start : start + size] = block.start + (_stand_ins(rotor.own_axis) if rotor.symmetric else np.arange(10))
        start += size
    return reading, choice


def _stand_ins(axis) -> np.ndarray:
    """(4,) which of a body's ten columns stand for m, h, It, Im: the least and the most along the axis."""
    moments = np.array([4, 6, 9])
    across, along = np.argmin(np.abs(axis)), np.argmax(np.abs(axis))
    return np.array([0, 1 + along, moments[across], moments[along]])
