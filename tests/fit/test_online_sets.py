"""Bodies that adapt inside what is known of them (paper B, Remark 6): against CVXPY, and moments by hand."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from properties import tried
from steelyard.errors import FitError, OptionError
from steelyard.fit.newton import bounded_step
from steelyard.fit.program import Residual
from steelyard.inertia import pseudo

ROUND = 1e-8  # of a body's size: what a constraint may be missed by


def moments(theta):
    """(4, 4) pseudo-inertia, spelled out; numbers or an expression of CVXPY."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = (theta[k] for k in range(10))
    rows = [[(yy + zz - xx) / 2, -xy, -xz, x], [-xy, (xx + zz - yy) / 2, -yz, y]]
    rows += [[-xz, -yz, (xx + yy - zz) / 2, z], [x, y, z, m]]
    return cp.bmat(rows) if isinstance(theta, cp.Expression) else np.array(rows)


def quadric(ellipsoid):
    """Q of `tr(J Q) >= 0` (B, (23))."""
    inverse, c = np.linalg.inv(ellipsoid.Q), ellipsoid.center
    return np.block([[-inverse, (inverse @ c)[:, None]], [(c @ inverse)[None], 1 - c @ inverse @ c]])


def divergence(truth, others):
    """Sum of `d(truth || others)` over bodies."""
    pairs = [np.linalg.solve(moments(other), moments(each)) for each, other in zip(truth, others, strict=True)]
    return sum(np.trace(pair) - np.log(np.linalg.det(pair)) - 4 for pair in pairs)


def around(robot, scale=1.0):
    """Ellipsoids that hold the bodies of a robot, those of scale 1 tightly."""
    found = map(sy.inertia.covariance_ellipsoid, robot.inertias)
    return {
        name: sy.inertia.Ellipsoid(each.center, 3.2 * scale**2 * each.Q)
        for name, each in zip(robot.body_names, found, strict=True)
    }


def assert_known(theta, known, robot):
    """Bodies exist, lie in their ellipsoids and have their masses, to rounding."""
    for name, each in zip(robot.body_names, theta, strict=True):
        J = moments(each)
        assert np.linalg.eigvalsh(J).min() > 0
        if name in known.get("within", {}):
            assert np.trace(J @ quadric(known["within"][name])) > -ROUND * each[0]
    for name, mass in known.get("masses", {}).items():
        found = theta[:, 0].sum() if name == "all" else theta[robot.body_names.index(name), 0]
        assert found == pytest.approx(mass, rel=ROUND)


@tried(40)
@given(seed=st.integers(0, 9999), m=st.integers(1, 6))
def test_bounded_steps_are_quadratic_programs(seed, m):
    rng = np.random.default_rng(seed)
    F = np.triu(rng.normal(size=(5, 5))) + 3 * np.eye(5)
    g, G, room = rng.normal(size=5), rng.normal(size=(m, 5)), np.maximum(rng.uniform(-0.3, 0.3, m), 0.0)
    d = cp.Variable(5)
    bound = G @ d <= room
    cp.Problem(cp.Minimize(cp.sum_squares(F @ d) / 2 + g @ d), [bound]).solve("CLARABEL")
    step, multipliers = bounded_step(F, g, G, room)
    np.testing.assert_allclose(step, d.value, atol=1e-5)
    assert (G @ step <= room + 1e-12).all() and (multipliers >= 0).all()
    np.testing.assert_allclose(F.T @ F @ step + g + G.T @ multipliers, 0, atol=1e-10)


@pytest.fixture(scope="module")
def arm():
    """A SCARA, samples of it with noise, and a start far from it."""
    robot, rng = sy.library.scara(), np.random.default_rng(0)
    still = np.zeros(4)
    robot = robot.with_joint_properties(armature=still, damping=still, frictionloss=still)
    q, v, a = rng.normal(size=(3, 24, 4))
    tau = sy.inverse_dynamics(robot, q, v, a)
    return robot, (q, v, a, tau + 0.1 * rng.normal(size=tau.shape)), robot.with_inertias(2.0 * robot.inertias)


