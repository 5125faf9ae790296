"""Steelyard: the inertial parameters of robots and of what they carry, from a model and recorded motion.

model + log -> information -> identifiability -> fit -> validated model + report

Names are loaded on first use, so that a program pays for the parts it needs; `__init__.pyi` has their types.
"""

from importlib import import_module

from steelyard.lazy import lazy

_HOMES = {
    "accumulate": "pipeline.sums_of_logs",
    "accumulate_blocks": "pipeline.sums_of_logs",
    "base_wrench_regressor": "dynamics",
    "bias_acceleration": "dynamics",
    "body_regressor": "dynamics",
    "calibrate": "calibration",
    "check": "check",
    "closed_loop": "dynamics.closed_loop",
    "configuration": "codegen",
    "controller_code": "codegen",
    "decide": "pipeline.identification",
    "Design": "excite",
    "diagnose": "diagnose",
    "Diagnosis": "diagnose",
    "energy_regressor": "dynamics",
    "errors": "errors",
    "Estimate": "fit",
    "excite": "excite",
    "filters": "log.filters",
    "fit": "fit",
    "fleet": "fleet",
    "frame_velocity": "dynamics",
    "identifiability": "identifiable",
    "Identifiability": "identifiable",
    "identifiable_wrench": "identifiable",
    "identify": "app.identification",
    "inertia": "inertia",
    "Information": "information",
    "inverse_dynamics": "dynamics",
    "inverse_dynamics_derivatives": "dynamics",
    "jacobian": "dynamics",
    "library": "model.library",
    "load": "model",
    "load_information": "information",
    "Log": "log",
    "momentum_drift_regressor": "dynamics",
    "momentum_observer": "dynamics",
    "momentum_regressor": "dynamics",
    "payload": "payload",
    "Payload": "payload",
    "plot": "plot",
    "power_regressor": "dynamics",
    "read_log": "log",
    "regressor": "dynamics",
    "Result": "pipeline",
    "reversal_weights": "information",
    "Robot": "model",
    "rollout": "drives",
    "Rollout": "drives",
    "save": "model",
    "save_information": "information",
    "simulate": "simulate",
    "slotine_li_regressor": "dynamics",
    "split_blocks": "log",
    "SteelyardError": "errors",
    "Uncertainty": "fit",
    "UserColumn": "terms",
    "validate": "report.model_validation",
    "Validation": "fit",
    "variants": "app.model_variants",
    "view": "viewer",
    "wrench_regressor": "dynamics",
    "WrenchLog": "payload",
    "write_csv": "log",
    "write_npz": "log",
}
_load = lazy(__name__, _HOMES)
__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]  # the stub lists them


def __getattr__(name: str):
    return import_module("importlib.metadata").version(__name__) if name == "__version__" else _load(name)


def __dir__():
    return [*__all__, "__version__"]
