"""What an experiment measures: torques of joints, and wrenches of six-axis sensors as six more axes each.

Force along an axis S, `[v; w]` in world axes at the world origin, is `S . (wrench on all that is behind it)`: for a
joint S is its motion, for a sensor each unit translation and rotation of its frame, which never moves by itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.dynamics.balances import SensorFrame, sensor_frame
from steelyard.dynamics.kinematics import TreeMotion, tree
from steelyard.dynamics.stacks import cross, times
from steelyard.errors import OptionError
from steelyard.information.row_kinds import BASE, WRENCH, kinds_of, link_of
from steelyard.model import Robot
from steelyard.model.robot import WORLD

JOINTS = "joints"


@dataclass(frozen=True, eq=False)
class Axes:
    """Axes of a robot's joints, one a degree of the tree, and behind them those of wrench sensors, six each."""

    robot: Robot
    joint: np.ndarray  # (na,) joint whose child carries the axis, WORLD under the robot
    row: np.ndarray  # (na,) row of the regression it belongs to
    ratio: np.ndarray  # (na,) its share
    row_bodies: tuple[slice, ...]  # per row, the bodies it depends on
    sensors: tuple[SensorFrame, ...] = ()  # frames of the sensors

    @property
    def rows(self) -> int:
        """Number of rows: coordinates of v, then six a sensor."""
        return len(self.row_bodies)

    def along(self, state: TreeMotion) -> np.ndarray:
        """(na, 6, n) axes in world coordinates. state: of the bodies."""
        return np.concatenate([state.axes, *(_sensor_axes(frame, state) for frame in self.sensors)])

    @cached_property
    def above(self) -> tuple[np.ndarray, ...]:
        """Per joint, the axes at or above it, those of its parent first."""
        found: list[np.ndarray] = []
        under = np.flatnonzero(self.joint == WORLD)
        for j, parent in enumerate(self.robot.parents):
            before = under if parent == WORLD else found[parent]
            found.append(np.concatenate([before, np.flatnonzero(self.joint == j)]))
        return tuple(found)

    @property
    def ground(self) -> int:
        """Number of axes under the whole robot."""
        return int(np.sum(self.joint == WORLD))


def axes_of(robot: Robot, kinds: tuple[str, ...] = (JOINTS,)) -> Axes:
    """Axes for rows of these kinds; those of joints are always there."""
    constants = tree(robot)
    sensors = tuple(_frame(robot, kind) for kind in kinds if kind != JOINTS)
    carriers = [WORLD if s.body == WORLD else int(robot.body_joints[s.body]) for s in sensors]
    return Axes(
        robot=robot,
        joint=np.concatenate([constants.degree_joint, np.repeat(np.array(carriers, dtype=int), 6)]),
        row=np.concatenate([constants.coordinates, robot.nv + np.arange(6 * len(sensors))]),
        ratio=np.concatenate([constants.ratios, np.ones(6 * len(sensors))]),
        row_bodies=(*constants.row_bodies, *(s.bodies for s in sensors for _ in range(6))),
        sensors=sensors,
    )


def measured_kinds(robot: Robot, rows: str | Iterable[str]) -> tuple[str, ...]:
    """Kinds of rows of a design: "joints", "base", "wrench:LINK". Raises OptionError for others."""
    kinds = kinds_of(robot, rows)
    weak = [kind for kind in kinds if kind not in (JOINTS, BASE) and not kind.startswith(WRENCH)]
    if weak:
        raise OptionError(
            f"rows: a motion is designed for 'joints', 'base' and wrench:LINK; '{weak[0]}' follows from torques of "
            "joints, so design for 'joints'."
        )
    return tuple(sorted(kinds, key=lambda kind: kind != JOINTS))


def measured_slice(robot: Robot, kinds: tuple[str, ...]) -> slice:
    """Rows that are measured, of those of joints and sensors."""
    return slice(0 if JOINTS in kinds else robot.nv, None)


def _frame(robot: Robot, kind: str) -> SensorFrame:
    if kind == BASE:
        return SensorFrame(WORLD, np.eye(3), np.zeros(3), slice(0, robot.nb))
    return sensor_frame(robot, link_of(kind))


def _sensor_axes(frame: SensorFrame, state: TreeMotion) -> np.ndarray:
    """(6, 6, n) twists of unit translations and rotations of a sensor's frame."""
    n = state.axes.shape[-1]
    if frame.body == WORLD:
        return np.broadcast_to(np.eye(6)[:, :, None], (6, 6, n))
    R, p = state.rotation[frame.body], state.position[frame.body]
    p = p + times(R, frame.position[:, None])
    unit = np.einsum("ijn,jk->kin", R, frame.rotation)
    found = np.zeros((6, 6, n))
    found[:3, :3] = found[3:, 3:] = unit
    found[3:, :3] = cross(np, np.broadcast_to(p, unit.shape), unit)
    return found