def facts(robot):
    """What is known in three ways: linear inequalities, equalities besides, cones that are not linear."""
    ball, masses = around(robot), robot.inertias[:, 0]
    return {
        "ellipsoids": {"within": ball},
        "masses": {"within": ball, "masses": {robot.body_names[1]: float(masses[1]), "all": float(masses.sum())}},
        "fixed": {"fixed": {robot.body_names[0]: "com"}, "tied": (sy.fit.Tied(*robot.body_names[2:4]),)},
        "union": {"within": {robot.body_names[1]: [ball[robot.body_names[1]], ball[robot.body_names[0]]]}},
    }


@pytest.mark.parametrize("name", ["ellipsoids", "masses", "fixed"])
def test_estimates_are_those_of_cvxpy_at_every_sample(arm, name):
    robot, (q, v, a, tau), start = arm
    known = facts(robot)[name]
    estimator, done = sy.fit.RecursiveEstimator(start, noise=0.1, **known), 0
    for stop in (1, 2, 6, 24):
        found = estimator.update(q[done:stop], v[done:stop], a[done:stop], tau[done:stop])
        assert found.certificate.duality_gap < 1e-8
        assert_known(found.theta, known, robot)
        done = stop
    theta = cp.Variable((4, 10))
    Y = sy.regressor(robot, q, v, a).reshape(-1, 40)
    flat = cp.reshape(theta, (40,), order="C")
    cost = cp.sum_squares((Y @ flat - tau.ravel()) / np.tile(found.noise, len(q)))
    told = []
    for i, name in enumerate(robot.body_names):
        J, J0 = moments(theta[i]), moments(start.inertias[i])
        cost += cp.trace(np.linalg.inv(J0) @ J) - cp.log_det(J)
        if name in known.get("within", {}):
            told.append(cp.trace(J @ quadric(known["within"][name])) >= 0)
        if name in known.get("masses", {}):
            told.append(theta[i, 0] == known["masses"][name])
        if name in known.get("fixed", {}):
            told.append(theta[i, 1:4] == start.inertias[i, 1:4] / start.inertias[i, 0] * theta[i, 0])
    if "all" in known.get("masses", {}):
        told.append(cp.sum(theta[:, 0]) == known["masses"]["all"])
    if "tied" in known:
        told.append(theta[2] == theta[3])
    cp.Problem(cp.Minimize(cost), told).solve("CLARABEL")
    size = np.abs(theta.value).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found.theta / size, theta.value / size, atol=3e-4)
    free = sy.fit.RecursiveEstimator(start, noise=0.1).update(q, v, a, tau)
    assert np.abs((free.theta - theta.value) / size).max() > 1e-2, "what is known matters"


def test_sets_with_other_cones_are_met_too(arm):
    robot, (q, v, a, tau), start = arm
    known = facts(robot)["union"]
    estimator = sy.fit.RecursiveEstimator(start, noise=0.1, **known)
    for k in range(4):
        found = estimator.update(q[k], v[k], a[k], tau[k])
    whole = sy.fit.consistent(estimator.information, prior=start, noise=found.noise, regularizer="entropic", **known)
    np.testing.assert_allclose(found.theta, whole.theta, rtol=1e-4, atol=1e-6)


def test_what_an_estimator_cannot_be_told(arm):
    robot, (q, v, _, tau), start = arm
    for wrong, said in (
        ({"masses": {"leg": 1.0}}, "no body 'leg'"),
        ({"regularizer": "euclidean"}, "entropic"),
        ({"rows": "power"}, "'joints', or 'momentum'"),
        ({"rows": "momentum", "cutoff": 0.0}, "positive frequency"),
    ):
        with pytest.raises(OptionError, match=said):
            sy.fit.RecursiveEstimator(start, noise=0.1, **wrong)
    impossible = {"masses": {robot.body_names[0]: 1.0, "all": 0.5}}
    with pytest.raises(FitError, match="In conflict"):
        sy.fit.Projection(start, **impossible)
    momentum = sy.fit.RecursiveEstimator(start, noise=0.1, rows="momentum")
    with pytest.raises(OptionError, match="needs the time"):
        momentum.update(q[0], v[0], None, tau[0])
    with pytest.raises(OptionError, match="physically consistent"):
        sy.fit.Projection(start)(-start.inertias)


