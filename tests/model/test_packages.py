"""package:// and model:// where packages are installed, and no further."""

import os
import shutil

import pytest

from robots import urdf
from steelyard import check
from steelyard.model import load
from steelyard.model.bounding import bounding_ellipsoids

MESH = "meshes/m.stl"
XACRO = "http://www.ros.org/wiki/xacro"


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Writes a URDF into an empty folder whose link has a mesh of this address."""
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "GAZEBO_MODEL_PATH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "empty").mkdir()

    def write(address):
        path = tmp_path / "empty" / "arm.urdf"
        path.write_text(urdf_of(address))
        return path

    return write


def urdf_of(address):
    mesh = f'<mesh filename="{address}"/>'
    return f'<robot name="arm"><link name="a"><visual><geometry>{mesh}</geometry></visual></link></robot>'


def package(folder, *, manifest=None):
    """A package with one mesh."""
    (folder / "meshes").mkdir(parents=True)
    import trimesh

    trimesh.creation.box((0.1, 0.1, 0.1)).export(folder / MESH)
    if manifest:
        (folder / "package.xml").write_text(f"<package><name>{manifest}</name></package>")
    return folder


def codes(path):
    return check.run(path, select=["SY60"]).codes


@pytest.mark.parametrize("scheme", ["package", "model"])
@pytest.mark.parametrize(
    "variable, root, place",
    [
        ("ROS_PACKAGE_PATH", "src", "src/arm_meshes"),
        ("ROS_PACKAGE_PATH", "src/arm_meshes", "src/arm_meshes"),
        ("ROS_PACKAGE_PATH", "src", "src/stack/arm_meshes"),
        ("AMENT_PREFIX_PATH", "install", "install/share/arm_meshes"),
        ("GAZEBO_MODEL_PATH", "models", "models/arm_meshes"),
        ("ROBOT_DESCRIPTIONS_CACHE", "cache", "cache/arm_meshes"),
    ],
)
def test_packages_are_found_where_they_are_installed(model, tmp_path, monkeypatch, scheme, variable, root, place):
    path = model(f"{scheme}://arm_meshes/{MESH}")
    package(tmp_path / "ws" / place, manifest="arm_meshes")
    assert codes(path) == ("SY604",)
    places = ["", "not/absolute", str(tmp_path / "gone")] if variable.endswith("_PATH") else []
    monkeypatch.setenv(variable, os.pathsep.join([*places, str(tmp_path / "ws" / root)]))
    assert codes(path) == ()


def test_a_copy_of_an_installed_model_in_an_empty_folder_is_read_with_its_meshes(tmp_path):
    path = tmp_path / "finger_edu.urdf"
    shutil.copy(urdf("finger_edu"), path)
    copied, own = (bounding_ellipsoids(load(each)) for each in (path, urdf("finger_edu")))
    assert "SY604" not in check.run(path).codes
    assert [set(each) for each in copied] == [set(each) for each in own] and any(own)


def test_a_package_is_known_by_its_own_name_too(model, tmp_path):
    """A repository is often checked out into a folder of another name."""
    path = model(f"package://arm_meshes/{MESH}")
    package(tmp_path / "empty" / "x")
    shutil.move(tmp_path / "empty" / "x" / "meshes", tmp_path / "empty")
    (tmp_path / "empty" / "package.xml").write_text("<package><name>other</name></package>")
    assert codes(path) == ("SY604",)
    (tmp_path / "empty" / "package.xml").write_text("<package>\n <name> arm_meshes </name></package>")
    assert codes(path) == ()


def test_an_install_of_links_is_followed_to_its_source_and_no_further(model, tmp_path, monkeypatch):
    source = package(tmp_path / "src" / "arm_meshes", manifest="arm_meshes")
    secret = package(tmp_path / "secret")
    share = tmp_path / "install" / "share" / "arm_meshes"
    share.mkdir(parents=True)
    shutil.copy(source / "package.xml", share)
    (share / "meshes").symlink_to(source / "meshes")
    (share / "stolen").symlink_to(secret / "meshes")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert codes(model(f"package://arm_meshes/{MESH}")) == ()
    assert codes(model("package://arm_meshes/stolen/m.stl")) == ("SY603",)


@pytest.mark.parametrize(
    "address",
    [
        "package://arm_meshes/../secret/meshes/m.stl",
        "package://arm_meshes/%2e%2e/secret/meshes/m.stl",
        "package://../secret/meshes/m.stl",
        "package://%2e%2e/secret/meshes/m.stl",
        "package://arm_meshes/meshes/out.stl",
        "package://*/meshes/m.stl",
        "package://secre?/meshes/m.stl",
    ],
)
def test_no_address_leads_out_of_an_installed_package(model, tmp_path, monkeypatch, address):
    home = package(tmp_path / "ws" / "arm_meshes", manifest="arm_meshes")
    secret = package(tmp_path / "ws" / "secret")
    (home / "meshes" / "out.stl").symlink_to(secret / MESH)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ws"))
    assert codes(model(address))[0] in ("SY601", "SY603", "SY604")


def test_a_manifest_that_is_no_file_is_passed_over(model, tmp_path):
    os.mkfifo(tmp_path / "empty" / "package.xml")
    assert codes(model(f"package://arm_meshes/{MESH}")) == ("SY604",)


def test_large_manifests_are_read_in_part(model, tmp_path):
    (tmp_path / "empty" / "package.xml").write_text(" " * 2**17 + "<name>arm_meshes</name>")
    assert codes(model(f"package://arm_meshes/{MESH}")) == ("SY604",)


def test_models_in_an_install_of_links_name_files_of_their_source_by_path(tmp_path):
    """As colcon build --symlink-install makes it: folders are real, each file is a link."""
    source, share = tmp_path / "src" / "arm", tmp_path / "install" / "share" / "arm"
    package(source, manifest="arm")
    secret = package(tmp_path / "secret", manifest="secret")
    body = "<worldbody><body name='b'><joint/><geom size='.1'/></body></worldbody>"
    files = {
        "models/part.xml": f"<mujocoinclude>{body}</mujocoinclude>",
        "models/arm.xml": '<mujoco><include file="part.xml"/></mujoco>',
        "models/arm.urdf": urdf_of("../meshes/m.stl"),
        "models/stolen.urdf": urdf_of("../meshes/out.stl"),
        "models/arm.urdf.xacro": urdf_of("../meshes/m.stl").replace("<robot", f'<robot xmlns:xacro="{XACRO}"'),
    }
    for name, text in files.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text)
    for name in (*files, "package.xml", MESH):
        (share / name).parent.mkdir(parents=True, exist_ok=True)
        (share / name).symlink_to(source / name)
    (share / "meshes" / "out.stl").symlink_to(secret / MESH)
    assert load(share / "models" / "arm.xml").body_names == ("b",)
    for name in ("arm.urdf", "arm.urdf.xacro"):
        assert codes(share / "models" / name) == ()
    assert codes(share / "models" / "stolen.urdf") == ("SY603",)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.urdf.xacro").symlink_to(source / "models" / "arm.urdf.xacro")  # the file that the user names
    assert check.run(tmp_path / "own" / "a.urdf.xacro", select=["SY105"]).codes == ()
