"""The sets of bodies: closed-form members and outsiders, nesting, and projections against CVXPY written from the
definitions.
"""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from properties import tried
from random_bodies import SHAPES, bodies, clouds, parameters, rotations
from steelyard import inertia as sets
from steelyard.errors import InertiaError
from steelyard.inertia import Ellipsoid, cones, divergence, log_cholesky, pseudo, to_spatial_inertia

pytestmark = pytest.mark.claim("body.realizability")

E1 = Ellipsoid.from_semi_axes([0.3, 0.2, 0.1], center=[0.1, 0.0, 0.2], rotation=rotations(1))
E2 = Ellipsoid.from_semi_axes([0.1, 0.2, 0.1], center=[0.5, 0.0, 0.2])
LOWER, UPPER = np.array([-0.1, -0.2, 0.0]), np.array([0.2, 0.3, 0.4])
CORNERS = np.array(np.meshgrid(*zip(LOWER, UPPER, strict=True))).reshape(3, -1).T
HULL = np.random.default_rng(2).normal(size=(10, 3)) * 0.2
POINTS = np.random.default_rng(3).normal(size=(30, 3)) * 0.2
KNOWN_MASS = sets.Bounds([1.5] + [-np.inf] * 9, [1.5, 0.2] + [np.inf] * 8)
ALL = {
    "semi": sets.SemiConsistent(),
    "consistent": sets.Consistent(),
    "com": sets.ComInEllipsoid(E1),
    "ellipsoid": sets.EllipsoidRealizable(E1),
    "union": sets.UnionRealizable((E1, E2)),
    "box": sets.Box(LOWER, UPPER),
    "hull": sets.HullRealizable(HULL),
    "points": sets.PointMasses(POINTS),
    "mass": sets.Intersection((sets.EllipsoidRealizable(E1), KNOWN_MASS)),
}


def small_bodies(seed, shape=(), *, spread=0.25):
    """Clouds of the size of the sets above, some inside, most partly outside."""
    rng = np.random.default_rng(seed)
    places = spread * rng.normal(size=(*shape, 6, 3)) + [0.1, 0.0, 0.2]
    return parameters(rng.uniform(0.1, 1.0, size=(*shape, 6)), places)


def uniform_in(low, high, seed, points=8):
    rng = np.random.default_rng(seed)
    return parameters(rng.uniform(0.1, 1.0, points), rng.uniform(low, high, (points, 3)))


# membership


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["semi", "consistent", "com", "ellipsoid", "hull", "union"])
def test_membership_is_batched(name, shape):
    theta = small_bodies(0, shape)
    inside, violation = ALL[name].contains(theta), ALL[name].violation(theta)
    assert inside.shape == violation.shape == shape
    flat = [ALL[name].contains(body) for body in theta.reshape(-1, 10)]
    np.testing.assert_array_equal(inside.ravel(), flat)
    assert (inside <= (violation <= 1e-6)).all()


def test_consistency_equals_the_triangle_inequalities():
    """The textbook condition on principal moments about the centre of mass, on random diagonal bodies."""
    I = np.random.default_rng(1).uniform(0, 1, (500, 3))
    theta = np.zeros((500, 10))
    theta[:, 0], theta[:, [4, 6, 9]] = 1.0, I
    expected = 2 * I.max(axis=1) < I.sum(axis=1)
    np.testing.assert_array_equal(sets.is_consistent(theta), expected)
    assert sets.SemiConsistent().contains(theta).all()
    assert expected.any() and not expected.all()


def test_semi_consistency_is_positive_kinetic_energy():
    theta = bodies(2, (200,)) * np.random.default_rng(3).normal(1.0, 0.5, (200, 10))
    expected = np.linalg.eigvalsh(to_spatial_inertia(theta))[:, 0] > 0
    np.testing.assert_array_equal(sets.SemiConsistent().contains(theta), expected)
    assert expected.any() and not expected.all()


