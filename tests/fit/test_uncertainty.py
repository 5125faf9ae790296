"""Intervals cover the truth as often as they say, and labels say what a number rests on."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import stdtrit

from noisy_torques import Repetitions
from steelyard import fit
from steelyard.app.demo_job import mistaken
from steelyard.errors import FitError, OptionError
from steelyard.fit.block_scores import independent_blocks, sandwich
from steelyard.fit.confidence import Source
from steelyard.fit.prior import consistent_prior
from steelyard.fit.pullback_form import constrained, posterior
from steelyard.inertia import pseudo
from steelyard.information import Information, accumulate_blocks
from steelyard.model import library

pytestmark = pytest.mark.claim(
    "fit.coverage",
    "95 % intervals cover 92 to 98 %, with white and with correlated noise",
    limits="of all parameters together; single ones vary by chance over the repetitions",
)

CORRELATIONS = [0.0, 0.95]
# by default fewer repetitions: the bands below are of the same sigma for any number of them
MANY, FITS = ([(each, count) for each in CORRELATIONS for count in counts] for counts in ((100, 500), (15, 60)))


@pytest.fixture(scope="module")
def scara():
    truth = library.scara()
    return Repetitions(truth, mistaken(truth, seed=1))


@pytest.fixture(scope="module")
def noisy(scara):
    blocks = scara.with_errors(scara.errors(np.random.default_rng(3), 0.9))
    return fit.consistent(sum(blocks)), blocks


def band(shares):
    """Slack of a mean of independent shares: two standard errors."""
    return 2 * np.std(shares, ddof=1) / np.sqrt(len(shares))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("correlation, repetitions", MANY)
def test_intervals_of_base_parameters_cover(scara, correlation, repetitions):
    rng = np.random.default_rng(11)
    robust, naive = [], []
    for _ in range(repetitions):
        scores = independent_blocks(sandwich(scara.with_errors(scara.errors(rng, correlation))))
        error = np.abs(scores.base - scara.base)
        reach = stdtrit(scores.degrees(scores.to_base), 0.975) * np.sqrt(scores.variance(scores.to_base))
        robust.append(error <= reach)
        naive.append(error <= 1.96 * np.linalg.norm(scores.to_base, axis=1))
    assert 0.92 <= np.mean(robust) <= 0.98
    each = 3 * np.sqrt(0.05 * 0.95 / repetitions)  # what chance alone does to one parameter's share
    assert np.all(np.abs(np.mean(robust, axis=0) - 0.95) < 0.03 + each)
    assert np.mean(naive) > 0.9 if correlation == 0 else np.mean(naive) < 0.5  # independent samples assumed


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("correlation, repetitions", FITS)
def test_intervals_of_constrained_fits_cover(scara, correlation, repetitions):
    rng = np.random.default_rng(12)
    full, base = [], []
    for _ in range(repetitions):
        blocks = scara.with_errors(scara.errors(rng, correlation))
        found = fit.uncertainty(fit.consistent(sum(blocks)), blocks)
        determined = found.parameters.by(Source.DATA) | found.parameters.by(Source.MODEL)  # one model in twenty doubted
        assert determined.sum() > 10
        full.append(np.mean(found.parameters.covers(scara.parameters)[determined]))
        base.append(np.mean(found.base.covers(scara.base)))
    for shares in (full, base):
        assert 0.92 - band(shares) <= np.mean(shares) <= 0.98 + band(shares)


def test_bootstrapped_fits_are_the_cone_program(scara):
    blocks = scara.with_errors(scara.errors(np.random.default_rng(4)))
    scores = sandwich(blocks)
    model = posterior(scores, consistent_prior(None, scara.prior, scara.prior.nb)[0])
    rng = np.random.default_rng(5)
    target = model.target + np.array([[0.0], [1.0]]) * rng.normal(size=(2, len(model.target)))
    pulls = np.array([[0.0], [1.0]]) * rng.normal(size=(2, len(model.pull)))
    found = constrained(model, model.optimum(target, pulls))
    to_z = np.linalg.inv(model.factors[1])
    for k in range(2):
        y = cp.Variable(len(model.pull))
        theta = model.start + model.directions @ y
        cost = cp.sum_squares(model.data @ y - target[k]) + cp.sum_squares(cp.multiply(model.pull, y) - pulls[k])
        columns = np.eye(10)
        limits = [
            sum(theta[10 * i + c] * pseudo.to_matrix(columns[c]) for c in range(10)) >> 0 for i in range(model.bodies)
        ]
        bounded = np.isfinite(model.lower)
        limits.append(y[10 * model.bodies :][bounded] >= model.lower[bounded])
        cp.Problem(cp.Minimize(cost), limits).solve(solver="CLARABEL")
        # standard deviations, over all directions together
        assert np.linalg.norm(found[k] - to_z @ y.value) < 0.1
    estimate = fit.consistent(sum(blocks))
    exact = np.linalg.solve(model.directions, estimate.parameters - model.start)
    assert np.linalg.norm(found[0] - to_z @ exact) < 0.1


def test_labels_follow_what_motion_and_log_show(scara, noisy):
    estimate, blocks = noisy
    found = fit.uncertainty(estimate, blocks)
    label = dict(zip(found.parameters.names, found.parameters.labels, strict=True))
    assert label["joint1.viscous"] == label["joint1.coulomb"] == "data-determined"
    assert label["link1.hz"] == label["link1.m"] == "unidentifiable"  # turns about a vertical axis
    assert label["link2.Izz"] == "prior-determined"  # seen together with what hangs on it
    hidden = np.any(np.abs(estimate.basis.null_space) > 1e-6, axis=1)
    assert not np.any(found.parameters.by(Source.DATA) & hidden)
    # a joint that never moves shows nothing of what only it could show
    log = scara.log.replace(**{x: getattr(scara.log, x) * [1, 1, 1, 0] for x in ("v", "a")})
    still = tuple(replace(b, robot=scara.prior) for b in accumulate_blocks(scara.robot, log, armature=True))
    label = fit.uncertainty(fit.consistent(sum(still)), still).parameters
    assert dict(zip(label.names, label.labels, strict=True))["joint4.viscous"] == "unidentifiable"


def test_intervals_hold_the_estimate(noisy):
    estimate, blocks = noisy
    found = fit.uncertainty(estimate, blocks)
    for part in (found.parameters, found.base):
        assert np.all((part.lower <= part.estimate) & (part.estimate <= part.upper)) and np.all(part.deviation > 0)
    assert found.inflation > 2  # neighbouring samples are alike
    assert len(found.parameters.table().splitlines()) == len(found.parameters) == estimate.layout.size


def test_a_parameter_that_is_a_base_parameter_has_one_interval(noisy):
    estimate, blocks = noisy
    found = fit.uncertainty(estimate, blocks)
    full, base = (
        np.stack([part.lower, part.upper, part.deviation])[:, part.names.index("joint2.viscous")]
        for part in (found.parameters, found.base)
    )
    np.testing.assert_allclose(full, base, rtol=1e-9)


def test_covariance_is_the_sandwich_where_data_decides(noisy):
    estimate, blocks = noisy
    found = fit.uncertainty(estimate, blocks)
    scores = independent_blocks(sandwich(blocks))
    sure = found.base.by(Source.DATA)
    robust, full = scores.variance(scores.to_base)[sure], np.diag(found.covariance)[sure]
    np.testing.assert_allclose(full, robust, rtol=0.2)


def test_least_squares_and_raw_regressions_too(noisy):
    _, blocks = noisy
    found = fit.uncertainty(fit.least_squares(sum(blocks)), blocks)
    assert np.all(np.isfinite(found.base.upper)) and found.base.by(Source.DATA).sum() > 10
    rng = np.random.default_rng(6)
    Y = rng.normal(size=(400, 3))
    tau = Y @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=400)
    parts = tuple(Information.from_arrays(Y[i::8], tau[i::8]) for i in range(8))
    found = fit.uncertainty(fit.least_squares(sum(parts)), parts)
    assert set(found.parameters.labels) == {"data-determined"}
    np.testing.assert_allclose(found.parameters.deviation, 0.1 / 20, rtol=0.5)


def test_what_is_given_has_no_interval(noisy):
    estimate, blocks = noisy
    name = estimate.layout.body_names[1]
    mass = float(estimate.theta[1, 0])
    knowing = fit.consistent(sum(blocks), masses={name: mass}, bounds={"offset": (-9.0, 9.0), "viscous": (-1.0, 9.0)})
    found = fit.uncertainty(knowing, blocks).parameters
    given = found.by(Source.GIVEN)
    assert [n for n, yes in zip(found.names, given, strict=True) if yes] == [f"{name}.m"]
    assert found.lower[given] == found.upper[given] == pytest.approx(mass) and found.deviation[given] == 0
    viscous = estimate.layout.term("viscous")
    free = fit.uncertainty(estimate, blocks).parameters
    assert (free.lower[viscous] >= 0).all() and (found.lower[viscous] <= free.lower[viscous]).all()


def test_bad_input_is_refused(noisy):
    estimate, blocks = noisy
    with pytest.raises(OptionError, match="level"):
        fit.uncertainty(estimate, blocks, level=95)
    other = tuple(Information.from_arrays(np.eye(3), np.ones(3)) for _ in range(8))
    with pytest.raises(FitError, match="other columns"):
        fit.uncertainty(estimate, other)


def test_centers_of_mass_spread_as_perturbed_fits_do(noisy):
    """Fits with perturbed data and prior, constraints aside, through the first-order map `dc = (dh - c dm) / m`."""
    estimate, blocks = noisy
    found = fit.uncertainty(estimate, blocks)
    scores = independent_blocks(sandwich(blocks, noise=estimate.noise, about=estimate.base))
    model = posterior(scores, consistent_prior(None, estimate.prior, estimate.prior.nb)[0])
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4000, scores.count)) @ scores.adjusted
    fits = model.parameters(model.optimum(model.target + noise, rng.normal(size=(4000, len(model.pull)))))
    theta = fits[:, estimate.layout.links].reshape(4000, -1, 10)
    mass, center = estimate.theta[:, :1], estimate.theta[:, 1:4] / estimate.theta[:, :1]
    moved = (theta[..., 1:4] - center * theta[..., :1]) / mass
    for i in range(len(mass)):
        expected = np.cov(moved[:, i].T)
        np.testing.assert_allclose(found.centers[i], expected, atol=0.1 * np.abs(expected).max())
    alone = np.array([np.cov(theta[:, i, 1:4].T) for i in range(len(mass))]) / mass[..., None] ** 2
    assert np.abs(found.centers / alone - 1).max() > 0.5  # the mass has a say


def test_a_given_center_does_not_vary(scara):
    blocks = scara.with_errors(scara.errors(np.random.default_rng(3), 0.0))
    estimate = fit.consistent(sum(blocks), fixed={scara.robot.body_names[0]: "all"})
    found = fit.uncertainty(estimate, blocks)
    assert np.abs(found.centers[0]).max() == 0 and np.linalg.eigvalsh(found.centers[1])[-1] > 0
