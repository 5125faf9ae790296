"""Shapes to points: volumes, moments and membership against trimesh, and every kind of shape a user may have."""

import numpy as np
import pytest
import trimesh

from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import Ellipsoid, HullRealizable, parameters
from steelyard.payload import solid_of
from steelyard.payload.solid_shape import small_boxes, unit_masses

pytestmark = pytest.mark.claim("payload.mistakes")

BOX = trimesh.creation.box((0.1, 0.05, 0.2))
CAPSULE = trimesh.creation.capsule(height=0.15, radius=0.03)
RING = trimesh.creation.annulus(r_min=0.03, r_max=0.05, height=0.02)


def unit_theta(mesh):
    """(10,) of 1 kg, from trimesh's volume integrals."""
    return parameters.from_com_inertia(1.0, mesh.center_mass, mesh.moment_inertia / mesh.volume)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("mesh", [BOX, CAPSULE, RING], ids=["box", "capsule", "ring"])
def test_closed_meshes(mesh):
    solid = solid_of(mesh)
    np.testing.assert_allclose(solid.homogeneous, unit_theta(mesh), rtol=1e-9, atol=1e-9)
    assert solid.volume == pytest.approx(mesh.volume, rel=0.1)
    assert mesh.contains(solid.points).all()
    sampled = small_boxes(solid.points, solid.spacing).mean(axis=1)
    np.testing.assert_allclose(sampled, unit_theta(mesh), atol=0.03 * unit_theta(mesh)[[4, 6, 9]].max())
    assert solid.notes == () and 1500 < len(solid.points) < 2700
    assert (solid_of(mesh).points == solid.points).all()  # the seed is fixed
    assert (solid_of(mesh, seed=1).points != solid.points).any()


def test_density_and_samples():
    solid = solid_of(BOX, density=0.04)  # E: 0.04 points per cm^3 of 1000 cm^3
    assert 32 <= len(solid.points) <= 50
    fine = solid_of(BOX)
    chosen = fine.sample(56)
    assert len(np.unique(chosen, axis=0)) == 56 and BOX.contains(chosen).all()
    np.testing.assert_allclose(chosen.mean(axis=0), 0, atol=0.01)
    assert len(fine.sample(10**6)) == len(fine.points)
    columns, share, members = fine.cells(96)
    assert columns.shape[1] <= 96 and share.sum() == pytest.approx(1.0) and members.max() + 1 == columns.shape[1]
    np.testing.assert_allclose(columns @ share, small_boxes(fine.points, fine.spacing).mean(axis=1), atol=1e-12)
    with pytest.raises(OptionError, match="points per cm"):
        solid_of(BOX, density=-1.0)


def test_every_kind_of_shape(tmp_path):
    mesh = CAPSULE
    path = tmp_path / "capsule.stl"
    mesh.export(path)
    millimetres = tmp_path / "capsule_mm.stl"
    mesh.copy().apply_scale(1000.0).export(millimetres)
    cloud = mesh.sample(4000, seed=0)
    trimesh.PointCloud(cloud).export(tmp_path / "cloud.ply")
    closed = [
        solid_of(path),
        solid_of(str(path)),
        solid_of((mesh.vertices, mesh.faces)),
        solid_of(trimesh.Scene(mesh)),
        solid_of(trimesh.primitives.Capsule(height=0.15, radius=0.03)),
        solid_of(millimetres, scale=0.001),
    ]
    for solid in closed:
        np.testing.assert_allclose(solid.homogeneous[[4, 6]], closed[0].homogeneous[[4, 6]], rtol=0.05)
    clouds = [
        solid_of(cloud),
        solid_of(tmp_path / "cloud.ply"),
        solid_of(trimesh.PointCloud(cloud)),
        solid_of(mesh.voxelized(0.004).fill()),
    ]
    for solid in clouds:  # voxels overhang the surface a little
        assert solid.volume == pytest.approx(mesh.volume, rel=0.35)
        np.testing.assert_allclose(solid.homogeneous[[4, 6]], unit_theta(mesh)[[4, 6]], rtol=0.12)
    assert solid_of(closed[0]) is closed[0]
    egg = Ellipsoid.from_semi_axes([0.1, 0.05, 0.03], center=[0.1, 0, 0])
    solid = solid_of(egg)
    assert solid.volume == pytest.approx(egg.volume, rel=0.05)
    assert solid.homogeneous[4] == pytest.approx((0.05**2 + 0.03**2) / 5, rel=0.03)


