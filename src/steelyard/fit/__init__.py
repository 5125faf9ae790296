"""Information in, Estimate out; one estimator a file."""

from steelyard.fit.consistent import consistent
from steelyard.fit.constraints import Tied
from steelyard.fit.drive_gains import DriveGains, Load, drive_gains
from steelyard.fit.estimate import Certificate, Estimate, Status
from steelyard.fit.friction import FrictionFit, JointFriction, friction
from steelyard.fit.instrumental import instrumental
from steelyard.fit.intervals import Intervals, Source
from steelyard.fit.least_squares import least_squares
from steelyard.fit.nonconvex import nonconvex
from steelyard.fit.output_torque import output_torque
from steelyard.fit.repeatability import Repeatability, repeatability
from steelyard.fit.robust import Huber, Student, robust
from steelyard.fit.shown import consistent_where_shown
from steelyard.fit.torque_band import TorqueBand, TorquePredictor
from steelyard.fit.total import column_noise, compensated, total
from steelyard.fit.uncertainty import Uncertainty, uncertainty
from steelyard.fit.weight import WeightChoice, choose_weight
from steelyard.fit.whitening import weigh_by_noise

__all__ = [
    "Certificate",
    "DriveGains",
    "Estimate",
    "FrictionFit",
    "Huber",
    "Intervals",
    "JointFriction",
    "Load",
    "Repeatability",
    "Source",
    "Status",
    "Student",
    "Tied",
    "TorqueBand",
    "TorquePredictor",
    "Uncertainty",
    "WeightChoice",
    "choose_weight",
    "column_noise",
    "compensated",
    "consistent",
    "consistent_where_shown",
    "drive_gains",
    "friction",
    "instrumental",
    "least_squares",
    "nonconvex",
    "output_torque",
    "repeatability",
    "robust",
    "total",
    "uncertainty",
    "weigh_by_noise",
]
