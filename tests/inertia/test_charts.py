"""Charts of the consistent inertias: round trips, Jacobians, the loci where they fail, and what they refuse."""

import itertools

import jax
import numpy as np
import pinocchio as pin
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

from random_bodies import SHAPES, assert_close, bodies, central_difference, parameters, rotations
from steelyard import inertia
from steelyard.errors import InertiaError
from steelyard.inertia import exponential, log_cholesky, principal, pseudo
from steelyard.spatial import left_jacobian, quaternion_of, rotation_from_vector, rotation_vector

pytestmark = pytest.mark.claim("body.charts", "charts of inertia: round trips, Jacobians, the determinant of paper A")

CHARTS = pytest.mark.parametrize(
    "chart", [log_cholesky, exponential, principal], ids=lambda c: c.__name__.split(".")[-1]
)


def points(chart, seed, shape=()):
    """Random chart points, spread beyond what bodies of a robot need."""
    rng = np.random.default_rng(seed)
    phi = 0.7 * rng.normal(size=(*shape, 10))
    if chart is principal:
        phi[..., [0, 7, 8, 9]] = np.exp(phi[..., [0, 7, 8, 9]])
    return phi


@CHARTS
@pytest.mark.parametrize("shape", SHAPES)
def test_round_trip_of_bodies(chart, shape):
    theta = bodies(1, shape)
    phi = chart.from_parameters(theta)
    assert phi.shape == theta.shape
    assert_close(chart.to_parameters(phi), theta, 1e-12)


@CHARTS
def test_round_trip_of_a_five_gram_part_keeps_its_inertia(chart):
    theta = inertia.from_com_inertia(5e-3, np.array([0.02, -0.01, 0.03]), np.diag([4e-8, 9e-8, 6e-8]))
    again = chart.to_parameters(chart.from_parameters(theta))
    np.testing.assert_allclose(again, theta, rtol=1e-9)


@pytest.mark.parametrize("shape", [*SHAPES, (200,)])
@pytest.mark.parametrize("chart", [log_cholesky, exponential])
def test_round_trip_of_chart_points(chart, shape):
    phi = points(chart, 2, shape)
    assert_close(chart.from_parameters(chart.to_parameters(phi)), phi, 1e-10)


def test_principal_round_trip_within_its_one_to_one_region():
    psi = points(principal, 3, (200,))
    psi[:, 4:7] *= 0.3 / np.linalg.norm(psi[:, 4:7], axis=-1, keepdims=True)
    assert_close(principal.from_parameters(principal.to_parameters(psi)), psi, 1e-10)


@pytest.mark.exhaustive(keep=1)
@CHARTS
def test_jacobian_against_autodiff(chart):
    phi = points(chart, 4, (20,))
    with jax.enable_x64(True):
        expected = jax.jit(jax.vmap(jax.jacfwd(chart.to_parameters)))(jax.numpy.asarray(phi))
    assert_close(chart.jacobian(phi), expected, 1e-12)


@CHARTS
@pytest.mark.parametrize("shape", SHAPES)
def test_jacobian_against_differences(chart, shape):
    phi = points(chart, 4, shape)
    assert_close(chart.jacobian(phi), central_difference(chart.to_parameters, phi), 1e-6)


@CHARTS
def test_many_bodies_at_once_equal_one_at_a_time(chart):
    phi = points(chart, 5, (3, 1500))
    some = (np.array([0, 1, 1, 2]), np.array([0, 547, 548, 1499]))
    for function in (chart.to_parameters, chart.jacobian):
        together = function(phi)
        assert_close(together[some], np.stack([function(phi[i, j]) for i, j in zip(*some, strict=True)]), 1e-13)


def test_log_cholesky_agrees_with_pinocchio():
    for phi in points(log_cholesky, 6, (20,)):
        reference = pin.LogCholeskyParameters(phi)
        assert_close(log_cholesky.to_parameters(phi), reference.toDynamicParameters(), 1e-13)
        assert_close(log_cholesky.jacobian(phi), reference.calculateJacobian(), 1e-13)
        swapped = phi[[0, 1, 2, 3, 4, 6, 5, 7, 8, 9]]  # the order s12, s13, s23 is a different body
        assert np.max(np.abs(log_cholesky.to_parameters(swapped) - reference.toDynamicParameters())) > 1e-3


@pytest.mark.parametrize("shape", SHAPES)
def test_log_cholesky_factor_and_determinant_of_paper_a(shape):
    phi = points(log_cholesky, 7, shape)
    theta = log_cholesky.to_parameters(phi)
    U = log_cholesky.factor(theta)
    assert_close(U @ np.swapaxes(U, -1, -2), pseudo.to_matrix(theta), 1e-13)
    assert np.all(np.tril(U, -1) == 0)
    alpha, d1, d2, d3 = np.moveaxis(phi[..., :4], -1, 0)
    assert_close(np.exp(2 * alpha), theta[..., 0], 1e-13)
    expected = 32 * np.exp(20 * alpha + 2 * d1 + 3 * d2 + 4 * d3)
    np.testing.assert_allclose(np.linalg.det(log_cholesky.jacobian(phi)), expected, rtol=1e-10)


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate:RuntimeWarning")  # SciPy's own estimate, 3e-13
def test_exponential_is_the_matrix_logarithm_of_scipy():
    upper = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3), (3, 3)]
    for theta in bodies(8, (10,)):
        log_J = scipy.linalg.logm(pseudo.to_matrix(theta))
        assert_close(exponential.from_parameters(theta), np.array([log_J[i, j] for i, j in upper]), 1e-11)


