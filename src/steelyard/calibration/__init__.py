"""Joint axes and inertial parameters from one torque log."""

from steelyard.calibration.axes_fit import Calibration, calibrate
from steelyard.calibration.axis_errors import AxisDirections, axis_directions
from steelyard.calibration.visibility import AxisVisibility, axis_visibility

__all__ = ["AxisDirections", "AxisVisibility", "Calibration", "axis_directions", "axis_visibility", "calibrate"]
