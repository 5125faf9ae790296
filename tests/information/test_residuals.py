"""Residuals and products sample by sample agree with the sums, with rotors and shared motors among the columns."""

import numpy as np
import pytest

import steelyard as sy
from arm_logs import puma, recorded
from steelyard.errors import FitError, LogError
from steelyard.information import Information, accumulate
from steelyard.information.samples import products, residuals

PAIR = (("joint5", "joint6"),)
OPTIONS = [{}, {"armature": True, "coupling": PAIR}, {"rotors": True}, {"friction": ("viscous",), "columns": "all"}]


@pytest.fixture(scope="module")
def case():
    robot = puma()
    exact, _ = recorded(robot, duration=4.0)
    return robot, sy.filters.differentiate(exact, 10.0)


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "coupling", "rotors", "all"])
def test_they_add_up_to_the_sums(case, options):
    robot, log = case
    weights = np.random.default_rng(0).uniform(size=log.tau.shape)
    info = accumulate(robot, log, sample_weights=weights, **options)
    base = np.random.default_rng(1).normal(size=info.basis.count)
    errors = residuals(info, log, base)
    np.testing.assert_allclose((weights * errors**2).sum(axis=0), info.base.residual_energy(base), rtol=1e-9)
    sums = products(info, log, log, weights)
    for found, expected in ((sums.ZZ, info.base.gram), (sums.ZY, info.base.gram), (sums.Ztau, info.base.moment)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_residuals_are_what_validation_finds(case):
    robot, log = case
    info = accumulate(robot, log, armature=True)
    estimate = sy.fit.consistent(info)
    np.testing.assert_allclose(residuals(info, log, estimate.base), sy.validate(estimate, log).error, atol=1e-8)


def test_raw_regressions_and_other_samples_are_refused(case):
    robot, log = case
    raw = Information.from_arrays(np.ones((5, 2)), np.ones(5))
    with pytest.raises(FitError, match="joint torques"):
        residuals(raw, log, np.zeros(1))
    with pytest.raises(FitError, match="joint torques"):
        products(raw, log, log)
    with pytest.raises(FitError, match="joint torques"):
        residuals(accumulate(robot, log, rows="power"), log, np.zeros(1))
    with pytest.raises(LogError, match="same time stamps"):
        products(accumulate(robot, log), log, log[1:])
