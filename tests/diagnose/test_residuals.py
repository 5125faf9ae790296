"""Autocorrelation and dependence of residuals against closed forms, direct sums and repeated chance."""

import numpy as np
import pytest

import steelyard as sy
from recordings_of_arms import arm, fitted, recorded
from steelyard.diagnose.joint_residuals import dependence
from steelyard.log.decimate import autocorrelation


def remembering(n, memory, rng):
    """(n,) first-order autoregressive noise of unit variance."""
    x, shocks = np.empty(n), rng.normal(size=n)
    x[0] = shocks[0]
    for i in range(1, n):
        x[i] = memory * x[i - 1] + np.sqrt(1 - memory**2) * shocks[i]
    return x


def test_autocorrelation_is_the_direct_sum():
    x = np.random.default_rng(0).normal(size=257).cumsum()
    centred = x - x.mean()
    direct = np.correlate(centred, centred, "full")[len(x) - 1 :]
    np.testing.assert_allclose(autocorrelation(x), direct / direct[0], atol=1e-12)
    np.testing.assert_array_equal(autocorrelation(np.ones(5)), [1, 0, 0, 0, 0])


def test_chance_is_chance_although_neighbours_are_alike():
    rng = np.random.default_rng(1)
    pairs = [(remembering(2000, 0.95, rng), remembering(2000, 0.95, rng)) for _ in range(150)]
    aware = np.array([dependence(e, x).p_value for e, x in pairs])
    naive = np.array([dependence(e, x, np.eye(1, len(e))[0]).p_value for e, x in pairs])
    assert np.mean(aware < 0.05) < 0.12 and aware.min() > 1e-4
    assert np.mean(naive < 0.05) > 0.5  # taking samples as independent would accuse half of all quantities


@pytest.mark.parametrize("shape", [lambda x: x, np.abs, np.cos])
def test_the_share_explained_is_found_whatever_its_shape(shape):
    rng = np.random.default_rng(2)
    x = remembering(4000, 0.9, rng)
    part = shape(2 * x) - np.mean(shape(2 * x))
    error = part / part.std() + remembering(4000, 0.3, rng)
    found = dependence(error, x)
    assert found.share == pytest.approx(0.5, abs=0.08) and found.certain
    assert not dependence(error, rng.permutation(x)).certain


def test_time_constant_of_a_residual_with_memory():
    """Integrated autocorrelation of a first-order process: `dt / 2 (1 + m) / (1 - m)`."""
    robot, rng = arm("panda"), np.random.default_rng(3)
    log = fitted(robot, recorded("panda")).log
    clean = sy.validate(robot, log).predicted
    noise = np.stack([remembering(len(log), 0.98, rng) for _ in range(robot.nv)], axis=1)
    found = sy.diagnose.residuals(robot, log.replace(tau=clean + noise, direction=log.direction))
    times = [each.time_constant for each in found]
    assert np.median(times) == pytest.approx(0.5 / log.rate * 1.98 / 0.02, rel=0.25)
    assert [each.rms for each in found] == pytest.approx([1.0] * robot.nv, rel=0.25)


def test_friction_that_is_not_viscous_is_seen_in_the_speed():
    robot = arm("panda")
    log = recorded("panda", seed=2)
    v = np.gradient(log.q, log.t, axis=0)
    tau = log.tau.copy()
    tau[:, 3] += 3.0 * v[:, 3] ** 3
    done = fitted(robot, log.replace(tau=tau))
    (found,) = [each for each in sy.diagnose.residuals(done.estimate, done.log) if each.hints]
    assert found.joint == "panda_joint4" and found.depends["speed"].share > 0.3
    assert "speed" in found.hints[0] and "Stribeck" in found.hints[0]


def test_chance_alone_explains_nothing_in_the_mean():
    """Twelve bins of a hundred samples would take a ninth of any noise."""
    rng = np.random.default_rng(3)
    shares = [dependence(*rng.normal(size=(2, 100))).share for _ in range(300)]
    assert np.mean(shares) < 0.03
