"""Batches of entropic fits are the single fits, and the optimum of another solver."""

import numpy as np
import pytest

from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import pseudo
from steelyard.payload.entropic import entropic_fits
from steelyard.payload.methods import fitted_body

pytestmark = pytest.mark.claim("scale.payloads", "10,000 payload problems a second")


def bodies(rng, count):
    roots = rng.normal(size=(count, 4, 4)) * [0.1, 0.1, 0.1, 1.0]
    return pseudo.to_parameters(roots @ np.swapaxes(roots, 1, 2))


def problems(seed, count, *, stiff):
    """A (count, 40, 10), b (count, 40) and priors of problems with noise; `stiff` spreads sizes over decades."""
    rng = np.random.default_rng(seed)
    priors, truth = bodies(rng, count), bodies(rng, count)
    A = rng.normal(size=(count, 40, 10))
    if stiff:
        A *= 10 ** rng.uniform(-3, 4, (count, 1, 1)) * 10 ** rng.uniform(-1.5, 1.5, (count, 1, 10))
    return A, np.einsum("nij,nj->ni", A, truth) + rng.normal(size=(count, 40)), priors


def sums(A, b):
    return np.swapaxes(A, 1, 2) @ A, np.einsum("nij,ni->nj", A, b)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("stiff", [False, True])
def test_a_batch_is_a_loop(stiff):
    A, b, priors = problems(3, 40, stiff=stiff)
    found = entropic_fits(*sums(A, b), priors, weight=0.3)
    assert found.converged.all()
    assert np.linalg.eigvalsh(pseudo.to_matrix(found.theta)).min() > 0
    for theta, covariance, a, right, prior in zip(found.theta, found.covariance, A, b, priors, strict=True):
        one, spread, _ = fitted_body(a, right, prior, weight=0.3, regularizer="entropic")
        np.testing.assert_allclose(theta, one, rtol=1e-7, atol=1e-8 * np.linalg.norm(one))
        assert np.linalg.norm(covariance - spread) < 1e-5 * np.linalg.norm(spread)


def test_the_optimum_is_that_of_a_cone_solver():
    cvxpy = pytest.importorskip("cvxpy")
    A, b, priors = problems(5, 3, stiff=False)
    weights = np.array([0.1, 1.0, 30.0])
    found = entropic_fits(*sums(A, b), priors, weight=weights)
    for theta, a, right, prior, weight in zip(found.theta, A, b, priors, weights, strict=True):
        J = cvxpy.Variable((4, 4), PSD=True)
        columns = pseudo.to_parameters(np.eye(16).reshape(16, 4, 4))  # theta is linear in J
        body = columns.T @ cvxpy.vec(J, order="C")
        inverse = np.linalg.inv(pseudo.to_matrix(prior))
        cost = cvxpy.sum_squares(a @ body - right) + weight * (cvxpy.trace(inverse @ J) - cvxpy.log_det(J))
        cvxpy.Problem(cvxpy.Minimize(cost)).solve(solver="CLARABEL")
        np.testing.assert_allclose(theta, body.value, atol=2e-5 * np.linalg.norm(theta))


def test_one_prior_serves_all_and_weight_pulls_to_it():
    A, b, priors = problems(7, 5, stiff=False)
    heavy = entropic_fits(*sums(A, b), priors[0], weight=1e9)
    np.testing.assert_allclose(heavy.theta, np.tile(priors[0], (5, 1)), atol=1e-5 * np.linalg.norm(priors[0]))


def test_a_problem_that_is_no_number_fails_alone():
    A, b, priors = problems(9, 4, stiff=False)
    b[2, 0] = np.nan
    found = entropic_fits(*sums(A, b), priors)
    assert found.converged.tolist() == [True, True, False, True]
    assert np.isnan(found.theta[2]).all() and np.isfinite(found.theta[[0, 1, 3]]).all()


def test_what_cannot_be_fitted_is_refused():
    A, b, priors = problems(1, 2, stiff=False)
    gram, moment = sums(A, b)
    with pytest.raises(InertiaError, match="not physically consistent"):
        entropic_fits(gram, moment, -priors)
    with pytest.raises(OptionError, match=r"\(N, 10, 10\)"):
        entropic_fits(gram[0], moment, priors)
