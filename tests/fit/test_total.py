"""Total least squares: its closed form, orthogonal distance regression by SciPy, bias under noise, refusals."""

import numpy as np
import pytest
from scipy import optimize

import steelyard as sy
from arm_logs import noisy, puma, recorded, rows
from problems import true_base
from steelyard.errors import OptionError
from steelyard.information import Information, accumulate

COLUMNS = {"armature": True}
CUTOFF = 20.0
LEVELS = np.array([0.3, 0.1, 0.0])  # the last column is exact
TORQUE = 0.5


def problem(seed, samples=400):
    rng = np.random.default_rng(seed)
    exact, x = rng.normal(size=(samples, 3)), np.array([2.0, -1.0, 0.5])
    tau = exact @ x + TORQUE * rng.normal(size=samples)
    return exact + LEVELS * rng.normal(size=exact.shape), tau, x


def test_closed_form_of_equal_noise():
    """With noise of one size in every column and the torque: the last right singular vector of `[Y tau]`."""
    Y, tau, _ = problem(0)
    v = np.linalg.svd(np.column_stack([Y, tau]))[2][-1]
    estimate = sy.fit.total(Information.from_arrays(Y, tau), np.full(3, 0.2), torque_noise=[0.2])
    np.testing.assert_allclose(estimate.base, -v[:3] / v[3], rtol=1e-9)
    plain = sy.fit.least_squares(Information.from_arrays(Y, tau))
    assert np.abs(plain.base - estimate.base).max() > 0.01


def test_orthogonal_distance_regression():
    """SciPy moves every sample's columns and finds the parameters along with them."""
    Y, tau, _ = problem(1, samples=60)
    noisy_columns = LEVELS > 0

    def moved(p):
        errors = p[3:].reshape(len(tau), -1)
        exact = Y.copy()
        exact[:, noisy_columns] -= errors * LEVELS[noisy_columns]
        return np.concatenate([(tau - exact @ p[:3]) / TORQUE, p[3:]])

    found = optimize.least_squares(moved, np.ones(3 + 2 * len(tau)), xtol=1e-12, ftol=1e-12, gtol=1e-12)
    estimate = sy.fit.total(Information.from_arrays(Y, tau), LEVELS, torque_noise=[TORQUE])
    np.testing.assert_allclose(estimate.base, found.x[:3], rtol=1e-6)
    covariance = np.linalg.inv(found.jac.T @ found.jac)[:3, :3]
    np.testing.assert_allclose(np.sqrt(np.diag(estimate.covariance)), np.sqrt(np.diag(covariance)), rtol=0.15)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("draws", [60, 200])  # a mean of 60 has a deviation of 0.13: least squares is off by 2
def test_bias_is_gone_in_the_mean_and_deviations_are_right(draws):
    errors = {"least squares": [], "total": [], "total, torque from residuals": [], "compensated": []}
    for seed in range(draws):
        Y, tau, x = problem(seed, samples=300)
        info = Information.from_arrays(Y, tau)
        known = sy.fit.total(info, LEVELS, torque_noise=[TORQUE])
        own = sy.fit.total(info, LEVELS)
        less = sy.fit.least_squares(sy.fit.compensated(info, LEVELS))
        for name, each in zip(errors, (sy.fit.least_squares(info), known, own, less), strict=True):
            errors[name].append((each.base - x) / np.sqrt(np.diag(known.covariance)))
    mean = {name: np.abs(np.mean(each, axis=0)).max() for name, each in errors.items()}
    assert mean.pop("least squares") > 2.0
    assert max(mean.values()) < 0.35
    spread = np.std(errors["total"], axis=0)
    assert spread.min() > 0.8 and spread.max() < 1.25


def test_an_arm_with_noisy_encoders():
    """Column errors read off a log and the simulated motion; the same with physical constraints."""
    robot = puma()
    exact, reference = recorded(robot)

    def filtered(log):
        return sy.filters.differentiate(log, CUTOFF)

    log, clean = filtered(noisy(exact, np.random.default_rng(0), encoder=1e-4)), filtered(exact)
    simulated = filtered(sy.simulate.follow(robot, reference))
    info = accumulate(robot, log, **COLUMNS)
    noise = sy.fit.column_noise(robot, log, simulated, **COLUMNS)
    Y, _ = rows(log, info)
    Z, _ = rows(simulated.replace(tau=log.tau), info)
    for j in range(robot.nv):
        expected = (Y - Z)[:, j].T @ (Y - Z)[:, j] / len(log)
        np.testing.assert_allclose(noise[j], expected, atol=1e-8 * np.abs(info.gram[j]).max() / len(log))
    plain = sy.validate(sy.fit.least_squares(info), clean).relative_error
    less = sy.fit.compensated(info, noise)
    for estimate in (sy.fit.total(info, noise), sy.fit.least_squares(less), sy.fit.consistent(less)):
        assert sy.validate(estimate, clean).relative_error < 0.5 * plain
    assert estimate.physical
    truth = true_base(info, robot)
    assert np.linalg.norm(sy.fit.total(info, noise).base - truth) < np.linalg.norm(estimate.base)


def test_residuals_of_compensated_sums_are_those_of_the_data():
    """What errors of the columns leave is in the residual: it is no less for their part in the Gram matrix."""
    Y, tau, x = problem(2, samples=20_000)
    info = Information.from_arrays(Y, tau)
    less = sy.fit.compensated(info, LEVELS)
    estimate = sy.fit.least_squares(less)
    np.testing.assert_allclose(less.residual_energy(estimate.base), info.residual_energy(estimate.base), rtol=1e-6)
    assert estimate.noise[0] == pytest.approx(np.sqrt(TORQUE**2 + np.sum((LEVELS * x) ** 2)), rel=0.02)


def test_no_noise_in_the_columns_is_least_squares():
    Y, tau, _ = problem(3)
    info = Information.from_arrays(Y, tau)
    plain = sy.fit.least_squares(info).base
    np.testing.assert_allclose(sy.fit.total(info, np.zeros(3)).base, plain, rtol=1e-9)
    np.testing.assert_allclose(sy.fit.least_squares(sy.fit.compensated(info, np.zeros(3))).base, plain, rtol=1e-9)


def test_more_noise_than_data_bears_is_not_removed():
    Y, tau, _ = problem(4)
    info = Information.from_arrays(Y, tau)
    G = sy.fit.compensated(info, np.full(3, 5.0)).G
    assert np.linalg.eigvalsh(G)[0] > 0


@pytest.mark.parametrize("noise", [np.ones(2), np.full(3, np.nan), np.ones((3, 3))])
def test_refusals(noise):
    Y, tau, _ = problem(5)
    info = Information.from_arrays(Y, tau)
    with pytest.raises(OptionError, match="noise of the columns"):
        sy.fit.total(info, noise)
    with pytest.raises(OptionError, match="noise of the columns"):
        sy.fit.compensated(info, noise)
    with pytest.raises(OptionError, match="torque_noise"):
        sy.fit.total(info, LEVELS, torque_noise=[0.0])
