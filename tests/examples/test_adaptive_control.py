"""The adaptive controllers of the example, on a shorter motion: what they gain, and bodies at every step."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy

PATH = Path(__file__).parents[2] / "examples" / "33_adaptive_control.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("adaptive_control", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.PHASES, module.PICKED = {"before": (0.4, 1.0), "after": (2.0, 2.6)}, 1.0
    return module


def test_adapting_controllers_track_better_with_a_payload(example):
    still = np.zeros(6)
    nominal = sy.library.puma560().with_joint_properties(armature=example.MOTORS, damping=still, frictionloss=still)
    loaded, errors = example.carrying(nominal, example.PAYLOAD), {}
    for kind in (example.Fixed, example.Natural, example.Recursive):
        controller = kind(nominal)
        error = example.tracked(nominal, loaded, controller)
        parts = [error[int(a / example.PERIOD) : int(b / example.PERIOD)] for a, b in example.PHASES.values()]
        errors[kind] = [float(np.sqrt(np.mean(part**2))) for part in parts]
        assert controller.consistent
    assert all(before < 5e-4 for before, _ in errors.values())
    _, fixed = errors[example.Fixed]
    assert errors[example.Natural][1] < 0.7 * fixed and errors[example.Recursive][1] < 0.7 * fixed
