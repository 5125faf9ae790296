"""What is shown of a robot: every geometry in its place, and a word for what is not."""

import base64
import re
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import trimesh
from scipy.spatial import cKDTree

from robots import package_folder, urdf
from steelyard import load
from steelyard.inertia import mesh
from steelyard.model import library
from steelyard.viewer.scene import scene
from steelyard.viewer.shape import Surface, looks, packed_shape
from steelyard.viewer.simplify import cluster, to_count, within_budget
from view_models import write_arm


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return load(write_arm(tmp_path_factory.mktemp("arm")))


def unpacked(found) -> tuple[np.ndarray, np.ndarray]:
    steps = np.frombuffer(base64.b64decode(found["positions"]), "<i2").reshape(-1, 3)
    faces = np.frombuffer(base64.b64decode(found["faces"]), "<u4" if found["wide"] else "<u2").reshape(-1, 3)
    return np.array(found["center"]) + found["scale"] * steps, faces.astype(np.int64)


def volume(vertices, faces) -> float:
    return float(mesh.parameters(vertices, faces, density=1.0, check=False)[0])


def test_urdf_geometry_has_its_place_role_and_colour(arm):
    found = looks(arm)
    roles = [(part.link, part.role) for part in found.parts]
    assert roles == [
        ("ground", "visual"),
        ("upper", "collision"),
        ("upper", "visual"),
        ("forearm", "visual"),
        ("rod", "visual"),
    ]
    assert found.parts[0].color == (0, 0.2, 0.9, 1) and found.parts[3].color == (0.9, 0.1, 0.1, 1)
    assert found.parts[2].color is None
    box = found.shapes[found.parts[1].shape]
    np.testing.assert_allclose(volume(box.vertices, box.faces), 0.4 * 0.08 * 0.08)
    rod = found.shapes[found.parts[2].shape]  # mirrored by its scale, and still seen from outside
    assert volume(rod.vertices, rod.faces) > 0.001


def test_collision_shapes_stand_in_where_a_body_shows_nothing(tmp_path):
    text = write_arm(tmp_path).read_text()
    only = text.split('<link name="upper">')[1].split("</link>")[0]
    bare = text.replace(only, re.sub(r"<visual>.*?</visual>", "", only, flags=re.DOTALL))
    for source, stands_in in ((text, False), (bare, True)):
        (tmp_path / "arm.urdf").write_text(source)
        parts = scene(load(tmp_path / "arm.urdf"))["parts"]
        assert [part["bare"] for part in parts if part["role"] == "collision"] == [stands_in]
        assert any(part["role"] == "visual" for part in parts)


def test_what_is_missing_is_named(arm):
    (gap,) = looks(arm).gaps
    assert "'forearm'" in gap and "nothing.stl" in gap and "does not exist" in gap
    assert looks(replace(library.scara(), source=None)).gaps == (
        "The robot was not read from a file: it has no meshes.",
    )


def test_mjcf_parts_are_where_mujoco_has_them():
    path = package_folder("dm_control") / "third_party" / "kinova" / "jaco_arm.xml"
    robot = load(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    found = looks(robot)
    assert {part.role for part in found.parts} == {"visual", "collision"} and found.gaps == ()
    links = {link.name: link for link in robot.links}
    place = {(part.link, part.shape): part for part in found.parts}
    seen = 0
    for geom in np.flatnonzero(m.geom_type == mujoco.mjtGeom.mjGEOM_MESH):
        body = m.geom_bodyid[geom]
        start, count = m.mesh_vertadr[m.geom_dataid[geom]], m.mesh_vertnum[m.geom_dataid[geom]]
        vertices = m.mesh_vert[start : start + count]
        index = next(
            k
            for k, s in enumerate(found.shapes)
            if s.vertices.shape == vertices.shape and np.allclose(s.vertices, vertices)
        )
        part = place[m.body(body).name, index]
        world = d.xmat[body].reshape(3, 3) @ (vertices @ part.rotation.T + part.position).T + d.xpos[body][:, None]
        np.testing.assert_allclose(world.T, vertices @ d.geom_xmat[geom].reshape(3, 3).T + d.geom_xpos[geom], atol=1e-6)
        assert part.link in links
        seen += 1
    assert seen > 5


def test_fewer_triangles_keep_the_shape():
    body = trimesh.creation.icosphere(5, 0.3)
    whole = Surface(np.array(body.vertices), np.array(body.faces))
    few = to_count(whole, 1500)
    assert 1000 < len(few.faces) <= 1500
    np.testing.assert_allclose(volume(few.vertices, few.faces), body.volume, rtol=0.02)
    assert np.abs(np.linalg.norm(few.vertices, axis=1) - 0.3).max() < 0.006


def test_edges_stay_sharp():
    """A subdivided box: its corners are where planes meet, which means of vertices would round off."""
    body = trimesh.creation.box((0.4, 0.3, 0.2))
    for _ in range(5):
        body = body.subdivide()
    few = cluster(Surface(np.array(body.vertices), np.array(body.faces)), 0.11)
    corners = trimesh.creation.box((0.4, 0.3, 0.2)).vertices
    assert len(few.faces) < len(body.faces) / 20
    assert cKDTree(few.vertices).query(corners)[0].max() < 1e-6
    np.testing.assert_allclose(volume(few.vertices, few.faces), 0.4 * 0.3 * 0.2, rtol=1e-6)


def test_the_budget_is_kept_and_small_parts_too():
    large, small = trimesh.creation.icosphere(5, 1.0), trimesh.creation.box((0.01, 0.01, 0.01))
    shapes = [Surface(np.array(each.vertices), np.array(each.faces)) for each in (large, small, large)]
    found = within_budget(shapes, 4000)
    assert 2500 < sum(len(each.faces) for each in found) <= 4000
    assert found[1] is shapes[1]


def test_packing_loses_micrometres_only():
    body = trimesh.creation.icosphere(3, 0.3)
    colors = np.where(body.vertices[body.faces].mean(axis=1)[:, :1] > 0, [[255, 0, 0, 255]], [[0, 0, 255, 255]])
    found = packed_shape(Surface(np.array(body.vertices) + 5, np.array(body.faces), colors.astype(np.uint8)))
    vertices, faces = unpacked(found)
    assert cKDTree(body.vertices + 5).query(vertices)[0].max() < 2e-5 and len(faces) == len(body.faces)
    assert [group["color"] for group in found["groups"]] == [[0, 0, 1, 1], [1, 0, 0, 1]]
    first = vertices[faces[: found["groups"][0]["count"] // 3]].mean(axis=1)
    assert (first[:, 0] < 5 + 1e-4).all()


def test_scene_of_a_humanoid_is_small():
    found = scene(load(urdf("g1_29dof_rev_1_0")))
    triangles = sum(group["count"] for shape in found["shapes"] for group in shape["groups"]) / 3
    assert 40_000 < triangles <= 60_000 and found["notes"] == []
    assert len(found["joints"]) == 29 and found["q"] == [0.0] * 29
