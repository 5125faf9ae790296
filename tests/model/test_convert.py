"""Conversions keep everything: Pinocchio (URDF) and MuJoCo (MJCF) compute the same torques and see the same geometry,
and a model with its side file is the robot that it was made from."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import steelyard as sy
from conversions import largest_difference, quiet, seen_by_mujoco, seen_by_pinocchio, states
from robots import URDFS, package_folder
from steelyard.errors import ModelError
from steelyard.model import library
from steelyard.model.compare import relative_difference, structure_difference, value_difference, whole_difference
from steelyard.model.drive import Drive
from steelyard.model.formats import opened
from steelyard.model.loops import Loop
from steelyard.model.side import read_side, side_path

SEEN = {".urdf": seen_by_pinocchio, ".xml": seen_by_mujoco}
STEMS = [f"{path.parent.parent.name}/{path.name}" for path in URDFS]
# what is refused, and why; in `lost` geometry that cannot be read or that Pinocchio finds elsewhere
REFUSED = {
    "icub": "is a point",
    "icub_reduced": "is a point",
    "romeo": "has no mass",
    "romeo_laas_small": "no distribution of mass",
    "romeo_small": "no distribution of mass",
    "quadrotor_base": "no movable joint",
    "iris_simple": "no movable joint",
    "ur3": "has no <link>",
}
LOST = {"anymal", "anymal-kinova", "talos_full_v2", "talos_full_v2_box"}
OF_COAL = {"simple_humanoid"}  # whose convex shapes the test does not measure
FEW = ("double_pendulum_continuous", "allegro_right_hand", "alexander_v1.lowerBodyOnly", "so100")
DM = package_folder("dm_control")
MJCFS = [
    *(
        f"suite/{name}"
        for name in ("finger", "cheetah", "manipulator", "swimmer", "acrobot", "ball_in_cup", "cartpole")
    ),
    *(f"suite/{name}" for name in ("dog", "fish", "hopper", "humanoid", "humanoid_CMU", "pendulum", "point_mass")),
    *(f"suite/{name}" for name in ("quadruped", "reacher", "stacker", "walker")),
    *(f"locomotion/walkers/assets/{name}" for name in ("humanoid_CMU_V2019", "humanoid_CMU_V2020", "rodent_v2/rodent")),
    *(f"third_party/{name}" for name in ("ant/ant", "kinova/jaco_arm", "kinova/jaco_hand")),
]
MJCFS = [name for name in MJCFS if (DM / f"{name}.xml").is_file()]
FEW_MJCFS = ("suite/finger", "suite/manipulator", "suite/swimmer")


def read(path):
    """A model with the side file beside it."""
    robot, side = sy.load(path), side_path(path)
    return read_side(side, robot) if side.is_file() else robot


def there_and_back(path, folder, suffixes):
    """The robots of the three files, and what is said of the first conversion."""
    robot = sy.load(path)
    report = sy.save(robot, folder / f"there{suffixes[0]}")
    other = read(report.path)
    back = sy.save(other, folder / f"back{suffixes[1]}").path
    return (path, robot), (report.path, other), (back, read(back)), report


def apart(files, count=3):
    """Links whose extents differ between the first file and the others; torques do not."""
    q, v, a = states(files[0][1], count)
    views = [quiet(SEEN[Path(path).suffix], path, robot, q, v, a) for path, robot in files]
    found = [largest_difference(views[0], view) for view in views[1:]]
    assert max(torque for torque, _ in found) < 1e-9
    return [links for _, links in found]


def same_robot(robot, other):
    """First difference of all but the inertials of links, which may be stated together."""
    return (
        structure_difference(robot, other)
        or value_difference(replace(robot, links=()), replace(other, links=()))
        or whole_difference(robot, other)
    )


def compare_urdf(path, folder):
    stem = path.stem
    if stem in REFUSED:
        with pytest.raises(ModelError, match=REFUSED[stem]):
            there_and_back(path, folder, (".xml", ".urdf"))
        return
    *files, report = there_and_back(path, folder, (".xml", ".urdf"))
    if stem in OF_COAL:
        files = files[1:]
    for links in apart(files):
        assert not links or (stem in LOST and set(links.values()) == {np.inf})
    robot, back = files[0][1], files[-1][1]
    merged = any(note.startswith("Bodies without mass") for note in report.notes)
    assert merged or same_robot(robot, back) is None
    together = any("the sum is stated instead" in note or "stand still" in note for note in report.notes)
    if not (merged or together or stem in OF_COAL):
        assert {link.name for link in back.links} == {link.name for link in robot.links}
        own = {link.name: link.theta for link in back.links}
        assert max(relative_difference(own[link.name], link.theta) for link in robot.links) < 1e-9


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("stem", FEW)
def test_a_urdf_through_mjcf_and_back(stem, tmp_path):
    compare_urdf(next(path for path in URDFS if path.stem == stem), tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", URDFS, ids=STEMS)
def test_every_urdf_through_mjcf_and_back(path, tmp_path):
    compare_urdf(path, tmp_path)


def compare_mjcf(path, folder):
    *files, _ = there_and_back(path, folder, (".urdf", ".xml"))
    document = opened(path)
    round_ones = {piece.link for piece in document.pieces() if piece.solid and piece.solid[0] == "ellipsoid"}
    for links in apart(files):  # an ellipsoid of URDF is a mesh, and MuJoCo's pieces without a role have no place
        assert {link for link, _ in links} <= round_ones
        assert all(error < 1e-3 for error in links.values())
    robot, back = files[0][1], files[-1][1]
    assert back.joint_names == robot.joint_names and set(robot.body_names) == set(back.body_names)
    # links and sites share their names in URDF, so a site may have got another
    names = [sorted(site.name.rstrip("_") for site in each.sites) for each in (back, robot)]
    assert names[0] == names[1]
    for field in ("armature", "damping", "frictionloss", "gravity", "lower", "upper", "effort_limits"):
        np.testing.assert_allclose(getattr(back, field), getattr(robot, field), rtol=1e-12, err_msg=field)
    assert [*back.drives.items()] == [*robot.drives.items()] and back.loop_names == robot.loop_names


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", FEW_MJCFS)
def test_an_mjcf_through_urdf_and_back(name, tmp_path):
    compare_mjcf(DM / f"{name}.xml", tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MJCFS)
def test_every_mjcf_through_urdf_and_back(name, tmp_path):
    compare_mjcf(DM / f"{name}.xml", tmp_path)


def test_the_side_file_completes_a_robot(tmp_path):
    robot = library.cheetah3_leg()
    drive = Drive("position", kp=50.0, kd=2.0, limit=20.0, slope_limit=3.0)
    loop = Loop(
        "rod", "hinge", (None, robot.body_names[-1]), np.stack([np.eye(3)] * 2), np.array([[0.1, 0, 0], [0, 0, -0.2]])
    )
    robot = replace(
        robot.with_joint_properties(armature=[0.1, 0.2, 0.3]),
        gravity=np.array([0.0, 1.0, -9.0]),
        loops=(loop,),
        actuated=robot.joint_names[:2],
        drives=dict.fromkeys(robot.joint_names[:2], drive),
        source=None,
    )
    for suffix in (".urdf", ".xml"):
        report = sy.save(robot, tmp_path / f"new{suffix}")
        assert side_path(report.path) in report.files
        assert "closed loops" in " ".join(report.notes)
        found = read(report.path)
        assert same_robot(robot, found) is None and found.actuated == robot.actuated
        assert found.drives == robot.drives and len(found.rotors) == len(robot.rotors) > 0
        side_path(report.path).unlink()


def test_the_side_file_of_another_model_stays(tmp_path):
    robot = replace(library.cheetah3_leg(), source=None)
    side = tmp_path / "new.steelyard.toml"
    side.write_text("version = 1\n[known.masses]\nthigh = 1.2\n")
    with pytest.raises(ModelError, match=r"that file is another's. Choose another name for new.urdf"):
        sy.save(robot.with_joint_properties(armature=[0.1, 0.2, 0.3]), tmp_path / "new.urdf")
    assert [each.name for each in tmp_path.iterdir()] == ["new.steelyard.toml"]
    assert side.read_text().startswith("version = 1\n[known")


def test_the_side_file_of_the_source_serves_both(tmp_path):
    """Beside arm.urdf lies a file by hand; arm.xml is read with it, too."""
    source = Path(library.scara().source.path)
    for path in (source, side_path(source)):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    robot = read(tmp_path / source.name)
    report = sy.save(robot, tmp_path / "scara.xml")
    assert (tmp_path / "scara.steelyard.toml").read_bytes() == side_path(source).read_bytes()
    assert "It does not have velocity limit, which scara.xml has no place for." in " ".join(report.notes)
    assert len(read(report.path).rotors) == len(robot.rotors) > 0
    with pytest.raises(ModelError, match="another name"):  # without its rotors it is another robot
        sy.save(replace(robot, rotors=robot.rotors[1:], source=None), tmp_path / "scara.xml")


SHIFTED = """<mujoco><option gravity="0 0 -1"/><worldbody><body name="a"><joint name="j" axis="0 1 0" pos="0 0 1"/>
<geom size=".1" mass="1" pos="0 0 .5"/></body><body name="b"><joint name="k" axis="0 1 0"/><geom size=".1" mass="1"
pos="0 0 .5"/></body></worldbody><equality><connect body1="a" body2="b" anchor="0 0 .5"/></equality></mujoco>"""


def test_a_side_file_that_is_not_true_of_the_source_is_not_written(tmp_path):
    """URDF moves the frame of `a` to its joint, so that the numbers of its loop are others than in the MJCF file."""
    (tmp_path / "in.xml").write_text(SHIFTED)
    with pytest.raises(ModelError, match=r"would be read with in.xml, too, and is not true of it"):
        sy.save(sy.load(tmp_path / "in.xml"), tmp_path / "in.urdf")
    sy.save(sy.load(tmp_path / "in.xml"), tmp_path / "out.urdf")
    assert not (tmp_path / "in.urdf").exists() and (tmp_path / "out.steelyard.toml").exists()


URDF = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="world"><collision><geometry><box size="1 1 0.2"/></geometry></collision></link>
<link name="arm"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0.1 0 0" rpy="0.2 0.3 0.4"/><geometry><mesh filename="{mesh}" scale="{scale}"/></geometry>
{material}
</visual><collision><geometry><capsule radius="0.05" length="0.3"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/><origin xyz="0 0 0.3"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/></joint>
<link name="tip"><inertial><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="f" type="fixed"><parent link="arm"/><child link="tip"/><origin xyz="0 0 0.4" rpy="0 0 1"/></joint>
</robot>"""
CORNERS = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])


