"""Torque derivatives as matrices: rows of degrees times what each change does, masked by who carries whom.

One small product for every sample gives all entries of a kind at once; both ways a change counts (behind the changed
joint, before it) are computed in full and masked, which on arms costs less than picking blocks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics.displacements import (
    DisplacedTree,
    Displacements,
    accelerations,
    behind,
    frame_twists,
    placements,
    positions,
    rates,
    resisted,
    responses,
    twists,
)
from steelyard.dynamics.kinematics import coordinate_map, tree
from steelyard.dynamics.stacks import force_cross
from steelyard.model import Robot
from steelyard.namespaces import array_namespace
from steelyard.spatial import crm


def of_degrees(state: DisplacedTree):
    """dtau/dq, dv, da (n, nv, nv) of a chunk, of bodies alone."""
    robot, xp = state.robot, array_namespace(state.base_twist)
    joint, axes = tree(robot).degree_joint, state.joints.axes
    Y = _first(resisted(state, joint, axes))
    by_q, by_v = (powers(state, changes, joint, axes, Y) for changes in (positions(state), rates(state)))
    inside, outside = (xp.asarray(mask, dtype=Y.dtype) for mask in _masks(robot, joint, joint))
    products = Y[..., :6] @ xp.matrix_transpose(_first(axes))
    M = inside * products + outside * xp.matrix_transpose(products)
    return tuple(by_coordinate(robot, torques_of(robot, x)) for x in (by_q, by_v, M))


def of_twists(state: DisplacedTree):
    """dtau/deta (n, nv, nj, 6), alone in a tuple; a joint's own axes turn with it, as `-F^T ad_A` says."""
    xp = array_namespace(state.base_twist)
    joint, axes = tree(state.robot).degree_joint, state.joints.axes
    changes, hanging = twists(state)
    wrench = xp.take(state.composite.wrench, xp.asarray(joint), axis=0)
    own = _first(force_cross(xp, axes, wrench)) @ xp.matrix_transpose(_first(hanging))
    same = xp.asarray(joint[:, None] == changes.joint, dtype=own.dtype)
    return (_by_frame(state.robot, powers(state, changes, joint, axes) + same * own),)


def of_placements(state: DisplacedTree):
    """dtau/dxi (n, nv, nj, 6), alone in a tuple."""
    joint, axes = tree(state.robot).degree_joint, state.joints.axes
    return (_by_frame(state.robot, powers(state, placements(state), joint, axes)),)


def of_gravity(state: DisplacedTree):
    """dtau/dg (n, nv, 3), alone in a tuple."""
    Y = _first(resisted(state, tree(state.robot).degree_joint, state.joints.axes))
    return (-torques_of(state.robot, Y[..., :3]),)


def powers(state: DisplacedTree, changes: Displacements, joint, U, Y=None):
    """Change (n, r, k) of the power of joint wrenches on twists U (r, 6, n) that belong to the links at `joint` (r,)
    and move with them. Y: `resisted` of the same, samples first, where it is known already.
    """
    xp = array_namespace(U)
    Y = _first(resisted(state, joint, U)) if Y is None else Y
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


def _first(array):
    """Samples first."""
    return array_namespace(array).moveaxis(array, -1, 0)


def _masks(robot: Robot, joint, changed) -> tuple[np.ndarray, np.ndarray]:
    """(r, k) 1.0 where a joint is a changed one or lies behind it, and where it lies before it."""
    before = behind(robot, changed, joint).T * (np.asarray(joint)[:, None] != changed)
    return behind(robot, joint, changed), before


@dataclass(frozen=True, eq=False, repr=False)
class LinkDerivatives(Card):
    """With respect to `lambda = [eta of every joint of the tree | q | v | a]`, p = 6 nj + 3 nv columns.

    dV (P of the paper), dA (Q), dF (R): (..., nb, 6, p), in the axes and at the origin of each body: its twist, its
    proper spatial acceleration and the wrench that its joint transmits. twists, positions, rates, accelerations: where
    the columns of each group stand.
    """

    dV: Any
    dA: Any
    dF: Any
    twists: slice
    positions: slice
    rates: slice
    accelerations: slice


def link_columns(robot: Robot) -> dict[str, slice]:
    """Where the columns of each group stand."""
    edges = np.cumsum([0, 6 * robot.nj, robot.nv, robot.nv, robot.nv])
    names = ("twists", "positions", "rates", "accelerations")
    return {name: slice(int(i), int(j)) for name, i, j in zip(names, edges[:-1], edges[1:], strict=True)}


def of_links(state: DisplacedTree):
    """dV, dA, dF (n, nb, 6, p) of a chunk."""
    xp = array_namespace(state.base_twist)
    degrees = (positions(state), rates(state), accelerations(state))
    parts = [_of_changes(state, twists(state)[0])]
    parts += [[by_coordinate(state.robot, x) for x in _of_changes(state, changes)] for changes in degrees]
    return tuple(xp.concat(each, axis=-1) for each in zip(*parts, strict=True))


def _of_changes(state: DisplacedTree, changes: Displacements):
    robot, xp = state.robot, array_namespace(changes.x1)
    frames, n = state.joints, changes.x1.shape[-1]
    bodies = xp.asarray(robot.body_joints)
    R, p, V = (xp.take(x, bodies, axis=0) for x in (frames.rotation, frames.position, frames.twist))
    units = frame_twists(R, p)
    dF = powers(state, changes, np.repeat(robot.body_joints, 6), units)
    mask = xp.asarray(behind(robot, robot.body_joints, changes.joint), dtype=p.dtype)[:, None]
    rows = xp.moveaxis(xp.reshape(units, (robot.nb, 6, 6, n)), -1, 0)
    swap = xp.asarray(np.roll(np.eye(6), 3, axis=0), dtype=p.dtype)
    back = swap @ rows @ swap  # Ad^-1, as Ad^T with linear and angular halves swapped
    x1, x2 = (xp.moveaxis(x, (2, 1), (0, 1))[:, None] for x in (changes.x1, changes.x2))
    dV = mask * (back @ x2)
    own = crm((back @ xp.moveaxis(V, -1, 0)[..., None])[..., 0])
    dA = mask * (back @ x1) - own @ dV
    return dV, dA, xp.reshape(dF, (n, robot.nb, 6, -1))
