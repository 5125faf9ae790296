"""Joint axes and inertial parameters from one torque log."""

from steelyard.calibration.axes_fit import calibrate
from steelyard.calibration.axis_errors import axis_directions

__all__ = [
    "axis_directions",
    "calibrate",
]
