"""Base parameters as contents of bodies: with the others 0 a tree has the same torques, and the shortest code."""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.dynamics.rotors import with_rotor_bodies
from steelyard.identifiable import identifiability
from steelyard.inertia.parameters import NAMES
from steelyard.model import Robot
from steelyard.model.rotor import Rotor
from steelyard.numbers import ROUNDING


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Base parameters of a tree (Khalil and Kleinfinger 1987).

    symmetric: joints whose child does not change as it turns, so that its axes may stay with the carrier and need no
    sine.
    """

    robot: Robot  # the tree, with rotors as bodies where they count
    joints: list[int]  # whose child each parameter is of
    contents: list[list[float]]  # its inertial parameters (10,) a unit
    values: list[float]  # SI
    names: tuple[str, ...]  # each of the first of those that it regroups
    symmetric: frozenset[int]

    def of_joint(self, joint: int) -> list[int]:
        """Numbers of those of a joint's child."""
        return [k for k, each in enumerate(self.joints) if each == joint]


def base_parameters(robot: Robot, *, rotors: bool) -> BaseParameters:
    """Of links, and rotors where they count. Axes that are nearly parallel stay as they are: code is exact."""
    robot = replace(robot, rotors=tuple(map(_as_stated, robot.rotors)) if rotors else ())
    found = identifiability(robot, motors=rotors)
    if found.mechanism.rounded:
        found = identifiability(robot, motors=rotors, tolerance=0.0)
    made = with_rotor_bodies(robot)
    blocks = [np.eye(10)] * robot.nb + [rotor.content for rotor in robot.rotors]
    joints = made.robot.body_joints[made.order]
    of_columns = np.repeat(joints, [block.shape[1] for block in blocks])
    contents = np.concatenate([block.T for block in blocks])
    return BaseParameters(
        made.robot,
        of_columns[found.columns].tolist(),
        contents[found.columns].tolist(),
        found.regroup(found.values).tolist(),
        found.base_names,
        frozenset(int(joint) for joint, rotor in zip(joints[robot.nb :], robot.rotors, strict=True) if rotor.symmetric),
    )


def all_parameters(robot: Robot, *, rotors: bool) -> BaseParameters:
    """The ten of every link, and behind them of every rotor where they count, in the place of base parameters."""
    made = with_rotor_bodies(robot if rotors else replace(robot, rotors=()))
    joints = made.robot.body_joints[made.order]
    names = [f"{name}.{each}" for name in np.array(made.robot.body_names)[made.order] for each in NAMES]
    values = made.robot.inertias[made.order].ravel().tolist()
    unit = np.tile(np.eye(10), (len(joints), 1)).tolist()
    return BaseParameters(made.robot, np.repeat(joints, 10).tolist(), unit, values, tuple(names), frozenset())


def _as_stated(rotor: Rotor) -> Rotor:
    """A rotor that is called symmetric spins as its parameters say if they are not, as in `inverse_dynamics`."""
    even = rotor.content @ rotor.reading @ rotor.theta
    return (
        rotor
        if np.allclose(even, rotor.theta, rtol=0, atol=ROUNDING * np.abs(even).max())
        else replace(rotor, symmetric=False)
    )
