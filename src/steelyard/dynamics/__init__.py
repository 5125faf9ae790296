"""Functions of a Robot and its motion, with leading batch axes."""

from steelyard.dynamics import closed_loop
from steelyard.dynamics.balances import (
    base_wrench_regressor,
    energy_regressor,
    power_regressor,
    wrench_regressor,
)
from steelyard.dynamics.body import body_regressor
from steelyard.dynamics.derivatives import InverseDynamicsDerivatives, inverse_dynamics_derivatives
from steelyard.dynamics.inverse import inverse_dynamics
from steelyard.dynamics.momentum import momentum_drift_regressor, momentum_regressor
from steelyard.dynamics.regressor import regressor

__all__ = [
    "InverseDynamicsDerivatives",
    "base_wrench_regressor",
    "body_regressor",
    "closed_loop",
    "energy_regressor",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "momentum_drift_regressor",
    "momentum_regressor",
    "power_regressor",
    "regressor",
    "wrench_regressor",
]
