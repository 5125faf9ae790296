"""The momentum observer: terms against Pinocchio, filter against SciPy, torques against forces in MuJoCo."""

import numpy as np
import pinocchio as pin
import pytest
from evidence.draws.pushes import Friction, Push, moved
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.signal import lsim

import pinocchio_adapter as adapter
import steelyard as sy
from properties import tried
from robots import random_state, urdf
from steelyard.dynamics import generalised_momentum as of
from steelyard.errors import ModelError, OptionError
from steelyard.terms import COULOMB_WIDTH
from strategies import robots

GAIN = 25.0
NONE = Friction(*np.zeros((3, 6)), 0.0)


@pytest.mark.parametrize(("name", "floating"), [("panda", False), ("ur5_robot", False), ("solo12", True)])
def test_momentum_and_drift_are_those_of_pinocchio(name, floating):
    robot = sy.load(urdf(name), floating=floating)
    model = adapter.load(robot.source.path, floating)
    data, E = model.createData(), adapter.velocity_map(model, robot)
    model.armature[:] = 0
    robot = robot.with_joint_properties(armature=np.zeros(robot.nv))
    q, v, _ = random_state(robot, np.random.default_rng(1), (3,))
    p, drift = of.momentum_and_drift(robot, q, v)
    for k in range(3):
        there = adapter.configuration(model, robot, q[k])
        M = pin.crba(model, data, there)
        M = np.triu(M) + np.triu(M, 1).T
        C = pin.computeCoriolisMatrix(model, data, there, E @ v[k])
        g = pin.computeGeneralizedGravity(model, data, there)
        np.testing.assert_allclose(p[k], E.T @ M @ E @ v[k], atol=1e-11 * np.abs(p).max())
        if not floating:  # with quasi-velocities C^T v has a further term, see test_random_trees
            np.testing.assert_allclose(drift[k], E.T @ (C.T @ E @ v[k] - g), atol=1e-10 * np.abs(drift).max())
            untransposed = E.T @ (C @ E @ v[k] - g)
            assert np.abs(drift[k] - untransposed).max() > 1e-2


@tried(20)
@given(robot=robots(most=6), seed=st.integers(0, 99), batch=st.sampled_from([(), (1,), (3, 1, 2)]))
def test_random_trees(robot, seed, batch):
    """The same as of the regressors, which are linear in the bodies, with armature beside them."""
    robot = robot.with_joint_properties(armature=np.linspace(0.1, 0.5, robot.nv))
    q, v, _ = random_state(robot, np.random.default_rng(seed), batch)
    p, drift = of.momentum_and_drift(robot, q, v)
    theta = robot.inertias.ravel()
    expected = sy.momentum_regressor(robot, q, v) @ theta + robot.armature * v
    np.testing.assert_allclose(p, expected, atol=1e-11 * max(1, np.abs(p).max()))
    moved = sy.inverse_dynamics(robot, q, v, 0 * v) - sy.regressor(robot, q, v, 0 * v) @ theta  # of a base's armature
    expected = sy.momentum_drift_regressor(robot, q, v) @ theta - moved
    np.testing.assert_allclose(drift, expected, atol=1e-11 * max(1, np.abs(drift).max()))


def signals(t, rng):
    parts = np.cumsum(rng.normal(size=(2, len(t), 3)), axis=1)
    return parts[0], parts[1]


def test_the_filter_is_exact_for_signals_that_are_linear_between_samples():
    """By SciPy: `lsim` of even samples, an adaptive integrator of uneven ones; chunks and single steps are the same."""
    rng, gain = np.random.default_rng(0), np.array([5.0, GAIN, 400.0])
    t = 0.004 * np.arange(300)
    level, change = signals(t, rng)
    found = of.lagged(t, level, change, gain)[0]
    for j, k in enumerate(gain):
        lagging = lsim(([k], [1, k]), level[:, j], t)[1] + lsim(([k, 0], [1, k]), change[:, j] - change[0, j], t)[1]
        np.testing.assert_allclose(found[:, j], lagging, atol=1e-9 * np.abs(found[:, j]).max())
        assert np.abs(eulers(t, level[:, j], change[:, j], k) - lagging).max() > 1e-3 * np.abs(lagging).max()
    parts, before = [], None
    for at in (slice(0, 1), slice(1, 120), slice(120, 300)):
        part, before = of.lagged(t[at], level[at], change[at], gain, before)
        parts.append(part)
    np.testing.assert_allclose(np.concatenate(parts), found, rtol=1e-10, atol=1e-9)


def eulers(t, level, change, gain):
    """The observer as it is often programmed, which is right for small gains alone."""
    r, total = [0.0], 0.0
    for k in range(1, len(t)):
        total += (t[k] - t[k - 1]) * (r[-1] - level[k - 1])
        r.append(gain * (change[k] - change[0] - total))
    return np.array(r)


