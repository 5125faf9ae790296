"""Information in, Estimate out; one estimator a file."""

from steelyard.fit.consistent import consistent
from steelyard.fit.constraints import Tied
from steelyard.fit.drive_gains import DriveGains, Load, drive_gains
from steelyard.fit.estimate import Certificate, Estimate, Status
from steelyard.fit.least_squares import least_squares

__all__ = [
    "Certificate",
    "DriveGains",
    "Estimate",
    "Load",
    "Status",
    "Tied",
    "consistent",
    "drive_gains",
    "least_squares",
]
