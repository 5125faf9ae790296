"""Armature: inertia that the rates of joints feel, beside that of the bodies, and without weight.

It multiplies the derivative of MuJoCo's velocities. Those of a free joint are linear in world axes, so in the axes of
the body, where its velocity is `[v; w]`, the linear rows feel `a + w x v`; all other rows feel `a`.
"""

import numpy as np

from steelyard.dynamics.stacks import cross
from steelyard.model import Robot
from steelyard.namespaces import array_namespace
from steelyard.spatial import skew


def felt_acceleration(robot: Robot, v, a):
    """Acceleration (nv, n) that armature multiplies, of velocities and accelerations (nv, n).

    Source: MuJoCo's documentation, `dof_armature`: a diagonal of the inertia in coordinates of `qvel`."""
    xp = array_namespace(v, a)
    for linear, angular in _bases(robot):
        turned = a[linear] + cross(xp, v[angular][None], v[linear][None])[0]
        a = xp.concat([a[: linear.start], turned, a[linear.stop :]])
    return a


def armature_torque(robot: Robot, v, a):
    """(nv, n) forces of the robot's armature, N m or N, at velocities and accelerations (nv, n)."""
    felt = felt_acceleration(robot, v, a)
    return array_namespace(felt).asarray(robot.armature, dtype=felt.dtype)[:, None] * felt


def armature_by_rates(robot: Robot, v):
    """(n, nv, nv) derivative of `armature_torque` by velocities (nv, n), rows are torques; None where it is zero."""
    xp, whole, unit = array_namespace(v), None, np.eye(robot.nv)
    for linear, angular in _bases(robot):
        rows, *columns = (
            xp.asarray(x, dtype=v.dtype) for x in (robot.armature * unit[linear], unit[linear], unit[angular])
        )
        by_rates = skew(v[angular].T) @ columns[0] - skew(v[linear].T) @ columns[1]
        whole = rows.T @ by_rates + (0 if whole is None else whole)
    return whole


def armature_gradient(robot: Robot, v, weights):
    """(nv, n) gradient of `weights . armature_torque` by velocities; v, weights: (nv, n)."""
    by_rates = armature_by_rates(robot, v)
    return array_namespace(v).zeros_like(v) if by_rates is None else (weights.T[:, None] @ by_rates)[:, 0].T


def _bases(robot: Robot):
    """Linear and angular degrees of each free joint with armature."""
    for joint, at in zip(robot.joints, robot.v_slices, strict=True):
        if joint.kind == "free" and robot.armature[at].any():
            yield slice(at.start, at.start + 3), slice(at.start + 3, at.stop)
