"""Information in, Estimate out; one estimator a file."""

from steelyard.fit.block_length import independent_blocks
from steelyard.fit.consistent import consistent, consistent_parameters
from steelyard.fit.constraints import CAN_EXIST, Tied
from steelyard.fit.drive_gains import DriveGains, Load, drive_gains, gains_by_model
from steelyard.fit.estimate import Certificate, Estimate, Status
from steelyard.fit.friction import FrictionFit, JointFriction, friction
from steelyard.fit.generalization import Generalization, Prediction, generalization
from steelyard.fit.homogeneous import ratios
from steelyard.fit.instrumental import instrumental
from steelyard.fit.intervals import Intervals, Source
from steelyard.fit.least_squares import least_squares
from steelyard.fit.nonconvex import nonconvex
from steelyard.fit.ordinary_use import ordinary_use
from steelyard.fit.output_torque import output_torque
from steelyard.fit.prior import consistent_prior, model_parameters
from steelyard.fit.program import congruence
from steelyard.fit.repeatability import Repeatability, compared, repeatability
from steelyard.fit.robust import Huber, Student, robust
from steelyard.fit.sandwich import sandwich
from steelyard.fit.shown import consistent_where_shown
from steelyard.fit.torque_band import TorqueBand, TorquePredictor
from steelyard.fit.total import column_noise, compensated, total
from steelyard.fit.uncertainty import Uncertainty, uncertainty
from steelyard.fit.validation import Validation, predict, validate
from steelyard.fit.volumes import OTHERS, WORDS
from steelyard.fit.weakness import weak_directions
from steelyard.fit.weighed import EFFECT_SPREAD, prior_precision
from steelyard.fit.weight import WeightChoice, choose_weight
from steelyard.fit.whitening import weigh_by_noise, whiten
from steelyard.fit.words import fixed_from, fixed_words, mass_words, masses_from, tied_from, tied_words

__all__ = [
    "CAN_EXIST",
    "EFFECT_SPREAD",
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
    "Load",
    "Prediction",
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
    "choose_weight",
    "column_noise",
    "compared",
    "compensated",
    "congruence",
    "consistent",
    "consistent_parameters",
    "consistent_prior",
    "consistent_where_shown",
    "drive_gains",
    "fixed_from",
    "fixed_words",
    "friction",
    "gains_by_model",
    "generalization",
    "independent_blocks",
    "instrumental",
    "least_squares",
    "mass_words",
    "masses_from",
    "model_parameters",
    "nonconvex",
    "ordinary_use",
    "output_torque",
    "predict",
    "prior_precision",
    "ratios",
    "repeatability",
    "robust",
    "sandwich",
    "tied_from",
    "tied_words",
    "total",
    "uncertainty",
    "validate",
    "weak_directions",
    "weigh_by_noise",
    "whiten",
]
