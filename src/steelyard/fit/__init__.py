"""Information in, Estimate out; one estimator a file."""

from steelyard.fit.adaptation import RecursiveEstimator, natural_step
from steelyard.fit.analysis_of_variance import Repeatability, compare_runs, repeatability
from steelyard.fit.block_scores import independent_blocks, sandwich
from steelyard.fit.chart_descent import nonconvex
from steelyard.fit.cone_program import consistent_parameters, solve
from steelyard.fit.confidence import Uncertainty, uncertainty
from steelyard.fit.drive_calibration import DriveGains, Load, drive_gains, gains_by_model
from steelyard.fit.estimate import Certificate, Estimate, Status
from steelyard.fit.friction_terms import FrictionFit, JointFriction, chosen_column, friction
from steelyard.fit.gain_of_links import (
    LinksGain,
    branches,
    drives_alone,
    links_gain,
    nonnegative_least_squares,
    standing_links,
)
from steelyard.fit.homogeneous import ratios
from steelyard.fit.intervals import Intervals, Source
from steelyard.fit.knowledge import (
    Known,
    Tied,
    fixed_from,
    fixed_words,
    mass_words,
    masses_from,
    model_facts,
    tied_from,
    tied_words,
)
from steelyard.fit.linear import least_squares
from steelyard.fit.m_estimators import Huber, Student, robust
from steelyard.fit.model_geometry import consistent, consistent_within_geometry
from steelyard.fit.noisy_motion import column_noise, compensated, instrumental, output_torque, total
from steelyard.fit.prediction_error import Generalization, Prediction, generalization, ordinary_use
from steelyard.fit.prior import EFFECT_SPREAD, congruence, consistent_prior, model_parameters, prior_precision
from steelyard.fit.prior_weight import WeightChoice, choose_weight
from steelyard.fit.program import Program, build
from steelyard.fit.validation import TorqueBand, TorquePredictor, Validation, predict, validate
from steelyard.fit.volumes import CAN_EXIST, GEOMETRY, OTHERS, WORDS
from steelyard.fit.whitening import weak_directions, weigh_by_noise, weigh_rows, whiten

__all__ = [
    "CAN_EXIST",
    "EFFECT_SPREAD",
    "GEOMETRY",
    "OTHERS",
    "WORDS",
    "Certificate",
    "DriveGains",
    "Estimate",
    "FrictionFit",
    "Generalization",
    "Huber",
    "Intervals",
    "JointFriction",
    "Known",
    "LinksGain",
    "Load",
    "Prediction",
    "Program",
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
    "WeightChoice",
    "branches",
    "build",
    "choose_weight",
    "chosen_column",
    "column_noise",
    "compare_runs",
    "compensated",
    "congruence",
    "consistent",
    "consistent_parameters",
    "consistent_prior",
    "consistent_within_geometry",
    "drive_gains",
    "drives_alone",
    "fixed_from",
    "fixed_words",
    "friction",
    "gains_by_model",
    "generalization",
    "independent_blocks",
    "instrumental",
    "least_squares",
    "links_gain",
    "mass_words",
    "masses_from",
    "model_facts",
    "model_parameters",
    "natural_step",
    "nonconvex",
    "nonnegative_least_squares",
    "ordinary_use",
    "output_torque",
    "predict",
    "prior_precision",
    "ratios",
    "repeatability",
    "robust",
    "sandwich",
    "solve",
    "standing_links",
    "tied_from",
    "tied_words",
    "total",
    "uncertainty",
    "validate",
    "weak_directions",
    "weigh_by_noise",
    "weigh_rows",
    "whiten",
]
