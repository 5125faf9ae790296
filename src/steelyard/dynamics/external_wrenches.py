"""Wrenches from outside that are known: sensors under feet and in wrists, pulleys, hands.

A wrench `[f; n]` acts on the robot and is given in the axes of a frame at its origin, as a sensor there measures it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.arguments import as_array
from steelyard.dynamics.frames import frame_pose, frame_rows
from steelyard.dynamics.stacks import cross, times
from steelyard.errors import OptionError
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.namespaces import array_namespace


def external_rows(robot: Robot, batch: tuple[int, ...], external: Mapping[str, Any] | None, like) -> dict[str, Any]:
    """Wrenches `[f; n]` (..., 6) on frames as (6, n) by frame, for samples of a shape and of arrays like one. Raises
    ModelError for a frame that there is not, OptionError for another shape."""
    xp = array_namespace(like)
    found: dict[str, Any] = {}
    for name, wrench in (external or {}).items():
        robot.frame(name)
        wrench = as_array(f"external wrench on {name}", wrench)
        if wrench.ndim == 0 or wrench.shape[-1] != 6 or not _fits(tuple(wrench.shape[:-1]), batch):
            raise OptionError(
                f"The external wrench on '{name}' has shape {tuple(wrench.shape)}; expected {(*batch, 6)}: "
                "[fx fy fz nx ny nz] on the robot, in the axes of the frame at its origin, one row a sample."
            )
        wrench = xp.broadcast_to(xp.asarray(wrench, dtype=like.dtype), (*batch, 6))
        found[name] = xp.reshape(wrench, (like.shape[-1], 6)).T
    return found


def external_torque(robot: Robot, q, external: Mapping[str, Any]):
    """(nv, n) what wrenches on the robot do to its joints, `sum J^T f`; motors need as much less. q: (nq, n); external:
    (6, n) by frame, as of `external_rows`."""
    xp = array_namespace(q)
    total = xp.zeros((robot.nv, q.shape[-1]), dtype=q.dtype)
    if not external:
        return total
    for (rows, R), wrench in zip(frame_rows(robot, q, tuple(external)), external.values(), strict=True):
        total = total + xp.sum(rows * _turned(xp, R, wrench)[:, None], axis=0)
    return total


def external_on_joints(robot: Robot, rotations, positions, external: Mapping[str, Any]):
    """The same wrenches on the children of joints: pairs of a joint and (6, n) in world axes at the world origin; what
    acts on the ground is left out. rotations: (nj, 3, 3, n), positions: (nj, 3, n) of the children of joints."""
    xp, found = array_namespace(positions), []
    for name, wrench in external.items():
        R, p, joint = frame_pose(robot, name, rotations, positions)
        if joint != WORLD:
            turned = _turned(xp, R, wrench)
            moment = turned[3:] + cross(xp, p[None], turned[None, :3])[0]
            found.append((joint, xp.concat([turned[:3], moment])))
    return found


def _fits(shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, batch) == batch
    except ValueError:
        return False


def _turned(xp, R, wrench):
    """A wrench (6, n) of a frame in world axes."""
    return xp.concat([times(R, wrench[:3]), times(R, wrench[3:])])