@pytest.mark.parametrize("gap", [0.0, 1e-300, 1e-12, 1e-6, 1e-2, 3.0])
def test_exponential_jacobian_keeps_its_digits_when_eigenvalues_meet(gap):
    Q = scipy.linalg.expm(np.triu(np.ones((4, 4)), 1) - np.tril(np.ones((4, 4)), -1))
    T = Q @ np.diag([0.3, 0.3 + gap, 0.3 - 2 * gap, -0.5]) @ Q.T
    T = (T + T.T) / 2
    upper = [(i, j) for j in range(4) for i in range(j + 1)]
    J = exponential.jacobian(np.array([T[i, j] for i, j in upper]))
    for k, (i, j) in enumerate(upper):
        E = np.zeros((4, 4))
        E[i, j] = E[j, i] = 1
        expected = pseudo.to_parameters(scipy.linalg.expm_frechet(T, E, compute_expm=False))
        assert_close(J[:, k], expected, 1e-13)


def test_exponential_of_the_unit_body_is_regular():
    assert_close(exponential.to_parameters(np.zeros(10)), pseudo.to_parameters(np.eye(4)), 1e-15)
    assert abs(np.linalg.det(exponential.jacobian(np.zeros(10)))) > 1


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.1, 0.49999, 0.50001, 1.0, 3.0, 6.0, 2 * np.pi])
def test_principal_determinant_names_every_singular_locus(angle):
    psi = points(principal, 9)
    psi[4:7] *= angle / np.linalg.norm(psi[4:7])
    Lx, Ly, Lz = psi[7:]
    spin = np.sinc(angle / 2 / np.pi) ** 2  # 2 (1 - cos t) / t^2
    expected = 2 * spin * abs((Lx - Ly) * (Ly - Lz) * (Lz - Lx))
    assert abs(np.linalg.det(principal.jacobian(psi))) == pytest.approx(expected, rel=1e-7, abs=1e-12)
    assert (expected < 1e-12) == (angle == 2 * np.pi)
    psi[8] = psi[7]
    assert abs(np.linalg.det(principal.jacobian(psi))) < 1e-14


def test_a_body_of_revolution_is_singular_in_the_principal_chart_only():
    theta = inertia.from_com_inertia(2.0, np.array([0.1, 0.0, 0.3]), np.diag([0.02, 0.02, 0.01]))
    singular = np.linalg.svd(principal.jacobian(principal.from_parameters(theta)), compute_uv=False)
    assert singular[-1] < 1e-15
    for chart in (log_cholesky, exponential):
        assert np.linalg.cond(chart.jacobian(chart.from_parameters(theta))) < 1e5


def test_the_principal_chart_gives_one_body_to_24_points_and_returns_the_smallest_rotation():
    psi = points(principal, 10)
    theta, R = principal.to_parameters(psi), rotation_from_vector(psi[4:7])
    angles = []
    for order, signs in itertools.product(itertools.permutations(range(3)), itertools.product((1, -1), repeat=3)):
        turn = np.eye(3)[:, order] * signs
        if np.linalg.det(turn) > 0:
            other = np.concatenate([psi[:4], rotation_vector(R @ turn), psi[7:][list(order)]])
            assert_close(principal.to_parameters(other), theta, 1e-12)
            angles.append(np.linalg.norm(other[4:7]))
    found = np.linalg.norm(principal.from_parameters(theta)[4:7])
    assert len(angles) == 24
    assert found == pytest.approx(min(angles), abs=1e-12)
    assert found < np.radians(62.81)


def test_second_moments_about_the_origin_would_not_be_a_chart_of_consistent_bodies():
    """The text of paper A, read literally: I = R D R^T about the frame's origin with L > 0 and any h."""
    theta = inertia.from_origin_inertia(1.0, np.array([1.0, 0.0, 0.0]), np.diag([0.2, 0.2, 0.2]))  # L = 0.1
    assert pseudo.smallest_eigenvalue(theta) < -0.1
    psi = np.array([1.0, 1.0, 0, 0, 0, 0, 0, 0.1, 0.1, 0.1])
    assert pseudo.smallest_eigenvalue(principal.to_parameters(psi)) > 0


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-9, 0.3, 0.5, 1.0, 3.1, np.pi - 1e-9, np.pi])
def test_rotations_against_scipy(angle):
    axes = np.random.default_rng(11).normal(size=(5, 3))
    beta = angle * axes / np.linalg.norm(axes, axis=-1, keepdims=True)
    expected = Rotation.from_rotvec(beta)
    R = rotation_from_vector(beta)
    assert_close(R, expected.as_matrix(), 1e-14)
    quaternions = quaternion_of(R)
    assert_close(np.abs(np.sum(quaternions * expected.as_quat(), axis=-1)), np.ones(5), 1e-14)
    assert_close(rotation_from_vector(rotation_vector(R)), R, 1e-14)
    if angle < 3.1:
        assert_close(rotation_vector(R), beta, 1e-13)


