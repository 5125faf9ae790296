"""Mesh inertia against trimesh, closed forms, paper D's own formulas and finite differences; refusals and warnings."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from random_bodies import assert_close, rotations
from robots import SHARED_DATA
from steelyard.errors import InertiaError
from steelyard.inertia import mesh, mesh_parts
from steelyard.inertia import parameters as bodies
from steelyard.inertia.mesh import SteelyardWarning

pytestmark = [
    pytest.mark.claim(
        "body.meshes",
        "inertia of meshes against trimesh and closed forms, with derivatives",
        limits="the measured tools are point clouds, so their hulls are compared",
    ),
    pytest.mark.claim("body.refusals", "bodies and meshes that cannot be end in a message with the remedy"),
]

TOOLS = ("Box_Wrench", "Hammer", "Measuring_Tape", "Pliers", "Screwdriver")
MESHES = {
    "box": lambda: trimesh.creation.box((0.3, 0.2, 0.1)),
    "icosphere": lambda: trimesh.creation.icosphere(subdivisions=2, radius=0.2),
    "torus": lambda: trimesh.creation.torus(0.3, 0.1, major_sections=16, minor_sections=8),
    "hull": lambda: trimesh.convex.convex_hull(np.random.default_rng(0).normal(size=(30, 3))),
    "far": lambda: trimesh.creation.box((0.3, 0.2, 0.1)).apply_translation([3.0, -2.0, 5.0]),
    "two": lambda: trimesh.util.concatenate(
        [trimesh.creation.box((0.1,) * 3), trimesh.creation.icosphere(1, 0.1).apply_translation([0.4, 0, 0])]
    ),
}


def arrays(name):
    shape = MESHES[name]()
    return np.array(shape.vertices), np.array(shape.faces)


def from_trimesh(shape, density):
    shape = shape.copy()
    shape.density = density
    p = shape.mass_properties
    return bodies.from_com_inertia(np.float64(p.mass), np.asarray(p.center_mass), np.asarray(p.inertia))


@pytest.mark.parametrize("name", MESHES)
def test_equals_trimesh(name):
    assert_close(mesh.parameters(*arrays(name), density=700.0), from_trimesh(MESHES[name](), 700.0), 1e-10)


@pytest.mark.parametrize("tool", TOOLS)
def test_hulls_of_real_tools_equal_trimesh(tool):
    path = SHARED_DATA / "tools" / f"{tool}.ply"
    if not path.is_file():
        pytest.skip("needs ../shared/data/tools")
    shape = trimesh.convex.convex_hull(trimesh.load(path).vertices)
    found, expected = mesh.parameters(shape.vertices, shape.faces, density=2700.0), from_trimesh(shape, 2700.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(InertiaError, match="no triangles"):  # the files themselves are clouds of points
        mesh.load(path)


def test_box_is_exact():
    a, b, c = 0.3, 0.2, 0.1
    theta = mesh.parameters(*arrays("box"), density=1000.0)
    m = 1000 * a * b * c
    expected = [m, 0, 0, 0, m / 12 * (b * b + c * c), 0, m / 12 * (a * a + c * c), 0, 0, m / 12 * (a * a + b * b)]
    np.testing.assert_allclose(theta, expected, atol=1e-15)


def test_right_tetrahedron_is_exact():
    """Moments of the unit simplex: integral of x is 1/24, of x^2 1/60, of xy 1/120."""
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    expected = np.array([1 / 6, *[1 / 24] * 3, 1 / 30, -1 / 120, 1 / 30, -1 / 120, -1 / 120, 1 / 30])
    np.testing.assert_allclose(mesh.parameters(vertices, faces, density=1.0), expected, atol=1e-16)


@pytest.mark.parametrize(
    ("shape", "volume", "moment"),
    [("ball", 4 / 3 * np.pi * 0.2**3, 0.4 * 0.2**2), ("rod", 0.3 * np.pi * 0.05**2, 0.5 * 0.05**2)],
)
def test_fine_meshes_approach_round_primitives(shape, volume, moment):
    """Ball of radius 0.2: 2/5 r^2; cylinder of radius 0.05: 1/2 r^2 about its axis, per mass."""
    make = {
        "ball": lambda: trimesh.creation.icosphere(5, 0.2),
        "rod": lambda: trimesh.creation.cylinder(0.05, 0.3, sections=400),
    }
    shape = make[shape]()
    theta = mesh.parameters(shape.vertices, shape.faces, density=1000.0)
    np.testing.assert_allclose(theta[0], 1000 * volume, rtol=2e-3)
    np.testing.assert_allclose(theta[9] / theta[0], moment, rtol=2e-3)


def test_digits_survive_far_from_the_origin():
    """A 0.1 m box at 1 km keeps its inertia about its own centre to nine digits."""
    vertices, faces = arrays("box")
    theta = mesh.parameters(vertices, faces, density=1000.0)
    p = np.array([1000.0, -1000.0, 500.0])
    assert_close(mesh.parameters(vertices + p, faces, density=1000.0), bodies.transform(theta, np.eye(3), p), 1e-9)


# derivatives


def paper_formulas(vertices, faces, density):
    """(15)-(28) of paper D face by face, and their derivatives summed over the faces around each vertex (its slips
    corrected).
    """
    theta, D = np.zeros(10), np.zeros((10, len(vertices), 3))
    skew = lambda u: np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])  # noqa: E731
    r = lambda v: np.array([[v[1], v[0], 0], [v[2], 0, v[0]], [0, v[2], v[1]]])  # noqa: E731
    diagonal, off = [4, 6, 9], [5, 7, 8]
    for face in faces:
        v = vertices[face]
        s, n, det = v.sum(axis=0), np.cross(v[1] - v[0], v[2] - v[0]), np.linalg.det(v)
        g = sum(v[i] * v[j] for i in range(3) for j in range(i, 3))
        rv = sum(r(v[i]) @ v[j] for i in range(3) for j in range(i, 3))
        ones = np.ones((3, 3)) - np.eye(3)
        theta[0] += density / 18 * s @ n
        theta[1:4] += density / 24 * g * n
        theta[diagonal] += density / 60 * det * ones @ g
        theta[off] -= density / 120 * det * rv
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            dn, ddet, dg = skew(v[k] - v[j]), v[j] @ skew(v[k]), np.diag(s + v[i])
            D[0, face[i]] += density / 18 * (n + s @ dn)
            D[1:4, face[i]] += density / 24 * (n[:, None] * dg + g[:, None] * dn)
            D[diagonal, face[i]] += density / 60 * ones @ (np.outer(g, ddet) + det * dg)
            D[off, face[i]] -= density / 120 * (np.outer(rv, ddet) + det * r(v[i] + s))
    return theta, D


@pytest.mark.parametrize("name", MESHES)
def test_equals_the_formulas_of_the_paper(name):
    vertices, faces = arrays(name)
    theta, D = paper_formulas(vertices, faces, 700.0)
    assert_close(mesh.parameters(vertices, faces, density=700.0), theta, 1e-9)
    assert_close(mesh.vertex_derivatives(vertices, faces, density=700.0), D, 1e-9)


@pytest.mark.parametrize("name", ["box", "icosphere", "torus", "two"])
def test_derivatives_equal_finite_differences(name):
    vertices, faces = arrays(name)
    D = mesh.vertex_derivatives(vertices, faces, density=700.0)
    assert D.shape == (10, len(vertices), 3)
    rng = np.random.default_rng(1)
    for _ in range(5):
        step = rng.normal(size=vertices.shape)
        ahead, back = (mesh.parameters(vertices + h * step, faces, density=700.0) for h in (1e-5, -1e-5))
        assert_close(np.tensordot(D, step, axes=2), (ahead - back) / 2e-5, 1e-6)


def test_density_only_derivative_would_be_noticed():
    """Half the derivative, the error of summing each face into one vertex too few, does not pass the test above."""
    vertices, faces = arrays("box")
    D = mesh.vertex_derivatives(vertices, faces, density=1.0, check=False)
    grown = (
        mesh.parameters(1.00001 * vertices, faces, density=1.0)
        - mesh.parameters(0.99999 * vertices, faces, density=1.0)
    ) / 2e-5
    np.testing.assert_allclose(np.tensordot(D, vertices, axes=2), grown, rtol=1e-6, atol=1e-12)
    degree = np.array(
        [3, 0, 0, 0, 5, 5, 5, 5, 5, 5]
    )  # Euler: mass is homogeneous of degree 3 in the vertices, inertia of degree 5
    np.testing.assert_allclose(grown, degree * mesh.parameters(vertices, faces, density=1.0), rtol=1e-6, atol=1e-12)


def test_unused_vertices_have_no_derivative():
    vertices, faces = arrays("box")
    D = mesh.vertex_derivatives(np.vstack([vertices, [[0.1, 0.0, 0.0]]]), faces, density=1.0)
    assert not D[:, -1].any()


@tried(25)
@given(st.integers(0, 10**6), st.sampled_from(["box", "torus", "two"]))
def test_rigid_motion_moves_the_parameters(seed, name):
    vertices, faces = arrays(name)
    R, p = rotations(seed), np.random.default_rng(seed).normal(size=3)
    moved = vertices @ R.T + p
    theta = mesh.parameters(vertices, faces, density=500.0)
    assert_close(mesh.parameters(moved, faces, density=500.0), bodies.transform(theta, R, p), 1e-12)
    D = mesh.vertex_derivatives(vertices, faces, density=500.0)
    expected = np.tensordot(bodies.transform_matrix(R, p), D, axes=1) @ R.T
    assert_close(mesh.vertex_derivatives(moved, faces, density=500.0), expected, 1e-11)


def test_permutation_of_faces_and_corners_changes_nothing():
    vertices, faces = arrays("torus")
    order = np.random.default_rng(0).permutation(len(faces))
    turned = np.roll(faces[order], 1, axis=1)
    assert_close(mesh.parameters(vertices, turned.astype(np.uint32)), mesh.parameters(vertices, faces), 1e-13)


# parts


def test_parts_of_different_density():
    """A steel head on a wooden handle, each turned and placed, is the sum of trimesh's two bodies."""
    R, p = rotations(4), np.array([0.1, 0.2, 0.3])
    parts = [mesh_parts.Part(*arrays("box"), 7850.0), mesh_parts.Part(*arrays("torus"), 700.0, R, p)]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    expected = from_trimesh(MESHES["box"](), 7850.0) + from_trimesh(MESHES["torus"]().apply_transform(T), 700.0)
    assert_close(mesh_parts.combine(parts), expected, 1e-10)
    with pytest.raises(InertiaError, match="no parts"):
        mesh_parts.combine([])
    with pytest.raises(InertiaError, match="orthogonal"):
        mesh_parts.Part(*arrays("box"), 1.0, np.ones((3, 3)))


