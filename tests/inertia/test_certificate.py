"""Theorem 4 of paper B both ways: clouds inside an ellipsoid are realizable, realizable bodies are four masses inside
it.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from random_bodies import parameters
from steelyard.errors import InertiaError
from steelyard.inertia import Ellipsoid, is_realizable
from steelyard.inertia.realizability import four_point_masses

pytestmark = pytest.mark.claim(
    "body.realizability",
    "realizability: clouds in ellipsoids, four masses, nested sets, projections as good as cvxpy's to 1e-6",
    limits="objectives agree to 1e-6, arguments to the accuracy of cvxpy's own (3e-4)",
)


def random_ellipsoid(rng):
    A = rng.normal(size=(3, 3))
    return Ellipsoid(3 * rng.normal(size=3), A @ A.T + 0.02 * np.eye(3))


def cloud_inside(rng, ellipsoid, shape, *, points=6, on_surface=False):
    """Random masses (..., n) and places (..., n, 3) inside, or on, an ellipsoid."""
    y = rng.normal(size=(*shape, points, 3))
    y /= np.linalg.norm(y, axis=-1, keepdims=True)
    if not on_surface:
        y *= rng.uniform(size=(*shape, points, 1)) ** (1 / 3)
    return rng.exponential(size=(*shape, points)) + 0.01, y @ np.linalg.cholesky(ellipsoid.Q).T + ellipsoid.center


def require_certificate(theta, ellipsoid):
    masses, points = four_point_masses(theta, ellipsoid)
    assert masses.shape == (*theta.shape[:-1], 4) and points.shape == (*theta.shape[:-1], 4, 3)
    assert masses.min() >= 0
    assert (ellipsoid.level(points) <= 1 + 1e-12).all()
    size = np.abs(theta).max(axis=-1, keepdims=True)
    assert np.abs((parameters(masses, points) - theta) / size).max() <= 1e-12


def test_ten_thousand_clouds_inside_random_ellipsoids():
    rng = np.random.default_rng(0)
    for _ in range(100):
        ellipsoid = random_ellipsoid(rng)
        theta = parameters(*cloud_inside(rng, ellipsoid, (100,)))
        assert is_realizable(theta, ellipsoid).all()
        require_certificate(theta, ellipsoid)


def test_clouds_with_a_mass_far_outside_fail():
    """Far enough means that this mass alone makes `tr(J Q)` negative: m (level - 1) above the mass of the rest."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        ellipsoid = random_ellipsoid(rng)
        masses, places = cloud_inside(rng, ellipsoid, (100,))
        level = 1 + 1.001 * masses[:, 1:].sum(axis=1) / masses[:, 0]
        direction = rng.normal(size=(100, 3))
        direction /= np.sqrt(ellipsoid.level(ellipsoid.center + direction))[:, None]
        places[:, 0] = ellipsoid.center + np.sqrt(level)[:, None] * direction
        theta = parameters(masses, places)
        assert not is_realizable(theta, ellipsoid).any()
        with pytest.raises(InertiaError, match="not realizable"):
            four_point_masses(theta, ellipsoid)


def test_a_mass_just_outside_is_not_noticed():
    """Realizability is about moments: the rest of the cloud leaves room that another distribution can use."""
    rng = np.random.default_rng(2)
    ellipsoid = random_ellipsoid(rng)
    masses, places = cloud_inside(rng, ellipsoid, ())
    places[0] = ellipsoid.center + 1.01 * np.linalg.cholesky(ellipsoid.Q)[:, 0]
    assert not ellipsoid.contains(places).all()
    assert is_realizable(parameters(masses, places), ellipsoid)


@tried(50)
@given(st.integers(0, 10**6), st.integers(1, 8), st.booleans(), st.sampled_from([(), (1,), (3, 1, 2)]))
def test_certificate_of_any_cloud(seed, points, on_surface, shape):
    """From a single point mass (J of rank one) to many, inside or all on the surface, where `tr(J Q)` is zero."""
    rng = np.random.default_rng(seed)
    ellipsoid = random_ellipsoid(rng)
    require_certificate(
        parameters(*cloud_inside(rng, ellipsoid, shape, points=points, on_surface=on_surface)), ellipsoid
    )


def test_masses_share_the_room_equally():
    """Each mass times its depth, `w^2 (1 - level)`, is the same quarter of `tr(J Q)`: what the rotations are for."""
    rng = np.random.default_rng(3)
    ellipsoid = random_ellipsoid(rng)
    masses, points = four_point_masses(parameters(*cloud_inside(rng, ellipsoid, ())), ellipsoid)
    room = masses * (1 - ellipsoid.level(points))
    np.testing.assert_allclose(room, room.mean(), rtol=1e-9)


@pytest.mark.parametrize(
    "theta",
    [
        np.zeros(10),
        -np.eye(10)[0],
        np.array([1, 0, 0, 0, 1, 0, 1, 0, 0, 3.0]),
        np.array([1, 9, 0, 0, 0, 0, 81, 0, 0, 81.0]),
    ],
    ids=["nothing", "negative mass", "inconsistent", "outside"],
)
def test_unrealizable_bodies_are_refused(theta):
    with pytest.raises(InertiaError, match=r"not realizable.*Enlarge"):
        four_point_masses(theta, Ellipsoid([0, 0, 0], np.eye(3)))


def test_other_bad_input_is_refused():
    with pytest.raises(InertiaError, match="not finite"):
        four_point_masses(np.full(10, np.nan), Ellipsoid([0, 0, 0], np.eye(3)))
    with pytest.raises(InertiaError, match="shape"):
        four_point_masses(np.ones(9), Ellipsoid([0, 0, 0], np.eye(3)))