def test_left_jacobian_against_autodiff():
    beta = np.array([[0.0, 0, 0], [1e-8, 0, 0], [0.2, -0.3, 0.1], [1.0, 2.0, -0.5]])
    with jax.enable_x64(True):
        dR = np.asarray(jax.jit(jax.vmap(jax.jacfwd(rotation_from_vector)))(jax.numpy.asarray(beta)))
    spin = np.einsum("nijk,nlj->nilk", dR, rotation_from_vector(beta))
    assert_close(left_jacobian(beta), np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1), 1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_principal_axes_keep_a_body_that_is_already_aligned(seed):
    values = np.random.default_rng(seed).permutation([1.0, 2.0, 3.0])
    R, found = principal.principal_axes(np.diag(values))
    assert_close(R, np.eye(3), 1e-14)
    assert_close(found, values, 1e-14)
    turn = rotations(seed)
    R, found = principal.principal_axes(turn @ np.diag(values) @ turn.T)
    assert_close(R @ np.diag(found) @ R.T, turn @ np.diag(values) @ turn.T, 1e-14)
    assert np.linalg.det(R) == pytest.approx(1)


@CHARTS
def test_an_impossible_body_is_named_with_its_eigenvalue_and_a_remedy(chart):
    theta = bodies(12, (3, 1, 2))
    theta[1, 0, 1, 9] += 50.0  # Izz > Ixx + Iyy
    smallest = pseudo.smallest_eigenvalue(theta[1, 0, 1])
    with pytest.raises(InertiaError) as caught:
        chart.from_parameters(theta)
    message = str(caught.value)
    assert "body (1, 0, 1) of the batch (3, 1, 2) is not physically consistent" in message
    assert f"{smallest:.6g}" in message
    assert "steelyard.inertia.conventions" in message


@CHARTS
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("entry", [0, 2, 7])
def test_numbers_that_are_not_finite_are_refused_without_warnings(chart, value, entry):
    theta = bodies(13)
    theta[entry] = value
    with pytest.raises(InertiaError, match="the body has numbers that are not finite"):
        chart.from_parameters(theta)


@CHARTS
@pytest.mark.parametrize("bad", [np.zeros(10), -np.ones(10), parameters(np.ones(1), np.array([[0.1, 0.2, 0.3]]))])
def test_empty_negative_and_point_bodies_are_refused(chart, bad):
    with pytest.raises(InertiaError, match="smallest eigenvalue"):
        chart.from_parameters(bad)


@CHARTS
def test_lists_are_taken_and_wrong_lengths_refused(chart):
    theta = bodies(14)
    assert_close(chart.from_parameters(theta.tolist()), chart.from_parameters(theta), 0.0)
    for function in (chart.to_parameters, chart.from_parameters, chart.jacobian):
        with pytest.raises(InertiaError, match=r"has shape \(3, 9\); expected \(\.\.\., 10\)"):
            function(np.ones((3, 9)))


@pytest.mark.parametrize(("entry", "what"), [(0, "mass m"), (7, "second moments L"), (9, "second moments L")])
def test_principal_points_outside_the_domain_are_refused(entry, what):
    psi = points(principal, 15, (2,))
    psi[1, entry] = -0.5
    for function in (principal.to_parameters, principal.jacobian):
        with pytest.raises(InertiaError, match=rf"{what} of psi of body \(1,\) of the batch \(2,\) is .*-0.5"):
            function(psi)


@pytest.mark.exhaustive(keep=1)
@CHARTS
def test_jax_in_jax_out(chart):
    phi = points(chart, 16, (4,))
    theta = chart.to_parameters(phi)

    def everything(p, t):
        return chart.to_parameters(p), chart.jacobian(p), chart.from_parameters(t)

    with jax.enable_x64(True):
        results = jax.jit(everything)(jax.numpy.asarray(phi), jax.numpy.asarray(theta))
        for found, expected in zip(results, everything(phi, theta), strict=True):
            assert isinstance(found, jax.Array)
            assert_close(found, expected, 1e-11)


@pytest.mark.exhaustive(keep=1)
@CHARTS
def test_jax_refuses_impossible_bodies_with_values_and_gives_nan_without(chart):
    theta = bodies(17, (4,))
    theta[2, 0] = -1.0
    with jax.enable_x64(True):
        given = jax.numpy.asarray(theta)
        with pytest.raises(InertiaError, match=r"body \(2,\)"):
            chart.from_parameters(given)
        traced = np.asarray(jax.jit(chart.from_parameters)(given))
    assert np.all(np.isnan(traced[2]))
    assert np.all(np.isfinite(traced[[0, 1, 3]]))