def test_an_open_mesh_is_filled_and_said():
    mesh = trimesh.creation.icosphere(4, 0.1)
    mesh.update_faces(np.arange(len(mesh.faces) - 200))
    assert not mesh.is_watertight
    solid = solid_of(mesh)
    assert "not closed" in solid.notes[0]
    assert solid.volume == pytest.approx(4 / 3 * np.pi * 1e-3, rel=0.2)
    assert solid.homogeneous[4] == pytest.approx(0.4 * 0.01, rel=0.25)


def test_an_inward_mesh_is_the_same_solid():
    solid = solid_of((BOX.vertices, BOX.faces[:, ::-1]))
    np.testing.assert_allclose(solid.homogeneous, solid_of(BOX).homogeneous, atol=1e-12)


def test_a_shape_is_placed():
    from random_bodies import rotations

    R, p = rotations(1), np.array([0.1, 0.2, 0.3])
    placed = solid_of(BOX, pose=(R, p))
    expected = parameters.transform(unit_theta(BOX), R, p)
    np.testing.assert_allclose(placed.homogeneous, expected, atol=1e-9)
    with pytest.raises(OptionError, match="pose is"):
        solid_of(BOX, pose=(2 * R, p))


def test_few_points_stand_for_their_hull():
    corners = np.array(np.meshgrid([0, 0.1], [0, 0.05], [0, 0.2])).reshape(3, -1).T
    solid = solid_of(corners)
    assert "convex hull" in solid.notes[0]
    assert solid.volume == pytest.approx(1e-3, rel=0.05)
    flat = solid_of(corners[corners[:, 2] == 0])
    assert 0 < flat.volume < 1e-4


@pytest.mark.parametrize(
    ("shape", "kind", "words"),
    [
        (BOX.copy().apply_scale(1000.0), InertiaError, "is it in millimetres"),
        (np.zeros((3, 3)), InertiaError, "at least 4"),
        (np.zeros((9, 3)), InertiaError, "coincide"),
        ("missing.stl", InertiaError, "no mesh file"),
        (7, OptionError, "expected a mesh or point cloud"),
    ],
)
def test_refused(shape, kind, words):
    with pytest.raises(kind, match=words):
        solid_of(shape)


def test_ellipsoid_and_hull_hold_the_shape():
    solid = solid_of(CAPSULE)
    assert solid.ellipsoid.contains(solid.points, tolerance=1e-9).all()
    outer = solid.coarse_hull(40)
    assert len(outer) <= 48
    hull = trimesh.convex.convex_hull(outer)
    assert hull.contains(solid.points).all() and hull.volume < 1.5 * CAPSULE.volume
    assert HullRealizable(outer).contains(0.5 * solid.homogeneous)
    assert solid.distance_outside([0, 0, 0.05]) == 0
    assert solid.distance_outside([0.1, 0, 0.05]) == pytest.approx(0.07, abs=0.003)


def test_unit_masses_by_hand():
    theta = unit_masses(np.array([[1.0, 2.0, 3.0]]))[:, 0]
    np.testing.assert_allclose(theta, [1, 1, 2, 3, 13, -2, 10, -3, -6, 5])


def test_shapes_that_no_lattice_fits(tmp_path):
    """A needle across its box asked for gigabytes of lattice."""
    sliver = [[0, 0, 0], [1, 1, 1], [1e-5, 0, 0], [0, 1e-5, 0]]
    with pytest.raises(InertiaError, match="of its bounding box"):
        solid_of((np.array(sliver), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])))


def test_a_fine_mesh_is_filled_as_a_coarse_one():
    """Faces much smaller than the lattice, which are looked at in many parts."""
    coarse, fine = (solid_of(mesh) for mesh in (BOX, BOX.subdivide().subdivide().subdivide().subdivide()))
    np.testing.assert_allclose(fine.points, coarse.points, rtol=0, atol=1e-12)
