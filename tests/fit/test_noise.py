"""Noise of row groups: known, or what a fit leaves, also where constraints leave more than least squares."""

import numpy as np
import pytest

from steelyard import fit
from steelyard.errors import OptionError
from steelyard.information import Information
from steelyard.parameters import ParameterLayout

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
