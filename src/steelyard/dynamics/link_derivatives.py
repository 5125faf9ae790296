"""Derivatives of every link's velocity, acceleration and force: P, Q and R of paper D (9), for trees."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from steelyard.dynamics import composites, displacements
from steelyard.dynamics.composites import Pass
from steelyard.dynamics.derivative_rows import by_coordinate, powers
from steelyard.dynamics.displacements import Changes
from steelyard.model import Robot
from steelyard.spatial import crm


@dataclass(frozen=True, eq=False)
class LinkDerivatives:
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


def columns(robot: Robot) -> dict[str, slice]:
    """Where the columns of each group stand."""
    edges = np.cumsum([0, 6 * robot.nj, robot.nv, robot.nv, robot.nv])
    names = ("twists", "positions", "rates", "accelerations")
    return {name: slice(int(i), int(j)) for name, i, j in zip(names, edges[:-1], edges[1:], strict=True)}


def of_links(state: Pass):
    """dV, dA, dF (n, nb, 6, p) of a chunk."""
    xp = array_namespace(state.base_twist)
    twists, _ = displacements.twists(state)
    degrees = (displacements.positions(state), displacements.rates(state), displacements.accelerations(state))
    parts = [_of_changes(state, twists)]
    parts += [[by_coordinate(state.robot, x) for x in _of_changes(state, changes)] for changes in degrees]
    return tuple(xp.concat(each, axis=-1) for each in zip(*parts, strict=True))


def _of_changes(state: Pass, changes: Changes):
    robot, xp = state.robot, array_namespace(changes.x1)
    frames, n = state.joints, changes.x1.shape[-1]
    R, p, V = (
        xp.take(x, xp.asarray(robot.body_joints), axis=0) for x in (frames.rotation, frames.position, frames.twist)
    )
    units = displacements.frame_twists(R, p)
    dF = powers(state, changes, np.repeat(robot.body_joints, 6), units)
    mask = xp.asarray(composites.behind(robot, robot.body_joints, changes.joint), dtype=p.dtype)[:, None]
    rows = xp.moveaxis(xp.reshape(units, (robot.nb, 6, 6, n)), -1, 0)
    swap = xp.asarray(np.roll(np.eye(6), 3, axis=0), dtype=p.dtype)
    back = swap @ rows @ swap  # Ad^-1, as Ad^T with linear and angular halves swapped
    x1, x2 = (xp.moveaxis(x, (2, 1), (0, 1))[:, None] for x in (changes.x1, changes.x2))
    dV = mask * (back @ x2)
    own = crm((back @ xp.moveaxis(V, -1, 0)[..., None])[..., 0])
    dA = mask * (back @ x1) - own @ dV
    return dV, dA, xp.reshape(dF, (n, robot.nb, 6, -1))
