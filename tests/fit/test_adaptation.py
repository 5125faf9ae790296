"""Natural adaptation and recursive identification: bodies at every step, and the laws that they follow."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from mujoco_loops import hold_still, model_with_loops, motion_and_torque
from properties import tried
from random_bodies import bodies
from steelyard.errors import SteelyardError
from steelyard.inertia import is_consistent, pseudo
from steelyard.information import accumulate


@tried(60)
@given(seed=st.integers(0, 999), gain=st.floats(-1e6, 1e6), batch=st.sampled_from([(), (1,), (3, 1, 2)]))
def test_bodies_stay_bodies(seed, gain, batch):
    rng = np.random.default_rng(seed)
    theta = bodies(seed, batch)
    assert is_consistent(sy.fit.natural_step(theta, rng.normal(size=theta.shape), gain=gain)).all()


def test_the_step_is_the_geodesic_against_the_gradient():
    """By matrix functions of SciPy, and to first order by the law `dJ = -gain J G J`."""
    rng = np.random.default_rng(2)
    theta, direction = bodies(2), rng.normal(size=10)
    J = pseudo.to_matrix(theta)
    basis = np.eye(16).reshape(16, 4, 4)
    symmetric = (basis + basis.transpose(0, 2, 1)) / 2
    G = sum(direction @ pseudo.to_parameters(each) * one for each, one in zip(symmetric, basis, strict=True))
    G = (G + G.T) / 2
    assert np.trace(G @ J) == pytest.approx(direction @ theta)
    half = scipy.linalg.sqrtm(J)
    for gain in (0.01, 0.1):
        expected = half @ scipy.linalg.expm(-gain * half @ G @ half) @ half
        found = pseudo.to_matrix(sy.fit.natural_step(theta, direction, gain=gain))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    small = sy.fit.natural_step(theta, direction, gain=1e-7)
    np.testing.assert_allclose((pseudo.to_matrix(small) - J) / 1e-7, -J @ G @ J, rtol=1e-5, atol=1e-6)
    assert direction @ small < direction @ theta


def test_a_step_says_what_it_cannot_take():
    body = bodies(0)
    for theta, direction, said in (
        (-body, np.ones(10), "cannot exist"),
        (body, np.full(10, np.nan), "finite"),
        (body, np.ones(9), "direction alike"),
    ):
        with pytest.raises(SteelyardError, match=said):
            sy.fit.natural_step(theta, direction, gain=1.0)


@pytest.fixture(scope="module")
def recorded():
    robot = sy.library.puma560()
    truth = sy.simulate.record(robot, duration=3.0, sensors=sy.simulate.PERFECT).truth
    noisy = truth.replace(tau=truth.tau + 0.05 * np.random.default_rng(0).normal(size=truth.tau.shape))
    return robot.with_inertias(1.3 * robot.inertias), noisy


def fed(estimator, log, rows):
    found = None
    for row in rows:
        found = estimator.update(log.q[row], log.v[row], log.a[row], log.tau[row])
        assert found.physical and is_consistent(found.theta).all()
    return found


def test_samples_one_by_one_are_the_fit_to_all(recorded):
    robot, log = recorded
    rows = slice(0, 600, 20)
    found = fed(sy.fit.RecursiveEstimator(robot, noise=0.05), log, range(600)[rows])
    whole = sy.fit.consistent(
        accumulate(robot, log[rows], friction=(), armature=False),
        prior=robot,
        noise=np.full(6, 0.05),
        regularizer="entropic",
    )
    np.testing.assert_allclose(found.theta, whole.theta, rtol=1e-5, atol=1e-6)
    chunk = sy.fit.RecursiveEstimator(robot, noise=0.05).update(log.q[rows], log.v[rows], log.a[rows], log.tau[rows])
    np.testing.assert_allclose(chunk.theta, whole.theta, rtol=1e-5, atol=1e-6)


def test_forgetting_weighs_samples_by_their_age(recorded):
    robot, log = recorded
    rows, memory = np.arange(0, 400, 20), 15.0
    found = fed(sy.fit.RecursiveEstimator(robot, noise=0.05, memory=memory), log, rows)
    info = 0
    for row in rows:
        new = accumulate(robot, log[row : row + 1], friction=(), armature=False).as_gram()
        info = new if info == 0 else info.discounted(np.exp(-1 / memory)) + new
    aged = sy.fit.consistent(info, prior=robot, noise=np.full(6, 0.05), regularizer="entropic")
    np.testing.assert_allclose(found.theta, aged.theta, rtol=1e-5, atol=1e-6)
    never = fed(sy.fit.RecursiveEstimator(robot, noise=0.05), log, rows)
    assert np.abs(never.theta - found.theta).max() > 1e-4


def test_what_is_not_excited_stays_at_the_prior(recorded):
    """A robot at rest: the estimate meets its torque, says that it is weak, and does not drift while it forgets."""
    robot, log = recorded
    estimator, still = sy.fit.RecursiveEstimator(robot, noise=0.05, memory=50), np.zeros(6)
    held = sy.inverse_dynamics(sy.library.puma560(), log.q[0], still, still)
    found = [estimator.update(log.q[0], still, still, held) for _ in range(120)]
    assert all(each.physical for each in found) and found[-1].status is not sy.fit.Status.OK
    assert np.abs(found[-1].theta - found[59].theta).max() < 0.01 * np.abs(robot.inertias).max()
    assert np.abs(sy.inverse_dynamics(found[-1].require_robot(), log.q[0], still, still) - held).max() < 0.02
    np.testing.assert_allclose(found[-1].theta[0], robot.inertias[0], rtol=0.02)  # gravity does not act on its axis


def test_friction_at_its_bound_and_what_no_model_explains(recorded):
    """Newton's way, with friction that is not negative, ends where the cone solver does; friction that is left out
    counts as noise, so that masses take up less of it."""
    robot, _ = recorded
    puma, still = sy.library.puma560(), np.zeros(6)
    real = puma.with_joint_properties(armature=still, damping=[1, 0, 1, 0, 0.1, 0], frictionloss=[1, 0, 0, 1, 0.1, 0])
    log = sy.simulate.record(real, duration=3.0, sensors=sy.simulate.PERFECT).truth
    log = log.replace(tau=log.tau + 0.05 * np.random.default_rng(0).normal(size=log.tau.shape))
    terms = ("viscous", "coulomb")
    estimator = sy.fit.RecursiveEstimator(robot, noise=0.05, memory=100, friction=terms)
    found = fed(estimator, log, range(0, 400, 5))
    noise = np.full(6, 0.05)
    whole = sy.fit.consistent(estimator.information, prior=robot, noise=noise, regularizer="entropic")
    assert sum("at least 0" in each for each in whole.binding) >= 3
    np.testing.assert_allclose(found.parameters, whole.parameters, rtol=1e-4, atol=1e-5)
    estimator = sy.fit.RecursiveEstimator(robot, noise=0.05, memory=100)
    unaware = fed(estimator, log, range(0, 400, 5))
    believed = sy.fit.consistent(estimator.information, prior=robot, noise=noise, regularizer="entropic")
    wrong = [abs(each.theta[:, 0].sum() - puma.inertias[:, 0].sum()) for each in (unaware, believed)]
    assert unaware.noise.max() > 0.3 and wrong[0] < 0.3 * wrong[1]


def test_newton_goes_where_the_cone_solver_does(recorded):
    """From the minimum of other data, from a far point, and from none that is inside."""
    robot, log = recorded
    info = accumulate(robot, log[:400:20], friction=("viscous",), armature=False)
    program = sy.fit.build(info, prior=robot, regularizer="entropic", noise=np.full(6, 0.05))
    whole = sy.fit.solve(program).parameters
    for near in (program.start, 5 * whole, -whole, whole):
        found = sy.fit.solve(program, near=near)
        assert found.certificate.duality_gap < 1e-8
        np.testing.assert_allclose(found.parameters, whole, rtol=1e-4, atol=1e-6)
    quadratic = sy.fit.build(info, prior=robot, noise=np.full(6, 0.05))
    np.testing.assert_allclose(sy.fit.solve(quadratic, near=whole).parameters, sy.fit.solve(quadratic).parameters)


def test_bad_samples_leave_the_sums_as_they_were(recorded):
    robot, log = recorded
    estimator = sy.fit.RecursiveEstimator(robot, noise=0.05)
    estimator.update(log.q[:5], log.v[:5], log.a[:5], log.tau[:5])
    before = estimator.information
    for q, tau in ((log.q[5], np.full(6, np.nan)), (log.q[5, :5], log.tau[5])):
        with pytest.raises(SteelyardError):
            estimator.update(q, log.v[5], log.a[5], tau)
    assert estimator.information is before
    for wrong in ({"noise": 0.0}, {"noise": [1.0, 2.0]}, {"noise": 1.0, "memory": 0}):
        with pytest.raises(SteelyardError, match=r"expected|positive"):
            sy.fit.RecursiveEstimator(robot, **wrong)


@pytest.fixture(scope="module", params=["five_bar", "four_bar_leg"])
def linkage(request):
    """A robot with a loop, and a motion of its motors with torques (n, ni) by MuJoCo's bodies and noise."""
    robot = getattr(sy.library, request.param)()
    still = np.zeros(robot.nv)
    robot = robot.with_joint_properties(damping=still, frictionloss=still)
    m = hold_still(model_with_loops(robot).compile())
    t, rates = np.arange(0, 12, 0.12)[:, None], np.array([2.0, 3.3])
    q, v, a = 0.4 * np.sin(rates * t), 0.4 * rates * np.cos(rates * t), -0.4 * rates**2 * np.sin(rates * t)
    driven = [robot.joint_names.index(name) for name in robot.actuated]
    tree = sy.closed_loop.tree_state(robot, q, v, a)
    tau = np.array([motion_and_torque(m, *row, driven)[2] for row in zip(tree[0], v, a, strict=True)])
    return robot, (q, v, a, tau + 1e-3 * np.random.default_rng(1).normal(size=tau.shape)), tree


