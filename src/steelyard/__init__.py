"""Steelyard: the inertial parameters of robots and of what they carry, from a model and recorded motion.

model + log -> information -> identifiability -> fit -> validated model + report

Names are loaded on first use, so that a program pays for the parts it needs; `__init__.pyi` has their types.
"""

from importlib import import_module

_HOMES = {
    "accumulate": "information",
    "accumulate_blocks": "information",
    "base_wrench_regressor": "dynamics",
    "body_regressor": "dynamics",
    "calibrate": "calibration",
    "energy_regressor": "dynamics",
    "identifiability": "identifiable",
    "identify": "app.identification",
    "Information": "information",
    "inverse_dynamics": "dynamics",
    "inverse_dynamics_derivatives": "dynamics",
    "load": "model",
    "load_information": "information",
    "Log": "log",
    "momentum_drift_regressor": "dynamics",
    "momentum_regressor": "dynamics",
    "power_regressor": "dynamics",
    "read_log": "log",
    "regressor": "dynamics",
    "reversal_weights": "information",
    "Robot": "model",
    "save": "model",
    "save_information": "information",
    "split_blocks": "log",
    "SteelyardError": "errors",
    "UserColumn": "terms",
    "validate": "fit",
    "view": "viewer",
    "wrench_regressor": "dynamics",
    "WrenchLog": "payload",
    "write_csv": "log",
    "write_npz": "log",
}
_MODULES = {
    "check": "check",
    "closed_loop": "dynamics.closed_loop",
    "diagnose": "diagnose",
    "errors": "errors",
    "excite": "excite",
    "filters": "log.filters",
    "fit": "fit",
    "fleet": "fleet",
    "inertia": "inertia",
    "library": "model.library",
    "payload": "payload",
    "plot": "plot",
    "simulate": "simulate",
}
__all__ = sorted({*_HOMES, *_MODULES})  # pyright: ignore[reportUnsupportedDunderAll]  # the stub lists them


def __getattr__(name: str):
    if name in _MODULES:
        value = import_module(f"{__name__}.{_MODULES[name]}")
    elif name in _HOMES:
        home = _HOMES[name]
        value = getattr(import_module(f"{__name__}.{home}"), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version(__name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
