"""Geometry and repair against engines we did not write: trimesh for solids, closed forms, Pinocchio for torques."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from check.corpus.cases import MJCF, TENSOR, URDF
from properties import tried
from steelyard import check
from steelyard.check.inertial_repair import _nearest
from steelyard.check.part_geometry import geometry_of
from steelyard.check.repaired_copy import SAMPLES
from steelyard.identifiable.numeric_rank import robot_states
from steelyard.inertia import solids, to_com_inertia
from steelyard.inertia.hull import convex_surface
from steelyard.model import load
from steelyard.model.formats import read_sketch as scan
from steelyard.model.sketch import Inertial, Place


def stated(moments, *, mass=1.0, com=(0.0, 0.0, 0.0)):
    place = Place(None, 1, "link 'a' > inertial")
    return Inertial(place, mass, np.array(com), np.eye(3), np.diag(np.array(moments, dtype=float)))


@pytest.mark.parametrize(
    "points, volume",
    [
        (solids.box([0.1, 0.2, 0.3]), 0.048),
        (solids.cylinder(0.1, 0.2), np.pi * 0.01 * 0.4),
        (solids.ellipsoid([0.1, 0.2, 0.3]), 4 / 3 * np.pi * 0.006),
        (solids.capsule(0.1, 0.2), np.pi * 0.01 * 0.4 + 4 / 3 * np.pi * 0.001),
    ],
)
def test_primitives_have_their_volume(points, volume):
    trimesh = pytest.importorskip("trimesh")
    assert trimesh.convex.convex_hull(points).volume == pytest.approx(volume, rel=0.02)


@pytest.mark.parametrize("kind, size", [("box", 3), ("cylinder", 2), ("sphere", 1), ("capsule", 2)])
def test_the_surface_of_a_primitive_is_its_hull_without_qhull(kind, size):
    rng = np.random.default_rng(4)
    turned = Rotation.random(rng=rng).as_matrix()
    points = solids.points(kind, rng.uniform(0.1, 1.0, size)) @ turned.T + rng.normal(size=3)
    faces = solids.faces_of_urdf(kind)
    surface, truth = convex_surface(points, faces, points), ConvexHull(points)
    assert surface is not None and surface.volume == pytest.approx(truth.volume, rel=1e-12)
    assert set(surface.vertices) == set(truth.vertices)
    around = points.mean(axis=0) + rng.normal(size=(200, 3))

    def heights(equations):
        return (around @ equations[:, :3].T + equations[:, 3]).max(axis=1)

    np.testing.assert_allclose(heights(surface.equations), heights(truth.equations), atol=1e-12)
    outer = np.vstack([points, 2 * points[:1] - points.mean(axis=0)])
    for wrong, spanned in (
        (faces[:, ::-1], points),  # inside out
        (faces[1:], points),  # open
        (np.vstack([faces, faces]), points),  # twice
        (faces, outer),  # not all points
    ):
        assert convex_surface(points, wrong, spanned) is None


def test_a_surface_with_a_dent_is_not_its_hull():
    points = solids.box([1.0, 1.0, 1.0])
    points[0] *= 0.2
    assert convex_surface(points, solids.faces_of_urdf("box"), points) is None


def test_a_mesh_is_weighed_as_trimesh_does(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    ring = trimesh.creation.annulus(r_min=0.05, r_max=0.1, height=0.04)
    ring.apply_translation([0.02, -0.01, 0.1])
    ring.export(tmp_path / "ring.stl")
    text = URDF.replace('<origin xyz="0 0 0.2"/><geometry>', '<origin xyz="0 0 0.1" rpy="0 0 0.5"/><geometry>')
    path = tmp_path / "a.urdf"
    path.write_text(text.replace('<box size="0.1 0.1 0.4"/>', '<mesh filename="ring.stl" scale="1 1 2"/>'))
    geometry = geometry_of(scan(path), 1)
    ring.apply_scale([1, 1, 2])
    ring.apply_transform(trimesh.transformations.euler_matrix(0, 0, 0.5))
    ring.apply_translation([0, 0, 0.1])
    mass, com, inertia = to_com_inertia(geometry.solid)
    assert mass == pytest.approx(1000 * ring.volume, rel=1e-6)
    np.testing.assert_allclose(com, ring.center_mass, atol=1e-7)
    np.testing.assert_allclose(inertia, 1000 * ring.moment_inertia, atol=1e-6)


@tried(40)
@given(
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3).filter(lambda m: max(np.abs(m)) > 0.01), st.floats(0.01, 100)
)
def test_the_nearest_inertia_is_consistent_and_keeps_mass_and_centre(moments, mass):
    before = stated(np.array(moments) * mass, mass=mass, com=(0.1, 0.2, -0.3))
    after, _ = _nearest(before, None)
    assert after.mass == before.mass
    np.testing.assert_array_equal(after.com, before.com)
    a, b, c = after.moments
    assert a > 0
    assert a + b - c > 0


def test_mended_within_the_geometry_fits_a_grown_box(tmp_path):
    path = tmp_path / "a.urdf"
    path.write_text(URDF.replace(TENSOR, '<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.1"/>'))
    (change,) = check.repair(path, tmp_path / "b.urdf", fix="all").changes
    spread = change.after.spread / change.after.mass
    # semi-axes of the smallest ellipsoid around a box are sqrt(3) of its half sides; no mass in it spreads further
    assert (spread / np.square(1.1 * np.sqrt(3) * np.array([0.05, 0.05, 0.2]))).sum() <= 1 + 1e-6
    # an unmended tensor does not pass this test
    assert (change.before.spread / 2 / np.square(1.1 * np.sqrt(3) * np.array([0.05, 0.05, 0.2]))).sum() > 1.25


def test_effect_on_torques_is_pinocchios(tmp_path):
    pinocchio = pytest.importorskip("pinocchio")
    path, out = tmp_path / "a.urdf", tmp_path / "b.urdf"
    path.write_text(URDF.replace(TENSOR, TENSOR.replace('izz="0.0033"', 'izz="0.09"')))
    done = check.repair(path, out, fix="all")
    models = [pinocchio.buildModelFromUrdf(str(each)) for each in (path, out)]
    robot = load(path)
    q, v, a = (x.T for x in robot_states(robot, SAMPLES, seed=0))
    q = np.clip(q, robot.lower, robot.upper)
    tau = [np.array([pinocchio.rnea(m, m.createData(), *x) for x in zip(q, v, a, strict=True)]) for m in models]
    assert len(q) == SAMPLES
    np.testing.assert_allclose([e.before for e in done.effects], np.sqrt(np.mean(tau[0] ** 2, axis=0)), rtol=1e-9)
    change = np.sqrt(np.mean((tau[1] - tau[0]) ** 2, axis=0))
    np.testing.assert_allclose([e.change for e in done.effects], change, atol=1e-12)
    assert done.effects[0].change > 1e-4


def test_orientations_of_mjcf_inertials_are_understood(tmp_path):
    turned = 'diaginertia="0.0033 0.0283 0.0283" euler="0 1.5707963267948966 0"'
    path = tmp_path / "a.xml"
    path.write_text(MJCF.replace('diaginertia="0.0283 0.0283 0.0033"', turned))
    assert check.run(path).items == ()
    path.write_text(path.read_text().replace("1.5707963267948966", "0"))
    assert "SY304" in check.run(path).codes
    out = tmp_path / "b.xml"
    assert check.repair(path, out, fix="all").remaining.items == ()


def test_included_files_are_repaired_beside_the_model(tmp_path):
    start, stop = MJCF.index("  <worldbody>"), MJCF.index("  <actuator>")
    (tmp_path / "arm.xml").write_text(
        "<mujocoinclude>\n" + MJCF[start:stop].replace('"2"', '"-2"') + "</mujocoinclude>\n"
    )
    path = tmp_path / "a.xml"
    path.write_text(MJCF[:start] + '  <include file="arm.xml"/>\n' + MJCF[stop:])
    (finding,) = check.run(path)
    assert (finding.code, finding.path.rsplit("/", 1)[-1], finding.line) == ("SY103", "arm.xml", 4)
    done = check.repair(path, tmp_path / "out" / "b.xml")
    assert done.remaining.items == ()
    assert sorted(each.name for each in done.files) == ["b.xml", "b_arm.xml"]
