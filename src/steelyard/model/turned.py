"""A robot with other joint axes (paper D, (6)): `A -> Ad_exp(eta) A`, link frames at zero staying where they are."""

from dataclasses import replace

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia import from_vector, left_jacobian
from steelyard.model.joint import Joint
from steelyard.model.robot import Robot
from steelyard.spatial import adjoint


def turned(robot: Robot, eta) -> Robot:
    """The robot with every joint's twist moved by `eta = [dv; dw]` in its child's frame.

    eta: (nj, 6), m and rad, one row a joint of `robot.joints`; zero for joints with several degrees. The result has no
    source file: `save` writes a new one. Raises ModelError for another shape, and for a joint that has no twist.
    """
    eta = np.asarray(eta, dtype=float)
    if eta.shape != (robot.nj, 6) or not np.isfinite(eta).all():
        raise ModelError(
            f"eta of robot '{robot.name}' has shape ({robot.nj}, 6), a finite twist a joint; got {eta.shape}."
        )
    if not eta.any():
        return robot
    joints = tuple(
        _turned(joint, twist) if twist.any() else joint for joint, twist in zip(robot.joints, eta, strict=True)
    )
    return replace(robot, joints=joints, source=None)


def _turned(joint: Joint, eta) -> Joint:
    if joint.nv != 1:
        raise ModelError(f"Joint '{joint.name}' is {joint.kind}; only joints of one degree have a twist to turn.")
    R, p = from_vector(eta[3:]), left_jacobian(eta[3:]) @ eta[:3]
    return replace(joint, subspace=adjoint(R, p) @ joint.subspace)
