"""Properties of inverse dynamics and the regressor: random trees, batch shapes, JAX, energy, known-wrong variants."""

import jax
import numpy as np
import pytest
from hypothesis import given

import pinocchio_adapter as adapter
from properties import tried
from random_robots import seeds, urdf_text
from robots import random_state, urdf
from steelyard.dynamics import body_regressor, inverse_dynamics, regressor
from steelyard.dynamics.newton_euler import newton_euler_entries
from steelyard.errors import OptionError
from steelyard.inertia import to_spatial_inertia
from steelyard.model import library, load
from steelyard.spatial import crf


@pytest.fixture(scope="module")
def panda():
    return load(urdf("panda"))


@tried(60)
@given(seed=seeds)
def test_random_trees_agree_with_pinocchio(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("random") / "robot.urdf"
    path.write_text(urdf_text(rng, links=int(rng.integers(2, 12))))
    floating = bool(rng.integers(2))
    model = adapter.load(path, floating)
    robot = load(path, floating=True if floating else None)
    if "floating_base" not in robot.joint_names and floating:
        return  # the tree already had a free joint below its root, which stays the only one
    data = model.createData()
    q, v, a = random_state(robot, rng)
    expected = adapter.regressor(model, data, robot, q, v, a)
    assert np.abs(regressor(robot, q, v, a) - expected).max() <= 1e-10 * np.abs(expected).max()
    torque = adapter.inverse_dynamics(model, data, robot, q, v, a)
    assert np.abs(inverse_dynamics(robot, q, v, a) - torque).max() <= 1e-10 * max(np.abs(torque).max(), 1)


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
def test_batch_shapes(panda, batch):
    q, v, a = random_state(panda, np.random.default_rng(0), batch)
    Y, tau = regressor(panda, q, v, a), inverse_dynamics(panda, q, v, a)
    assert Y.shape == (*batch, panda.nv, 10 * panda.nb)
    assert tau.shape == (*batch, panda.nv)
    np.testing.assert_allclose(Y @ panda.inertias.ravel(), tau, atol=1e-12)
    for index in np.ndindex(*batch):
        np.testing.assert_allclose(tau[index], inverse_dynamics(panda, q[index], v[index], a[index]), atol=1e-12)


def test_broadcasting_and_gravity_alone(panda):
    q, _, _ = random_state(panda, np.random.default_rng(1), (5,))
    zero = np.zeros(panda.nv)
    held = inverse_dynamics(panda, q, zero, zero)
    assert held.shape == (5, panda.nv)
    weightless = load(urdf("panda"), gravity=(0, 0, 0))
    assert np.abs(inverse_dynamics(weightless, q, zero, zero)).max() == 0


def test_power_is_the_rate_of_energy():
    """d/dt (kinetic + potential) = v . tau along a motion, by central differences of energies written here."""
    robot = load(urdf("ur5_robot"))
    rng = np.random.default_rng(2)
    q, v, a = random_state(robot, rng)
    h = 1e-5

    def energy(t):
        state, rate = q + v * t + a * t * t / 2, v + a * t
        zero = np.zeros(robot.nv)
        bias = inverse_dynamics(robot, state, zero, zero)
        mass = np.stack([inverse_dynamics(robot, state, zero, row) - bias for row in np.eye(robot.nv)], axis=1)
        return rate @ mass @ rate / 2

    zero = np.zeros(robot.nv)
    kinetic_power = (energy(h) - energy(-h)) / (2 * h)
    gravity = inverse_dynamics(robot, q, zero, zero)
    assert kinetic_power == pytest.approx(v @ (inverse_dynamics(robot, q, v, a) - gravity), rel=1e-6)


def test_jax_in_jax_out():
    robot = library.cheetah3_leg()
    with jax.enable_x64(True):
        q, v, a = random_state(robot, np.random.default_rng(3), (4,))
        arrays = [jax.numpy.asarray(x) for x in (q, v, a)]
        Y, tau = jax.jit(lambda *state: (regressor(robot, *state), inverse_dynamics(robot, *state)))(*arrays)
        assert isinstance(Y, jax.Array)
        np.testing.assert_allclose(np.asarray(Y), regressor(robot, q, v, a), atol=1e-12)
        np.testing.assert_allclose(np.asarray(tau), inverse_dynamics(robot, q, v, a), atol=1e-11)
        slope = jax.jit(jax.grad(lambda q: inverse_dynamics(robot, q, arrays[1][0], arrays[2][0]).sum()))(arrays[0][0])
        h = 1e-6
        step = np.zeros(robot.nq)
        step[2] = h
        difference = (
            inverse_dynamics(robot, q[0] + step, v[0], a[0]) - inverse_dynamics(robot, q[0] - step, v[0], a[0])
        ).sum()
        assert slope[2] == pytest.approx(difference / (2 * h), rel=1e-5)


@pytest.mark.exhaustive
def test_jax_vmap_and_derivatives_of_the_regressor():
    """vmap is the batch axis, and d(tau)/d(theta) is Y."""
    robot = load(urdf("double_pendulum"))
    q, v, a = random_state(robot, np.random.default_rng(4), (3,))
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) for x in (q, v, a)]
        Y = jax.jit(jax.vmap(lambda q, v, a: regressor(robot, q, v, a)))(*arrays)
        np.testing.assert_allclose(np.asarray(Y), regressor(robot, q, v, a), atol=1e-12)

        def squared(q):
            return (regressor(robot, q, arrays[1], arrays[2]) ** 2).sum()

        slope = np.asarray(jax.jit(jax.grad(squared))(arrays[0]))
    step = np.zeros_like(q)
    step[1, 0] = 1e-6
    difference = np.sum(regressor(robot, q + step, v, a) ** 2) - np.sum(regressor(robot, q - step, v, a) ** 2)
    assert slope[1, 0] == pytest.approx(difference / 2e-6, rel=1e-5)


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
def test_body_regressor_is_newton_euler(batch):
    rng = np.random.default_rng(4)
    V, a_g, theta = rng.normal(size=(*batch, 6)), rng.normal(size=(*batch, 6)), rng.normal(size=(*batch, 10))
    M = to_spatial_inertia(theta)
    expected = (M @ a_g[..., None] + crf(V) @ M @ V[..., None])[..., 0]
    np.testing.assert_allclose((body_regressor(V, a_g) @ theta[..., None])[..., 0], expected, atol=1e-12)


def test_spatial_instead_of_classical_acceleration_is_wrong():
    """The misreading that `d` is the spatial acceleration must not pass the Newton-Euler check."""
    rng = np.random.default_rng(5)
    V, a_g, theta = rng.normal(size=6), rng.normal(size=6), rng.normal(size=10)
    force, _ = newton_euler_entries(a_g[:3], V[3:], a_g[3:])
    M = to_spatial_inertia(theta)
    expected = M @ a_g + crf(V) @ M @ V
    assert np.abs(np.array(force) @ theta[:4] - expected[:3]).max() > 1e-3


def test_wrong_widths_name_the_joints(panda):
    q, v, a = random_state(panda, np.random.default_rng(6))
    with pytest.raises(OptionError, match="panda_joint1"):
        regressor(panda, q[:-1], v, a)
    with pytest.raises(OptionError, match="a has shape"):
        inverse_dynamics(panda, q, v, a[:3])