def test_part_derivatives_equal_finite_differences():
    vertices, faces = arrays("torus")
    R, p, h = rotations(5), np.array([0.1, -0.2, 0.3]), 1e-6
    D = mesh_parts.derivatives(mesh_parts.Part(vertices, faces, 700.0, R, p))

    def at(*, density=700.0, eta=(0.0,) * 6, step=0.0):
        eta = np.asarray(eta)
        angle = np.linalg.norm(eta[3:])
        turn = trimesh.transformations.rotation_matrix(angle, eta[3:])[:3, :3] if angle else np.eye(3)
        part = mesh_parts.Part(vertices + step, faces, density, turn @ R, turn @ p + eta[:3])
        return mesh_parts.parameters(part)

    assert_close(D.density, (at(density=701.0) - at(density=699.0)) / 2, 1e-9)
    by_pose = np.stack([(at(eta=h * e) - at(eta=-h * e)) / (2 * h) for e in np.eye(6)], axis=-1)
    assert_close(D.pose, by_pose, 1e-6)
    step = np.random.default_rng(2).normal(size=vertices.shape)
    assert_close(np.tensordot(D.vertices, step, axes=2), (at(step=h * step) - at(step=-h * step)) / (2 * h), 1e-6)


# refusals and warnings


def broken(name):
    vertices, faces = arrays("box")
    nan = vertices.copy()
    nan[3, 1] = np.nan
    flipped = faces.copy()
    flipped[0] = flipped[0, ::-1]
    return {
        "open": (vertices, faces[:-1]),
        "soup": (vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)),
        "flipped": (vertices, flipped),
        "inward": (vertices, faces[:, ::-1]),
        "flat": (vertices * [1, 1, 0], faces),
        "no faces": (vertices, faces[:0]),
        "no vertices": (vertices[:0], faces),
        "quads": (vertices, np.array([[0, 1, 2, 3]])),
        "float faces": (vertices, faces.astype(float)),
        "not finite": (nan, faces),
        "one-based": (vertices, faces + 1),
        "negative": (vertices, faces - 1),
    }[name]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("open", r"not watertight: 3 of \d+ edges.*fill the holes"),
        ("soup", "merge"),
        ("flipped", "not consistently oriented: 3 of"),
        ("inward", r"inward-oriented.*faces\[:, ::-1\]"),
        ("flat", r"degenerate mesh.*thickness"),
        ("no faces", "empty mesh: faces"),
        ("no vertices", "empty mesh: vertices"),
        ("quads", r"\(n, 3\).*Triangulate"),
        ("float faces", "integer"),
        ("not finite", r"vertex 3 .*nan.*not finite"),
        ("one-based", "0-based"),
        ("negative", "refer to vertices -1"),
    ],
)
@pytest.mark.parametrize("function", [mesh.parameters, mesh.vertex_derivatives])
def test_broken_meshes_are_refused_with_the_remedy(name, words, function):
    with pytest.raises(InertiaError, match=words):
        function(*broken(name))


