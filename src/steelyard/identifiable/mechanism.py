"""What is analysed: a tree of nodes with constant motion subspaces, without units, and an experiment with it.

Lengths are divided by a characteristic length of the robot, and every coordinate is scaled so that its motion has size
one, so that tolerances are relative: a millimetre robot and a kilometre robot are the same mechanism.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.terms import ParameterLayout

NO_COLUMN = -1
ALL_JOINTS, UNDER_ROBOT, WRENCH = "joints", "base", "wrench:"


@dataclass(frozen=True, eq=False)
class MechanismNode:
    """A rigid body (or the massless frame between two joints of a compound one) and the joint that carries it.

    rotation (3, 3), position (3,): pose in the parent at zero coordinates.
    """

    name: str
    joint: str
    parent: int  # index of its parent node or WORLD
    rotation: np.ndarray
    position: np.ndarray
    subspace: np.ndarray  # (6, k) motion per unit of each coordinate, in the node's frame
    coordinates: np.ndarray  # (k,) which ones (empty when the node is fixed to its parent)
    content: np.ndarray  # (10, c) which inertial parameters it can have
    columns: np.ndarray  # (c,) their columns in the regression


@dataclass(frozen=True, eq=False)
class Spin:
    """A symmetric rotor on the parent of the joint that drives it, reduced to its moment of inertia about its axis.

    What does not depend on the spin is lumped into the carrier, so only `J (n qd e^T w + (n qd)^2 / 2)` is left (paper
    C, section 8). lump (10, 4): parameters of the carrier per rotor parameter (of `Im` times n^2); axis (3,) in the
    carrier's frame; ratio n; columns (4,) m, h, It, Im of the rotor.
    """

    name: str
    coordinate: int
    carrier: int
    axis: np.ndarray
    ratio: float
    lump: np.ndarray
    columns: np.ndarray


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Nodes (parents first), spins, gravity and columns; see the module text for units.

    names, units, values (p,): of all columns; values are the model's.
    """

    nodes: tuple[MechanismNode, ...]
    spins: tuple[Spin, ...]
    gravity: np.ndarray  # (6,) unit vector in the world or zeros
    coordinate_names: tuple[str, ...]
    term_columns: Mapping[str, np.ndarray]  # of each of `TERMS`, (nc,) the column of every coordinate or NO_COLUMN
    scale: np.ndarray  # (p,) a parameter is `scale` times its value here
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    layout: ParameterLayout
    length: float  # metres
    stands_on_node: bool = False  # whether the base, fixed in the model, is node 0 here
    rounded: float = 0.0  # largest angle or offset taken as zero
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self.names)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Child nodes of each node; the last entry has those of the ground."""
        lists = [[] for _ in range(len(self.nodes) + 1)]
        for i, node in enumerate(self.nodes):
            lists[node.parent].append(i)
        return tuple(map(tuple, lists))

    @cached_property
    def riders(self) -> tuple[tuple[int, ...], ...]:
        """Nodes moved by each coordinate."""
        lists = [[] for _ in self.coordinate_names]
        for i, node in enumerate(self.nodes):
            for k in node.coordinates:
                lists[k].append(i)
        return tuple(map(tuple, lists))

    def path(self, node: int) -> list[int]:
        """A node and its ancestors, the node first."""
        steps = []
        while node != WORLD:
            steps.append(node)
            node = self.nodes[node].parent
        return steps


@dataclass(frozen=True)
class Experiment:
    """What moves and what is measured.

    wrenches: nodes in front of whose joint a six-axis sensor sits, WORLD for one under the robot.
    """

    dynamic: bool = True  # whether joints move, or only hold poses
    joints: bool = True  # whether joint torques are measured (all of them)
    wrenches: tuple[int, ...] = ()


@dataclass(frozen=True)
class SensedNodes:
    """rows: coordinates whose torque is measured. wrenches: nodes in front of whose joint a six-axis sensor sits.

    complete: whether the rows are all coordinates.
    """

    rows: tuple[int, ...]
    wrenches: tuple[int, ...]
    complete: bool


def sensors_of(mechanism: Mechanism, robot: Robot, sensors: str | Iterable[str]) -> SensedNodes:
    """Sensors by name: "joints" (all of them), "base" (a wrench under the robot), joints, or links for a wrench there.

    A name that is both a joint's and a link's is the joint's; `wrench:LINK` is always the link's. Raises OptionError
    that lists the valid names.
    """
    names = (sensors,) if isinstance(sensors, str) else tuple(sensors)
    coordinates: dict[str, list[int]] = {}
    for k, name in enumerate(mechanism.coordinate_names):
        coordinates.setdefault(name, []).append(k)
        coordinates.setdefault(name.split("[")[0], []).append(k)
    rows, wrenches = set(), []
    for name in names:
        if name == ALL_JOINTS:
            rows |= set(range(len(mechanism.coordinate_names)))
        elif name == UNDER_ROBOT:
            wrenches.append(WORLD)
        elif name in coordinates:
            rows |= set(coordinates[name])
        else:
            wrenches.append(_sensor_node(mechanism, robot, name, coordinates))
    if not names:
        raise OptionError(f"An experiment without sensors shows nothing. {_valid(robot, coordinates)}")
    return SensedNodes(
        tuple(sorted(rows)), tuple(dict.fromkeys(wrenches)), len(rows) == len(mechanism.coordinate_names)
    )


def _sensor_node(mechanism: Mechanism, robot: Robot, name: str, coordinates) -> int:
    """Node in front of which a link's wrench sensor sits: the first of its joints when it has several."""
    link = name.removeprefix(WRENCH)
    if link not in mechanism.layout.body_names:
        if link in robot.joint_names or link in robot.mimic_names:
            raise OptionError(f"Joint '{link}' does not move in this experiment, so its torque is not a sensor of it.")
        raise OptionError(f"'{name}' is no sensor of robot '{robot.name}'. {_valid(robot, coordinates)}")
    at = next(i for i, node in enumerate(mechanism.nodes) if node.name == link and len(node.columns))
    while mechanism.nodes[at].parent != WORLD and not len(mechanism.nodes[mechanism.nodes[at].parent].columns):
        at = mechanism.nodes[at].parent
    return at


def _valid(robot: Robot, coordinates) -> str:
    joints = [name for name in coordinates if "[" not in name]
    return (
        f"Sensors are 'joints', 'base', a joint's torque ({choices(joints)}), or a six-axis wrench sensor "
        f"in front of a link ({choices(robot.body_names)}; 'wrench:LINK' where a joint has the same name)."
    )
