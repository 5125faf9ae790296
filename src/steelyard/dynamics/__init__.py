"""Functions of a Robot and its motion, with leading batch axes."""

from steelyard.dynamics import closed_loop
from steelyard.dynamics.balances import (
    base_wrench_regressor,
    energy_regressor,
    momentum_drift_regressor,
    momentum_regressor,
    power_regressor,
    wrench_regressor,
)
from steelyard.dynamics.derivatives import inverse_dynamics_derivatives
from steelyard.dynamics.frames import bias_acceleration, frame_velocity, jacobian
from steelyard.dynamics.generalised_momentum import momentum_observer
from steelyard.dynamics.mujoco_bodies import mujoco_inertias
from steelyard.dynamics.newton_euler import (
    body_regressor,
    inverse_dynamics,
    regressor,
    slotine_li_regressor,
)

__all__ = [
    "base_wrench_regressor",
    "bias_acceleration",
    "body_regressor",
    "closed_loop",
    "energy_regressor",
    "frame_velocity",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "momentum_drift_regressor",
    "momentum_observer",
    "momentum_regressor",
    "mujoco_inertias",
    "power_regressor",
    "regressor",
    "slotine_li_regressor",
    "wrench_regressor",
]
