"""Torque derivatives as matrices: rows of degrees times what each change does, masked by who carries whom.

One small product for every sample gives all entries of a kind at once; both ways a change counts (behind the changed
joint, before it) are computed in full and masked, which on arms costs less than picking blocks.
"""

import numpy as np
from array_api_compat import array_namespace

from steelyard.dynamics.composites import Pass, behind
from steelyard.dynamics.displacements import Changes, placements, positions, rates, resisted, responses, twists
from steelyard.dynamics.inverse import coordinate_map
from steelyard.dynamics.kinematics import tree
from steelyard.dynamics.stacks import force_cross
from steelyard.model import Robot


def of_degrees(state: Pass):
    """dtau/dq, dv, da (n, nv, nv) of a chunk."""
    robot, xp = state.robot, array_namespace(state.base_twist)
    joint, axes = tree(robot).degree_joint, state.joints.axes
    Y = _resisted(state, joint, axes)
    by_q, by_v = (powers(state, changes, joint, axes, Y) for changes in (positions(state), rates(state)))
    inside, outside = (xp.asarray(mask, dtype=Y.dtype) for mask in _masks(robot, joint, joint))
    products = Y[..., :6] @ xp.matrix_transpose(_first(axes))
    M = inside * products + outside * xp.matrix_transpose(products)
    by_q, by_v, M = (by_coordinate(robot, torques_of(robot, x)) for x in (by_q, by_v, M))
    return by_q, by_v, M + xp.asarray(np.diag(robot.armature), dtype=M.dtype)


def of_twists(state: Pass):
    """dtau/deta (n, nv, nj, 6), alone in a tuple; a joint's own axes turn with it, as `-F^T ad_A` says."""
    xp = array_namespace(state.base_twist)
    joint, axes = tree(state.robot).degree_joint, state.joints.axes
    changes, hanging = twists(state)
    wrench = xp.take(state.composite.wrench, xp.asarray(joint), axis=0)
    own = _first(force_cross(xp, axes, wrench)) @ xp.matrix_transpose(_first(hanging))
    same = xp.asarray(joint[:, None] == changes.joint, dtype=own.dtype)
    return (_by_frame(state.robot, powers(state, changes, joint, axes) + same * own),)


def of_placements(state: Pass):
    """dtau/dxi (n, nv, nj, 6), alone in a tuple."""
    return (
        _by_frame(state.robot, powers(state, placements(state), tree(state.robot).degree_joint, state.joints.axes)),
    )


def of_gravity(state: Pass):
    """dtau/dg (n, nv, 3), alone in a tuple."""
    Y = _resisted(state, tree(state.robot).degree_joint, state.joints.axes)
    return (-torques_of(state.robot, Y[..., :3]),)


def powers(state: Pass, changes: Changes, joint, U, Y=None):
    """Change (n, r, k) of the power of joint wrenches on twists U (r, 6, n) that belong to the links at `joint` (r,)
    and move with them. Y: `_resisted` of the same, where it is known already.
    """
    xp = array_namespace(U)
    Y = _resisted(state, joint, U) if Y is None else Y
    X = _first(xp.concat([changes.x1, changes.x2[:, 3:]], axis=1))
    inside, outside = (xp.asarray(mask, dtype=U.dtype) for mask in _masks(state.robot, joint, changes.joint))
    before = _first(U) @ xp.matrix_transpose(_first(responses(state, changes)))
    return inside * (Y @ xp.matrix_transpose(X)) + outside * before


def torques_of(robot: Robot, array):
    """Rows of coordinates (n, nv, k) from rows of the tree's degrees (n, nt, k)."""
    if not robot.mimic_names:
        return array
    return array_namespace(array).asarray(coordinate_map(robot), dtype=array.dtype) @ array


def by_coordinate(robot: Robot, array):
    """Columns of coordinates (..., nv) from columns of the tree's degrees (..., nt)."""
    if not robot.mimic_names:
        return array
    return array @ array_namespace(array).asarray(coordinate_map(robot).T, dtype=array.dtype)


def _by_frame(robot: Robot, array):
    """(n, nv, nj, 6) from (n, nt, 6 nj)."""
    rows = torques_of(robot, array)
    return array_namespace(rows).reshape(rows, (*rows.shape[:2], robot.nj, 6))


def _resisted(state: Pass, joint, U):
    return _first(resisted(state, joint, U))


def _first(array):
    """Samples first."""
    return array_namespace(array).moveaxis(array, -1, 0)


def _masks(robot: Robot, joint, changed) -> tuple[np.ndarray, np.ndarray]:
    """(r, k) 1.0 where a joint is a changed one or lies behind it, and where it lies before it."""
    before = behind(robot, changed, joint).T * (np.asarray(joint)[:, None] != changed)
    return behind(robot, joint, changed), before
