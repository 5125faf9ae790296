"""The null space of a whole regression (bodies, friction, armature), from the kinematics alone: no log is involved.

The regression matrix of random states is stacked; analytic dependence between columns shows as singular values at
rounding level, separated from the rest by many decades. The states are generic and their number fixed, so the answer
is deterministic.
"""

from functools import lru_cache

import numpy as np

from steelyard.dynamics.effects import effect_column
from steelyard.dynamics.regressor import regressor_rows
from steelyard.identifiability.basis import Basis, from_null_space
from steelyard.model.robot import Robot
from steelyard.parameters import ParameterLayout

# Of the largest singular value of unit columns. Dependence shows at 1e-14; model files that write pi as 3.1416 bend
# exactly parallel axes by 1e-5 and show at 1e-10, which no experiment could tell from dependence.
RANK_TOLERANCE = 1e-8


@lru_cache(maxsize=32)
def regression_basis(robot: Robot, layout: ParameterLayout) -> Basis:
    """Base parameters of a robot's regression, in the columns of a layout."""
    stacked = _stacked_regression(robot, layout)
    scale = np.linalg.norm(stacked, axis=0)
    scale[scale < 1e-10 * scale.max()] = 1.0
    triangle = np.linalg.qr(stacked / scale, mode="r")
    _, singular, Vt = np.linalg.svd(triangle)
    rank = int(np.count_nonzero(singular > RANK_TOLERANCE * singular[0]))
    return from_null_space(Vt[rank:].T / scale[:, None], scale)


def _stacked_regression(robot: Robot, layout: ParameterLayout):
    rng = np.random.default_rng(20260101)
    count = 3 * layout.size // max(robot.nv, 1) + 40
    q, v, a = random_states(robot, count, rng)
    Y = regressor_rows(robot, q.T, v.T, a.T)
    full = np.zeros((robot.nv, count, layout.size))
    full[..., layout.inertial] = np.moveaxis(Y, 1, 2)
    for dof in layout.dofs:
        for term, column in zip(layout.terms, layout.effects_of(dof), strict=True):
            full[dof, :, column] = effect_column(term, v[:, dof], a[:, dof])
    return full.reshape(-1, layout.size)


def random_states(robot: Robot, count: int, rng):
    """Generic states q (count, nq), v, a (count, nv): angles over the whole circle, uniform orientations."""
    q = rng.uniform(-np.pi, np.pi, size=(count, robot.nq))
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        if joint.kind in ("spherical", "free"):
            quaternion = rng.normal(size=(count, 4))
            q[:, where.stop - 4 : where.stop] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    return q, rng.normal(scale=2.0, size=(count, robot.nv)), rng.normal(scale=5.0, size=(count, robot.nv))
