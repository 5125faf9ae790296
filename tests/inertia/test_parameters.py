"""Parameters, pseudo-inertia and change of frame, against Pinocchio, point masses and automatic differentiation."""

import jax
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from random_bodies import SHAPES, assert_close, bodies, central_difference, clouds, parameters, rotations
from steelyard import inertia
from steelyard.errors import InertiaError
from steelyard.inertia import batches, pseudo
from steelyard.spatial import rotation_from_vector


def pin_body(theta):
    return pin.Inertia.FromDynamicParameters(np.asarray(theta))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("there", "back"),
    [
        (inertia.to_origin_inertia, lambda parts: inertia.from_origin_inertia(*parts)),
        (inertia.to_com_inertia, lambda parts: inertia.from_com_inertia(*parts)),
        (inertia.to_spatial_inertia, inertia.from_spatial_inertia),
        (pseudo.to_matrix, pseudo.to_parameters),
    ],
)
def test_round_trips(shape, there, back):
    theta = bodies(1, shape)
    assert_close(back(there(theta)), theta, 1e-14)


@pytest.mark.parametrize("shape", SHAPES)
def test_pseudo_inertia_is_the_second_moment_of_homogeneous_points(shape):
    masses, places = clouds(2, shape)
    q = np.concatenate([places, np.ones((*places.shape[:-1], 1))], axis=-1)
    expected = np.einsum("...n,...ni,...nj->...ij", masses, q, q)
    assert_close(pseudo.to_matrix(parameters(masses, places)), expected, 1e-14)


def test_every_spelling_agrees_with_pinocchio():
    for theta in bodies(3, (20,)):
        body = pin_body(theta)
        mass, com, central = inertia.to_com_inertia(theta)
        assert_close(mass, body.mass, 1e-14)
        assert_close(com, body.lever, 1e-14)
        assert_close(central, body.inertia, 1e-13)
        assert_close(inertia.to_spatial_inertia(theta), body.matrix(), 1e-13)
        assert_close(pseudo.to_matrix(theta), body.toPseudoInertia().toMatrix(), 1e-13)
        assert_close(inertia.from_com_inertia(body.mass, body.lever, body.inertia), body.toDynamicParameters(), 1e-13)


def test_transform_agrees_with_pinocchio_and_is_the_matrix_B():
    theta, R = bodies(4, (15,)), rotations(5, (15,))
    p = np.random.default_rng(6).normal(size=(15, 3))
    expected = [pin.SE3(Ri, pi).act(pin_body(t)).toDynamicParameters() for t, Ri, pi in zip(theta, R, p, strict=True)]
    moved = inertia.transform(theta, R, p)
    assert_close(moved, np.array(expected), 1e-13)
    assert_close((inertia.transform_matrix(R, p) @ theta[..., None])[..., 0], moved, 1e-13)
    assert np.max(np.abs(inertia.transform(theta, np.swapaxes(R, -1, -2), p) - expected)) > 0.1


@pytest.mark.parametrize("shape", SHAPES)
def test_transform_broadcasts_bodies_and_poses(shape):
    theta, R, p = bodies(7, shape), rotations(8), np.array([0.1, -0.2, 0.3])
    assert inertia.transform(theta, R, p).shape == theta.shape
    one = bodies(9)
    poses, origins = rotations(10, shape), np.random.default_rng(11).normal(size=(*shape, 3))
    assert inertia.transform(one, poses, origins).shape == (*shape, 10)
    assert inertia.transform_matrix(poses, origins).shape == (*shape, 10, 10)


