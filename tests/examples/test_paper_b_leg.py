"""Figure 6 of Wensing, Kim and Slotine (2018): what is known of bodies is worth samples."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from steelyard.inertia import EllipsoidRealizable
from steelyard.model import library

pytestmark = pytest.mark.claim("fit.leg", "paper B's leg: tighter sets learn faster; the optimum is cvxpy's")

SEEDS, SIZES = 20, (24, 80)


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(Path(__file__).parents[2] / "examples" / "31_paper_b_leg.py"))


def test_what_the_example_claims_to_know_is_true(example):
    robot = library.cheetah3_leg()
    held = example["shapes"](robot)
    for name, theta in zip(robot.body_names, robot.inertias, strict=True):
        assert EllipsoidRealizable(held[name]).contains(theta)
    for rotor in robot.rotors:
        assert EllipsoidRealizable(held[rotor.name]).contains(rotor.theta)
    prior = example["guess"](robot, held)
    assert np.abs(prior[:3] - robot.inertias).max() > 0.3


@pytest.mark.exhaustive
def test_tighter_sets_predict_better_from_fewer_samples(example):
    errors = example["learning"](library.cheetah3_leg(), SIZES, SEEDS)
    few, more = np.array([errors[name].mean(axis=0) for name in example["COLORS"]]).T
    for means in (few, more):
        free, semi, consistent, com, realizable = means
        assert free > 1.1 * semi > 1.1 * consistent
        assert consistent >= 0.999 * com  # nearly the same set here
        assert com > 1.02 * realizable
    assert (more < 0.7 * few).all()
    # Each step is no accident of the mean: paired over seeds, it is several standard errors.
    for looser, tighter in (
        ("least squares", "semi-consistent"),
        ("semi-consistent", "consistent"),
        ("consistent", "realizable in ellipsoid"),
    ):
        gain = errors[looser] - errors[tighter]
        assert (gain.mean(axis=0) > 2 * gain.std(axis=0) / np.sqrt(SEEDS)).all()


def test_parts_sum_to_the_prediction(example):
    robot = library.cheetah3_leg()
    log = example["recorded"](robot)[::200]
    truth = robot.with_joint_properties(damping=example["VISCOUS"], frictionloss=example["COULOMB"])
    np.testing.assert_allclose(sum(example["parts"](truth, log).values()), log.tau, atol=1e-9)
