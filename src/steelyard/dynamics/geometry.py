"""From geometry to torque: robots whose bodies are made of solid parts, and gradients back to the parts (paper D, 5).

A scalar of the torques has a gradient with respect to inertial parameters and joint twists (`vjp`); meshes,
densities, places of parts and joint axes follow by the chain rule. A motor that sits on a joint's axis moves with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.dynamics.pullback import Gradient
from steelyard.errors import ModelError
from steelyard.inertia import Part, PartGradient, combine, pull_back
from steelyard.model import WORLD, Robot
from steelyard.spatial import adjoint

Parts = Mapping[str, Sequence[Part]]


@dataclass(frozen=True, eq=False)
class GeometryGradient:
    """Gradient of a scalar of all torques. parts: body name -> one `PartGradient` a part; twist (nj, 6): of the joint
    axes, the motors that sit on them included.
    """

    parts: dict[str, tuple[PartGradient, ...]]
    twist: np.ndarray


def with_parts(robot: Robot, parts: Parts) -> Robot:
    """The robot with the inertias of the named bodies made up of parts, each placed in the body frame.

    Raises ModelError for unknown bodies, InertiaError for meshes that enclose no solid.
    """
    theta = robot.inertias.copy()
    for body, pieces in parts.items():
        theta[robot.body_index(body)] = combine(pieces)
    return robot.with_inertias(theta)


def geometry_gradient(
    robot: Robot, parts: Parts, gradient: Gradient, *, motors: Mapping[str, tuple[str, int]] | None = None
) -> GeometryGradient:
    """Gradient with respect to geometry from the one with respect to torques' inputs, summed over all states.

    parts: as in `with_parts`. motors: joint name -> (body, index of a part of it): parts that move with the axis of
    that joint; the body is the joint's parent (a stator) or its child (a rotor or gear). Raises ModelError for
    unknown bodies, joints and parts, and for a motor on a body that its joint does not touch.
    """
    by_theta = gradient.theta.reshape(-1, robot.nb, 10).sum(axis=0)
    found = {
        body: tuple(pull_back(part, by_theta[robot.body_index(body)]) for part in pieces)
        for body, pieces in parts.items()
    }
    twist = gradient.twist.reshape(-1, robot.nj, 6).sum(axis=0)
    for name, (body, index) in (motors or {}).items():
        if not 0 <= index < len(found.get(body, ())):
            raise ModelError(f"motors: '{body}' has {len(found.get(body, ()))} parts; there is no part {index}.")
        j, carried = _carried(robot, name, body)
        twist[j] += carried.T @ found[body][index].pose
    return GeometryGradient(found, twist)


def _carried(robot: Robot, name: str, body: str):
    """Index of a joint, and (6, 6) how a part on its axis moves in the frame of the body it rides on, per eta."""
    names = [joint.name for joint in robot.joints]
    if name not in names:
        raise ModelError(f"motors: robot '{robot.name}' has no joint '{name}'; it has {', '.join(names[:30])}.")
    j, rides_on = names.index(name), int(robot.body_joints[robot.body_index(body)])
    if rides_on == j:
        return j, np.eye(6)
    if int(robot.parents[j]) == rides_on != WORLD:
        return j, adjoint(robot.joints[j].rotation, robot.joints[j].position)
    raise ModelError(
        f"motors: '{body}' is neither the parent nor the child of joint '{name}', so cannot carry its motor."
    )
