"""Geometry of links in body frames, against Pinocchio's and MuJoCo's placement of the same shapes."""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import trimesh

from robots import EXAMPLE_ROBOTS, urdf
from steelyard.errors import ModelError
from steelyard.model import library, load
from steelyard.model.bounding import INFLATE, LARGEST, NOTHING, body_points, bounding_ellipsoids
from steelyard.model.mjcf import compiled_rotation

DIRECTIONS = np.random.default_rng(0).normal(size=(200, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
ROUND = 0.015  # of a round shape's size: what its points miss of it, or exceed it by
INERTIAL = (
    '<inertial><mass value="{}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'.format
)
BOX = (
    '<collision><origin xyz="0.2 0 0.1" rpy="0.3 0 1"/>'
    '<geometry><!-- in metres --><box size="0.4 0.2 0.1"/></geometry></collision>'
)
TIP = '<visual><origin rpy="1 0.5 0"/><geometry><{}/></geometry></visual>'.format
MESH = '<visual><geometry><mesh filename="{}" scale="0.1 0.2 0.3"/></geometry></visual>'.format
ROBOT = """<robot name="r"><link name="ground">{box}</link>
<link name="arm">{inertial}{arm}</link><link name="tip">{weight}{tip}</link>
<joint name="j" type="revolute"><parent link="ground"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="tip"/><origin xyz="0.5 0.1 0" rpy="0.2 0.4 0.9"/></joint>
</robot>"""


def robot_of(folder, *, arm=BOX, tip="", weight=""):
    path = folder / "urdf" / "r.urdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ROBOT.format(box=BOX, inertial=INERTIAL(2.0), arm=arm, tip=tip, weight=weight))
    return load(path)


def support(points):
    """Extent (k,) of points along DIRECTIONS."""
    return (points @ DIRECTIONS.T).max(axis=0)


def pinocchio_support(path, joint, kind, folders=()):
    """The same of all shapes on a joint, from Pinocchio's placements and COAL's own shapes."""
    model = pin.buildModelFromUrdf(str(path))
    shapes = pin.buildGeomFromUrdf(model, str(path), kind, package_dirs=[str(f) for f in folders]).geometryObjects
    found = []
    for each in shapes:
        if each.parentJoint == model.getJointId(joint):
            local = DIRECTIONS @ each.placement.rotation
            found.append(shape_support(each, local) + DIRECTIONS @ each.placement.translation)
    return np.max(found, axis=0)


def shape_support(each, directions):
    shape = each.geometry
    if hasattr(shape, "vertices"):  # scaled already
        return (directions @ np.asarray(shape.vertices()).T).max(axis=1)
    if hasattr(shape, "halfSide"):
        return np.abs(directions) @ shape.halfSide
    if hasattr(shape, "halfLength"):
        across, along = np.linalg.norm(directions[:, :2], axis=1), np.abs(directions[:, 2])
        return shape.radius * across + shape.halfLength * along
    return np.full(len(directions), shape.radius)


@pytest.mark.parametrize("tip", ['sphere radius="0.07"', 'cylinder radius="0.05" length="0.3"'])
def test_primitives_of_a_body_and_of_what_is_fixed_to_it(tmp_path, tip):
    robot = robot_of(tmp_path, tip=TIP(tip), weight=INERTIAL(1.0))
    points, gaps = body_points(robot)
    assert set(points) == {"arm"} and gaps == {}
    path = robot.source.path
    expected = [pinocchio_support(path, "j", kind) for kind in (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL)]
    size = np.ptp(points["arm"], axis=0).max()
    np.testing.assert_allclose(support(points["arm"]), np.max(expected, axis=0), atol=ROUND * size)
    wrong = points["arm"] + [0.03, 0.0, 0.0]
    assert np.abs(support(wrong) - np.max(expected, axis=0)).max() > ROUND * size


@pytest.mark.parametrize("name", ["../meshes/part.stl", "package://pack/meshes/part.stl"])
def test_meshes_by_path_and_package(tmp_path, name):
    trimesh = pytest.importorskip("trimesh")
    folder = tmp_path / "pack"
    (folder / "meshes").mkdir(parents=True)
    (folder / "package.xml").write_text("<package/>")
    trimesh.creation.icosphere().export(folder / "meshes" / "part.stl")
    points, gaps = body_points(robot_of(folder, arm=MESH(name)))
    assert gaps == {}
    np.testing.assert_allclose(np.ptp(points["arm"], axis=0), [0.2, 0.4, 0.6], rtol=0.02)


def test_a_real_arm_is_inside_its_ellipsoids():
    path = urdf("panda")
    robot = load(path)
    ellipsoids, gaps = bounding_ellipsoids(robot)
    assert tuple(ellipsoids) == robot.body_names and gaps == {}
    joints = dict(zip(robot.body_names, (robot.joints[j].name for j in robot.body_joints), strict=True))
    for name in ("panda_link2", "panda_link5", "panda_link7"):  # the hand is fixed to the last
        reach = pinocchio_support(
            path, joints[name], pin.GeometryType.COLLISION, [EXAMPLE_ROBOTS.parent, EXAMPLE_ROBOTS.parent.parent]
        )
        e = ellipsoids[name]

        def held(factor, e=e):
            return DIRECTIONS @ e.center + factor * np.sqrt(np.einsum("ki,ij,kj->k", DIRECTIONS, e.Q, DIRECTIONS))

        assert (reach <= held(1.0)).all()
        assert not (reach <= held(0.9 / INFLATE)).all()  # no room to give away


MESHES = """<mujoco><compiler angle="radian"/>
<asset><mesh name="a" file="a.stl" scale="0.5 1 2"/><mesh name="b" file="b.stl"/></asset>
<worldbody><body name="link3" pos="0.1 0 0.3" euler="0.2 0 1"><joint name="one" axis="0 1 0"/>
<geom type="mesh" mesh="a" pos="0.1 0.2 0" euler="0.3 0.1 0"/>
<body name="link5" pos="0 0.4 0"><joint name="two" axis="1 0 0"/>
<geom type="mesh" mesh="b" quat="0.7 0.1 -0.5 0.4"/><geom type="mesh" mesh="a" pos="0 0 0.2"/></body></body></worldbody>
</mujoco>"""


def test_mjcf_geoms_as_mujoco_places_them(tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "arm.xml"
    for name in ("a", "b"):
        trimesh.convex.convex_hull(rng.normal(size=(30, 3)) * [0.1, 0.05, 0.03]).export(tmp_path / f"{name}.stl")
    path.write_text(MESHES)
    robot, m = load(path), mujoco.MjModel.from_xml_path(str(path))
    points, _ = body_points(robot)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    for name in ("link3", "link5"):
        body, reach = m.body(name).id, []
        for geom in np.flatnonzero(m.geom_bodyid == body):
            if m.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
                continue
            start, count = m.mesh_vertadr[m.geom_dataid[geom]], m.mesh_vertnum[m.geom_dataid[geom]]
            world = m.mesh_vert[start : start + count] @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
            reach.append(support((world - data.xpos[body]) @ data.xmat[body].reshape(3, 3)))
        assert reach
        np.testing.assert_allclose(support(points[name]), np.max(reach, axis=0), atol=1e-6)
    assert np.allclose(compiled_rotation([1, 0, 0, 0]), np.eye(3))


@pytest.mark.parametrize(
    "parts, words",
    [
        ({"arm": MESH("gone.stl")}, "'gone.stl' does not exist"),
        ({"arm": MESH("http://x/y.stl")}, "not a local file"),
        ({"arm": BOX.replace("0.4 0.2 0.1", "0.4 0.2")}, 'size="0.4 0.2"; expected 3 finite numbers'),
        ({"arm": BOX, "weight": INERTIAL(1.0)}, f"{NOTHING} of 'tip'"),
        ({"arm": BOX.replace("0.4 0.2 0.1", "0.4 0.2 0")}, "its geometry is flat"),
        ({"arm": MESH("huge.stl")}, "huge.stl' has"),
    ],
)
def test_bodies_without_a_volume_are_named_with_the_reason(tmp_path, parts, words):
    robot = robot_of(tmp_path, **parts)
    with (tmp_path / "urdf" / "huge.stl").open("wb") as file:
        file.truncate(LARGEST + 2**20)  # sparse: no such file is written
    ellipsoids, gaps = bounding_ellipsoids(robot)
    assert ellipsoids == {} and words in gaps["arm"]


def test_one_role_does_for_a_link_where_the_other_cannot_be_read(tmp_path):
    points, gaps = body_points(robot_of(tmp_path, arm=MESH("gone.dae") + BOX))
    assert gaps == {} and len(points["arm"]) == 8
    assert body_points(robot_of(tmp_path, weight=INERTIAL(0.01)))[1] == {}  # a frame that hardly weighs anything


def test_robots_that_show_nothing(tmp_path):
    assert bounding_ellipsoids(robot_of(tmp_path, arm=""))[1]["arm"] == f"{NOTHING} of 'arm'"
    gaps = bounding_ellipsoids(replace(library.puma560(), source=None))[1]
    assert len(gaps) == 6 and set(gaps.values()) == {"the robot was not read from a file"}
    with pytest.raises(ModelError, match="at least 1"):
        bounding_ellipsoids(library.puma560(), inflate=0.9)


def test_a_changed_mesh_is_read_again(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    robot = robot_of(tmp_path, arm=MESH("part.stl"))
    for size in (1.0, 2.0):
        trimesh.creation.box([size] * 3).subdivide().export(tmp_path / "urdf" / "part.stl")
        if size == 2.0:  # another size of file, whatever the clock's steps
            trimesh.creation.box([size] * 3).export(tmp_path / "urdf" / "part.stl")
        assert np.ptp(body_points(robot)[0]["arm"], axis=0) == pytest.approx([0.1 * size, 0.2 * size, 0.3 * size])
