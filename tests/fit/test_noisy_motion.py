"""Instrumental variables and output-torque fits: two-stage least squares in plain matrices, known truth, refusals."""

import numpy as np
import pytest

import steelyard as sy
from arm_logs import noisy, puma, recorded, rows
from problems import random_log, true_base
from robots import urdf
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import LogError, OptionError
from steelyard.information import accumulate

COLUMNS = {"armature": True}
PLAIN = COLUMNS | {"fit": "least_squares"}
CUTOFF = 30.0  # Hz, high enough for encoder noise to reach the accelerations
SEEDS = 3


@pytest.fixture(scope="module")
def arm():
    robot = puma()
    exact, reference = recorded(robot)
    return robot, exact, reference


def filtered(log):
    return sy.filters.differentiate(log, CUTOFF)


def test_instruments_are_two_stage_least_squares():
    robot = sy.load(urdf("ur5_robot"))
    rng = np.random.default_rng(0)
    log = random_log(robot, rng, samples=150, noise=0.1, torque=lambda *s: inverse_dynamics(robot, *s))
    moved = log.replace(
        **{key: getattr(log, key) + 0.3 * rng.normal(size=log.q.shape) for key in ("q", "v", "a")}, tau=None
    )
    info = accumulate(robot, log, **COLUMNS)
    estimate = sy.fit.instrumental(robot, log, moved, **PLAIN)
    Y, tau = rows(log, info)
    Z, _ = rows(moved.replace(tau=log.tau), info)
    G, b = np.zeros((info.basis.count,) * 2), np.zeros(info.basis.count)
    for j in range(robot.nv):
        hat = Z[:, j] @ np.linalg.pinv(Z[:, j], rcond=1e-10)
        G += Y[:, j].T @ hat @ Y[:, j] / estimate.noise[j] ** 2
        b += Y[:, j].T @ hat @ tau[:, j] / estimate.noise[j] ** 2
    np.testing.assert_allclose(estimate.base, np.linalg.solve(G, b), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(estimate.covariance, np.linalg.inv(G), rtol=1e-6, atol=1e-12)
    degrees = len(log) - info.basis.count / robot.nv
    structural = np.sqrt(((tau - Y @ estimate.base) ** 2).sum(axis=0) / degrees)
    np.testing.assert_allclose(estimate.noise, structural, rtol=1e-2)
    plain = sy.fit.least_squares(info)
    assert np.abs(estimate.base - plain.base).max() > 0.01
    itself = sy.fit.instrumental(robot, log, log, **PLAIN)
    np.testing.assert_allclose(itself.base, plain.base, rtol=1e-6, atol=1e-9)


def test_encoder_noise_biases_least_squares_and_not_these(arm):
    """Mean error over seeds, in standard deviations that least squares of independent samples would have."""
    robot, exact, reference = arm
    truth = true_base(accumulate(robot, filtered(exact), **COLUMNS), robot)
    simulated = filtered(sy.simulate.follow(robot, reference))
    errors = {"least squares": [], "instruments": [], "output torque": []}
    for seed in range(SEEDS):
        log = filtered(noisy(exact, np.random.default_rng(seed)))
        plain = sy.fit.least_squares(accumulate(robot, log.replace(bandwidth=None), **COLUMNS))
        deviation = np.sqrt(np.diag(plain.covariance))
        instruments = sy.fit.instrumental(robot, log, simulated, **PLAIN)
        output = sy.fit.output_torque(robot, log, lambda *_: simulated, fit="least_squares", **COLUMNS)
        for name, each in zip(errors, (plain, instruments, output), strict=True):
            errors[name].append((each.base - truth) / deviation)
        for each in (instruments, output):
            assert sy.validate(each, filtered(exact)).relative_error < 0.01
        assert sy.validate(plain, filtered(exact)).relative_error > 0.1
    bias = {name: np.sqrt(np.mean(np.mean(each, axis=0) ** 2)) for name, each in errors.items()}
    assert bias["least squares"] > 5.0
    assert bias["instruments"] < 0.1 * bias["least squares"]
    assert bias["output torque"] < 0.1 * bias["least squares"]


def test_projected_information_takes_the_constraints(arm):
    robot, exact, reference = arm
    log, simulated = filtered(noisy(exact, np.random.default_rng(5))), filtered(sy.simulate.follow(robot, reference))
    estimate = sy.fit.instrumental(robot, log, simulated, fit="consistent", **COLUMNS)
    assert estimate.physical and "instrumental variables" in estimate.method
    assert sy.validate(estimate, filtered(exact)).relative_error < 0.01


@pytest.mark.exhaustive
def test_output_torque_finds_a_robot_that_lags_behind_its_controller(arm):
    """Soft joint control and a wrong model at the start: simulated and real motion meet while the model gets right."""
    robot, _, _ = arm
    soft = sy.simulate.JointPD(stiffness=np.full(6, 1500.0), damping=np.full(6, 80.0))
    exact, reference = recorded(robot, controller=soft)
    assert 0.002 < np.abs(exact.q - reference.q)[len(exact) // 4 :].max() < 0.3
    given = robot.with_inertias(1.4 * robot.inertias)
    log = filtered(noisy(exact, np.random.default_rng(7)))

    def simulated(model, _):
        return filtered(sy.simulate.follow(model, reference, controller=soft))

    estimate = sy.fit.output_torque(given, log, simulated, **COLUMNS)
    assert estimate.physical and "converged in" in estimate.notes[-1]
    assert sy.validate(estimate, filtered(exact)).relative_error < 0.01
    along_reference = sy.fit.output_torque(given, log, lambda *_: filtered(reference), **COLUMNS)
    assert sy.validate(along_reference, filtered(exact)).relative_error > 0.02


def test_weak_instruments_are_named(arm):
    robot, exact, reference = arm
    log, simulated = filtered(noisy(exact, np.random.default_rng(5))), filtered(sy.simulate.follow(robot, reference))
    still = np.zeros_like(simulated.q)
    estimate = sy.fit.instrumental(robot, log, simulated.replace(q=simulated.q, v=still, a=still), **PLAIN)
    assert "Instruments explain less" in estimate.notes[-1] and "joint1.viscous" in estimate.notes[-1]
    assert not sy.fit.instrumental(robot, log, log, **PLAIN).notes[1:]


def test_refusals(arm):
    robot, exact, reference = arm
    log = filtered(exact)
    with pytest.raises(LogError, match="same time stamps"):
        sy.fit.instrumental(robot, log, log[:-1], **PLAIN)
    with pytest.raises(OptionError, match="1 logs need"):
        sy.fit.instrumental(robot, log, [log, log], **PLAIN)
    with pytest.raises(LogError, match="same time stamps"):
        sy.fit.output_torque(robot, log, lambda *_: log[1:], **COLUMNS)
    with pytest.raises(OptionError, match="at least 1"):
        sy.fit.output_torque(robot, log, lambda *_: log, iterations=0)
    with pytest.raises(OptionError, match="6 samples"):
        sy.simulate.follow(robot, reference[:5])