def test_uneven_stamps():
    rng = np.random.default_rng(1)
    t = np.cumsum(rng.uniform(0.001, 0.03, size=60))
    level, change = signals(t, rng)
    found = of.lagged(t, level, change, np.full(3, GAIN))[0]
    r, expected = np.zeros(3), [np.zeros(3)]
    for k in range(len(t) - 1):
        step, rate = t[k + 1] - t[k], (change[k + 1] - change[k]) / (t[k + 1] - t[k])

        def slope(s, r, k=k, step=step, rate=rate):
            return GAIN * (level[k] + s / step * (level[k + 1] - level[k]) + rate - r)

        r = solve_ivp(slope, (0, step), r, rtol=1e-11, atol=1e-11).y[:, -1]
        expected.append(r)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def mujoco_arm():
    """A PUMA 560 with a push on its fourth link of six, and the torque that MuJoCo's Jacobian gives it."""
    robot = sy.library.puma560()
    push = Push(robot.body_names[3], np.array([0.05, -0.1, 0.2]), np.array([20.0, -35.0, 30.0]), 0.3, 1.2)
    log, outside = moved(robot, seed=5, duration=1.5, friction=NONE, pushes=(push,))
    return robot.with_joint_properties(damping=np.zeros(6), frictionloss=np.zeros(6)), log, outside


@pytest.fixture(scope="module", name="arm")
def fixture_arm():
    return mujoco_arm()


def low_passed(log, outside):
    """Pushes begin and end within a step, so nothing is linear there: torques hold from sample to sample."""
    return np.stack([lsim(([GAIN], [1, GAIN]), each, log.t, interp=False)[1] for each in outside.T], axis=1)


def error(arm, **changes):
    """Largest error of the observer against the torque of MuJoCo's push behind the filter, of its largest."""
    robot, log, outside = arm
    found = sy.momentum_observer(robot, log.t, log.q, log.v, log.tau, gain=GAIN, **changes)
    expected = low_passed(log, outside)
    return np.abs(found - expected).max() / np.abs(expected).max()


def test_torques_of_a_push_in_mujoco(arm):
    outside = arm[2]
    assert np.abs(outside).max(axis=0)[:4].min() > 1.0 and not outside[:, 4:].any()
    assert error(arm) < 4e-3


def test_known_wrong_observers_are_seen(arm, monkeypatch):
    """C in the place of its transpose, no Coriolis forces at all."""
    right = of.momentum_and_drift

    def untransposed(robot, q, v):
        p, _ = right(robot, q, v)
        return p, -sy.inverse_dynamics(robot, q, v, 0 * v)

    def without(robot, q, v):
        p, _ = right(robot, q, v)
        return p, -sy.inverse_dynamics(robot, q, 0 * v, 0 * v)

    for wrong in (untransposed, without):
        monkeypatch.setattr(of, "momentum_and_drift", wrong)
        assert error(arm) > 0.02


def test_friction_of_the_model_is_no_contact():
    robot, rng = sy.library.puma560(), np.random.default_rng(0)
    damping, loss = np.linspace(1, 3, 6), np.linspace(2, 4, 6)
    robot = robot.with_joint_properties(damping=damping, frictionloss=loss)
    t = np.arange(0, 0.5, 0.001)
    q, v, a = sines(t, rng)
    for rotors in (False, True):
        tau = sy.inverse_dynamics(robot, q, v, a, rotors=rotors) + damping * v + loss * np.tanh(v / COULOMB_WIDTH)
        found = sy.momentum_observer(robot, t, q, v, tau, gain=GAIN, rotors=rotors)
        assert np.abs(found).max() < 2e-4 * np.abs(tau).max()
        assert np.abs(sy.momentum_observer(robot, t, q, v, tau, gain=GAIN, rotors=not rotors)).max() > 0.1


def sines(t, rng):
    speed, phase = rng.uniform(1, 4, size=(2, 6))
    angle = speed * t[:, None] + phase
    return np.sin(angle), speed * np.cos(angle), -(speed**2) * np.sin(angle)


def test_what_cannot_be_observed_is_refused():
    robot, t = sy.library.puma560(), np.arange(5.0)
    still = np.zeros((5, 6))
    with pytest.raises(ModelError, match="closed loops"):
        sy.momentum_observer(sy.library.five_bar(), t, still, still, still)
    for times, tau, gain, said in (
        (t, still[:4], 1.0, "one row a sample"),
        (t[::-1], still, 1.0, "increase"),
        (t, still, -1.0, "positive"),
        (t, still, [1.0, 2.0], "one for each of 6"),
    ):
        with pytest.raises(OptionError, match=said):
            sy.momentum_observer(robot, times, still, still, tau, gain=gain)
