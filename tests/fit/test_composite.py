"""Composite adaptation: errors of predicted torques bring bodies nearer to the true ones at every step and rate."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import OptionError, SteelyardError

STEP = 0.005  # s


@pytest.fixture(scope="module")
def recorded():
    """A SCARA, and a motion of it with torques."""
    still = np.zeros(4)
    robot = sy.library.scara().with_joint_properties(armature=still, damping=still, frictionloss=still)
    t = STEP * np.arange(120)
    phase = t[:, None] * [3.0, 4.1, 5.3, 6.7] + np.arange(4)
    size = np.array([0.8, 0.7, 0.1, 0.9])
    q, v, a = size * np.sin(phase), size * np.cos(phase), -size * np.sin(phase)
    rate = np.array([3.0, 4.1, 5.3, 6.7])
    v, a = v * rate, a * rate**2
    return robot, t, q, v, sy.inverse_dynamics(robot, q, v, a)


def divergence(truth, others):
    """Sum of `tr(J0^-1 J) - log det(J0^-1 J) - 4` over bodies."""
    pairs = np.linalg.solve(sy.inertia.pseudo.to_matrix(others), sy.inertia.pseudo.to_matrix(truth))
    return float(np.sum(np.trace(pairs, axis1=1, axis2=2) - np.linalg.slogdet(pairs)[1] - 4))


def adapted(law, t, q, v, tau, direction=None):
    """Bodies after every sample."""
    direction = np.zeros(40) if direction is None else direction
    return np.array([law.update(*each, direction, t=now) for now, *each in zip(t, q, v, tau, strict=True)])


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("rate", [1.0, 1e5])
def test_the_lyapunov_function_falls_at_any_rate(recorded, rate):
    """Torques of the wrong sign raise it."""
    robot, t, q, v, tau = recorded
    start = robot.with_inertias(1.6 * robot.inertias)
    told = {"rate": rate, "weight": 1.0}
    found = adapted(sy.fit.CompositeAdaptation(start, **told), t, q, v, tau)
    assert (np.linalg.eigvalsh(sy.inertia.pseudo.to_matrix(found)) > 0).all()
    values = np.array([divergence(robot.inertias, each) for each in found])
    assert np.diff(values).max() < 1e-3 * values[0] and values[-1] < 0.85 * values[0]
    opposite = adapted(sy.fit.CompositeAdaptation(start, **told), t, q, v, -tau)
    assert divergence(robot.inertias, opposite[-1]) > values[0]
    Y = sy.regressor(robot, q, v, 0 * v)[::10]
    left = [np.linalg.norm(Y @ (each - robot.inertias).ravel()) for each in (found[0], found[-1])]
    assert left[1] < (0.5 if rate < 10 else 0.02) * left[0]


def test_a_set_lowers_it_more_and_holds_at_every_step(recorded):
    robot, t, q, v, tau = recorded
    start, total = robot.with_inertias(1.6 * robot.inertias), float(robot.inertias[:, 0].sum())
    free, held = (
        adapted(sy.fit.CompositeAdaptation(start, rate=1.0, weight=0.1, **known), t, q, v, tau)
        for known in ({}, {"masses": {"all": total}})
    )
    np.testing.assert_allclose(held[..., 0].sum(axis=1), total, rtol=1e-9)
    assert divergence(robot.inertias, held[-1]) < 0.9 * divergence(robot.inertias, free[-1])


def test_without_predictions_it_is_a_natural_step(recorded):
    """Of a robot whose torques are predicted already."""
    robot, t, q, v, tau = recorded
    direction = np.random.default_rng(0).normal(size=40)
    law = sy.fit.CompositeAdaptation(robot, rate=0.5, weight=1e-9)
    law.update(q[0], v[0], tau[0], direction, t=t[0])
    np.testing.assert_allclose(law.theta, robot.inertias, atol=1e-9)
    law.update(q[1], v[1], tau[1], direction, t=t[1])
    expected = sy.fit.natural_step(robot.inertias, direction, gain=0.5 * STEP)
    np.testing.assert_allclose(law.theta, expected, atol=1e-7)


def test_what_is_refused_changes_nothing(recorded):
    robot, _, q, v, tau = recorded
    for wrong in ({"rate": 0.0, "weight": 1.0}, {"rate": 1.0, "weight": np.inf}):
        with pytest.raises(OptionError, match="positive"):
            sy.fit.CompositeAdaptation(robot, **wrong)
    law = sy.fit.CompositeAdaptation(robot, rate=1.0, weight=1.0)
    law.update(q[0], v[0], tau[0], np.zeros(40), t=0.0)
    before = law.theta
    for bad in ((q[1], v[1], np.nan * tau[1], np.zeros(40), 0.1), (q[1], v[1], tau[1], np.zeros(39), 0.1)):
        with pytest.raises(SteelyardError):
            law.update(*bad[:4], t=bad[4])
    with pytest.raises(SteelyardError, match="increase"):
        law.update(q[1], v[1], tau[1], np.zeros(40), t=0.0)
    assert law.theta is before


def test_rows_of_momentum_identify_without_acceleration(recorded):
    """As the fit to the same rows; not where the torques are those of a step later."""
    robot, t, q, v, tau = recorded
    start = robot.with_inertias(1.6 * robot.inertias)
    Y = sy.regressor(robot, q, v, np.gradient(v, t, axis=0))

    def fed(torques):
        estimator = sy.fit.RecursiveEstimator(start, noise=1e-3, rows="momentum", weight=1e-3)
        for part in np.split(np.arange(len(t)), [1, 2, 50]):
            found = estimator.update(q[part], v[part], None, torques[part], t=t[part])
        return found, estimator

    found, estimator = fed(tau)
    left = [np.linalg.norm(Y @ (each - robot.inertias).ravel()) for each in (found.theta, start.inertias)]
    assert found.certificate.duality_gap < 1e-8 and left[0] < 0.01 * left[1]
    whole = sy.fit.consistent(
        estimator.information, prior=start, noise=found.noise, regularizer="entropic", weight=1e-3
    )
    np.testing.assert_allclose(found.theta, whole.theta, rtol=1e-4, atol=1e-6)
    late, _ = fed(np.roll(tau, -1, axis=0))
    assert np.linalg.norm(Y @ (late.theta - robot.inertias).ravel()) > 3 * left[0]