def tetrahedron(path, **about):
    import trimesh

    mesh = trimesh.Trimesh(CORNERS, FACES, process=False, **about)
    mesh.export(path)
    return path.name


def written(folder, mesh, scale="1 1 1", material=""):
    (folder / "r.urdf").write_text(URDF.format(mesh=mesh, scale=scale, material=material))
    report = sy.save(sy.load(folder / "r.urdf"), folder / "out.xml")
    return report, mujoco.MjModel.from_xml_path(str(report.path))


def mesh_points(m):
    """Vertices of the one mesh geom in its body."""
    (geom,) = np.flatnonzero(m.geom_type == int(mujoco.mjtGeom.mjGEOM_MESH))
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, m.geom_quat[geom])
    return np.sort(m.mesh_vert @ R.reshape(3, 3).T + m.geom_pos[geom], axis=0)


@pytest.mark.parametrize("scale", ["1 1 1", "-1 2 0.5"])
@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply"])
def test_meshes_stay_or_become_obj(tmp_path, suffix, scale):
    report, m = written(tmp_path, tetrahedron(tmp_path / f"part{suffix}"), scale, '<material name="red"/>')
    made = [path for path in report.files if path.suffix == ".obj"]
    assert len(made) == (suffix == ".ply") and all(path.parent.name == "out_meshes" for path in made)
    from scipy.spatial.transform import Rotation

    R = Rotation.from_euler("xyz", [0.2, 0.3, 0.4]).as_matrix()
    factors = np.array([float(word) for word in scale.split()])
    np.testing.assert_allclose(mesh_points(m), np.sort(CORNERS * factors @ R.T + [0.1, 0, 0], axis=0), atol=1e-7)
    assert m.geom_rgba[m.geom_group == 2].tolist() == [[1, 0, 0, 1]]
    back = sy.save(sy.load(report.path), tmp_path / "back.urdf")
    (piece,) = [each for each in opened(back.path).pieces() if each.role == "visual"]
    points = piece.colored_mesh()[0] @ piece.rotation.T + piece.position
    np.testing.assert_allclose(np.sort(points, axis=0), mesh_points(m), atol=1e-7)
    assert piece.color == (1, 0, 0, 1)


