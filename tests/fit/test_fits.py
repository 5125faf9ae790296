"""Fits recover truth, are optimal against cvxpy, certify themselves, and say what is wrong with bad problems."""

import numpy as np
import pinocchio as pin
import pytest

import pinocchio_adapter as adapter
from problems import cvxpy_solution, random_log, scattered, true_base, with_friction
from robots import random_state, urdf
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import FitError, OptionError
from steelyard.fit import validate
from steelyard.fit.prior import consistent_prior
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.inertia import pseudo
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.model import library, load


def pinocchio_torque(path, robot):
    """Torques of the robot's own inertias by Pinocchio."""
    model = adapter.load(path, False)
    for body, joint in enumerate(robot.body_joints):
        index = model.getJointId(robot.joints[joint].name)
        model.inertias[index] = pin.Inertia.FromDynamicParameters(robot.inertias[body])
    data = model.createData()

    def torque(q, v, a):
        return np.stack([adapter.inverse_dynamics(model, data, robot, *state) for state in zip(q, v, a, strict=True)])

    return torque


@pytest.fixture(scope="module")
def arm():
    path = urdf("ur5_robot")
    model = load(path)
    rng = np.random.default_rng(0)
    truth = with_friction(model.with_inertias(scattered(consistent_prior(None, model, model.nb)[0], rng)), rng)
    return model, truth, pinocchio_torque(path, truth)


FITS = [fit.least_squares, fit.consistent]


@pytest.mark.claim("pipeline.simulated")
@pytest.mark.parametrize("estimator", FITS)
def test_noise_free_recovery(arm, estimator):
    model, truth, torque = arm
    log = random_log(truth, np.random.default_rng(1), samples=600, torque=torque)
    info = accumulate(model, log, armature=True)
    estimate = estimator(info)
    expected = true_base(info, truth)
    assert np.abs(estimate.base - expected).max() < 1e-6 * np.abs(expected).max()
    assert validate(estimate, log).relative_error < 1e-7
    assert estimate.status is fit.Status.OK


@pytest.mark.parametrize("estimator", FITS)
def test_noisy_recovery_is_at_the_noise_floor(arm, estimator):
    model, truth, torque = arm
    info = accumulate(model, random_log(truth, np.random.default_rng(2), noise=0.02, torque=torque), armature=True)
    estimate = estimator(info)
    clean = random_log(truth, np.random.default_rng(3), samples=500, torque=torque)
    assert validate(estimate, clean).relative_error < 0.005


def test_deviations_are_the_scatter_of_noisy_logs(arm):
    """Standardised errors of 58 base parameters over eight noises; a prior at the truth only makes them smaller."""
    model, truth, torque = arm
    clean = random_log(truth, np.random.default_rng(2), torque=torque)
    info = accumulate(model, clean, armature=True)
    expected, rng, errors = true_base(info, truth), np.random.default_rng(3), []
    for _ in range(8):
        tau = clean.tau + 0.02 * np.sqrt(np.mean(clean.tau**2, axis=0)) * rng.normal(size=clean.tau.shape)
        estimate = fit.least_squares(accumulate(model, clean.replace(tau=tau), armature=True))
        errors.append((estimate.base - expected) / np.sqrt(np.diag(estimate.covariance)))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1.0, abs=0.1)


