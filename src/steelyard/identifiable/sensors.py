"""Which rows of the equations of motion an experiment measures."""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.errors import OptionError, choices
from steelyard.identifiable.mechanism import GROUND, Mechanism
from steelyard.model import Robot

ALL_JOINTS, UNDER_ROBOT, WRENCH = "joints", "base", "wrench:"


@dataclass(frozen=True)
class Sensors:
    """rows: coordinates whose torque is measured. wrenches: nodes in front of whose joint a six-axis sensor sits.

    complete: whether the rows are all coordinates.
    """

    rows: tuple[int, ...]
    wrenches: tuple[int, ...]
    complete: bool


def sensors_of(mechanism: Mechanism, robot: Robot, sensors: str | Iterable[str]) -> Sensors:
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
            wrenches.append(GROUND)
        elif name in coordinates:
            rows |= set(coordinates[name])
        else:
            wrenches.append(_sensor_node(mechanism, robot, name, coordinates))
    if not names:
        raise OptionError(f"An experiment without sensors shows nothing. {_valid(robot, coordinates)}")
    return Sensors(tuple(sorted(rows)), tuple(dict.fromkeys(wrenches)), len(rows) == len(mechanism.coordinate_names))


def _sensor_node(mechanism: Mechanism, robot: Robot, name: str, coordinates) -> int:
    """Node in front of which a link's wrench sensor sits: the first of its joints when it has several."""
    link = name.removeprefix(WRENCH)
    if link not in mechanism.layout.body_names:
        if link in robot.joint_names or link in robot.mimic_names:
            raise OptionError(f"Joint '{link}' does not move in this experiment, so its torque is not a sensor of it.")
        raise OptionError(f"'{name}' is no sensor of robot '{robot.name}'. {_valid(robot, coordinates)}")
    at = next(i for i, node in enumerate(mechanism.nodes) if node.name == link and len(node.columns))
    while mechanism.nodes[at].parent != GROUND and not len(mechanism.nodes[mechanism.nodes[at].parent].columns):
        at = mechanism.nodes[at].parent
    return at


def _valid(robot: Robot, coordinates) -> str:
    joints = [name for name in coordinates if "[" not in name]
    return (
        f"Sensors are 'joints', 'base', a joint's torque ({choices(joints)}), or a six-axis wrench sensor "
        f"in front of a link ({choices(robot.body_names)}; 'wrench:LINK' where a joint has the same name)."
    )