def test_a_mesh_of_two_colours_is_two(tmp_path):
    colors = np.array([[255, 0, 0, 255], [255, 0, 0, 255], [0, 0, 255, 255], [0, 0, 255, 255]])
    _, m = written(tmp_path, tetrahedron(tmp_path / "part.ply", face_colors=colors))
    assert sorted(m.geom_rgba[m.geom_group == 2].tolist()) == [[0, 0, 1, 1], [1, 0, 0, 1]]


def test_links_inertials_and_contacts_are_kept(tmp_path):
    report, m = written(tmp_path, tetrahedron(tmp_path / "part.stl"))
    assert m.body("tip").mass[0] == 0.5 and m.body("arm").mass[0] == 2.0
    assert m.nexclude == 1  # the arm does not touch the ground that it stands on
    assert m.jnt_actfrcrange[0].tolist() == [-3, 3]
    assert read(report.path).velocity_limits.tolist() == [4]
    shown = m.geom_group == 2
    assert not m.geom_contype[shown].any() and m.geom_contype[~shown].all()


def test_what_cannot_be_kept_is_said(tmp_path):
    (tmp_path / "bad.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    for mesh, reason in (
        ("bad.obj", "at least 4 vertices"),
        ("gone.stl", "does not exist"),
        ("../../../x.stl", "leaves"),
    ):
        report, m = written(tmp_path, mesh)
        assert any("is not in the new file: that of 'arm'" in note and reason in note for note in report.notes)
        assert m.ngeom == 2 and not (tmp_path / "out_meshes").exists()


