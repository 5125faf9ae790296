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
    module.PICKED, module.END = 0.1, 0.6
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


def test_adaptation_without_acceleration_tracks_better_with_a_payload(example):
    loaded, last = example.carrying(), slice(-50, None)

    def run(controller):
        errors, predicted = example.tracked(loaded, controller)
        return float(np.sqrt(np.mean(errors[last] ** 2))), predicted

    fixed, _ = run(example.Controller())
    found = {kind: run(watched(example, kind)) for kind in (example.Natural, example.Composite, example.Recursive)}
    assert all(error < 0.6 * fixed for error, _ in found.values())
    at = example.step(example.PICKED) + 1
    assert all(predicted[-1] < 0.4 * predicted[at] for _, predicted in found.values())
    wrong, _ = run(watched(example, example.Natural, sign=-1.0))
    assert wrong > fixed