def test_joint_noise_decides_the_weights(arm):
    model, truth, torque = arm
    rng = np.random.default_rng(4)
    log = random_log(truth, rng, torque=torque)
    level = np.array([5.0, 0.01, 0.01, 0.01, 0.01, 0.01])
    log = log.replace(tau=log.tau + level * rng.normal(size=log.tau.shape))
    estimate = fit.least_squares(accumulate(model, log, armature=True))
    np.testing.assert_allclose(estimate.noise, level, rtol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_consistent_fit_equals_cvxpy(arm, seed):
    """Few noisy samples and a truth with nearly flat links: many constraints are active."""
    model, truth, torque = arm
    rng = np.random.default_rng(10 + seed)
    log = random_log(truth, rng, samples=60, noise=0.3, torque=torque)
    info = accumulate(model, log, armature=True)
    theta0 = consistent_prior(None, model, model.nb)[0]
    estimate = fit.consistent(info, weight=0.5)
    assert estimate.certificate.duality_gap < 1e-8
    reference = cvxpy_solution(info, estimate.noise, theta0, 0.5)
    scale = np.abs(reference).max()
    assert np.abs(estimate.parameters - reference).max() < 1e-4 * scale
    assert np.abs(estimate.base - info.basis.regroup(reference)).max() < 1e-5 * scale


def test_unconstrained_optimum_is_not_feasible_there(arm):
    """The comparison above has teeth: least squares alone violates the constraints on such data."""
    model, truth, torque = arm
    log = random_log(truth, np.random.default_rng(10), samples=60, noise=0.3, torque=torque)
    estimate = fit.least_squares(accumulate(model, log, armature=True))
    assert estimate.smallest_eigenvalues.min() < 0


@pytest.mark.claim("fit.certificates", "every fit carries a certificate, on rank-deficient data too")
@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("regularizer", ["pullback", "euclidean"])
@pytest.mark.parametrize("samples", [12, 40, 400])
def test_every_consistent_fit_is_certified(arm, samples, regularizer, record_property):
    model, truth, torque = arm
    log = random_log(truth, np.random.default_rng(20), samples=samples, noise=0.5, torque=torque)
    estimate = fit.consistent(accumulate(model, log, armature=True), regularizer=regularizer)
    assert estimate.physical
    assert estimate.smallest_eigenvalues.min() > 0
    record_property("duality gap", float(estimate.certificate.duality_gap))
    assert estimate.certificate.smallest_eigenvalue >= THRESHOLDS.eigenvalue
    assert estimate.certificate.smallest_slack >= -1e-9
    assert estimate.certificate.duality_gap < 1e-8
    assert all((estimate.friction[term] >= -1e-9).all() for term in ("viscous", "coulomb", "armature"))


def test_unexcited_parameters_stay_at_the_prior(arm):
    """A log of joint 6 alone cannot move the shoulder's parameters."""
    model, truth, torque = arm
    rng = np.random.default_rng(30)
    log = random_log(truth, rng, samples=200, torque=torque)
    still = np.zeros((200, 6))
    v, a = still.copy(), still.copy()
    v[:, 5], a[:, 5] = log.v[:, 5], log.a[:, 5]
    q = np.tile(log.q[0], (200, 1))
    q[:, 5] = log.q[:, 5]
    log = log.replace(q=q, v=v, a=a, tau=torque(q, v, a))
    estimate = fit.consistent(accumulate(model, log, friction=()))
    assert estimate.status is fit.Status.WEAK_EXCITATION
    assert estimate.weakest
    assert estimate.smallest_eigenvalues.min() > 0


def test_inconsistent_and_missing_priors_are_repaired_and_named(arm):
    model, truth, torque = arm
    theta = model.inertias.copy()
    theta[0] = 0.0
    theta[2, 4:] = [1.0, 0, 1.0, 0, 0, 9.0]  # violates the triangle inequality
    repaired, notes = consistent_prior(model.with_inertias(theta), model, model.nb)
    assert np.linalg.eigvalsh(pseudo.to_matrix(repaired)).min() > 0
    assert len(notes) == 2
    assert model.body_names[0] in notes[0]
    np.testing.assert_array_equal(repaired[[1, 3, 4, 5]], theta[[1, 3, 4, 5]])
    info = accumulate(model, random_log(truth, np.random.default_rng(5), samples=300, torque=torque), armature=True)
    assert fit.consistent(info, prior=model.with_inertias(theta)).notes == notes


def test_refusals(arm):
    model, truth, torque = arm
    log = random_log(truth, np.random.default_rng(6), samples=5, torque=torque)
    info = accumulate(model, log, armature=True)
    with pytest.raises(FitError, match="5 samples give 30 equations"):
        fit.least_squares(info)
    assert fit.consistent(info).status is fit.Status.WEAK_EXCITATION  # the prior says what the data leaves open
    info = accumulate(model, random_log(truth, np.random.default_rng(6), samples=50, torque=torque))
    with pytest.raises(OptionError, match="entropy"):
        fit.consistent(info, regularizer="entropy")
    with pytest.raises(OptionError, match="weight"):
        fit.consistent(info, weight=0.0)
    with pytest.raises(FitError, match=r"shape \(6, 10\)"):
        fit.consistent(info, prior=np.ones((2, 10)))


def test_identified_robot_carries_the_values(arm):
    model, truth, torque = arm
    info = accumulate(model, random_log(truth, np.random.default_rng(7), samples=500, torque=torque), armature=True)
    estimate = fit.consistent(info)
    np.testing.assert_array_equal(estimate.robot.inertias, estimate.theta)
    np.testing.assert_allclose(estimate.robot.damping, truth.damping, rtol=1e-5)
    np.testing.assert_allclose(estimate.robot.frictionloss, truth.frictionloss, rtol=1e-5)
    assert "duality gap" in estimate.summary()


def test_friction_of_a_free_base_robot_goes_to_its_joints():
    """Columns of friction are those of the joints alone, behind the six degrees of the base."""
    model = library.cheetah3_leg(floating=True).with_joint_properties(frictionloss=np.zeros(9))
    model = model.with_inertias(consistent_prior(None, model, model.nb)[0])
    damping = np.concatenate([np.zeros(6), [0.3, 0.5, 0.7]])
    truth = model.with_joint_properties(damping=damping)
    q, v, a = random_state(truth, np.random.default_rng(8), (300,))
    offset = np.concatenate([np.zeros(6), [0.4, -0.2, 0.1]])
    tau = inverse_dynamics(truth, q, v, a) + damping * v + offset
    log = Log(t=np.arange(300) / 100, q=q, v=v, a=a, tau=tau, joint_names=truth.dof_names)
    estimate = fit.consistent(accumulate(model, log, friction=("viscous", "offset")))
    np.testing.assert_allclose(estimate.friction["viscous"], damping[6:], rtol=1e-3)
    np.testing.assert_allclose(estimate.friction["offset"], offset[6:], rtol=1e-3)
    assert validate(estimate, log).relative_error < 1e-4
    np.testing.assert_allclose(estimate.robot.damping, damping, atol=1e-3)