def test_consistent_bodies_have_a_log_cholesky_chart_point_and_others_do_not():
    for theta in bodies(4, (50,)) * np.random.default_rng(5).normal(1.0, 0.3, (50, 10)):
        if sets.is_consistent(theta):
            log_cholesky.from_parameters(theta)
        else:
            with pytest.raises(InertiaError):
                log_cholesky.from_parameters(theta)


def test_bodies_without_volume_violate_nothing_and_are_not_contained():
    point = parameters(np.array([2.0]), np.array([[0.1, 0.0, 0.2]]))
    assert ALL["ellipsoid"].violation(point) < 1e-12
    assert not ALL["ellipsoid"].contains(point)
    assert not sets.Consistent().contains(np.zeros(10))


@pytest.mark.parametrize("name", ["box", "hull"])
def test_clouds_inside_a_polyhedron_are_realizable_and_far_ones_are_not(name):
    vertices = CORNERS if name == "box" else HULL
    weights = np.random.default_rng(4).dirichlet(np.ones(len(vertices)), size=(20, 8))
    theta = parameters(np.random.default_rng(5).uniform(0.1, 1, (20, 8)), weights @ vertices)
    assert ALL[name].contains(theta).all()
    outside = parameters(np.ones(4), 5 * vertices[:4])
    assert not ALL[name].contains(outside)
    assert ALL[name].violation(outside) > 0.02


def test_box_is_exact():
    """Bodies on the boundary of `Box` are, up to the grid, made of point masses on a grid in the box: a linear program
    agrees.
    """
    axes = [np.linspace(low, high, 9) for low, high in zip(LOWER, UPPER, strict=True)]
    grid = sets.PointMasses(np.array(np.meshgrid(*axes)).reshape(3, -1).T)
    T = grid.frame
    for theta in ALL["box"].project(small_bodies(6, (4,))):
        scaled = cones.triangle(T @ pseudo.to_matrix(theta) @ T.T) / theta[0]
        lifted = cones.triangle(T @ pseudo.to_matrix(grid.matrix.T) @ T.T).T
        n = lifted.shape[1]
        rows = np.block([[lifted, -np.ones((10, 1))], [-lifted, -np.ones((10, 1))]])
        found = linprog(
            np.append(np.zeros(n), 1.0), rows, np.concatenate([scaled, -scaled]), bounds=[(0, None)] * (n + 1)
        )
        assert found.fun < 5e-3


def test_box_equals_the_hull_of_its_corners_and_a_tetrahedron_has_completely_positive_moments():
    theta = small_bodies(7, (25,), spread=0.12)
    np.testing.assert_array_equal(ALL["box"].contains(theta), sets.HullRealizable(CORNERS).contains(theta))
    tetrahedron = HULL[:4]
    theta = parameters(np.ones((25, 6)), 1.3 * np.random.default_rng(8).dirichlet(np.ones(4), (25, 6)) @ tetrahedron)
    distances = np.linalg.inv(np.vstack([tetrahedron.T, np.ones(4)]))  # barycentric coordinates of [x; 1]
    moments = distances @ pseudo.to_matrix(theta) @ distances.T
    exact = sets.HullRealizable(tetrahedron).contains(theta)
    np.testing.assert_array_equal(exact, (moments >= 0).all(axis=(1, 2)) & (np.linalg.eigvalsh(moments)[:, 0] > 0))
    assert exact.any() and not exact.all()


def test_union_is_more_than_either_and_less_than_everything():
    inside = parameters(np.ones(2), np.stack([E1.center, E2.center])) + 1e-3 * uniform_in(0.0, 0.2, 1)
    assert sets.is_realizable(inside, [E1, E2])
    assert not sets.is_realizable(inside, E1) and not sets.is_realizable(inside, E2)
    assert not sets.is_realizable(parameters(np.ones(2), np.array([[0.1, 0, 0.2], [1.0, 0, 0.2]])), [E1, E2])


# nesting


