"""Frames that a side file speaks of: bodies at rest, and frames along an axis."""

import numpy as np

from steelyard.model.joint import planar_subspace
from steelyard.model.robot import WORLD, Robot

GROUND = "world"


def rest_poses(robot: Robot):
    """World poses of all joint frames at zero coordinates: R (nj, 3, 3), p (nj, 3)."""
    R, p = np.zeros((robot.nj, 3, 3)), np.zeros((robot.nj, 3))
    for i, (joint, parent) in enumerate(zip(robot.joints, robot.parents, strict=True)):
        R_parent, p_parent = (np.eye(3), np.zeros(3)) if parent == WORLD else (R[parent], p[parent])
        R[i], p[i] = R_parent @ joint.rotation, p_parent + R_parent @ joint.position
    return R, p


def z_along(axis):
    """Rotation by the smallest angle that carries z to a unit axis: the frame planar joints use too."""
    Phi = planar_subspace(axis)
    return np.column_stack([Phi[:3, 0], Phi[:3, 1], Phi[3:, 2]])
