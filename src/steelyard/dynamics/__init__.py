"""Functions of a Robot and its motion, with leading batch axes."""

from steelyard.dynamics.body import body_regressor
from steelyard.dynamics.inverse import inverse_dynamics
from steelyard.dynamics.regressor import regressor

__all__ = ["body_regressor", "inverse_dynamics", "regressor"]
