"""Information in, Estimate out; one estimator a file."""

from steelyard.fit.adaptation import CompositeAdaptation, RecursiveEstimator, natural_step
from steelyard.fit.analysis_of_variance import Repeatability, compare_runs, repeatability
from steelyard.fit.cone_program import consistent, solve
from steelyard.fit.confidence import Intervals, Source, Uncertainty, uncertainty
from steelyard.fit.contact_detection import Contact, ContactDetector, ExternalTorque
from steelyard.fit.draws import Draws, load_draws, save_draws
from steelyard.fit.drive_calibration import DriveGains, Load, drive_gains
from steelyard.fit.estimate import Certificate, Estimate, Status
from steelyard.fit.homogeneous import ratios
from steelyard.fit.knowledge import Known, Tied
from steelyard.fit.linear import least_squares
from steelyard.fit.m_estimators import Huber, Student, robust
from steelyard.fit.noisy_motion import column_noise, compensated, instrumental, output_torque, total
from steelyard.fit.posterior import posterior
from steelyard.fit.program import Program, build
from steelyard.fit.projection import Projection
from steelyard.fit.validation import TorqueBand, TorquePredictor, Validation, predict, validate
from steelyard.fit.whitening import weigh_by_noise

__all__ = [
    "Certificate",
    "CompositeAdaptation",
    "Contact",
    "ContactDetector",
    "Draws",
    "DriveGains",
    "Estimate",
    "ExternalTorque",
    "Huber",
    "Intervals",
    "Known",
    "Load",
    "Program",
    "Projection",
    "RecursiveEstimator",
    "Repeatability",
    "Source",
    "Status",
    "Student",
    "Tied",
    "TorqueBand",
    "TorquePredictor",
    "Uncertainty",
    "Validation",
    "build",
    "column_noise",
    "compare_runs",
    "compensated",
    "consistent",
    "drive_gains",
    "instrumental",
    "least_squares",
    "load_draws",
    "natural_step",
    "output_torque",
    "posterior",
    "predict",
    "ratios",
    "repeatability",
    "robust",
    "save_draws",
    "solve",
    "total",
    "uncertainty",
    "validate",
    "weigh_by_noise",
]