def test_nothing_is_left_where_reading_back_fails(tmp_path, monkeypatch):
    from steelyard.model import write_new

    tetrahedron(tmp_path / "part.ply")
    (tmp_path / "r.urdf").write_text(URDF.format(mesh="part.ply", scale="1 1 1", material=""))
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(write_new, "whole_difference", lambda *_: "something differs")
    with pytest.raises(ModelError, match="something differs"):
        sy.save(sy.load(tmp_path / "r.urdf"), tmp_path / "out.xml")
    assert sorted(tmp_path.iterdir()) == before


def test_a_body_without_mass_is_refused_by_name_where_colliders_would_weigh(tmp_path):
    text = """<robot name="r"><link name="base"/><link name="l"><collision><geometry>
    <box size="0.3 0.08 0.08"/></geometry></collision></link>
    <joint name="p" type="continuous"><parent link="base"/><child link="l"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(text)
    with pytest.raises(
        ModelError, match=r"'l'.* has no mass, and USD takes that of its colliders\. State its inertial"
    ):
        sy.save(sy.load(tmp_path / "r.urdf"), tmp_path / "r.usda")


def test_a_massless_body_between_two_joints_is_none(tmp_path):
    text = """<robot name="r"><link name="base"/><link name="cross"/><link name="foot"><inertial>
    <origin xyz="0 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="base"/><child link="cross"/><axis xyz="0 1 0"/></joint>
    <joint name="k" type="continuous"><parent link="cross"/><child link="foot"/><axis xyz="1 0 0"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(text)
    *files, report = there_and_back(tmp_path / "r.urdf", tmp_path, (".xml", ".urdf"))
    assert apart(files) == [{}, {}]
    assert any("left out, and their joints are of the body behind: cross" in note for note in report.notes)
