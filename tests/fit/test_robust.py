"""Robust fits: Huber's optimum by cvxpy, the t likelihood by SciPy, outliers, scales, streaming, refusals."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from scipy import optimize, stats

from problems import random_log, scattered, true_base, with_friction
from robots import urdf
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import OptionError
from steelyard.fit import validate
from steelyard.fit.prior import consistent_prior
from steelyard.information import accumulate
from steelyard.information.samples import residuals
from steelyard.model import load

COLUMNS = {"armature": True}
PLAIN = COLUMNS | {"fit": "least_squares"}
NOISE = 0.02  # of each joint's torque


@pytest.fixture(scope="module")
def arm():
    model = load(urdf("ur5_robot"))
    rng = np.random.default_rng(0)
    truth = with_friction(model.with_inertias(scattered(consistent_prior(None, model, model.nb)[0], rng)), rng)
    rigid = truth.with_joint_properties(armature=np.zeros(6))
    return model, truth, lambda *state: inverse_dynamics(rigid, *state)


def case(arm, seed, *, share=0.05, size=30.0, samples=1500):
    """A noisy log of which a share of all torque samples is off, always to the same side."""
    _, truth, torque = arm
    rng = np.random.default_rng(seed)
    log = random_log(truth, rng, samples=samples, noise=NOISE, torque=torque)
    level = NOISE * np.sqrt(np.mean(log.tau**2, axis=0))
    hit = rng.uniform(size=log.tau.shape) < share
    return log.replace(tau=log.tau + hit * size * level * rng.uniform(0.5, 1.5, log.tau.shape)), level


def rows(model, log, info):
    """Base columns (n, nv, r) of the whole log, read off the residuals of unit parameters."""
    unit = np.eye(info.basis.count)
    zero = residuals(info, log, np.zeros(len(unit)))
    return np.stack([zero - residuals(info, log, e) for e in unit], axis=-1), zero


def test_huber_is_the_optimum_of_its_convex_problem(arm):
    model, _, _ = arm
    log, _ = case(arm, 1, samples=150)
    estimate = fit.robust(model, log, loss="huber", **PLAIN)
    Y, tau = rows(model, log, accumulate(model, log, **COLUMNS))
    x = cp.Variable(Y.shape[-1])
    scaled = (Y / estimate.noise[:, None]).reshape(-1, Y.shape[-1])
    size = np.linalg.norm(scaled, axis=0)
    cost = cp.sum(cp.huber((tau / estimate.noise).ravel() - (scaled / size) @ x, 1.345))
    cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
    deviation = np.sqrt(np.diag(estimate.covariance))
    assert np.abs((estimate.base - x.value / size) / deviation).max() < 0.01
    plain = fit.least_squares(accumulate(model, log, **COLUMNS))
    assert np.abs((plain.base - x.value / size) / deviation).max() > 1.0


def test_huber_scale_is_proposal_two(arm):
    model, _, _ = arm
    log, _ = case(arm, 2, samples=400)
    estimate = fit.robust(model, log, loss="huber", **PLAIN)
    z = residuals(accumulate(model, log, **COLUMNS), log, estimate.base) / estimate.noise
    expected = stats.norm.expect(lambda x: min(x**2, 1.345**2))
    degrees = len(log) - estimate.basis.count / 6
    np.testing.assert_allclose(np.minimum(z**2, 1.345**2).sum(axis=0) / degrees, expected, rtol=0.01)


def test_student_is_a_maximum_of_its_likelihood(arm):
    """Of one joint's row: SciPy minimises the negative log likelihood over parameters and scale."""
    model, _, _ = arm
    log, _ = case(arm, 3, samples=200)
    still = np.where(np.arange(6) == 5, 1.0, 0.0)
    options = COLUMNS | {"sample_weights": np.tile(still, (200, 1))}
    estimate = fit.robust(model, log, loss=fit.Student(3.0), fit="least_squares", **options)
    Y, tau = rows(model, log, accumulate(model, log, **COLUMNS))
    Y, tau = Y[:, 5], tau[:, 5]
    used = np.linalg.norm(Y, axis=0) > 0
    size = np.linalg.norm(Y[:, used], axis=0)

    def cost(p):
        return -stats.t.logpdf(tau - Y[:, used] / size @ p[:-1], 3.0, scale=np.exp(p[-1])).sum()

    start = np.append(estimate.base[used] * size, np.log(estimate.noise[5]))
    best = optimize.minimize(cost, start, method="BFGS")
    # the likelihood's own scale takes no degrees of freedom off
    assert np.exp(best.x[-1]) == pytest.approx(estimate.noise[5], rel=0.15)
    fixed = optimize.minimize(lambda p: cost(np.append(p, start[-1])), start[:-1], method="BFGS")
    assert cost(start) - fixed.fun < 1e-4
    plain = fit.least_squares(accumulate(model, log, **options))
    assert cost(np.append(plain.base[used] * size, start[-1])) - fixed.fun > 1.0


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("solve", ["least_squares", "consistent"])
@pytest.mark.parametrize("loss", ["huber", "student"])
def test_outliers_lose_their_influence(arm, loss, solve):
    model, truth, torque = arm
    clean = random_log(truth, np.random.default_rng(9), samples=400, torque=torque)
    log, level = case(arm, 4)
    info = accumulate(model, log, **COLUMNS)
    plain = validate(fit.m_estimators.fit_of(solve)(info), clean).relative_error
    estimate = fit.robust(model, log, loss=loss, fit=solve, **COLUMNS)
    error = validate(estimate, clean).relative_error
    assert error < {"huber": 0.3, "student": 0.06}[loss] * plain
    assert estimate.physical == (solve == "consistent")
    np.testing.assert_allclose(estimate.noise, level, rtol=0.4)
    assert "outliers" in estimate.notes[-1] and "converged" not in estimate.notes[-1]


