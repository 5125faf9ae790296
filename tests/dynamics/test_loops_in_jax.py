"""Torques of closed loops inside JAX programs: values, gradients, `jit` and `vmap`, against differences and library."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steelyard as sy
from random_loops import slope
from steelyard.errors import OptionError
from steelyard.model import library


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("make", [library.five_bar, library.four_bar_leg])
def test_gradients_of_a_program(make):
    robot, rng = make(), np.random.default_rng(0)
    ni = len(robot.actuated)
    q, v, a = rng.uniform(-0.3, 0.3, (4, ni)), *rng.normal(size=(2, 4, ni))
    theta, weights = robot.inertias * 1.1, rng.normal(size=(4, ni))
    tau = sy.closed_loop.torque_function(robot)

    def program(q, v, a, theta):
        """Something of which torques are a part."""
        return jnp.sum(weights * jnp.sin(tau(jnp.tanh(q), v, a * theta[0, 0], theta)))

    heavier = robot.with_inertias(theta)
    expected = sy.closed_loop.inverse_dynamics(heavier, np.tanh(q), v, a * theta[0, 0])
    close(tau(np.tanh(q), v, a * theta[0, 0], theta), expected, 1e-12)
    found = jax.jit(jax.grad(program, (0, 1, 2, 3)))(q, v, a, theta)
    for k, (gradient, at) in enumerate(zip(found, (q, v, a, theta), strict=True)):
        assert isinstance(gradient, jax.Array)
        change = rng.normal(size=at.shape) * (1.0 if k < 3 else np.abs(at))

        def moved(h, k=k, change=change):
            state = [q, v, a, theta]
            state[k] = state[k] + h * change
            return np.asarray(program(*state))

        close(np.sum(np.asarray(gradient) * change), slope(moved), 1e-6)


def test_one_state_and_maps_over_states():
    robot = library.five_bar()
    q, v, a = np.random.default_rng(1).uniform(-0.3, 0.3, (3, 5, 2))
    tau = sy.closed_loop.torque_function(robot)
    every = jax.vmap(tau, (0, 0, 0, None))(q, v, a, robot.inertias)
    close(every, sy.closed_loop.inverse_dynamics(robot, q, v, a), 1e-12)
    rows = jax.jacrev(tau, 2)(q[0], v[0], a[0], robot.inertias)
    close(rows, sy.closed_loop.inverse_dynamics_derivatives(robot, q[0], v[0], a[0]).dtau_da, 1e-12)


def test_single_precision_and_refusals():
    robot, still = library.five_bar(), np.zeros(2)
    tau = sy.closed_loop.torque_function(robot)
    with jax.enable_x64(False):
        found = tau(still, still, still, robot.inertias)
        assert found.dtype == jnp.float32
    close(found, sy.closed_loop.inverse_dynamics(robot, still, still, still), 1e-5)
    for state in ((np.zeros(3), still, still), (np.zeros((1, 2)), still, still)):
        with pytest.raises(OptionError, match=r"q, v and a are \(\.\.\., 2\)"):
            tau(*state, robot.inertias)