@tried(40)
@given(seed=st.integers(0, 10**6))
def test_frame_changes_compose_and_keep_the_spectrum_at_the_centre(seed):
    theta, (R1, R2) = bodies(seed), rotations(seed, (2,))
    p1, p2 = np.random.default_rng(seed).normal(size=(2, 3))
    twice = inertia.transform(inertia.transform(theta, R1, p1), R2, p2)
    assert_close(inertia.transform(theta, R2 @ R1, R2 @ p1 + p2), twice, 1e-12)
    before, after = (np.linalg.eigvalsh(inertia.to_com_inertia(t)[2]) for t in (theta, twice))
    assert_close(after, before, 1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_transform_derivative_is_pinocchios_variation(shape):
    theta = bodies(12, shape)
    derivative = inertia.transform_derivative(theta)
    assert derivative.shape == (*shape, 10, 6)
    for body, D in zip(theta.reshape(-1, 10), derivative.reshape(-1, 10, 6), strict=True):
        for k, eta in enumerate(np.eye(6)):
            variation = pin_body(body).variation(pin.Motion(eta))
            assert_close(D[:, k], inertia.from_spatial_inertia(variation), 1e-13)


def test_transform_derivative_matches_autodiff_and_a_swapped_twist_does_not():
    theta = bodies(13)

    def moved(eta):
        return inertia.transform(jax.numpy.asarray(theta), rotation_from_vector(eta[3:]), eta[:3])

    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(jax.jacfwd(moved))(jax.numpy.zeros(6)))
    found = inertia.transform_derivative(theta)
    assert_close(found, expected, 1e-13)
    assert np.max(np.abs(np.roll(found, 3, axis=-1) - expected)) > 0.1


def test_gradient_to_parameters_is_the_adjoint_of_the_pseudo_inertia():
    theta, target = bodies(14, (4,)), pseudo.to_matrix(bodies(15, (4,)))

    def f(t):
        return (pseudo.to_matrix(t) * target).sum(axis=(-2, -1))

    assert_close(pseudo.gradient_to_parameters(target), central_difference(f, theta, 1e-3), 1e-9)


def test_smallest_eigenvalue_tells_consistent_bodies_from_impossible_ones():
    theta = bodies(16, (5,))
    assert np.all(pseudo.smallest_eigenvalue(theta) > 0)
    flat = parameters(np.ones(4), np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]]))
    assert abs(pseudo.smallest_eigenvalue(flat)) < 1e-15
    broken = flat + np.eye(10)[9]  # Izz > Ixx + Iyy
    assert pseudo.smallest_eigenvalue(broken) < -0.1


def test_a_bare_frame_has_its_centre_at_the_origin():
    mass, com, central = inertia.to_com_inertia(np.zeros((2, 10)))
    assert not mass.any()
    assert not com.any()
    assert not central.any()


def test_a_first_moment_without_mass_is_refused_by_name():
    theta = bodies(17, (2, 3))
    theta[1, 2, 0] = 0.0
    with pytest.raises(InertiaError, match=r"body \(1, 2\) of the batch \(2, 3\) has zero mass but first moment"):
        inertia.to_com_inertia(theta)


@pytest.mark.parametrize("bad", [np.zeros(9), np.zeros((10, 3)), np.float64(1.0), [1.0, 2.0]])
def test_wrong_shapes_are_refused_with_the_shape_found(bad):
    with pytest.raises(InertiaError, match=r"theta has shape \(.*\); expected \(\.\.\., 10\)"):
        batches.as_vector(bad, "theta")


def test_jax_in_jax_out():
    arguments = (bodies(18, (3,)), rotations(19, (3,)), np.ones((3, 3)))

    def everything(theta, R, p):
        matrix, derivative = inertia.transform_matrix(R, p), inertia.transform_derivative(theta)
        return inertia.transform(theta, R, p), matrix, derivative, *inertia.to_com_inertia(theta)

    with jax.enable_x64(True):
        results = jax.jit(everything)(*(jax.numpy.asarray(a) for a in arguments))
        for found, expected in zip(results, everything(*arguments), strict=True):
            assert isinstance(found, jax.Array)
            assert_close(found, expected, 1e-13)


def test_public_names_load_on_first_use():
    """The names of the package are there, whether they load at once or later, and unknown ones are not."""
    from steelyard import inertia

    for name in ("Ellipsoid", "is_consistent", "is_realizable", "four_point_masses", "minimum_volume_ellipsoid"):
        assert callable(getattr(inertia, name))
    assert callable(inertia.mesh.parameters)
    assert callable(inertia.mesh.vertex_derivatives)
    assert "cover" in dir(inertia)
    assert not hasattr(inertia, "nonsense")
