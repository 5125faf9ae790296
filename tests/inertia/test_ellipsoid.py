"""Ellipsoids, the smallest one around points and covers of shapes, against CVXPY, closed forms and sampling."""

import cvxpy as cp
import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from random_bodies import bodies, clouds, parameters, rotations
from robots import SHARED_DATA
from steelyard.errors import InertiaError
from steelyard.inertia import Ellipsoid, covariance_ellipsoid, minimum_volume_ellipsoid, pseudo
from steelyard.inertia.ellipsoid import covariance_axes
from steelyard.inertia.hull import cover
from steelyard.viewer.masses import mass_of

pytestmark = pytest.mark.claim("body.refusals")


def ellipsoid(seed=0):
    rng = np.random.default_rng(seed)
    return Ellipsoid.from_semi_axes(rng.uniform(0.1, 0.5, 3), center=rng.normal(size=3), rotation=rotations(seed))


def test_quadric_ball_map_and_level_say_the_same():
    e = ellipsoid()
    points = e.center + np.random.default_rng(1).normal(size=(4, 5, 3)) * 0.4
    lifted = np.concatenate([points, np.ones((4, 5, 1))], axis=-1)
    form = np.einsum("abi,ij,abj->ab", lifted, e.quadric, lifted)
    by_inverse = np.einsum("abi,ij,abj->ab", points - e.center, np.linalg.inv(e.Q), points - e.center)
    np.testing.assert_allclose(form, 1 - by_inverse, atol=1e-12)
    np.testing.assert_allclose(e.level(points), by_inverse, atol=1e-12)
    np.testing.assert_array_equal(e.contains(points), form >= 0)
    np.testing.assert_allclose(e.to_ball.T @ np.diag([-1, -1, -1, 1]) @ e.to_ball, e.quadric, atol=1e-12)


