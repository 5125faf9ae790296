"""Descent in charts: the same optimum as the convex program where it is inside, and no better one anywhere."""

import numpy as np
import pytest

from problems import random_log, scattered, with_friction
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import InertiaError, OptionError
from steelyard.fit.chart_descent import CHARTS, SIGNS, _Unknowns
from steelyard.fit.prior import consistent_prior
from steelyard.fit.program import unconstrained_program
from steelyard.information import accumulate
from steelyard.job import FRICTION
from steelyard.model import library
from steelyard.terms import layout_of

CASES = [(chart, signs) for chart in CHARTS for signs in SIGNS]


@pytest.fixture(scope="module")
def info():
    rng = np.random.default_rng(0)
    model = library.cheetah3_leg()
    truth = with_friction(model.with_inertias(scattered(model.inertias, rng)), rng)
    bare = truth.with_joint_properties(**{k: np.zeros(truth.nv) for k in ("armature", "damping", "frictionloss")})
    log = random_log(truth, rng, samples=300, noise=0.3, torque=lambda q, v, a: inverse_dynamics(bare, q, v, a))
    return accumulate(model, log, armature=True)


def cost_of(estimate, info, weight, noise):
    """The common cost, written out: residuals, pullback distance, and the wide prior of friction."""
    theta0 = consistent_prior(None, info.robot, len(info.layout.bodies))[0]
    program = unconstrained_program(info, theta0, weight, noise)
    return program.cost(np.linalg.solve(program.directions, estimate.parameters - program.start))


@pytest.mark.parametrize("chart, signs", CASES)
def test_same_optimum_inside(info, chart, signs):
    """An oracle for the convex program, too: another method, another parametrisation, the same minimum."""
    convex = fit.consistent(info)
    assert not convex.binding
    found = fit.nonconvex(info, chart=chart, signs=signs, noise=convex.noise)
    assert found.status.usable
    assert np.abs(found.parameters - convex.parameters).max() < 1e-5 * np.abs(convex.parameters).max()
    assert (found.smallest_eigenvalues > 0).all()
    assert found.certificate is None


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("chart", CHARTS)
def test_nothing_is_better_than_the_convex_optimum(info, chart):
    """Light prior, few joints' worth of evidence: the optimum is on the boundary, which charts only approach."""
    convex = fit.consistent(info, weight=1e-4)
    assert convex.binding
    best = cost_of(convex, info, 1e-4, convex.noise)
    for seed in range(2):
        start = scattered(info.robot.inertias, np.random.default_rng(seed), 0.5)
        found = fit.nonconvex(info, chart=chart, weight=1e-4, start=start, noise=convex.noise, evaluations=60)
        assert cost_of(found, info, 1e-4, convex.noise) > best - 1e-3  # what J >= EPS J0 costs at most


@pytest.mark.parametrize("chart, signs", CASES)
def test_jacobian_of_the_unknowns(chart, signs):
    layout = layout_of(library.cheetah3_leg(), friction=FRICTION, armature=True)
    free = _Unknowns(layout, CHARTS[chart], signs, np.ones(layout.size))
    rng = np.random.default_rng(1)
    theta = scattered(library.cheetah3_leg().inertias, rng)
    phi = free.start(theta, np.abs(rng.normal(size=layout.size)))
    steps = 1e-6 * np.eye(layout.size)
    numeric = np.stack([(free.parameters(phi + h) - free.parameters(phi - h)) / 2e-6 for h in steps], axis=1)
    np.testing.assert_allclose(free.jacobian(phi), numeric, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(free.parameters(phi)[: theta.size], theta.ravel(), rtol=1e-9, atol=1e-12)


def test_a_descent_that_did_not_converge_says_so(info):
    start = scattered(info.robot.inertias, np.random.default_rng(3), 1.0)
    assert not fit.nonconvex(info, start=start, evaluations=3).status.usable


def test_mistakes_are_explained(info):
    with pytest.raises(OptionError, match="Unknown chart 'polar'"):
        fit.nonconvex(info, chart="polar")
    with pytest.raises(OptionError, match="Unknown signs"):
        fit.nonconvex(info, signs="hope")
    with pytest.raises(InertiaError):
        fit.nonconvex(info, start=-info.robot.inertias)


def test_few_samples_with_a_prior_are_a_weak_fit():
    """One sample: the prior decides what it does not show, as in the convex fit, and the status says so."""
    rng = np.random.default_rng(9)
    model = library.cheetah3_leg()
    log = random_log(model, rng, samples=1, torque=lambda q, v, a: inverse_dynamics(model, q, v, a) + 1.0)
    info = accumulate(model, log, friction=(), armature=False)
    noise = np.full(3, 0.1)
    convex, found = fit.consistent(info, noise=noise), fit.nonconvex(info, noise=noise)
    assert found.status is convex.status is fit.Status.WEAK_EXCITATION and found.weakest
    np.testing.assert_allclose(found.theta, convex.theta, rtol=1e-4, atol=1e-5)
