"""Robots with closed loops: the open tree, and what its loops make of it (paper D, section 3).

Some joints are independent, usually those with motors; the others follow. `robot.loops` lists the closures."""

from steelyard.dynamics.closed_loop.derivatives import (
    Derivatives,
    follows,
    inverse_dynamics_derivatives,
    torque_function,
)
from steelyard.dynamics.closed_loop.projection import (
    gamma,
    independent,
    inverse_dynamics,
    regressor,
    slotine_li_regressor,
    tree_state,
    with_motors,
)

__all__ = [
    "Derivatives",
    "follows",
    "gamma",
    "independent",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "regressor",
    "slotine_li_regressor",
    "torque_function",
    "tree_state",
    "with_motors",
]