@pytest.mark.parametrize("name", ["ellipsoids", "masses", "fixed", "union"])
def test_projection_is_that_of_cvxpy_and_brings_every_truth_nearer(arm, name):
    """`d(truth || P) <= d(truth || J0) - d(P || J0)`; the Euclidean projection breaks it."""
    robot, *_ = arm
    known = facts(robot)[name]
    projection = sy.fit.Projection(robot, **known)
    rng, broken = np.random.default_rng(1), False
    truth = projection(robot.inertias)
    for _ in range(8):
        root, strain = np.linalg.cholesky(pseudo.to_matrix(robot.inertias)), rng.normal(size=(4, 4, 4))
        theta = pseudo.to_parameters(root @ scipy.linalg.expm(0.6 * (strain + strain.mT)) @ root.mT)
        near = projection(theta)
        assert_known(near, known | ({"within": {}} if name == "union" else {}), robot)
        np.testing.assert_allclose(projection(near, near=near), near, rtol=1e-6, atol=1e-8)
        before = divergence(truth, theta)
        assert divergence(truth, near) <= before - divergence(near, theta) + 1e-6 * before
        if name == "ellipsoids":
            sets = [sy.inertia.EllipsoidRealizable(each) for each in known["within"].values()]
            alone = np.stack([each.project(one) for each, one in zip(sets, theta, strict=True)])
            np.testing.assert_allclose(near, alone, rtol=1e-4, atol=1e-6 * np.abs(alone).max())
            flat = np.stack([each.project(one, metric="euclidean") for each, one in zip(sets, theta, strict=True)])
            broken |= bool(divergence(truth, flat) > before - divergence(flat, theta))
    assert broken or name != "ellipsoids"


def test_a_proximal_step_is_that_of_cvxpy(arm):
    """The divergence from bodies and a quadratic cost together, in a set."""
    robot, _, start = arm
    known, rng = facts(robot)["masses"], np.random.default_rng(2)
    A, b = rng.normal(size=(6, 40)), rng.normal(size=6)
    found = sy.fit.Projection(robot, **known)(start.inertias, residual=Residual(A, b, 0.0))
    theta = cp.Variable((4, 10))
    cost = cp.sum_squares(A @ cp.reshape(theta, (40,), order="C") - b)
    told = [theta[1, 0] == known["masses"][robot.body_names[1]], cp.sum(theta[:, 0]) == known["masses"]["all"]]
    for i, name in enumerate(robot.body_names):
        J = moments(theta[i])
        cost += cp.trace(np.linalg.inv(moments(start.inertias[i])) @ J) - cp.log_det(J)
        told.append(cp.trace(J @ quadric(known["within"][name])) >= 0)
    cp.Problem(cp.Minimize(cost), told).solve("CLARABEL")
    np.testing.assert_allclose(found, theta.value, atol=3e-4 * np.abs(theta.value).max())


@tried(15)
@given(seed=st.integers(0, 999), gain=st.floats(-1e3, 1e3))
def test_steps_end_inside_whatever_the_direction(arm, seed, gain):
    robot, _, _ = arm
    known = facts(robot)["masses"]
    projection, rng = sy.fit.Projection(robot, **known), np.random.default_rng(seed)
    theta = projection.nominal
    for _ in range(3):
        theta = sy.fit.natural_step(theta, rng.normal(size=40), gain=gain, projection=projection)
        assert_known(theta, known, robot)


def test_steps_without_a_set_leave_it(arm):
    robot, _, _ = arm
    theta = sy.fit.natural_step(robot.inertias, np.random.default_rng(0).normal(size=40), gain=0.5)
    with pytest.raises(AssertionError):
        assert_known(theta, facts(robot)["ellipsoids"], robot)


@pytest.mark.parametrize("regularizer", ["entropic", "pullback"])
def test_where_everything_is_known_nothing_moves(arm, regularizer):
    robot, (q, v, a, tau), start = arm
    known = {"fixed": dict.fromkeys(robot.body_names, "all")}
    estimator = sy.fit.RecursiveEstimator(start, noise=0.1, **known)
    np.testing.assert_allclose(estimator.update(q[0], v[0], a[0], tau[0]).theta, start.inertias, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        sy.fit.Projection(robot, **known)(start.inertias), robot.inertias, rtol=1e-12, atol=1e-15
    )
    whole = sy.fit.consistent(estimator.information, prior=start, regularizer=regularizer, **known)
    np.testing.assert_allclose(whole.theta, start.inertias, rtol=1e-12, atol=1e-15)
