"""Information in, Estimate out; one estimator a file."""

from steelyard.fit.consistent import consistent
from steelyard.fit.constraints import Tied
from steelyard.fit.drive_gains import DriveGains, Load, drive_gains
from steelyard.fit.estimate import Certificate, Estimate, Status
from steelyard.fit.intervals import Intervals, Source
from steelyard.fit.least_squares import least_squares
from steelyard.fit.repeatability import Repeatability, repeatability
from steelyard.fit.torque_band import TorqueBand, TorquePredictor
from steelyard.fit.uncertainty import Uncertainty, uncertainty

__all__ = [
    "Certificate",
    "DriveGains",
    "Estimate",
    "Intervals",
    "Load",
    "Repeatability",
    "Source",
    "Status",
    "Tied",
    "TorqueBand",
    "TorquePredictor",
    "Uncertainty",
    "consistent",
    "drive_gains",
    "least_squares",
    "repeatability",
    "uncertainty",
]
