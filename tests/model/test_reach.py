"""Nothing outside a model's folder is read, by any name and from any entry, unless its folder is named.

MuJoCo by itself reads nearly all of these: `test_mujoco_itself_reads_them` holds the tests to that.
"""

import json
import os
import shutil

import mujoco
import numpy as np
import pytest
import trimesh

import steelyard as sy
from steelyard import check
from steelyard.errors import InertiaError, ModelError, SteelyardError
from steelyard.model.bounding import bounding_ellipsoids
from steelyard.model.mjcf_files import read_files
from steelyard.model.references import allowed_folders, package_of
from steelyard.viewer import embed

BODY = '<body name="arm"><joint axis="0 1 0"/><geom {} size="0.1" mass="1"/></body>'
OUTSIDE = '<mujocoinclude><body name="outside"><joint/><geom size="0.1"/></body></mujocoinclude>'
MESHED = "<asset>{}</asset><worldbody>" + BODY.format('type="mesh" mesh="m"') + "</worldbody>"
TURNED = '<compiler {}/><asset><mesh name="m" file="{}"/></asset><worldbody>' + BODY.format('type="mesh" mesh="m"')
TURNED += "</worldbody>"
ATTACHED = '<asset><model name="o" file="{}"/></asset><worldbody>' + BODY.format("")
ATTACHED += '<frame><attach model="o" body="{}" prefix="o-"/></frame></worldbody>'


@pytest.fixture
def folder(tmp_path):
    """A folder of a model, two below one that holds secrets of every kind."""
    box, home = trimesh.creation.box((0.1, 0.2, 0.3)), tmp_path / "home" / "models" / "arm"
    home.mkdir(parents=True)
    for secret in (tmp_path / "secret", home / "inside"):
        secret.mkdir()
        box.export(secret / "m.stl")
        (secret / "part.xml").write_text(OUTSIDE)
        (secret / "whole.xml").write_text(f"<mujoco><worldbody>{BODY.format('')}</worldbody></mujoco>")
        (secret / "whole.urdf").write_text('<robot name="r"><link name="arm"/></robot>')
        np.array([2, 2], dtype=np.int32).tofile(secret / "h.bin")
        with (secret / "h.bin").open("ab") as file:
            np.ones(4, dtype=np.float32).tofile(file)
        shutil.copy(texture(tmp_path), secret / "t.png")
    return home


def texture(tmp_path):
    from PIL import Image

    path = tmp_path / "t.png"
    Image.new("RGB", (2, 2)).save(path)
    return path


# what stands in <mujoco>; {s} is where the secrets are
MJCF = {
    "include": '<worldbody><include file="{s}/part.xml"/></worldbody>',
    "include of an include": '<worldbody><include file="own.xml"/></worldbody>',
    "mesh": MESHED.format('<mesh name="m" file="{s}/m.stl"/>'),
    "backslashes": MESHED.format('<mesh name="m" file="..\\..\\..\\secret\\m.stl"/>'),
    "meshdir": TURNED.format('meshdir="{s}"', "m.stl"),
    "assetdir": TURNED.format('assetdir="{s}"', "m.stl"),
    "half in meshdir": TURNED.format('meshdir="../.."', "../secret/m.stl"),
    "stripped": TURNED.format('meshdir="{s}" strippath="true"', "/nowhere/m.stl"),
    "meshdir of an include": '<include file="dir.xml"/>' + MESHED.format('<mesh name="m" file="m.stl"/>'),
    "folders that are not there": MESHED.format('<mesh name="m" file="no/../../../../secret/m.stl"/>'),
    "texture": "<asset>{texture}</asset><worldbody>" + BODY.format("") + "</worldbody>",
    "side of a cube": '<asset><texture name="t" type="cube" fileright="{s}/t.png"/></asset>'
    "<worldbody>" + BODY.format("") + "</worldbody>",
    "texturedir": '<compiler texturedir="{s}"/><asset><texture name="t" type="2d" file="t.png"/></asset><worldbody>'
    + BODY.format("")
    + "</worldbody>",
    "height field": '<asset><hfield name="h" size="1 1 1 1" file="{s}/h.bin"/></asset><worldbody>'
    '<geom type="hfield" hfield="h"/>' + BODY.format("") + "</worldbody>",
    "skin": '<asset><skin name="s" file="{s}/m.skn"/></asset><worldbody>' + BODY.format("") + "</worldbody>",
    "flex": '<worldbody><flexcomp name="f" type="mesh" file="{s}/m.stl" dim="2" mass="1"/>'
    + BODY.format("")
    + "</worldbody>",
    "attached": ATTACHED.format("{s}/whole.xml", "arm"),
    "attached URDF": ATTACHED.format("{s}/whole.urdf", "arm"),
    "mesh of an attached model": ATTACHED.format("att.xml", "b"),
    "symbolic link": MESHED.format('<mesh name="m" file="link.stl"/>'),
    "folder that is a link": MESHED.format('<mesh name="m" file="linked/m.stl"/>'),
    "link and back": MESHED.format('<mesh name="m" file="linked/../secret/m.stl"/>'),
}
MJCF["texture"] = MJCF["texture"].replace("{texture}", '<texture name="t" type="2d" file="{s}/t.png"/>')