def test_clean_data_keeps_its_efficiency_and_honest_deviations(arm):
    model, truth, torque = arm
    log = random_log(truth, np.random.default_rng(5), noise=NOISE, torque=torque, samples=3000)
    plain = fit.least_squares(accumulate(model, log, **COLUMNS))
    deviation = np.sqrt(np.diag(plain.covariance))
    for loss, most in (("huber", 1.06), ("student", 1.15)):
        estimate = fit.robust(model, log, loss=loss, **PLAIN)
        ratio = np.sqrt(np.diag(estimate.covariance)) / deviation
        assert 1.0 < np.median(ratio) < most
        z = (estimate.base - true_base(accumulate(model, log, **COLUMNS), truth)) / deviation
        assert np.sqrt(np.mean(z**2)) < 1.5


def test_logs_are_streamed_and_sample_weights_multiply(arm):
    model, _, _ = arm
    log, _ = case(arm, 6, samples=600)
    whole = fit.robust(model, log, **PLAIN)
    parts = fit.robust(model, [log[:250], log[250:]], **PLAIN)
    np.testing.assert_allclose(parts.base, whole.base, rtol=1e-8, atol=1e-10)
    half = fit.robust(model, log[:300], **PLAIN)
    weights = np.where(np.arange(600) < 300, 1.0, 0.0)
    masked = fit.robust(model, log, sample_weights=weights, **PLAIN)
    np.testing.assert_allclose(masked.base, half.base, rtol=1e-6, atol=1e-8)
    assert masked.samples == half.samples


def test_noise_free_logs_do_not_divide_by_zero(arm):
    model, truth, torque = arm
    log = random_log(truth, np.random.default_rng(7), samples=300, torque=torque)
    estimate = fit.robust(model, log, **PLAIN)
    assert validate(estimate, log).relative_error < 1e-6


def test_refusals(arm):
    model, _, _ = arm
    log, _ = case(arm, 8, samples=100)
    with pytest.raises(OptionError, match="several times"):
        fit.robust(model, iter([log]))
    with pytest.raises(OptionError, match="huber, student"):
        fit.robust(model, log, loss="cauchy")
    with pytest.raises(OptionError, match="least_squares, consistent"):
        fit.robust(model, log, fit="entropic")
    with pytest.raises(OptionError, match="positive"):
        fit.Huber(0.0)
    with pytest.raises(OptionError, match="positive"):
        fit.Student(-1.0)
    few = fit.robust(model, log, iterations=1, fit=partial(fit.consistent, weight=2.0), **COLUMNS)
    assert "not converged after 1" in few.notes[-1] and "weight 2" in few.method