def test_semi_axes_and_volume():
    R = rotations(3)
    e = Ellipsoid.from_semi_axes([0.3, 0.1, 0.2], center=[1, 2, 3], rotation=R)
    lengths, directions = e.semi_axes
    np.testing.assert_allclose(lengths, [0.1, 0.2, 0.3], rtol=1e-12)
    np.testing.assert_allclose(np.abs(directions.T @ R[:, [1, 2, 0]]), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(e.volume, 4 / 3 * np.pi * 0.006, rtol=1e-12)
    assert e.contains(e.center + 0.3 * R[:, 0])
    assert not e.contains(e.center + 0.3001 * R[:, 0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ellipsoid([0, 0], np.eye(3)), "shape"),
        (lambda: Ellipsoid([0, 0, np.nan], np.eye(3)), "not finite"),
        (lambda: Ellipsoid([0, 0, 0], [[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: Ellipsoid([0, 0, 0], np.diag([1, 1, 0])), "thickness"),
        (lambda: Ellipsoid([0, 0, 0], np.diag([1, 1, -1])), "three positive squared"),
        (lambda: Ellipsoid.from_semi_axes([1, 0, 1]), "positive lengths"),
        (lambda: Ellipsoid.from_semi_axes([1, 1, 1], rotation=2 * np.eye(3)), "orthogonal"),
        (lambda: Ellipsoid.from_box([0, 0, 0], [1, 0, 1]), "lower < upper"),
        (lambda: covariance_ellipsoid(np.array([-1, 0, 0, 0, 1, 0, 1, 0, 0, 1.0])), "positive mass"),
        (lambda: covariance_ellipsoid(np.array([1, 0, 0, 0, 1, 0, 1, 0, 0, 3.0])), "not physically consistent"),
        (lambda: minimum_volume_ellipsoid(np.zeros((3, 3))), "at least 4"),
        (lambda: minimum_volume_ellipsoid(np.eye(3)[[0, 1, 2, 0, 1]]), "plane"),
        (lambda: minimum_volume_ellipsoid(np.full((5, 3), np.inf)), "finite"),
        (lambda: cover(np.random.default_rng(0).normal(size=(9, 3)), count=0), "at least 1"),
    ],
)
def test_bad_input_is_refused_with_words(make, words):
    with pytest.raises(InertiaError, match=words):
        make()


def test_covariance_ellipsoid_of_a_solid_ellipsoid():
    """A uniform ellipsoid has second moments `m Q / 5`."""
    e = ellipsoid(4)
    q = np.append(e.center, 1.0)
    J = 2.0 * np.outer(q, q)
    J[:3, :3] += 2.0 * e.Q / 5
    found = covariance_ellipsoid(pseudo.to_parameters(J))
    np.testing.assert_allclose(found.Q, e.Q / 5, atol=1e-13)
    np.testing.assert_allclose(found.center, e.center, atol=1e-13)


def test_covariance_ellipsoid_does_not_depend_on_mass():
    theta = bodies(5)
    np.testing.assert_allclose(covariance_ellipsoid(7 * theta).Q, covariance_ellipsoid(theta).Q, rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("flat", [1, 2, 3])
def test_flat_bodies_have_a_covariance_ellipsoid(seed, flat):
    """Plates, rods and points anywhere: moments of their points by NumPy, and pictures."""
    rng = np.random.default_rng(seed)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    local = rng.normal(size=(50, 3)) * [0.3, 0.2, 0.1]
    local[:, 3 - flat :] = 0.0
    points, masses = local @ R.T + 2 * rng.normal(size=3), rng.uniform(0.1, 1.0, size=50)
    theta = sum(
        m * pseudo.to_parameters(np.outer(np.append(x, 1), np.append(x, 1)))
        for m, x in zip(masses, points, strict=True)
    )
    center, lengths, axes = covariance_axes(theta)
    covariance = np.cov(points.T, aweights=masses, ddof=0)
    np.testing.assert_allclose(center, np.average(points, axis=0, weights=masses), atol=1e-12)
    np.testing.assert_allclose(axes * lengths**2 @ axes.T, covariance, atol=1e-12)
    assert np.count_nonzero(lengths) == 3 - flat
    with pytest.raises(InertiaError, match="the body is flat"):
        covariance_ellipsoid(theta)
    semi_axes, _ = covariance_ellipsoid(theta, thinnest=1e-4).semi_axes
    np.testing.assert_allclose(np.sort(semi_axes), np.sort(np.maximum(lengths, 1e-4)), rtol=1e-6)
    assert (mass_of(theta)["ellipsoid"] is None) == (flat == 3)


def cvxpy_volume(points):
    A, b = cp.Variable((3, 3), PSD=True), cp.Variable(3)
    problem = cp.Problem(cp.Minimize(-cp.log_det(A)), [cp.norm(A @ point + b) <= 1 for point in points])
    return 4 / 3 * np.pi * np.exp(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("count", [4, 7, 30])
def test_smallest_enclosing_ellipsoid_matches_cvxpy(count):
    points = np.random.default_rng(count).normal(size=(count, 3)) * [1.0, 0.3, 0.1] + [1, 2, 3]
    found = minimum_volume_ellipsoid(points)
    assert found.contains(points).all()
    np.testing.assert_allclose(found.volume, cvxpy_volume(points), rtol=1e-6)


def test_smallest_enclosing_ellipsoid_of_known_shapes():
    corners = np.array(np.meshgrid([0, 1], [0, 2], [-1, 2])).reshape(3, -1).T.astype(float)
    found, expected = minimum_volume_ellipsoid(corners), Ellipsoid.from_box([0, 0, -1], [1, 2, 2])
    np.testing.assert_allclose(found.Q, expected.Q, atol=1e-7)
    np.testing.assert_allclose(found.center, expected.center, atol=1e-7)
    sphere = trimesh.creation.icosphere(subdivisions=4)  # nearly repeated points stall first-order methods
    np.testing.assert_allclose(minimum_volume_ellipsoid(sphere.vertices).Q, np.eye(3), atol=1e-4)


def test_smallest_enclosing_ellipsoid_of_a_fine_mesh():
    """Thousands of points, all but equally important: from batches of them as from all, and the closed form."""
    angles = np.linspace(0, 2 * np.pi, 1500, endpoint=False)
    ring = np.column_stack([2 * np.cos(angles), 2 * np.sin(angles)])
    points = np.concatenate([np.column_stack([ring, np.full(1500, z)]) for z in (-1.0, 3.0)])
    ellipsoid = minimum_volume_ellipsoid(points)
    np.testing.assert_allclose(ellipsoid.center, [0, 0, 1], atol=1e-5)
    np.testing.assert_allclose(ellipsoid.Q, np.diag([6, 6, 12]), atol=1e-4)
    assert ellipsoid.contains(points).all()


@tried(20)
@given(st.integers(0, 10**6))
def test_smallest_enclosing_ellipsoid_moves_with_its_points(seed):
    """Affine maps take the smallest ellipsoid to the smallest ellipsoid."""
    rng = np.random.default_rng(seed)
    points, M, p = rng.normal(size=(12, 3)), rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=3)
    e = minimum_volume_ellipsoid(points, tolerance=1e-9)
    moved = minimum_volume_ellipsoid(points @ M.T + p, tolerance=1e-9)
    np.testing.assert_allclose(moved.volume, e.volume * abs(np.linalg.det(M)), rtol=1e-6)


def test_optimality_certificate():
    """John's condition: weights on the touching points with `sum u x x^T = Q / 3` about the centre, found by least
    squares.
    """
    points = np.random.default_rng(8).normal(size=(40, 3))
    e = minimum_volume_ellipsoid(points, tolerance=1e-10)
    touching = points[e.level(points) > 1 - 1e-5] - e.center
    system = np.vstack(
        [(touching[:, :, None] * touching[:, None, :]).reshape(-1, 9).T, touching.T, np.ones(len(touching))]
    )
    goal = np.concatenate([(e.Q / 3).ravel(), np.zeros(3), [1.0]])
    u = np.linalg.lstsq(system, goal, rcond=None)[0]
    assert u.min() > -1e-4
    np.testing.assert_allclose(system @ u, goal, atol=1e-4)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("shape", "count"), [("torus", 8), ("box", 3), ("two", 2)])
def test_cover_of_a_mesh_contains_its_inside(shape, count):
    meshes = {
        "torus": trimesh.creation.torus(1.0, 0.2, major_sections=16, minor_sections=8),
        "box": trimesh.creation.box((1.0, 0.2, 0.3)),
        "two": trimesh.util.concatenate(
            [
                trimesh.creation.box((0.2, 0.2, 0.2)),
                trimesh.creation.box((1.0, 0.05, 0.05)).apply_translation([0.6, 0, 0]),
            ]
        ),
    }
    mesh = meshes[shape]
    found = cover(mesh.vertices, mesh.faces, count=count)
    assert 1 <= len(found) <= count
    inside = trimesh.sample.volume_mesh(mesh, 2000) if shape != "two" else mesh.triangles_center
    probes = np.concatenate([mesh.vertices, mesh.triangles_center, inside])
    assert np.any([e.contains(probes, tolerance=1e-9) for e in found], axis=0).all()


def test_cover_of_a_torus_leaves_less_room_than_one_ellipsoid():
    mesh = trimesh.creation.torus(1.0, 0.2, major_sections=16, minor_sections=8)
    single, many = cover(mesh.vertices, mesh.faces, count=1), cover(mesh.vertices, mesh.faces, count=8)
    assert len(single) == 1
    assert sum(e.volume for e in many) < 0.7 * single[0].volume


def test_cover_of_a_ball_keeps_one_ellipsoid():
    mesh = trimesh.creation.icosphere(subdivisions=2)
    assert len(cover(mesh.vertices, mesh.faces, count=3)) == 1


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_cover_of_a_cloud_contains_every_point(count):
    _, places = clouds(3, points=60)
    found = cover(places, count=count)
    assert np.any([e.contains(places) for e in found], axis=0).all()


@pytest.mark.parametrize("tool", ["Hammer", "Screwdriver"])
def test_true_inertia_of_a_real_tool_fits_its_cover(tool):
    """Ground truth of a measured tool is realizable on the ellipsoids around its point cloud."""
    from steelyard.inertia import is_realizable

    folder = SHARED_DATA / "tools"
    if not (folder / f"{tool}.ply").is_file():
        pytest.skip("needs ../shared/data/tools")
    cloud = trimesh.load(folder / f"{tool}.ply")
    with np.load(folder / f"{tool}.npz") as stored:
        truth = dict(stored)
    masses = truth["mass"] * np.ones(len(cloud.vertices)) / len(cloud.vertices)
    assert is_realizable(parameters(masses, np.asarray(cloud.vertices)), minimum_volume_ellipsoid(cloud.vertices))
    com, I = truth["com_mesh"], truth["inertia_com"]
    q = np.append(com, 1.0)
    J = truth["mass"] * np.outer(q, q)
    J[:3, :3] += 0.5 * np.trace(I) * np.eye(3) - I
    assert is_realizable(pseudo.to_parameters(J), minimum_volume_ellipsoid(cloud.vertices))
