"""Noise of row groups: known, or what a fit leaves, also where constraints leave more than least squares."""

import numpy as np
import pytest

from problems import random_log, scattered, true_base
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import OptionError
from steelyard.fit.whitening import degrees_taken
from steelyard.information import Information, accumulate
from steelyard.model import library
from steelyard.terms import ParameterLayout

SAMPLES = 4000


@pytest.fixture(scope="module")
def problem():
    """Two row groups of one slope, 1. The second is ten times as exact to least squares, but only with a second
    parameter, whose column leans on the slope's: where that parameter is known to be zero, it is noise of the group."""
    rng = np.random.default_rng(0)
    Y = np.zeros((SAMPLES, 2, 2))
    Y[:, 0, 0], Y[:, 1, 0], other = rng.normal(size=(3, SAMPLES))
    Y[:, 1, 1] = 0.6 * Y[:, 1, 0] + 0.8 * other
    tau = np.stack([Y[:, 0, 0], Y[:, 1, 0] + 3.0 * Y[:, 1, 1]], axis=1)
    tau = tau + np.array([0.1, 0.01]) * rng.normal(size=tau.shape)
    layout = ParameterLayout((), ("slope", "other"), (0, 1), ("offset",))
    return Information.from_arrays(Y, tau, layout=layout)


def weighted_mean(info, noise):
    """Closed form of the bounded fit: what two groups say of one parameter, weighted by their noise."""
    weight = info.gram[:, 0, 0] / np.asarray(noise) ** 2
    each = info.moment[:, 0] / info.gram[:, 0, 0]
    return weight @ each / weight.sum()


def bounded(info, **options):
    return fit.consistent(info, prior=np.zeros((0, 10)), bounds={"other.offset": (0.0, 0.0)}, weight=1e-9, **options)


def test_noise_is_what_the_constrained_fit_leaves(problem):
    """Unconstrained least squares leaves 0.01 in the second group, the bound 2.4 and more: its weight must fall.

    The fixed point of the variances is found here by iterating the closed form.
    """
    info = problem
    free = fit.least_squares(info).noise
    np.testing.assert_allclose(free[1], 0.01, rtol=0.5)
    noise = free
    for _ in range(50):
        x = np.array([weighted_mean(info, noise), 0.0])
        noise = np.sqrt(info.residual_energy(x) / SAMPLES)
    estimate = bounded(info)
    assert estimate.noise[1] > 2.0
    np.testing.assert_allclose(estimate.noise, noise, rtol=0.02)
    assert estimate.parameters[0] == pytest.approx(1.0, abs=0.02)
    assert weighted_mean(info, free) > 2.0  # what the noise of least squares would make of it
    deviation = 1 / np.sqrt(info.gram[:, 0, 0] @ noise**-2.0)
    assert np.sqrt(estimate.covariance[0, 0]) == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("fitted", [bounded, fit.least_squares])
def test_known_noise_is_used_as_it_is(problem, fitted):
    known = (0.3, 0.7)
    estimate = fitted(problem, noise=known)
    np.testing.assert_array_equal(estimate.noise, known)
    weights = 1 / np.square(known)
    G, b = np.tensordot(weights, problem.gram, 1), weights @ problem.moment
    kept = slice(0, 1) if fitted is bounded else slice(0, 2)
    np.testing.assert_allclose(estimate.parameters[kept], np.linalg.solve(G[kept, kept], b[kept]), rtol=1e-6)
    np.testing.assert_allclose(estimate.covariance[0, 0], np.linalg.inv(G[kept, kept])[0, 0], rtol=1e-6)


@pytest.mark.parametrize("noise", [(1.0,), (1.0, 0.0), (1.0, np.nan), (1.0, -1.0)])
@pytest.mark.parametrize("fitted", [bounded, fit.least_squares])
def test_noise_that_is_none_is_refused(problem, fitted, noise):
    with pytest.raises(OptionError, match="2 positive standard deviations"):
        fitted(problem, noise=noise)


LEVEL = np.array([0.1, 0.02, 0.1, 0.02, 0.1, 0.02])  # of each joint's RMS torque


def few_samples(seed, repeated=1, samples=12):
    """Information of a few states of an arm, each recorded several times over, its truth, and the noise (nv,)."""
    rng = np.random.default_rng(seed)
    model = library.puma560().with_joint_properties(
        **{key: np.zeros(6) for key in ("armature", "damping", "frictionloss")}
    )
    truth = model.with_inertias(scattered(model.inertias, rng))
    log = random_log(truth, rng, samples=samples, torque=lambda *state: inverse_dynamics(truth, *state))
    noise = LEVEL * np.sqrt(np.mean(log.tau**2, axis=0))
    log = log.replace(tau=log.tau + noise * rng.normal(size=log.tau.shape))
    parts = {key: np.repeat(getattr(log, key), repeated, axis=0) for key in ("q", "v", "a", "tau")}
    log = log.replace(t=np.arange(repeated * samples) * 0.01, **parts)
    log = log.replace(bandwidth=log.rate / (2 * repeated))
    return accumulate(model, log, engine="numpy"), truth, noise


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seeds", [4, 8])  # 4 seeds: 24 joints, 216 errors
def test_few_samples_and_a_prior_tell_the_noise_of_each_joint(seeds):
    """72 equations, 54 combinations: least squares follows the noise of some joints; a fit with a prior does not."""
    ratios, z = [], []
    recorded = [few_samples(seed) for seed in range(seeds)]
    for info, truth, noise in recorded:
        estimate = fit.consistent(info)
        ratios.append(estimate.noise / noise)
        z.append((estimate.base - true_base(info, truth)) / np.sqrt(np.diag(estimate.covariance)))
    typical = np.exp(np.mean(np.log(ratios), axis=0))
    assert (typical > 0.7).all() and (typical < 1.5).all()
    assert np.mean(np.abs(z) < 2) > 0.95
    left = [fit.least_squares(info).noise / noise for info, _, noise in recorded]
    assert np.max(np.abs(np.log(np.median(left, axis=0)))) > np.log(3)


def test_samples_that_repeat_others_are_no_information():
    """Five equal samples of which a fifth is independent: the same fit, the same noise, the same deviations."""
    once, five = (fit.consistent(few_samples(1, repeated)[0]) for repeated in (1, 5))
    np.testing.assert_allclose(five.noise, once.noise, rtol=1e-3)
    np.testing.assert_allclose(five.covariance, once.covariance, rtol=1e-2, atol=1e-6 * np.abs(once.covariance).max())


def test_degrees_taken_by_least_squares_are_its_parameters(problem):
    estimate = fit.least_squares(problem)
    weighted = problem.weighted(1 / estimate.noise**2)
    assert degrees_taken(weighted, estimate.covariance).sum() == pytest.approx(2.0, rel=1e-9)