def mjcf(folder, name, where):
    """The model file of that name. where: how the folder of secrets is written."""
    (folder / "own.xml").write_text(f'<mujocoinclude><include file="{where}/part.xml"/></mujocoinclude>')
    (folder / "dir.xml").write_text(f'<mujocoinclude><compiler meshdir="{where}"/></mujocoinclude>')
    (folder / "att.xml").write_text(
        f'<mujoco><compiler meshdir="{where}"/><asset><mesh name="m" file="m.stl"/></asset><worldbody>'
        '<body name="b"><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    for link, target in (("link.stl", "secret/m.stl"), ("linked", "secret")):
        if not (folder / link).is_symlink():
            (folder / link).symlink_to(folder.parents[2] / target)
    path = folder / "arm.xml"
    path.write_text(f"<mujoco>{MJCF[name].replace('{s}', where)}</mujoco>")
    return path


def wheres(folder):
    return "../../../secret", str(folder.parents[2] / "secret")


@pytest.mark.parametrize("absolute", [False, True], ids=["climbing", "absolute"])
@pytest.mark.parametrize("name", MJCF)
def test_files_outside_are_refused_and_named(folder, monkeypatch, name, absolute):
    path = mjcf(folder, name, wheres(folder)[absolute])
    with monkeypatch.context() as patched:
        if name != "skin":  # no such file: MuJoCo refuses it
            patched.setattr("mujoco.MjSpec.from_file", lambda *_: pytest.fail("MuJoCo was asked"))
            with pytest.raises(ModelError, match="was not opened") as caught:
                sy.load(path)
            assert "secret" in str(caught.value)
            assert "--folder" in str(caught.value) and "folders=[" in str(caught.value)
            assert f"{path.parent}" in str(caught.value)
        with pytest.raises(ModelError):
            sy.load(path)


# but for these: no skin file is at hand, an attached model has rules of its own, and MuJoCo undoes `..` before links
@pytest.mark.filterwarnings("ignore:flex")
@pytest.mark.parametrize("name", [n for n in MJCF if n not in ("skin", "attached URDF", "link and back")])
def test_mujoco_itself_reads_them(folder, name):
    path = mjcf(folder, name, wheres(folder)[0])
    try:
        assert mujoco.MjSpec.from_file(str(path)).compile().nbody > 1
    except ValueError as error:
        assert "Error opening file" not in str(error), error


@pytest.mark.parametrize("name", [name for name in MJCF if name != "skin"])
def test_they_are_read_when_their_folder_is_named(folder, name):
    path = mjcf(folder, name, wheres(folder)[0])
    try:
        assert sy.load(path, folders=[folder.parents[2]]).nb >= 1
    except ModelError as error:
        assert "MuJoCo cannot compile" in str(error)
        assert name in ("attached URDF", "flex", "link and back", "include of an include", "folders that are not there")


@pytest.mark.parametrize("text", ["../shared/a.xml", "../arm/../shared/a.xml"])
def test_includes_of_a_sibling_end(folder, monkeypatch, text):
    """Seen from its own folder, `../shared/a.xml` is the same file by a longer name."""
    shared = folder.parent / "shared"
    shared.mkdir()
    (shared / "a.xml").write_text('<mujocoinclude><include file="../shared/b.xml"/></mujocoinclude>')
    (shared / "b.xml").write_text(f"<mujocoinclude>{BODY.format('')}</mujocoinclude>")
    path = folder / "arm.xml"
    path.write_text(f'<mujoco><worldbody><include file="{text}"/></worldbody></mujoco>')
    monkeypatch.setattr("steelyard.model.mjcf_files.MOST_PLACES", 100)
    assert sy.load(path, folders=[shared]).body_names == ("arm",)


def test_files_inside_are_read_as_ever(folder):
    path = mjcf(folder, "mesh", "inside")
    assert sy.load(path).nb == 1
    assert sy.load(mjcf(folder, "include", str(folder / "inside"))).body_names == ("outside",)
    os.chdir(folder)
    assert sy.load("arm.xml").nb == 1


# ---- every entry


def entries(path, out):
    """Everything that opens a model file."""
    yield "load", lambda: sy.load(path)
    yield "check", lambda: check.run(path)
    yield "check --fix", lambda: check.repair(path, out / f"fixed{path.suffix}")
    yield "identify", lambda: sy.identify(path, [out / "none.csv"])
    for words in (
        ("view", path, "--no-open", "-o", out / "v.html"),
        ("excite", path),
        ("convert", path, out / "c.urdf"),
        ("analyze", path),
        ("inspect", out / "none.csv", "--model", path),
        ("validate", path, out / "none.csv"),
        ("check", path),
        ("fleet", path, out),
        ("payload", out / "none.csv", "--arm", path),
    ):
        yield words[0], lambda words=words: run(*words)


def run(*words):
    from typer.testing import CliRunner

    from steelyard.app import app

    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exit_code:
        raise SteelyardError(done.stderr + done.stdout)
    return done


def test_every_entry_refuses_an_include_outside(folder, tmp_path, monkeypatch):
    path = mjcf(folder, "include", "../../../secret")
    monkeypatch.setattr("mujoco.MjSpec.from_file", lambda *_: pytest.fail("MuJoCo was asked"))
    out = tmp_path / "out"
    out.mkdir()
    (out / "none.csv").write_text("t,q_arm\n0,0\n")
    for name, entry in entries(path, out):
        with pytest.raises(SteelyardError, match="not opened") as caught:
            entry()
        assert "part.xml" in str(caught.value), name
        assert "--folder" in str(caught.value), name
    assert [each.name for each in out.iterdir()] == ["none.csv"]


def test_includes_outside_are_not_parsed_for_editing_either(folder):
    """The linter and write-back index the files themselves."""
    path = mjcf(folder, "include of an include", "../../../secret")
    with pytest.raises(ModelError, match=r"own.xml:1 includes .*part.xml.* not opened"):
        read_files(path, allowed_folders(path))
    assert len(read_files(path, allowed_folders(path, [folder.parents[2]])).documents) == 3


def test_a_file_that_comes_to_lie_outside_is_refused_by_what_reads_it_again(folder, tmp_path):
    """Write-back, drawing and geometry read the file again, with the folders of the robot alone."""
    path = mjcf(folder, "mesh", "inside")
    robot = sy.load(path)
    (folder / "inside" / "m.stl").unlink()
    (folder / "inside" / "m.stl").symlink_to(tmp_path / "secret" / "m.stl")
    for entry in (
        lambda: sy.save(robot, tmp_path / "saved.xml"),
        lambda: embed(robot),
        lambda: bounding_ellipsoids(sy.load(path)),
    ):
        with pytest.raises(ModelError, match="not opened"):
            entry()


@pytest.mark.parametrize("encoding", ["iso-2022-jp", "shift_jis"])
def test_encodings_do_not_hide_elements(folder, encoding):
    """In some, what MuJoCo reads as an include is Japanese to a reader that obeys the declaration."""
    path = folder / "arm.xml"
    path.write_text(
        f'<?xml version="1.0" encoding="{encoding}"?><mujoco><worldbody>{BODY.format("")}</worldbody></mujoco>'
    )
    with pytest.raises(ModelError, match="MuJoCo reads UTF-8"):
        sy.load(path)
    path.write_text(path.read_text().replace(encoding, "ISO-8859-1"))
    assert sy.load(path).nb == 1


def test_namespaces_do_not_hide_elements(folder):
    path = folder / "arm.xml"
    path.write_text('<mujoco xmlns="x"><worldbody><include file="../../../secret/part.xml"/></worldbody></mujoco>')
    with pytest.raises(ModelError, match="namespaces"):
        sy.load(path)


# ---- URDF

URDF = (
    '<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/>'
    '</inertial><visual><geometry><mesh filename="{}"/></geometry></visual></link><joint name="j" type="continuous">'
    '<parent link="base"/><child link="arm"/></joint></robot>'
)


def urdf(folder, reference):
    path = folder / "arm.urdf"
    path.write_text(URDF.format(reference))
    return path


CLIMB = "../"
REFERENCES = (
    "../../../secret/m.stl",
    "{secret}/m.stl",
    "file://{secret}/m.stl",
    "file://{secret}/%6d.stl",
    "link.stl",
    "linked/m.stl",
    "package://arm/../../../secret/m.stl",
    "package://{first}/{rest}/m.stl",
)


@pytest.mark.parametrize("reference", REFERENCES)
def test_urdf_meshes_outside_are_not_opened(folder, monkeypatch, reference):
    secret = folder.parents[2] / "secret"
    first, rest = secret.parts[1], "/".join(secret.parts[2:])
    (folder / "link.stl").symlink_to(secret / "m.stl")
    (folder / "linked").symlink_to(secret)
    path = urdf(folder, reference.format(secret=secret, first=first, rest=rest))
    for name in ("load", "load_colored"):
        monkeypatch.setattr(f"steelyard.inertia.mesh_files.{name}", lambda *_: pytest.fail("a file outside was opened"))
    robot = sy.load(path)
    codes = check.run(path).codes
    assert "SY603" in codes or "SY604" in codes
    assert bounding_ellipsoids(robot)[0] == {}
    embed(robot)


@pytest.mark.parametrize("reference", [each for each in REFERENCES if "first" not in each])
def test_urdf_meshes_are_read_when_their_folder_is_named(folder, reference):
    secret = folder.parents[2] / "secret"
    (folder / "link.stl").symlink_to(secret / "m.stl")
    (folder / "linked").symlink_to(secret)
    path = urdf(folder, reference.format(secret=secret))
    assert not {"SY603", "SY604"} & set(check.run(path, folders=[secret]).codes)
    found, gaps = bounding_ellipsoids(sy.load(path, folders=[secret]))
    assert gaps == {} and set(found) == {"arm"}


@pytest.mark.parametrize("name", ["../../../secret/part.xml", "link"])
def test_meshes_do_not_name_files_outside_either(folder, name):
    """Buffers of glTF."""
    (folder / "link").symlink_to(folder.parents[2] / "secret" / "part.xml")
    part = {"attributes": {"POSITION": 0}}
    mesh = {"asset": {"version": "2.0"}, "meshes": [{"primitives": [part]}], "nodes": [{"mesh": 0}], "scene": 0}
    mesh |= {"scenes": [{"nodes": [0]}], "buffers": [{"uri": name, "byteLength": 36}]}
    mesh |= {"bufferViews": [{"buffer": 0, "byteLength": 36}]}
    mesh |= {"accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}]}
    (folder / "m.gltf").write_text(json.dumps(mesh))
    (finding,) = check.run(urdf(folder, "m.gltf"), select=["SY602", "SY604"])
    assert "was not read" in finding.message
    with pytest.raises(InertiaError, match="escapes resolver root"):
        sy.inertia.mesh_files.load(folder / "m.gltf")


def test_packages(folder, tmp_path):
    """Around the model, marked beside it, or in a folder that is named; not any folder that has the name."""
    (tmp_path / "other" / "meshes").mkdir(parents=True)
    shutil.copy(tmp_path / "secret" / "m.stl", tmp_path / "other" / "meshes")
    assert check.run(urdf(folder, "package://arm/inside/m.stl"), select=["SY6"]).codes == ()
    path = urdf(folder, "package://other/meshes/m.stl")
    assert check.run(path, select=["SY6"]).codes == ("SY604",)
    assert check.run(path, select=["SY6"], folders=[tmp_path]).codes == ()
    assert check.run(path, select=["SY6"], folders=[tmp_path / "other"]).codes == ()
    (tmp_path / "other" / "package.xml").touch()
    assert check.run(path, select=["SY6"]).codes == ()


@pytest.mark.parametrize("marker", ["package.xml", ".git", "pyproject.toml"])
def test_a_package_is_one_unless_it_is_the_home_folder(folder, tmp_path, monkeypatch, marker):
    path = mjcf(folder, "mesh", "../../../secret")
    (tmp_path / marker).touch()
    assert package_of(folder) == tmp_path
    assert sy.load(path).nb == 1
    for home in (tmp_path, tmp_path / "home"):
        monkeypatch.setenv("HOME", str(home))
        assert package_of(folder) == folder
        with pytest.raises(ModelError, match="not opened"):
            sy.load(path)


@pytest.mark.parametrize("name", ["site-packages", "sites"])
def test_files_of_installed_packages_are_read(folder, tmp_path, name):
    """A saved copy of an installed model is read as it is."""
    (tmp_path / name / "robots").mkdir(parents=True)
    shutil.copytree(folder, tmp_path / name / "robots" / "arm")
    robot = sy.load(mjcf(tmp_path / name / "robots" / "arm", "mesh", "inside"))
    report = sy.save(robot, tmp_path / "far" / "out" / "arm.xml")
    assert bool([note for note in report.notes if "--folder" in note]) == (name == "sites")
    if name == "sites":
        with pytest.raises(ModelError, match="not opened"):
            sy.load(report.path)
    else:
        assert sy.load(report.path).nb == 1


def test_a_folder_of_models_is_not_left_by_links(folder, tmp_path):
    (folder / "a.urdf").symlink_to(folder / "inside" / "whole.urdf")
    (folder / "b.urdf").symlink_to(tmp_path / "secret" / "whole.urdf")
    (folder / "c").symlink_to(tmp_path / "secret")
    assert [each.name for each in check.run(folder, select=["SY6"]).files if each.suffix == ".urdf"] == [
        "a.urdf",
        "whole.urdf",
    ]


def test_a_folder_that_is_none_is_named(folder):
    with pytest.raises(ModelError, match="gone, given as a folder"):
        allowed_folders(folder / "arm.xml", [folder / "gone"])


def test_a_saved_copy_says_where_its_files_are(folder, tmp_path):
    robot = sy.load(mjcf(folder, "mesh", "inside"))
    report = sy.save(robot, tmp_path / "far" / "out" / "arm.xml")
    (note,) = [each for each in report.notes if "--folder" in each]
    assert str(folder) in note
    with pytest.raises(ModelError, match="not opened"):
        sy.load(report.path)
    assert sy.load(report.path, folders=[folder]).nb == 1
    # beside its files there is nothing to say
    assert not [n for n in sy.save(robot, folder / "copy.xml").notes if "--folder" in n]


# ---- what belongs to a model: its package, or the folder around its own where that holds all that it names


def layouts(folder, texts):
    """A model in `robots` of a folder that names files in these places."""
    (folder / "robots").mkdir(parents=True)
    meshes = "".join(f'<mesh name="m{i}" file="{text}"/>' for i, text in enumerate(texts))
    path = folder / "robots" / "arm.xml"
    path.write_text(f"<mujoco><asset>{meshes}</asset><worldbody>{BODY.format('')}</worldbody></mujoco>")
    links = "".join(
        f'<link name="l{i}"><visual><geometry><mesh filename="{text}"/></geometry></visual></link>'
        f'<joint name="j{i}" type="fixed"><parent link="arm"/><child link="l{i}"/></joint>'
        for i, text in enumerate(texts)
    )
    (folder / "robots" / "arm.urdf").write_text(URDF.format("m.stl").replace("</robot>", links + "</robot>"))
    return path, path.with_suffix(".urdf")


def put(secret, *places):
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(secret / "m.stl", place)


def outside(urdf):
    return [each.file for each in check.run(urdf, select=["SY603"])]


def test_files_beside_the_models_folder_are_read(folder, tmp_path):
    """As `meshdir="../assets"` of simulators' packages."""
    home = folder / "pack"
    xml, urdf = layouts(home, ["../assets/m.stl", "../assets/deep/n.stl"])
    put(tmp_path / "secret", home / "assets" / "m.stl", home / "assets" / "deep" / "n.stl", home / "robots" / "m.stl")
    robot = sy.load(xml)
    assert robot.source.folders[0] == home
    assert outside(urdf) == [] == outside(xml)
    report = sy.save(robot.with_inertias(1.1 * robot.inertias), home / "robots" / "copy.xml")
    assert not [note for note in report.notes if "--folder" in note]
    assert sy.load(report.path).nb == 1
    assert check.repair(xml, home / "robots" / "fixed.xml").remaining.codes == check.run(xml).codes


def test_an_include_and_asset_folder_beside_the_models_folder(folder, tmp_path):
    home = folder / "pack"
    xml, _ = layouts(home, [])
    put(tmp_path / "secret", home / "assets" / "m.stl")
    (home / "parts").mkdir()
    (home / "parts" / "asset.xml").write_text('<mujocoinclude><compiler meshdir="../assets"/></mujocoinclude>')
    meshed = MESHED.format('<mesh name="m" file="m.stl"/>')
    xml.write_text(f'<mujoco><include file="../parts/asset.xml"/>{meshed}</mujoco>')
    assert sy.load(xml).nb == 1


@pytest.mark.parametrize(
    "one",
    [
        "../../secret.stl",
        f"{20 * CLIMB}etc/hostname",
        "/etc/hostname",
        "../assets/link.stl",
        "../linked/m.stl",
    ],
)
def test_one_file_further_out_and_the_folder_around_counts_for_none(folder, tmp_path, one):
    """Climbing further, from the root, and by links that leave."""
    home = folder / "pack"
    xml, urdf = layouts(home, ["../assets/m.stl", one])
    put(tmp_path / "secret", home / "assets" / "m.stl", folder / "secret.stl", home / "robots" / "m.stl")
    (home / "assets" / "link.stl").symlink_to(tmp_path / "secret" / "m.stl")
    (home / "linked").symlink_to(tmp_path / "secret")
    with pytest.raises(ModelError, match="not opened"):
        sy.load(xml)
    assert outside(urdf) == ["../assets/m.stl", one]


@pytest.mark.parametrize("place", ["home", "above the home", "drive"])
def test_the_folder_around_is_none_for_everything(folder, tmp_path, monkeypatch, place):
    home = folder / "pack"
    xml, urdf = layouts(home, ["../assets/m.stl"])
    put(tmp_path / "secret", home / "assets" / "m.stl", home / "robots" / "m.stl")
    if place == "drive":
        monkeypatch.setattr("steelyard.model.references.Path.anchor", str(folder), raising=False)
    else:
        monkeypatch.setenv("HOME", str(home if place == "home" else home / "user"))
    with pytest.raises(ModelError, match="not opened"):
        sy.load(xml)
    assert outside(urdf) == ["../assets/m.stl"]


def test_a_package_ends_at_its_marker(folder, tmp_path):
    """What has a package names files in it alone."""
    home = folder / "pack"
    xml, _ = layouts(home, ["../assets/m.stl"])
    put(tmp_path / "secret", home / "assets" / "m.stl")
    (home / "robots" / "package.xml").touch()
    with pytest.raises(ModelError, match="not opened"):
        sy.load(xml)


@pytest.mark.parametrize("marker", ["package.xml", "model.config", ".git", "__init__.py", "../other.dist-info"])
@pytest.mark.parametrize("deep", [1, 3])
def test_every_marker_of_a_package(folder, tmp_path, marker, deep):
    home = folder.joinpath("target", "pack")
    below = home.joinpath(*"abc"[: deep - 1])
    xml, urdf = layouts(below, ["../" * deep + "assets/m.stl"])
    put(tmp_path / "secret", home / "assets" / "m.stl", below / "robots" / "m.stl")
    if deep > 1:
        assert outside(urdf) == ["../" * deep + "assets/m.stl"]
    (home / marker).touch()
    assert outside(urdf) == []
    assert sy.load(xml).nb == 1


def test_a_python_package_begins_at_its_topmost_init(folder, tmp_path):
    home = folder / "target" / "top"
    xml, urdf = layouts(home / "sub" / "data", ["../../../assets/m.stl"])
    put(tmp_path / "secret", home / "assets" / "m.stl", home / "sub" / "data" / "robots" / "m.stl")
    (home / "sub" / "__init__.py").touch()
    assert outside(urdf) == ["../../../assets/m.stl"]
    (home / "__init__.py").touch()
    assert outside(urdf) == []
    assert sy.load(xml).nb == 1
