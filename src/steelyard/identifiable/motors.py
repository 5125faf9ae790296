"""Motor rotors as bodies of a Mechanism (paper C, section 8 and Appendix I).

A symmetric rotor on the parent of the joint that it drives becomes a `Spin`; any other one becomes a node of its own
that shares the joint's coordinate.
"""

from dataclasses import replace

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.identifiable.clusters import clusters
from steelyard.identifiable.mechanism import GROUND, Mechanism, Node, Spin
from steelyard.identifiable.snapping import Axis, aligned, own_axis
from steelyard.inertia import NAMES, UNITS, rotational_inertia, transform_matrix
from steelyard.model import Robot, Rotor
from steelyard.spatial import skew

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
        made = _made(mechanism, rotor, content, columns, size, apart)
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


def spin_inertia(rotor: Rotor) -> float:
    """Moment of inertia of a rotor about its axis, kg m^2."""
    return float(rotor.own_axis @ rotational_inertia(rotor.theta) @ rotor.own_axis)


def _made(mechanism: Mechanism, rotor: Rotor, content, columns, size, apart: set[int]) -> Spin | Node:
    driven = _found(mechanism, "joint", rotor.joint, "A rotor drives joint")
    carrier = _carrier(mechanism, rotor)
    node = mechanism.nodes[driven]
    position = rotor.position / mechanism.length
    locked = not len(node.coordinates)
    alone = not locked and int(node.coordinates[0]) in apart and len(mechanism.riders[node.coordinates[0]]) == 1
    if rotor.symmetric and node.parent == carrier and alone:
        ratio = rotor.gear_ratio / size[node.coordinates[0]]
        return Spin(
            name=rotor.name,
            coordinate=int(node.coordinates[0]),
            carrier=carrier,
            axis=rotor.axis,
            ratio=ratio,
            lump=transform_matrix(rotor.rotation, position) @ content / [1.0, 1.0, 1.0, ratio**2],
            columns=columns,
        )
    turn = np.concatenate([np.zeros(3), rotor.own_axis])[:, None]
    return Node(
        name=rotor.name,
        joint=rotor.name,
        parent=carrier,
        rotation=rotor.rotation,
        position=position,
        subspace=turn[:, :0] if locked else rotor.gear_ratio * turn / size[node.coordinates],
        coordinates=node.coordinates,
        content=content,
        columns=columns,
    )


def _aligned(mechanism: Mechanism, rotor: Rotor, tolerance: float) -> Rotor:
    """The rotor with its axis exactly along or across those of its carrier and of the joints there, if it nearly is."""
    carrier = _carrier(mechanism, rotor)
    axes = [own_axis(mechanism.nodes[carrier])] if carrier != GROUND else []
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
        return 0 if mechanism.stands_on_node else GROUND
    return _found(mechanism, "name", rotor.carrier, f"The rotor of joint '{rotor.joint}' rides on body")


def _found(mechanism: Mechanism, field: str, name: str, what: str) -> int:
    names = [getattr(node, field) for node in mechanism.nodes]
    if name not in names:
        raise ModelError(f"{what} '{name}', which the robot does not have. It has {choices(names)}.")
    return names.index(name)
