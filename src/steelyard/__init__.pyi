# Types of the public names, which `__init__.py` loads on first use.

from steelyard import check, diagnose, errors, excite, fit, fleet, inertia, payload, plot, simulate
from steelyard.app.identification import identify
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
from steelyard.fit import validate
from steelyard.identifiable import identifiability
from steelyard.information import (
    Information,
    accumulate,
    accumulate_blocks,
    load_information,
    reversal_weights,
    save_information,
)
from steelyard.log import Log, filters, read_log, split_blocks, write_csv, write_npz
from steelyard.model import Robot, library, load, save
from steelyard.payload.wrench_log import WrenchLog
from steelyard.terms import UserColumn
from steelyard.viewer import view

__version__: str
__all__ = [
    "Information",
    "Log",
    "Robot",
    "SteelyardError",
    "UserColumn",
    "WrenchLog",
    "accumulate",
    "accumulate_blocks",
    "base_wrench_regressor",
    "body_regressor",
    "calibrate",
    "check",
    "closed_loop",
    "diagnose",
    "energy_regressor",
    "errors",
    "excite",
    "filters",
    "fit",
    "fleet",
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
    "payload",
    "plot",
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
