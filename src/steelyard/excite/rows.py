"""Rows of the regression in base columns for a planned motion, and the gradient of sums of them."""

import numpy as np

from steelyard.dynamics.effects import effect_column
from steelyard.dynamics.kinematics import Motion, motion
from steelyard.dynamics.regressor import _wrench_regressors, dense_rows, projected_blocks
from steelyard.excite.adjoint import Gradient, regressor_gradient
from steelyard.identifiability.basis import Basis
from steelyard.model.robot import Robot
from steelyard.parameters import ParameterLayout


def all_rows(robot: Robot, layout: ParameterLayout, v, a, state: Motion, width: float) -> np.ndarray:
    """(nv, p, n) rows of all columns, samples last."""
    blocks = projected_blocks(np, robot, state.axes, *_wrench_regressors(np, state))
    full = np.zeros((robot.nv, layout.size, v.shape[-1]))
    full[:, layout.inertial] = dense_rows(np, robot, blocks)
    for dof in layout.dofs:
        for term, column in zip(layout.terms, layout.effects_of(dof), strict=True):
            full[dof, column] = effect_column(term, v[dof], a[dof], coulomb_width=width)
    return full


def base_rows(robot: Robot, layout: ParameterLayout, basis: Basis, q, v, a, width: float) -> np.ndarray:
    """(r, nv, n) rows of the base columns. q, v, a: (nv, n)."""
    full = all_rows(robot, layout, v, a, motion(robot, q, v, a), width)
    return np.moveaxis(full[:, basis.columns], 1, 0)


def rows_gradient(robot: Robot, layout: ParameterLayout, q, v, a, Z, state: Motion, width: float) -> Gradient:
    """Gradient of `sum(rows * Z)` per sample; Z (nv, p, n)."""
    found = regressor_gradient(robot, q, v, a, Z[:, layout.inertial], state=state)
    for dof in layout.dofs:
        for term, column in zip(layout.terms, layout.effects_of(dof), strict=True):
            if term == "viscous":
                found.v[dof] += Z[dof, column]
            elif term == "coulomb":
                found.v[dof] += Z[dof, column] * (1 - np.tanh(v[dof] / width) ** 2) / width
            elif term == "armature":
                found.a[dof] += Z[dof, column]
    return found