@pytest.mark.parametrize("density", [0.0, -1.0, np.nan, np.inf, [1.0, 2.0]])
def test_bad_density_is_refused(density):
    with pytest.raises(InertiaError, match=r"kg/m\^3"):
        mesh.parameters(*arrays("box"), density=density)


def test_millimetres_are_noticed():
    vertices, faces = arrays("box")
    with pytest.warns(SteelyardWarning, match=r"millimetres\? Pass scale=0.001"):
        mesh.parameters(1000 * vertices, faces)
    with pytest.warns(SteelyardWarning, match="scaled twice"):
        mesh.parameters(1e-4 * vertices, faces)


def test_warnings_point_at_the_caller():
    vertices, faces = arrays("box")
    for function in (mesh.parameters, mesh.vertex_derivatives):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(1000 * vertices, faces)
        assert [warning.filename for warning in caught] == [__file__]


def test_faces_without_area_are_named_and_harmless():
    vertices, faces = arrays("box")
    split = np.vstack([vertices, 0.5 * (vertices[faces[0, 0]] + vertices[faces[0, 1]])])
    a, b, c = faces[0]
    needle = np.vstack([faces[1:], [[a, 8, c], [8, b, c], [a, b, 8]]])  # the last one is a line
    with pytest.warns(SteelyardWarning, match="without area"):
        theta = mesh.parameters(split, needle)
    assert_close(theta, mesh.parameters(vertices, faces), 1e-13)


