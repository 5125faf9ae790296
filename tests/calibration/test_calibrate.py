"""Axes and inertias recovered together from noisy torques, with honest standard deviations."""

from types import SimpleNamespace

import numpy as np
import pytest

from steelyard import fit, validate
from steelyard.app.demo_job import mistaken
from steelyard.calibration import axis_directions, calibrate
from steelyard.calibration.axes_fit import _AxesFit
from steelyard.dynamics import inverse_dynamics
from steelyard.dynamics.effects import friction_torque
from steelyard.errors import OptionError
from steelyard.inertia import from_com_inertia
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.model import library, with_moved_axes
from steelyard.simulate import rich_motion

pytestmark = pytest.mark.claim("loops.axes", "axis errors of a degree are found with the inertias; the residual halves")

NOISE = np.array([0.05, 0.05, 0.025, 0.01, 0.01, 0.01])  # N m


@pytest.fixture(scope="module")
def puma():
    """With a tool, so that the wrist carries something to feel its axes by."""
    robot = library.puma560()
    theta = robot.inertias.copy()
    theta[-1] += from_com_inertia(np.array(3.0), np.array([0.08, 0.03, 0.15]), np.diag([0.03, 0.036, 0.024]))
    return robot.with_inertias(theta)


def recorded(robot, *, seed, n=1500):
    t = np.linspace(0, 20, n)
    q, v, a = rich_motion(robot, duration=20.0, seed=seed).evaluate(t)
    noise = NOISE * np.random.default_rng(seed).normal(size=(n, 6))
    return Log(t=t, q=q, v=v, a=a, tau=inverse_dynamics(robot, q, v, a) + friction_torque(robot, v) + noise)


@pytest.fixture(scope="module")
def case(puma):
    """One degree of error in every joint, in a random direction, and wrong inertias and friction."""
    exact = axis_directions(puma, None, tilt=np.radians(1), shift=0.0)
    angle = np.random.default_rng(5).uniform(0, 2 * np.pi, size=6)
    z = np.stack([np.cos(angle), np.sin(angle)], axis=1).ravel()
    truth = with_moved_axes(puma, exact.eta(z))
    log, nominal = recorded(truth, seed=1), mistaken(puma, seed=3)
    return truth, nominal, log, z * exact.deviation, calibrate(nominal, log, tilt=np.radians(2), shift=0.002)


def test_errors_of_one_degree_are_recovered(case):
    truth, _, _, tilts, found = case
    assert found.converged and found.estimate.physical
    tilted = np.array([" tilt " in name for name in found.directions.names])
    expected = np.zeros(found.directions.count)
    expected[tilted] = tilts
    pulls = (found.values - expected) / found.deviation
    assert np.abs(pulls).max() < 3.5 and np.sqrt(np.mean(pulls**2)) < 1.3
    assert found.measured[tilted].all()
    assert np.degrees(np.abs(found.values - expected)[tilted]).max() < 0.15
    heavy = found.estimate.theta[-1, 1:4] / found.estimate.theta[-1, 0]
    np.testing.assert_allclose(heavy, truth.inertias[-1, 1:4] / truth.inertias[-1, 0], atol=0.02)


def test_residuals_halve_and_a_held_out_motion_is_predicted_at_the_noise(case):
    truth, nominal, log, _, found = case
    assert (found.rms < 0.5 * found.rms_before).sum() >= 5 and (found.rms < 0.7 * found.rms_before).all()
    assert (found.rms < 1.05 * NOISE).all()
    held = recorded(truth, seed=9)
    assert (validate(found.estimate, held).rms < 1.1 * NOISE).all()
    stubborn = validate(fit.consistent(accumulate(nominal, log)), held)
    assert (stubborn.rms > 1.2 * NOISE).all() and (stubborn.rms > 2 * NOISE).sum() >= 4


def test_right_axes_are_left_alone(puma):
    found = calibrate(puma, recorded(puma, seed=4, n=800), tilt=np.radians(2), shift=0.0)
    assert found.converged
    assert np.abs(found.values / found.deviation).max() < 3.5
    assert np.degrees(np.abs(found.values)).max() < 0.5


def test_without_noise_the_axes_are_exact(puma):
    directions = axis_directions(puma, None, tilt=np.radians(1), shift=0.0)
    z = np.random.default_rng(8).normal(size=directions.count)
    truth = with_moved_axes(puma, directions.eta(z))
    log = recorded(truth, seed=4, n=400)
    exact = log.replace(tau=inverse_dynamics(truth, log.q, log.v, log.a) + friction_torque(truth, log.v))
    found = calibrate(puma, exact, tilt=np.radians(2), shift=0.0, friction=())
    assert np.degrees(np.abs(found.values - z * directions.deviation)).max() < 1e-5
    assert (found.rms < 1e-3 * found.rms_before).all()
    assert found.eta_deviation.shape == (6, 6) and np.degrees(found.eta_deviation).max() < 1e-3


def test_only_the_named_joints_move_and_what_the_log_does_not_show_stays_with_the_prior(puma):
    log = recorded(puma, seed=4, n=400)
    still = log.replace(q=0 * log.q, v=0 * log.v, a=0 * log.a, tau=log.tau + 0 * log.q)
    found = calibrate(puma, still, joints=["joint2"], friction=(), tilt=0.02, shift=0.001)
    assert not np.any(found.eta[[0, 2, 3, 4, 5]])
    np.testing.assert_allclose(found.deviation, found.directions.deviation, rtol=0.2)
    assert not found.measured.any()
    text = found.summary()
    assert "joint2 tilt about x" in text and "(not decided by this log)" in text
    assert text.count("± 1.000 mm") == 2  # the prior's millimetre


def test_cost_is_the_negative_log_posterior():
    """Normal residuals of unknown variance, and a standard normal prior of the axes: closed form."""
    info = SimpleNamespace(counts=np.array([40.0, 60.0]), independence=0.5, energy=np.array([9.0, 9.0]))
    energy, z = np.array([2.0, 3.0]), np.array([0.6, -1.2])
    likelihood = 0.5 * (40 * np.log(2 / 40) + 60 * np.log(3 / 60)) / 2
    assert _AxesFit(z, info, None, energy).cost == pytest.approx(likelihood + (0.6**2 + 1.2**2) / 2, rel=1e-12)


def test_samples_of_no_weight_do_not_count(puma):
    log = recorded(puma, seed=4, n=600)
    spoilt = log.replace(tau=np.where(np.arange(600)[:, None] < 300, log.tau, 50.0))
    options = {"tilt": 0.02, "shift": 0.0, "joints": ["joint4", "joint5"]}
    half = calibrate(puma, log[:300], **options)
    found = calibrate(puma, spoilt, sample_weights=lambda log: (np.arange(len(log)) < 300).astype(float), **options)
    np.testing.assert_allclose(found.values, half.values, atol=1e-6)


def test_refusals(puma):
    with pytest.raises(OptionError, match="iterations"):
        calibrate(puma, recorded(puma, seed=4, n=50), iterations=0)
