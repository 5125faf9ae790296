"""Covariances, degrees of freedom and labels against closed forms: what a fit says of its own errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from noisy_torques import Repetitions
from problems import random_log, scattered, with_friction
from steelyard import fit
from steelyard.app.demo_job import mistaken
from steelyard.dynamics import inverse_dynamics
from steelyard.fit import validate
from steelyard.fit.block_scores import neighbour_correlation, sandwich
from steelyard.fit.prior import consistent_prior
from steelyard.fit.pullback_form import posterior
from steelyard.inertia import divergence
from steelyard.information import Information, accumulate
from steelyard.model import library

EFFECT_SPREAD = 10.0  # RMS torques, of the prior of friction: part of the definition of the fit


def regression(rng, n=60, p=4, noise=0.5):
    Y = rng.normal(size=(n, p)) * np.logspace(0, 1, p)
    return Y, Y @ np.ones(p) + noise * rng.normal(size=n)


def pieces(Y, tau, count, **changes):
    """Blocks of a raw regression, with the columns that the whole of it reveals."""
    basis = Information.from_arrays(Y, tau).basis
    parts = zip(np.array_split(Y, count), np.array_split(tau, count), strict=True)
    return tuple(replace(Information.from_arrays(*part), basis=basis, **changes) for part in parts)


@pytest.fixture(scope="module")
def leg():
    """A leg's model that is wrong, and a noisy log of the truth."""
    rng = np.random.default_rng(0)
    model = library.cheetah3_leg()
    model = model.with_inertias(consistent_prior(None, model, model.nb)[0])
    truth = with_friction(model.with_inertias(scattered(model.inertias, rng, 0.1)), rng)
    bare = truth.with_joint_properties(**{k: np.zeros(truth.nv) for k in ("armature", "damping", "frictionloss")})
    log = random_log(truth, rng, samples=300, noise=0.02, torque=lambda q, v, a: inverse_dynamics(bare, q, v, a))
    return model, truth, log, accumulate(model, log, armature=True)


def test_least_squares_has_the_textbook_covariance():
    Y, tau = regression(np.random.default_rng(1))
    estimate = fit.least_squares(Information.from_arrays(Y, tau))
    solution, (squares,) = np.linalg.lstsq(Y, tau, rcond=None)[:2]
    variance = squares / (len(Y) - 4)
    np.testing.assert_allclose(estimate.base, solution, rtol=1e-10)
    np.testing.assert_allclose(estimate.noise, np.sqrt(variance), rtol=1e-10)
    np.testing.assert_allclose(estimate.covariance, variance * np.linalg.inv(Y.T @ Y), rtol=1e-8)


def test_dependent_samples_count_for_less():
    Y, tau = regression(np.random.default_rng(2))
    info = Information.from_arrays(Y, tau)
    once, quarter = fit.least_squares(info), fit.least_squares(replace(info, independence=0.25))
    freedom = (60 - 4) / (60 - 4 * 4)  # four parameters of sixty samples, or of fifteen
    np.testing.assert_allclose(quarter.covariance, 4 * freedom * once.covariance, rtol=1e-8)
    np.testing.assert_allclose(quarter.base, once.base, rtol=1e-10)


@pytest.mark.parametrize("weight", [0.3, 5.0])
def test_consistent_fits_have_the_covariance_of_their_cost(leg, weight):
    """Twice the inverse of its Hessian, of data over noise and of the prior, inequalities left aside."""
    model, _, _, info = leg
    estimate = fit.consistent(info, weight=weight)
    regroup, rms = info.basis.regrouping, np.sqrt(info.energy / info.counts)
    precision = regroup.T @ info.base.squares.weighted(1 / estimate.noise**2) @ regroup
    for i, theta in enumerate(model.inertias):
        own = info.layout.body(i)
        precision[own, own] += weight / 2 * divergence.pullback_metric(theta)
    for term in info.layout.terms:
        own = np.arange(info.layout.size)[info.layout.term(term)]
        precision[own, own] += weight / (EFFECT_SPREAD * rms) ** 2
    expected = regroup @ np.linalg.inv(precision) @ regroup.T
    size = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(estimate.covariance / size / size[:, None], expected / size / size[:, None], atol=1e-5)


def test_noise_is_what_the_constrained_fit_leaves(leg):
    """A known mass that is wrong leaves more than least squares does; the fit is weighed by that."""
    _, truth, log, info = leg
    wrong = fit.consistent(info, masses={"all": 10 * truth.inertias[:, 0].sum()})
    left = validate(wrong, log).rms
    assert left.max() > 3 * fit.least_squares(info).noise.max()
    assert (left < 1.3 * wrong.noise).all()
    assert wrong.noise[0] == pytest.approx(left[0], rel=0.3)


