"""Steelyard: the inertial parameters of robots and of what they carry, from a model and recorded motion.

model + log -> information -> identifiability -> fit -> validated model + report
"""

from importlib import import_module

from steelyard import diagnose, errors, fit, inertia, simulate
from steelyard.calibration import calibrate
from steelyard.dynamics import (
    base_wrench_regressor,
    body_regressor,
    closed_loop,
    energy_regressor,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    momentum_drift_regressor,
    momentum_regressor,
    power_regressor,
    regressor,
    wrench_regressor,
)
from steelyard.errors import SteelyardError
from steelyard.identifiability.analyze import identifiability
from steelyard.identify import identify
from steelyard.information import (
    Information,
    accumulate,
    accumulate_blocks,
    load_information,
    reversal_weights,
    save_information,
)
from steelyard.log import Log, filters, read_log, split_blocks, write_csv, write_npz
from steelyard.model import Robot, library, load
from steelyard.model.save import save
from steelyard.parameters import UserColumn
from steelyard.validate import validate
from steelyard.view import view

__all__ = [
    "Information",
    "Log",
    "Robot",
    "SteelyardError",
    "UserColumn",
    "accumulate",
    "accumulate_blocks",
    "base_wrench_regressor",
    "body_regressor",
    "calibrate",
    "closed_loop",
    "diagnose",
    "energy_regressor",
    "errors",
    "filters",
    "fit",
    "identifiability",
    "identify",
    "inertia",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "library",
    "load",
    "load_information",
    "momentum_drift_regressor",
    "momentum_regressor",
    "power_regressor",
    "read_log",
    "regressor",
    "reversal_weights",
    "save",
    "save_information",
    "simulate",
    "split_blocks",
    "validate",
    "view",
    "wrench_regressor",
    "write_csv",
    "write_npz",
]


def __getattr__(name: str):
    if name in (
        "check",
        "excite",
        "fleet",
        "payload",
        "plot",
    ):  # loaded on first use: they bring SciPy, which a plain import does not need
        return import_module(f"steelyard.{name}")
    if name == "WrenchLog":
        return import_module("steelyard.payload.wrench_log").WrenchLog
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
