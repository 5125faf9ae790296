"""Joint axes and inertial parameters from one torque log."""

from steelyard.calibration.directions import AxisDirections, axis_directions
from steelyard.calibration.iterate import calibrate
from steelyard.calibration.result import Calibration
from steelyard.calibration.visibility import AxisVisibility, axis_visibility

__all__ = ["AxisDirections", "AxisVisibility", "Calibration", "axis_directions", "axis_visibility", "calibrate"]