def test_equalities_do_not_hold_a_fit_back(leg):
    model, truth, _, info = leg
    name = model.body_names[0]
    estimate = fit.consistent(info, masses={name: truth.inertias[0, 0]}, fixed={model.body_names[1]: "mass"})
    assert not [each for each in estimate.binding if "mass" in each]


def test_intervals_of_few_blocks_are_those_of_student():
    Y, tau = regression(np.random.default_rng(3), n=120)
    parts = pieces(Y, tau, 6)
    for level in (0.5, 0.95):
        found = fit.uncertainty(fit.least_squares(sum(parts)), parts, level=level)
        assert found.degrees.max() < 6
        np.testing.assert_allclose(
            (found.base.upper - found.base.lower) / 2,
            student.ppf((1 + level) / 2, found.degrees) * found.base.deviation,
            rtol=1e-8,
        )


def test_intervals_reach_to_an_estimate_beside_them():
    Y, tau = regression(np.random.default_rng(4))
    parts = pieces(Y, tau, 8)
    estimate = fit.least_squares(sum(parts))
    for side in (-1.0, 1.0):
        moved = replace(estimate, parameters=estimate.parameters + side)  # such as on a bound, far from the data
        for part in (found := fit.uncertainty(moved, parts)).parameters, found.base:
            np.testing.assert_array_equal(part.lower if side < 0 else part.upper, part.estimate)


@pytest.mark.parametrize("independence", [1.0, 0.25])
def test_inflation_is_the_root_of_how_often_samples_are_told(independence):
    """Every sample four times: deviations are twice those of independent ones, or right if that much is known."""
    rng = np.random.default_rng(5)
    Y, tau = regression(rng, n=4000, p=8)
    parts = pieces(np.repeat(Y, 4, axis=0), np.repeat(tau, 4), 40, independence=independence)
    found = fit.uncertainty(fit.least_squares(sum(parts)), parts)
    assert found.inflation == pytest.approx(2 * np.sqrt(independence), rel=0.15)


def test_moments_of_inertia_are_not_negative_and_products_may_be():
    truth = library.scara()
    repetitions = Repetitions(truth, mistaken(truth, seed=1), duration=6.0, level=0.2, count=32)
    blocks = repetitions.with_errors(repetitions.errors(np.random.default_rng(7), 0.9))
    found = fit.uncertainty(fit.consistent(sum(blocks)), blocks).parameters
    lower = {
        kind: [low for name, low in zip(found.names, found.lower, strict=True) if name.endswith(f".{kind}")]
        for kind in ("m", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
    }
    for kind in ("m", "Ixx", "Iyy", "Izz"):
        assert min(lower[kind]) == 0.0, kind
    for kind in ("Ixy", "Ixz", "Iyz"):
        assert min(lower[kind]) < 0, kind


def test_labels_go_by_the_share_of_the_prior_in_the_variance():
    """One parameter with data of precision g and a prior of precision p: the prior's share is p / (g + p)."""
    rng = np.random.default_rng(8)
    Y, tau = regression(rng, n=2000, p=1)
    parts = pieces(Y, tau, 50)
    estimate = fit.least_squares(sum(parts))
    g, rms = float(Y[:, 0] @ Y[:, 0]) / estimate.noise[0] ** 2, np.sqrt(np.mean(tau**2))
    for share, label in ((0.03, "data-determined"), (0.08, "prior-determined")):
        weight = share / (1 - share) * g * (EFFECT_SPREAD * rms) ** 2
        assert fit.uncertainty(estimate, parts, weight=weight).base.labels == (label,)


def test_the_posterior_has_the_prior_of_the_fit(leg):
    model, _, _, info = leg
    parts = tuple(info for _ in range(4))
    found = posterior(sandwich(parts), model.inertias, weight=0.7).prior_variance(np.eye(info.layout.size))
    for i, theta in enumerate(model.inertias):
        expected = np.diag(np.linalg.inv(0.7 / 2 * divergence.pullback_metric(theta)))
        np.testing.assert_allclose(found[info.layout.body(i)], expected, rtol=1e-8)


def test_scores_of_few_blocks_are_not_taken_for_alike_or_unlike():
    """They add up to zero, so neighbours differ; the correlation is about zero all the same."""
    rng = np.random.default_rng(9)
    Y = np.tile(rng.normal(size=(10, 4)), (6, 1))
    found = [neighbour_correlation(sandwich(pieces(Y, rng.normal(size=60), 6))) for _ in range(100)]
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(len(found))
    assert np.std(found) / np.sqrt(len(found)) < 0.03  # without what is taken off it would be -0.17
