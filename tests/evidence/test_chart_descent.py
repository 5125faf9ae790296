"""Descent in charts: the same optimum as the convex program where it is inside, and no better one anywhere."""

import numpy as np
import pytest
from evidence.bench.chart_descent import CHARTS, SIGNS, Unknowns, descent, unconstrained_program

from problems import random_log, scattered, with_friction
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
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


def cost_of(estimate, info, weight):
    """The common cost: residuals, pullback distance, and the wide prior of friction."""
    program = unconstrained_program(info, info.robot.inertias, weight, estimate.noise)
    return program.cost(np.linalg.solve(program.directions, estimate.parameters - program.start))


@pytest.mark.parametrize("chart, signs", CASES)
def test_same_optimum_inside(info, chart, signs):
    """An oracle for the convex program: another method, another parametrisation, the same minimum."""
    convex = fit.consistent(info)
    assert not convex.binding
    found = descent(info, chart, info.robot.inertias, convex.noise, signs=signs)
    assert found.converged
    assert np.abs(found.parameters - convex.parameters).max() < 1e-5 * np.abs(convex.parameters).max()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("chart", CHARTS)
def test_nothing_is_better_than_the_convex_optimum(info, chart):
    """Light prior, few joints' worth of evidence: the optimum is on the boundary, which charts only approach."""
    convex = fit.consistent(info, weight=1e-4)
    assert convex.binding
    best = cost_of(convex, info, 1e-4)
    for seed in range(2):
        start = scattered(info.robot.inertias, np.random.default_rng(seed), 0.5)
        given = {"start": start, "weight": 1e-4, "evaluations": 60}
        found = descent(info, chart, info.robot.inertias, convex.noise, **given)
        assert found.cost > best - 1e-3  # what J >= EPS J0 costs at most


@pytest.mark.parametrize("chart, signs", CASES)
def test_jacobian_of_the_unknowns(chart, signs):
    layout = layout_of(library.cheetah3_leg(), friction=FRICTION, armature=True)
    free = Unknowns(layout, CHARTS[chart], signs, np.ones(layout.size))
    rng = np.random.default_rng(1)
    theta = scattered(library.cheetah3_leg().inertias, rng)
    phi = free.start(theta, np.abs(rng.normal(size=layout.size)))
    steps = 1e-6 * np.eye(layout.size)
    numeric = np.stack([(free.parameters(phi + h) - free.parameters(phi - h)) / 2e-6 for h in steps], axis=1)
    np.testing.assert_allclose(free.jacobian(phi), numeric, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(free.parameters(phi)[: theta.size], theta.ravel(), rtol=1e-9, atol=1e-12)


def test_a_descent_that_did_not_converge_says_so(info):
    start = scattered(info.robot.inertias, np.random.default_rng(3), 1.0)
    assert not descent(info, "log_cholesky", start, np.full(3, 0.1), start=start, evaluations=3).converged
