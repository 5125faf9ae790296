"""Derivatives of the independent joints' torques by independent positions, speeds and accelerations (paper D, (14))."""

from dataclasses import dataclass

import numpy as np

from steelyard.dynamics.closed_loop.closure import moved
from steelyard.dynamics.closed_loop.constraint import jacobian_rate, placed
from steelyard.dynamics.closed_loop.state import State, state
from steelyard.dynamics.closed_loop.torque import on_independent_joints
from steelyard.dynamics.closed_loop.velocity import rate
from steelyard.dynamics.derivatives import inverse_dynamics_derivatives as tree_derivatives
from steelyard.dynamics.inverse import inverse_dynamics as tree_inverse_dynamics
from steelyard.model import Robot

STEP = 1e-40  # of complex steps: derivatives of analytic functions without cancellation


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Of torques (..., ni) at n states: dtau_dq, dtau_dv, dtau_da, each (..., ni, ni), rows are torques."""

    dtau_dq: np.ndarray
    dtau_dv: np.ndarray
    dtau_da: np.ndarray


def inverse_dynamics_derivatives(robot: Robot, q, v, a, *, actuated=None, start=None) -> Derivatives:
    """Derivatives of `closed_loop.inverse_dynamics`, whose arguments they take, exact to rounding.

    Passive joints follow: the derivatives are along the closed loops.
    """
    at = state(robot, q, v, a, actuated=actuated, start=start)
    G = at.held.gamma
    dv_dq, da_dq, da_dv, turning = _of_motion(robot, at)
    tree = tree_derivatives(robot, at.q, at.v, at.a)
    by_q, by_v, by_a = tree.dtau_dq, tree.dtau_dv, tree.dtau_da
    tau = tree_inverse_dynamics(robot, at.q, at.v, at.a)
    groups = (
        on_independent_joints(at, by_q @ G + by_v @ dv_dq + by_a @ da_dq) + np.einsum("nikj,ni->njk", turning, tau),
        on_independent_joints(at, by_v @ G + by_a @ da_dv),
        on_independent_joints(at, by_a @ G),
    )
    return Derivatives(*(x.reshape(*at.batch, *x.shape[1:]) for x in groups))


def _of_motion(robot: Robot, at: State):
    """Changes of speeds and accelerations (n, nv, ni) with independent coordinates k, and of Gamma (n, nv, k, j).

    With K v = 0 differentiated once and K a + K' v = 0 differentiated again, at the loops' own motions.
    """
    held, choice, ni = at.held, at.choice, len(at.choice.independent)
    G = held.gamma

    def along(u, v, acceleration=None):
        return rate(robot, choice, held, u, v, acceleration)

    v, a = (np.repeat(x[..., None], ni, axis=2) for x in (at.v, at.a))
    dv = along(G, v)
    curved = np.zeros_like(dv)
    curved[:, choice.dependent] = -held.passive @ _second_rate(robot, at)
    da_dq = along(G, a) + along(dv, v) + along(v, dv) + curved
    da_dv = along(G, v) + along(v, G)
    pairs = along(np.repeat(G, ni, axis=2), np.tile(G, (1, 1, ni)))
    return dv, da_dq, da_dv, pairs.reshape(*dv.shape, ni)


def _second_rate(robot: Robot, at: State):
    """Change (n, m, ni) of K' v, v held, as each independent coordinate carries the loops along."""
    columns = []
    for k in range(len(at.choice.independent)):
        there = placed(robot, moved(robot, at.q, 1j * STEP * at.held.gamma[:, :, k]))
        columns.append(jacobian_rate(robot, there, at.v[..., None], at.v[..., None])[..., 0].imag / STEP)
    return np.stack(columns, axis=-1)