@tried(50)
@given(st.integers(0, 10**6), st.sampled_from(["box", "torus", "hull"]))
def test_every_missing_or_turned_face_is_noticed(seed, name):
    vertices, faces = arrays(name)
    rng = np.random.default_rng(seed)
    some = rng.choice(len(faces), size=rng.integers(1, len(faces) - 1), replace=False)
    assert mesh.is_closed(faces, len(vertices))
    assert not mesh.is_closed(np.delete(faces, some, axis=0), len(vertices))
    turned = faces.copy()
    turned[some] = turned[some, ::-1]
    assert not mesh.is_closed(turned, len(vertices))


# files


def test_load_reads_scales_and_merges(tmp_path):
    shape = MESHES["torus"]()
    expected = from_trimesh(shape, 1000.0)
    for suffix in ("stl", "obj", "ply", "off", "glb"):
        path = tmp_path / f"part.{suffix}"
        shape.copy().apply_scale(1000.0).export(path)
        np.testing.assert_allclose(mesh.parameters(*mesh.load(path, scale=0.001)), expected, rtol=1e-5, atol=1e-6)


def test_load_places_the_parts_of_a_scene(tmp_path):
    scene = trimesh.Scene()
    T = np.eye(4)
    T[:3, 3] = [1.0, 0.0, 0.0]
    scene.add_geometry(trimesh.creation.box((0.1,) * 3))
    scene.add_geometry(trimesh.creation.box((0.2,) * 3), transform=T)
    scene.export(tmp_path / "scene.glb")
    theta = mesh.parameters(*mesh.load(tmp_path / "scene.glb"), density=1000.0)
    np.testing.assert_allclose(theta[:2], [9.0, 8.0], rtol=1e-6)


def test_load_refuses_what_it_cannot_read(tmp_path):
    (tmp_path / "empty.stl").touch()
    (tmp_path / "part.step").write_text("ISO-10303-21;")
    (tmp_path / "broken.ply").write_text("ply\nformat ascii 1.0\nelement vertex 3\n")
    (tmp_path / "points.obj").write_text("v 0 0 0\nv 1 0 0\n")
    for name, words in [
        ("missing.stl", "no mesh file"),
        ("empty.stl", "empty"),
        ("part.step", "unsupported mesh format 'step'.*stl"),
        ("broken.ply", "broken.ply"),
        ("points.obj", "points.obj"),
    ]:
        with pytest.raises(InertiaError, match=words):
            mesh.load(tmp_path / name)
    with pytest.raises(InertiaError, match="scale"):
        mesh.load(tmp_path / "missing.stl", scale=0.0)


def test_materials_need_no_pillow(tmp_path):
    """Pillow is no dependency: `check` ended with an error on robots whose meshes name a material that is not there."""
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\n"
    faces = "usemtl skin\nf 1/1 3/1 2/1\nf 1/1 2/1 4/1\nf 1/1 4/1 3/1\nf 2/1 3/1 4/1\n"
    (tmp_path / "box.obj").write_text(f"mtllib absent.mtl\n{corners}{faces}")
    told = "print(len(load(p)[0]), len(load(p)[1]), load_colored(p)[2])"
    code = f"from steelyard.inertia.mesh_files import load, load_colored; p = sys.argv[1]; {told}"
    words = [sys.executable, "-c", f"import sys; sys.modules['PIL'] = None; {code}", tmp_path / "box.obj"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("4 4 ")
