"""Distances between bodies against their matrix definitions (SciPy), automatic differentiation and their axioms."""

import jax
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from random_bodies import SHAPES, assert_close, bodies, central_difference, rotations
from steelyard import inertia
from steelyard.errors import InertiaError
from steelyard.inertia import divergence, parameters, pseudo

VALUES = (divergence.entropic, divergence.pullback, divergence.riemannian)


def definitions(theta, theta0):
    """The three distances as matrix functions, from SciPy."""
    J, J0 = pseudo.to_matrix(theta), pseudo.to_matrix(theta0)
    relative = np.linalg.solve(J0, J)
    root = scipy.linalg.inv(scipy.linalg.sqrtm(J0))
    entropic = np.trace(relative) - np.log(np.linalg.det(relative)) - 4
    pullback = np.linalg.norm(root @ (J - J0) @ root) ** 2 / 2
    return entropic, pullback, np.linalg.norm(np.log(scipy.linalg.eigvalsh(J, J0)))


def test_values_are_the_matrix_definitions():
    for theta, theta0 in zip(bodies(1, (10,)), bodies(2, (10,)), strict=True):
        found = [value(theta, theta0) for value in VALUES]
        np.testing.assert_allclose(found, definitions(theta, theta0), rtol=1e-9)
        assert not np.allclose(
            found, [value(theta0, theta) for value in VALUES], rtol=1e-3
        )  # which body is the reference matters


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_and_broadcasting(shape):
    theta, one = bodies(3, shape), bodies(4)
    for value in VALUES:
        assert value(theta, one).shape == shape
        assert value(one, theta).shape == shape
    assert divergence.entropic_gradient(one, theta).shape == (*shape, 10)
    assert divergence.pullback_metric(theta).shape == (*shape, 10, 10)
    assert divergence.geodesic(theta, one, 0.3).shape == (*shape, 10)


def traced_entropic(theta, theta0):
    """The first of them in JAX, to differentiate."""
    jnp = jax.numpy
    J, J0 = pseudo.to_matrix(theta), pseudo.to_matrix(theta0)
    relative = jnp.linalg.solve(J0, J)
    return jnp.trace(relative) - jnp.linalg.slogdet(relative)[1] - 4


def test_entropic_gradient_against_autodiff_of_the_definition_and_differences():
    theta, theta0 = bodies(5, (4,)), bodies(6, (4,))
    with jax.enable_x64(True):
        differentiate = jax.jit(jax.vmap(jax.grad(traced_entropic)))
        expected = np.asarray(differentiate(jax.numpy.asarray(theta), jax.numpy.asarray(theta0)))
    found = divergence.entropic_gradient(theta, theta0)
    assert_close(found, expected, 1e-11)
    assert_close(found, central_difference(lambda t: divergence.entropic(t, theta0), theta, 1e-5), 1e-6)


def test_entropic_gradient_is_the_closed_form_of_log_det():
    theta, theta0 = bodies(7), bodies(8)
    G = np.linalg.inv(pseudo.to_matrix(theta0)) - np.linalg.inv(pseudo.to_matrix(theta))
    assert_close(divergence.entropic_gradient(theta, theta0), pseudo.gradient_to_parameters(G), 1e-10)


def test_pullback_metric_is_its_quadratic_form_and_the_hessian_of_entropic():
    theta, theta0 = bodies(9), bodies(10)
    G = divergence.pullback_metric(theta0)
    d = theta - theta0
    np.testing.assert_allclose(d @ G @ d / 2, divergence.pullback(theta, theta0), rtol=1e-11)
    assert_close(central_difference(lambda t: divergence.pullback(t, theta0), theta, 1e-5), G @ d, 1e-6)
    hessian = central_difference(lambda t: divergence.entropic_gradient(t, theta), theta0, 1e-5)
    assert_close(G, hessian, 1e-6)
    assert np.linalg.eigvalsh(G)[0] > 0


@tried(40)
@given(seed=st.integers(0, 10**6), scale=st.floats(0.01, 100.0))
def test_affine_invariance_in_any_frame_and_units(seed, scale):
    theta, theta0 = bodies(seed), bodies(seed + 1)
    rng = np.random.default_rng(seed)
    R, p = rotations(seed), rng.normal(size=3)
    T = np.block(
        [
            [scale * (np.eye(3) + 0.3 * rng.normal(size=(3, 3))), rng.normal(size=(3, 1))],
            [np.zeros((1, 3)), np.ones((1, 1))],
        ]
    )

    def stretched(t):
        return pseudo.to_parameters(T @ pseudo.to_matrix(t) @ T.T)

    for value in VALUES:
        expected = value(theta, theta0)
        assert value(inertia.transform(theta, R, p), inertia.transform(theta0, R, p)) == pytest.approx(
            expected, rel=1e-7
        )
        if np.linalg.cond(T[:3, :3]) < 10:
            assert value(stretched(theta), stretched(theta0)) == pytest.approx(expected, rel=1e-5)
    euclidean = np.linalg.norm(inertia.transform(theta - theta0, R, p))  # what the three replace changes with the frame
    assert euclidean != pytest.approx(np.linalg.norm(theta - theta0), rel=1e-4)


