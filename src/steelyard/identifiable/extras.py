"""Base parameters when a regression has extra columns: couplings, springs, columns of the user.

The recursion covers bodies and terms of single joints. What an extra column has in common with those is read off the
regression of random states, reduced to the extras: only whether they are independent is left to decide, and whatever
they share with other columns is expressed by these.
"""

import numpy as np

from steelyard.dynamics import effect_column, extra_rows, geared_rows, regressor_rows
from steelyard.identifiable.basis import Basis, from_dependence, from_null_space
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model import Robot
from steelyard.terms import ParameterLayout

EXTRAS_SEED = 20260105


def with_extras(robot: Robot, layout: ParameterLayout, base: Basis) -> Basis:
    """Basis of a layout with extras from the one without them."""
    Y = _stacked(robot, layout, base.columns)
    scale = np.linalg.norm(Y, axis=0)
    scale[scale == 0] = 1.0
    triangle = np.asarray(np.linalg.qr(Y / scale, mode="r"))
    r = base.count
    shared, own = triangle[:r, r:], triangle[r:, r:]
    _, singular, Vt = np.linalg.svd(own)
    extras = from_null_space(Vt[int(np.count_nonzero(singular > THRESHOLDS.independent_extra)) :].T)
    dependent = np.setdiff1d(np.arange(len(layout.extras)), extras.columns)
    among = extras.regrouping[:, dependent]
    bodies = np.linalg.solve(triangle[:r, :r], shared[:, dependent] - shared[:, extras.columns] @ among)
    expressed = np.concatenate([bodies, among]) * scale[r + dependent]
    expressed /= scale[np.concatenate([np.arange(r), r + extras.columns]), None]

    start = layout.extra.start
    before = np.setdiff1d(np.arange(start), base.columns)
    everything = np.zeros((r + extras.count, len(before) + len(dependent)))
    everything[:r, : len(before)] = base.regrouping[:, before]
    everything[:, len(before) :] = expressed
    return from_dependence(np.concatenate([before, start + dependent]), everything)


def _stacked(robot: Robot, layout: ParameterLayout, columns) -> np.ndarray:
    """Base columns and extras (n, r + e) of random states."""
    count = (len(columns) + len(layout.extras)) // robot.nv + 20
    q, v, a = _robot_states(robot, count)
    full = np.zeros((robot.nv, layout.size, count))
    full[:, layout.inertial] = (geared_rows if layout.rotor_names else regressor_rows)(robot, q, v, a)
    for dof in layout.dofs:
        for term, column in zip(layout.terms, layout.effects_of(dof), strict=True):
            full[dof, column] = effect_column(term, v[dof], a[dof])
    for column, extra in enumerate(layout.extras, start=layout.extra.start):
        full[list(extra.dofs), column] = extra_rows(robot, extra, q, v, a)
    kept = np.concatenate([columns, np.arange(layout.size)[layout.extra]])
    return np.moveaxis(full[:, kept], 1, -1).reshape(-1, len(kept))


def _robot_states(robot: Robot, count: int):
    rng = np.random.default_rng(EXTRAS_SEED)
    q = rng.normal(size=(robot.nq, count))
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        if joint.kind in ("spherical", "free"):
            quaternion = q[where.stop - 4 : where.stop]
            quaternion /= np.linalg.norm(quaternion, axis=0)
    return q, rng.normal(size=(robot.nv, count)), rng.normal(size=(robot.nv, count))
