"""All columns of the regression of a robot with closed loops: those of its tree, felt at the independent joints."""

import numpy as np

from steelyard.dynamics.closed_loop.state import State
from steelyard.dynamics.closed_loop.torque import on_independent_joints
from steelyard.dynamics.effects import effect_column, extra_rows, shared_directions
from steelyard.dynamics.regressor import regressor_rows
from steelyard.model import Robot
from steelyard.terms import COULOMB_WIDTH, ParameterLayout


def columns(robot: Robot, layout: ParameterLayout, at: State, *, direction=None, coulomb_width: float = COULOMB_WIDTH):
    """(n, ni, p) torque of the independent joints per unit of each parameter of a layout.

    direction: (n, nv + s) filtered direction of motion of all degrees and shared motors, if there is one.
    """
    q, v, a = (np.ascontiguousarray(x.T) for x in (at.q, at.v, at.a))
    turning = np.tanh(v / coulomb_width) if direction is None else np.ascontiguousarray(direction.T)
    full = np.zeros((robot.nv, layout.size, len(at.q)))
    full[:, layout.inertial] = regressor_rows(robot, q, v, a)
    for dof in layout.dofs:
        for term, column in zip(layout.terms, layout.effects_of(dof), strict=True):
            full[dof, column] = effect_column(term, v[dof], a[dof], direction=turning[dof])
    shared = shared_directions(layout, turning, robot.nv)
    for i, extra in enumerate(layout.extras):
        rows = extra_rows(robot, extra, q, v, a, direction=shared.get(i), coulomb_width=coulomb_width)
        full[list(extra.dofs), layout.extra.start + i] = rows
    return on_independent_joints(at, np.moveaxis(full, -1, 0))