@tried(30)
@given(seed=st.integers(0, 10**6))
def test_riemannian_is_a_metric_and_entropic_is_convex(seed):
    a, b, c = bodies(seed, (3,))
    assert divergence.riemannian(a, b) == pytest.approx(divergence.riemannian(b, a), rel=1e-9)
    assert divergence.riemannian(a, c) <= divergence.riemannian(a, b) + divergence.riemannian(b, c) + 1e-12
    middle = divergence.entropic((a + b) / 2, c)
    assert middle <= (divergence.entropic(a, c) + divergence.entropic(b, c)) / 2 + 1e-12


@pytest.mark.parametrize("shape", SHAPES)
def test_geodesic_has_constant_speed_and_scipys_fractional_power(shape):
    start, end = bodies(11, shape), bodies(12, shape)
    length = divergence.riemannian(end, start)
    assert_close(divergence.geodesic(start, end, 0.0), start, 1e-12)
    assert_close(divergence.geodesic(start, end, 1.0), end, 1e-12)
    for s in (-0.5, 0.25, 0.5, 2.0):
        point = divergence.geodesic(start, end, s)
        np.testing.assert_allclose(divergence.riemannian(point, start), abs(s) * length, rtol=1e-8)
    middle = divergence.geodesic(start, end, np.full(shape, 0.5)).reshape(-1, 10)[0]
    J0, J1 = (pseudo.to_matrix(t.reshape(-1, 10)[0]) for t in (start, end))
    root = scipy.linalg.sqrtm(J0)
    expected = root @ scipy.linalg.sqrtm(np.linalg.solve(root, np.linalg.solve(root, J1).T)) @ root
    assert_close(pseudo.to_matrix(middle), expected, 1e-9)


def test_all_agree_near_the_reference_and_vanish_there():
    theta0 = bodies(13)
    direction = bodies(14)
    assert [value(theta0, theta0) for value in VALUES] == [0, 0, 0]
    assert not divergence.entropic_gradient(theta0, theta0).any()
    near = theta0 + 1e-5 * direction / np.sqrt(2 * divergence.pullback(theta0 + direction, theta0))
    np.testing.assert_allclose(divergence.pullback(near, theta0), 5e-11, rtol=1e-7)
    np.testing.assert_allclose(divergence.riemannian(near, theta0), 1e-5, rtol=1e-4)
    np.testing.assert_allclose(divergence.entropic(near, theta0), 5e-11, rtol=1e-4)


def test_outside_the_consistent_set():
    theta0, theta = bodies(15), bodies(16, (3,))
    theta[1, 4] += 50.0  # Ixx > Iyy + Izz
    values = divergence.entropic(theta, theta0)
    assert np.isinf(values).tolist() == [False, True, False]
    assert np.all(np.isfinite(divergence.pullback(theta, theta0)))
    for refused in (divergence.entropic_gradient, divergence.riemannian):
        with pytest.raises(InertiaError, match=r"theta: body \(1,\) of the batch \(3,\) is not physically consistent"):
            refused(theta, theta0)
    for refused in (*VALUES, divergence.entropic_gradient):
        with pytest.raises(InertiaError, match=r"theta0: body \(1,\) of the batch \(3,\) is not physically consistent"):
            refused(theta0, theta)
    with pytest.raises(InertiaError, match="theta0: body"):
        divergence.pullback_metric(theta)


@pytest.mark.parametrize("function", [*VALUES, divergence.entropic_gradient])
def test_numbers_that_are_not_finite_are_refused(function):
    theta, theta0 = bodies(17), bodies(18)
    for broken, whole, name in ((0, 1, "theta"), (1, 0, "theta0")):
        pair = [theta.copy(), theta0.copy()]
        pair[broken][3] = np.nan
        with pytest.raises(InertiaError, match=f"{name}: the body has numbers that are not finite"):
            function(*pair)
        assert np.all(np.isfinite(pair[whole]))


def test_jax_in_jax_out():
    theta, theta0 = bodies(19, (2,)), bodies(20, (2,))

    def everything(t, t0):
        half_way = divergence.geodesic(t, t0, 0.5)
        return *(f(t, t0) for f in (*VALUES, divergence.entropic_gradient)), divergence.pullback_metric(t), half_way

    with jax.enable_x64(True):
        results = jax.jit(everything)(jax.numpy.asarray(theta), jax.numpy.asarray(theta0))
        for found, expected in zip(results, everything(theta, theta0), strict=True):
            assert isinstance(found, jax.Array)
            assert_close(found, expected, 1e-10)


def test_a_body_on_the_boundary_is_infinitely_far():
    """No mass at all, beside a body whose pseudo-inertia is the unit: every eigenvalue is zero to the last digit."""
    unit = parameters.from_com_inertia(np.asarray(1.0), np.zeros(3), 2 * np.eye(3))
    assert divergence.entropic(np.zeros(10), unit) == np.inf
    assert divergence.pullback(np.zeros(10), unit) == 2.0
