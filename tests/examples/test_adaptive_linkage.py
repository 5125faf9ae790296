"""The controllers of a linkage, on a shorter motion: what they gain, and known sets at every step."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "examples" / "34_adaptive_linkage.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("adaptive_linkage", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.PICKED, module.END = 0.2, 1.0
    return module


def watched(example, kind, sign=1.0):
    """A controller that checks its bodies at every step by moments spelled out."""
    shape = example.KNOWN.within[example.CARRIER]
    inverse, c = np.linalg.inv(shape.Q), shape.center
    Q = np.block([[-inverse, (inverse @ c)[:, None]], [(c @ inverse)[None], 1 - c @ inverse @ c]])

    class Watched(kind):
        def learn(self, t, q, v, tau, direction):
            super().learn(t, q, v, sign * tau, sign * direction)
            for name, (m, x, y, z, xx, xy, yy, xz, yz, zz), own in zip(
                example.NOMINAL.body_names, self.theta, example.NOMINAL.inertias, strict=True
            ):
                second = [[yy + zz - xx, -2 * xy, -2 * xz], [-2 * xy, xx + zz - yy, -2 * yz]]
                second = np.array([*second, [-2 * xz, -2 * yz, xx + yy - zz]]) / 2
                J = np.block([[second, np.array([[x], [y], [z]])], [np.array([[x, y, z, m]])]])
                assert np.linalg.eigvalsh(J).min() > 0
                if name == example.CARRIER:
                    assert np.trace(J @ Q) > -1e-8 * m
                else:
                    np.testing.assert_allclose([m, x, y, z, xx, xy, yy, xz, yz, zz], own, atol=1e-8)

    return Watched(example.KNOWN)


def run(example, controller):
    """Tracking error at the end of the motion with the payload, and errors of predicted torques."""
    errors, predicted = example.tracked(example.carrying(), controller)
    return float(np.sqrt(np.mean(errors[-50:] ** 2))), predicted


@pytest.fixture(scope="module")
def fixed(example):
    return run(example, example.Controller())[0]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("kind", ["Composite", "Recursive", "Natural"])
def test_adaptation_without_acceleration_tracks_better_with_a_payload(example, fixed, kind):
    error, predicted = run(example, watched(example, getattr(example, kind)))
    assert error < 0.6 * fixed
    assert predicted[-1] < 0.4 * predicted[example.step(example.PICKED) + 1]


def test_adaptation_the_wrong_way_tracks_worse(example, fixed):
    wrong, _ = run(example, watched(example, example.Natural, sign=-1.0))
    assert wrong > fixed
