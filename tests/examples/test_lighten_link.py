"""The example that lightens two links: its gradients are right, and the better arm is as stiff as the first."""

import runpy
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "40_lighten_link.py"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(SCRIPT), run_name="example")


def test_gradients_are_those_of_the_peak_and_of_the_bending(example):
    rng = np.random.default_rng(0)
    x = np.append(rng.uniform(0.02, 0.045, size=18), 0.2)
    robot, motion, scale = example["arm"](), example["pick_and_place"](samples=40), np.array([30.0, 50.0, 10.0])
    _, gradient = example["peak"](robot, motion, scale, x)
    _, slopes = example["bending"](x)
    for i in (0, 5, 8, 9, 17, 18):
        step = np.zeros(19)
        step[i] = 1e-6
        difference = (
            example["peak"](robot, motion, scale, x + step)[0] - example["peak"](robot, motion, scale, x - step)[0]
        )
        assert difference / 2e-6 == pytest.approx(gradient[i], rel=1e-5, abs=1e-6)
        bent = example["bending"](x + step)[0] - example["bending"](x - step)[0]
        np.testing.assert_allclose(bent / 2e-6, slopes[:, i], rtol=1e-5, atol=1e-6)


@pytest.mark.exhaustive
def test_every_peak_falls_and_neither_link_bends_more(example):
    start, best, _, before, after = example["optimise"]()
    peaks = np.abs(after).max(axis=0) / np.abs(before).max(axis=0)
    assert (peaks < 0.8).all()
    assert (example["bending"](best)[0] < 1 + 1e-6).all()
    assert best[-1] < 0.5 * start[-1], "the motor moves towards the shoulder"
    assert len(example["picture"]((start, best), (before, after)).data) == 2 * (4 + 3)