@pytest.mark.exhaustive(keep=1)
def test_closed_loops_are_the_batch_solution(linkage):
    """Samples one by one, of the motors alone or with all joints' positions, against CVXPY on all rows at once."""
    robot, (q, v, a, tau), tree = linkage
    given = robot.with_inertias(1.2 * robot.inertias)
    noise = np.array([1e-3, 2e-3])
    narrow, wide = (sy.fit.RecursiveEstimator(given, noise=noise) for _ in range(2))
    for k in range(len(q)):
        found = narrow.update(q[k], v[k], a[k], tau[k])
    again = wide.update(tree[0], v, a, tau)
    np.testing.assert_allclose(found.theta, again.theta, rtol=1e-4, atol=1e-6)
    assert found.physical and narrow.information.group_names == robot.actuated

    wanted = entropic_batch(given, sy.closed_loop.regressor(robot, q, v, a), tau, noise)
    np.testing.assert_allclose(found.theta, wanted, rtol=1e-3, atol=2e-5)
    motors = [robot.joint_names.index(name) for name in robot.actuated]
    open_tree = entropic_batch(given, sy.regressor(robot, *tree)[:, motors], tau, noise)
    assert np.abs(found.theta - open_tree).max() > 0.01


def entropic_batch(given, Y, tau, noise):
    """theta (nb, 10) of least squares on rows Y (n, g, 10 nb) with the entropic divergence to the model, by CVXPY."""
    theta = cp.Variable((given.nb, 10))
    triangle = np.linalg.qr(
        np.concatenate([Y / noise[:, None], (tau / noise)[..., None]], 2).reshape(-1, Y.shape[2] + 1)
    )[1]
    cost = cp.sum_squares(triangle[:, :-1] @ cp.vec(theta, order="C") - triangle[:, -1])
    units = pseudo.to_matrix(np.eye(10))
    for body, prior in enumerate(given.inertias):
        J = sum(theta[body, k] * units[k] for k in range(10))
        cost += cp.trace(np.linalg.inv(pseudo.to_matrix(prior)) @ J) - cp.log_det(J)
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    return theta.value


@pytest.mark.exhaustive(keep=1)
def test_noise_of_closed_loops_is_that_of_motors(linkage):
    robot, (q, v, a, tau), _ = linkage
    with pytest.raises(SteelyardError, match=f"2 torques of {robot.actuated[0]}, {robot.actuated[1]}"):
        sy.fit.RecursiveEstimator(robot, noise=np.ones(robot.nv))
    estimator = sy.fit.RecursiveEstimator(robot, noise=1e-3)
    estimator.update(q, v, a, tau)
    before = estimator.information
    with pytest.raises(SteelyardError):
        estimator.update(q[0] + 40.0, v[0], np.array([np.nan, 0.0]), tau[0])
    assert estimator.information is before
