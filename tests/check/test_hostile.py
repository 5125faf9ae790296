"""Hostile and broken files end in one message, quickly, and nothing outside the package is opened."""

import os
import time

import numpy as np
import pytest

from check.corpus.cases import MJCF, URDF
from steelyard import check
from steelyard.errors import ModelError
from steelyard.model import load

pytestmark = pytest.mark.claim("linter.hostile", "hostile files end in one message, quickly")

QUICK = 5.0  # s; what is meant is "does not hang", a thousand times the usual
BOX = '<box size="0.1 0.1 0.4"/>'
BILLION = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9)
)
HOSTILE = {
    "entities.urdf": BILLION + ']><robot name="x"><link name="&j;"/></robot>',
    "external.urdf": '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="&e;"><link name="a"/></robot>',
    "remote.xml": '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><mujoco/>',
    "deep.urdf": '<robot name="x">' + "<link>" * 100_000 + "</link>" * 100_000 + "</robot>",
    "deep.xml": "<mujoco><worldbody>" + "<body>" * 50_000 + "</body>" * 50_000 + "</worldbody></mujoco>",
    "wide.urdf": f'<robot name="{"a" * 12_000_000}"><link name="a"/></robot>',
    "circle.sdf": '<sdf version="1.9"><model name="m"><include><uri>circle.sdf</uri></include></model></sdf>',
    "deep.sdf": '<sdf version="1.9">' + "<model name='m'>" * 100 + "</model>" * 100 + "</sdf>",
    "remote.sdf": '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><sdf version="1.9"/>',
    "nothing.sdf": '<sdf version="1.9"><world name="w"/></sdf>',
    "cut.urdf": URDF[:400],
    "empty.urdf": "",
    "text.urdf": "solid hello\n",
    "other.xml": "<package><name>x</name></package>",
    "binary.urdf": "\x00\x01\x02",
    "xacro.urdf": '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:if/><link name="a"/></robot>',
    "circle.xml": '<mujoco><include file="circle.xml"/><worldbody/></mujoco>',
    "lost.xml": '<mujoco><include file="gone.xml"/><worldbody/></mujoco>',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_one_message_quickly(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_text(HOSTILE[name])
    start = time.monotonic()
    assert check.check_models([path]) == 2
    assert time.monotonic() - start < QUICK
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert len(err) < 1000
    assert name in err
    assert "root:" not in err


def test_large_file_is_not_read(tmp_path, capsys):
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(2**30)
    assert check.check_models([path]) == 2
    assert "MB" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["folder", "missing.urdf", "pipe.urdf", "loop.urdf", "denied.urdf"])
def test_what_cannot_be_read(tmp_path, capsys, target):
    path = tmp_path / target
    if target == "folder":
        path.mkdir()
    elif target == "pipe.urdf":
        os.mkfifo(path)
    elif target == "loop.urdf":
        path.symlink_to(path)
    elif target == "denied.urdf":
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        path.write_text(URDF)
        path.chmod(0)
    assert check.check_models([path]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def model_with(tmp_path, reference):
    path = tmp_path / "pkg" / "robots" / "a.urdf"
    path.parent.mkdir(parents=True)
    path.write_text(URDF.replace(BOX, f'<mesh filename="{reference}"/>'))
    return path


@pytest.mark.parametrize(
    "reference",
    ["../../../secret.stl", "/etc/passwd", "file:///etc/passwd", "package://pkg/../secret.stl", "../../secret.stl"],
)
def test_paths_that_climb_out_are_reported_and_not_opened(tmp_path, reference, monkeypatch):
    path = model_with(tmp_path, reference)
    (tmp_path / "secret.stl").write_text("solid secret\nendsolid")
    monkeypatch.setattr("steelyard.inertia.mesh_files.load", lambda *_, **__: pytest.fail("a file outside was opened"))
    assert "SY603" in check.run(path).codes


def test_symbolic_link_out_of_the_package(tmp_path):
    path = model_with(tmp_path, "link.stl")
    (tmp_path / "secret.stl").write_text("solid secret\nendsolid")
    (path.parent / "link.stl").symlink_to(tmp_path / "secret.stl")
    (finding,) = check.run(path)
    assert finding.code == "SY603"


def test_mjcf_files_outside_are_not_opened_by_mujoco(tmp_path):
    path = tmp_path / "pkg" / "robots" / "a.xml"
    path.parent.mkdir(parents=True)
    assets = '<asset><mesh name="m" file="../../secret.stl"/></asset>\n  <worldbody>'
    path.write_text(MJCF.replace("<worldbody>", assets))
    (tmp_path / "secret.stl").write_text("solid secret\nendsolid")
    assert check.run(path).codes == ("SY603",)


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.stl", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"),
        ("a.stl", b""),
        ("a.obj", b"v 0 0 nan\n"),
        ("a.xyz3d", b"?"),
        ("a.stl", np.random.default_rng(0).bytes(5000)),
    ],
)
def test_meshes_that_cannot_be_read(tmp_path, name, content):
    path = model_with(tmp_path, name)
    (path.parent / name).write_bytes(content)
    assert check.run(path).codes == ("SY602",)


def test_no_judgement_by_half_of_the_geometry(tmp_path):
    path = model_with(tmp_path, "gone.stl")
    ball = '<visual><geometry><sphere radius="0.001"/></geometry></visual>\n  </link>\n  <link name="hand">'
    path.write_text(path.read_text().replace('</link>\n  <link name="hand">', ball))
    assert check.run(path).codes == ("SY601",)


def test_a_mesh_that_is_no_regular_file(tmp_path):
    path = model_with(tmp_path, "pipe.stl")
    os.mkfifo(path.parent / "pipe.stl")
    assert check.run(path).codes == ("SY602",)


def test_names_and_values_are_shown_shortened(tmp_path):
    path = tmp_path / "a.urdf"
    path.write_text(URDF.replace('<mass value="2"/>', f'<mass value="{"9x" * 1_000_000}"/>'))
    assert all(len(finding.message) < 500 for finding in check.run(path))


def test_names_cannot_steer_the_terminal(tmp_path, capsys):
    """C1 control characters are legal in XML; the terminal would take the second one for the start of a command."""
    path = tmp_path / "robot\x1b[31m.urdf"
    text = URDF.replace('"arm"', '"arm\x85\x9b31m"').replace('value="2"', 'value="-2"')
    path.write_text(text.replace("?>", ' encoding="utf-8"?>'), encoding="utf-8")
    assert check.check_models([path]) == 1
    shown = capsys.readouterr().out
    assert "arm??31m" in shown
    assert not any((ord(each) < 32 and each != "\n") or 127 <= ord(each) < 160 for each in shown)


def test_fix_never_touches_the_model(tmp_path):
    path = tmp_path / "a.urdf"
    path.write_text(URDF)
    with pytest.raises(ModelError, match="never changed"):
        check.repair(path, path)
    link = tmp_path / "b.urdf"
    link.symlink_to(path)
    with pytest.raises(ModelError, match="never changed"):
        check.repair(path, link)
    assert path.read_text() == URDF


@pytest.mark.parametrize(
    "text", ["<robot>" + "<link/>\n" * 2000 + "</robot>", "  <mujoco/>", "<robot/>.urdf", "x" * 9000]
)
def test_xml_or_anything_long_in_the_place_of_a_path(text, capsys):
    for call in (load, check.run):
        with pytest.raises(ModelError) as caught:
            call(text)
        assert len(str(caught.value)) < 500 and ("XML text" in str(caught.value)) == ("<" in text)
    assert check.check_models([text]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