@tried(40)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.1, 0.2]))
def test_nested_sets_are_nested(seed, spread):
    theta = small_bodies(seed, (4,), spread=spread) * np.random.default_rng(seed).normal(1, 0.1, (4, 10))
    box_ellipsoid = sets.EllipsoidRealizable(Ellipsoid.from_box(LOWER, UPPER))
    for inner, outer in [
        ("ellipsoid", "consistent"),
        ("ellipsoid", "com"),
        ("ellipsoid", "union"),
        ("consistent", "semi"),
        ("hull", "consistent"),
        ("box", box_ellipsoid),
    ]:
        outer = ALL[outer] if isinstance(outer, str) else outer
        assert (ALL[inner].contains(theta) <= (outer.violation(theta) <= 1e-6)).all()


def test_point_masses_are_inside_the_hull_of_their_points():
    theta = sets.PointMasses(HULL).project(small_bodies(9, (3,)))
    assert (ALL["hull"].violation(theta) <= 1e-6).all()


# projection


def cvxpy_pseudo(theta):
    """Pseudo-inertia as a CVXPY expression, from its definition."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = (theta[i] for i in range(10))
    half = 0.5 * (xx + yy + zz)
    return cp.bmat([[half - xx, -xy, -xz, hx], [-xy, half - yy, -yz, hy], [-xz, -yz, half - zz, hz], [hx, hy, hz, m]])


def cvxpy_constraints(name, theta, eps=1e-8):
    """The sets in CVXPY, from the papers' formulas rather than from our cone rows."""
    J, I3, m = cvxpy_pseudo(theta), np.eye(3), theta[0]
    ball = ALL[name].frame @ J @ ALL[name].frame.T
    definite = [0.5 * (ball + ball.T) - eps * m * np.eye(4) >> 0]
    if name == "semi":
        h, L = theta[1:4], 0.1
        Sh = cp.bmat([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
        I = cp.bmat([[theta[4], theta[5], theta[7]], [theta[5], theta[6], theta[8]], [theta[7], theta[8], theta[9]]])
        M = cp.bmat([[m * I3, -Sh / L], [Sh / L, I / L**2]])
        return [0.5 * (M + M.T) - eps * m * np.eye(6) >> 0]
    if name == "consistent":
        return definite
    if name == "com":
        lever = theta[1:4] - m * E1.center
        return [cp.bmat([[cp.reshape(m, (1, 1), order="C"), lever[None]], [lever[:, None], m * E1.Q]]) >> 0]
    if name == "ellipsoid":
        return [*definite, cp.trace(J @ E1.quadric) >= 0]
    if name == "union":
        parts = [cp.Variable((4, 4), symmetric=True) for _ in range(2)]
        inside = [
            c for part, e in zip(parts, (E1, E2), strict=True) for c in (part >> 0, cp.trace(part @ e.quadric) >= 0)
        ]
        return [*definite, sum(parts) == J, *inside]
    if name in ("box", "hull"):
        lifted = [np.vstack([tetrahedron.T, np.ones(4)]) for tetrahedron in ALL[name].tetrahedra]
        moments = [cp.Variable((4, 4), symmetric=True) for _ in lifted]
        total = sum(V @ C @ V.T for V, C in zip(lifted, moments, strict=True))
        return [*definite, total == J, *[C >> 0 for C in moments], *[C >= 0 for C in moments]]
    if name == "points":
        masses = cp.Variable(len(POINTS), nonneg=True)
        lifted = np.column_stack([POINTS, np.ones(len(POINTS))])
        return [*definite, lifted.T @ cp.diag(masses) @ lifted == J]
    assert name == "mass"
    return [*definite, cp.trace(J @ E1.quadric) >= 0, m == 1.5, theta[1] <= 0.2]


PROJECTED = ["semi", "consistent", "com", "ellipsoid", "union", "box", "hull", "points", "mass"]


def outsiders(name):
    """Two bodies outside the set: consistent ones where the set asks for more, else inconsistent ones."""
    if name in ("semi", "consistent"):
        theta = small_bodies(11, (2,))
        theta[:, 9] += 3 * theta[:, [4, 6]].sum(axis=1)  # breaks the triangle inequality
        theta[:, 1] += 4 * theta[:, 0]  # and the energy
        return theta
    return small_bodies(12, (2,), spread=0.6)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", PROJECTED)
def test_euclidean_projection_matches_cvxpy(name, record_property):
    for theta0 in outsiders(name):
        assert not ALL[name].contains(theta0)
        found = ALL[name].project(theta0, metric="euclidean")
        theta = cp.Variable(10)
        cp.Problem(cp.Minimize(cp.norm(theta - theta0)), cvxpy_constraints(name, theta)).solve(solver=cp.CLARABEL)
        best, ours = np.linalg.norm(theta.value - theta0), np.linalg.norm(found - theta0)
        record_property("objectives differ by", float(abs(ours / best - 1)))
        assert abs(ours - best) <= 1e-6 * best
        np.testing.assert_allclose(found, theta.value, atol=3e-4 * np.abs(theta0).max())  # as flat as the optimum is
        assert ALL[name].violation(found) <= 1e-7


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", [name for name in PROJECTED if name not in ("semi", "consistent")])
def test_entropic_projection_matches_cvxpy(name):
    for theta0 in outsiders(name):
        found = ALL[name].project(theta0)
        theta = cp.Variable(10)
        J0 = pseudo.to_matrix(theta0)
        root = np.linalg.inv(np.linalg.cholesky(J0))
        W = root @ cvxpy_pseudo(theta) @ root.T
        cost = cp.trace(W) - cp.log_det(0.5 * (W + W.T)) - 4
        cp.Problem(cp.Minimize(cost), cvxpy_constraints(name, theta)).solve(solver=cp.CLARABEL)
        best, ours = divergence.entropic(theta.value, theta0), divergence.entropic(found, theta0)
        assert abs(ours - best) <= 1e-6 * max(1.0, best)
        np.testing.assert_allclose(found, theta.value, atol=3e-4 * np.abs(theta0).max())  # as flat as the optimum is
        assert ALL[name].contains(found)


@pytest.mark.parametrize("metric", ["entropic", "euclidean"])
@pytest.mark.parametrize("name", ALL)
def test_projection_keeps_members_and_repeats(name, metric):
    found = ALL[name].project(small_bodies(13), metric=metric)
    assert ALL[name].contains(found)
    again = ALL[name].project(found, metric=metric)
    np.testing.assert_allclose(again, found, atol=2e-6 * np.abs(found).max())


def test_a_wrong_projection_would_be_noticed():
    """Clipping eigenvalues, the usual shortcut, is not the Euclidean projection in theta: the oracle above tells them
    apart.
    """
    theta0 = outsiders("consistent")[0]
    values, vectors = np.linalg.eigh(pseudo.to_matrix(theta0))
    clipped = pseudo.to_parameters((vectors * np.maximum(values, 0)) @ vectors.T)
    found = sets.Consistent().project(theta0, metric="euclidean")
    assert np.linalg.norm(clipped - theta0) > 1.001 * np.linalg.norm(found - theta0)


def test_entropic_projection_is_invariant_to_frame_and_units():
    """Move and scale body and ellipsoid together: the projection moves and scales along."""
    theta0, T = small_bodies(14, spread=0.4), np.eye(4)
    T[:3, :3], T[:3, 3] = 2.0 * rotations(5), [1.0, -2.0, 0.5]
    moved = Ellipsoid(T[:3, :3] @ E1.center + T[:3, 3], T[:3, :3] @ E1.Q @ T[:3, :3].T)
    expected = T @ pseudo.to_matrix(ALL["ellipsoid"].project(theta0)) @ T.T
    found = sets.EllipsoidRealizable(moved).project(pseudo.to_parameters(T @ pseudo.to_matrix(theta0) @ T.T))
    np.testing.assert_allclose(pseudo.to_matrix(found), expected, rtol=1e-6, atol=1e-7)


def test_inconsistent_bodies_project_to_consistent_ones():
    theta = small_bodies(15, (6,)) * np.random.default_rng(16).normal(1.0, 0.5, (6, 10))
    theta[:, 0] = np.abs(theta[:, 0])
    for name in ("consistent", "ellipsoid", "com", "semi"):
        found = ALL[name].project(theta)
        assert sets.is_consistent(found).all()
        assert ALL[name].contains(found).all()


# rows and errors


def test_triangle_keeps_inner_products_and_clarabel_order():
    rng = np.random.default_rng(0)
    A, B = (S + np.swapaxes(S, 1, 2) for S in rng.normal(size=(2, 3, 5, 5)))
    np.testing.assert_allclose((cones.triangle(A) * cones.triangle(B)).sum(-1), np.trace(A @ B, axis1=1, axis2=2))
    np.testing.assert_allclose(cones.from_triangle(cones.triangle(A), 5), A)
    columns = np.array([[1.0, 2, 4], [2, 3, 5], [4, 5, 6]])
    np.testing.assert_allclose(cones.triangle(columns), [1, 2 * 2**0.5, 3, 4 * 2**0.5, 5 * 2**0.5, 6])


@pytest.mark.parametrize("name", ALL)
def test_rows_are_consistent_in_shape(name):
    rows = ALL[name].cone_rows(1e-6)
    assert rows.A_theta.shape == (len(rows.b), 10) and rows.A_aux.shape == (len(rows.b), rows.aux)
    assert sum(cones.row_count(kind, n) for kind, n in rows.cones) == len(rows.b)


def test_eps_is_the_least_thickness():
    """A plate of root-mean-square thickness t about the origin satisfies `J >= eps m` exactly when `t >= sqrt(eps)
    length`.
    """
    for t, inside in ((0.9e-3, False), (1.1e-3, True)):
        plate = pseudo.to_parameters(2.0 * np.diag([0.1**2, 0.1**2, t**2, 1.0]))
        rows = sets.Consistent(length=0.1).cone_rows(1e-4)
        assert (cones.smallest_eigenvalues(rows.slack(plate), rows.cones).min() >= 0) == inside


def test_eps_is_the_least_radius_of_gyration_of_a_semi_consistent_body():
    """Any positive inertia about the centre of mass will do, from `eps length^2` a kilogram on."""
    for share, inside in ((0.9, False), (1.1, True)):
        theta = np.zeros(10)
        theta[0], theta[[4, 6, 9]] = 2.0, [share * 2.0 * 1e-4 * 0.1**2, 0.3, 0.1]
        rows = sets.SemiConsistent(length=0.1).cone_rows(1e-4)
        assert (cones.smallest_eigenvalues(rows.slack(theta), rows.cones).min() >= 0) == inside


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sets.Consistent(length=0.0), "positive number of metres"),
        (lambda: sets.SemiConsistent(length=np.nan), "positive number of metres"),
        (lambda: sets.UnionRealizable(()), "at least one"),
        (lambda: sets.Intersection(()), "at least one"),
        (lambda: sets.Box([0, 0, 0], [1, 0, 1]), "lower < upper"),
        (lambda: sets.HullRealizable(np.zeros((5, 3))), "no polyhedron"),
        (lambda: sets.HullRealizable([[np.nan] * 3] * 5), "finite"),
        (lambda: sets.TetrahedraRealizable(np.zeros((2, 4, 3))), "flat"),
        (lambda: sets.TetrahedraRealizable(np.zeros((0, 4, 3))), "k at least 1"),
        (lambda: sets.PointMasses(np.zeros((3, 3))), "at least 4"),
        (lambda: sets.Bounds(np.ones(10), np.zeros(10)), "lower <= upper"),
        (lambda: sets.Consistent().contains(np.full(10, np.inf)), "not finite"),
        (lambda: sets.Consistent().contains(np.ones((2, 9))), "shape"),
        (lambda: ALL["ellipsoid"].project(small_bodies(0, spread=0.4), metric="manhattan"), "entropic, euclidean"),
        (
            lambda: sets.Intersection(
                (ALL["ellipsoid"], sets.Bounds([1, 9] + [-np.inf] * 8, [2] + [np.inf] * 9))
            ).project(small_bodies(0), metric="euclidean"),
            "contradict",
        ),
    ],
)
def test_bad_input_is_refused_with_words(make, words):
    with pytest.raises(InertiaError, match=words):
        make()


def test_clouds_are_realizable_on_their_own_points():
    masses, places = clouds(1, points=12)
    assert sets.PointMasses(places).contains(parameters(masses, places))
