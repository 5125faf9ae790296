"""xacro files: what xacro expands without our process, too; robots, arguments, findings and copies of them; files that
would run code or never end."""

import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from steelyard.app import app
from steelyard.errors import ModelError
from steelyard.model.formats import models_in
from steelyard.model.references import allowed_folders
from steelyard.model.xacro import XacroDocument
from steelyard.pipeline.job_run import job_of

FILES = Path(__file__).parent / "xacro_files"
CASES = ("properties", "macros", "conditions", "files")
NAMESPACE = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


def canonical(element):
    """Tags, attributes and texts of a tree; white space around texts and comments mean nothing."""
    inner = [each for each in element if isinstance(each.tag, str)]
    text = " ".join("".join([element.text or "", *(each.tail or "" for each in element)]).split())
    return element.tag, sorted(element.attrib.items()), text, [canonical(each) for each in inner]


def expanded(path: Path, **arguments):
    return canonical(ET.fromstring(XacroDocument(path, allowed_folders(path), arguments).xml.body))


@pytest.mark.parametrize("case", CASES)
def test_expansions_are_those_of_xacro_alone(case):
    command = [sys.executable, "-c", "import xacro; xacro.main()", str(FILES / f"{case}.urdf.xacro")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert expanded(FILES / f"{case}.urdf.xacro") == canonical(ET.fromstring(found.stdout))


def test_a_wrong_expansion_would_be_seen():
    path = FILES / "conditions.urdf.xacro"
    assert expanded(path, count="4") != expanded(path)


ARM = f"""<robot name="$(arg name)" {NAMESPACE}>
  <xacro:arg name="length" default="0.4"/>
  <xacro:include filename="links.xacro"/>
  <link name="base"/>
  <xacro:segment name="arm" mass="2.0" length="$(arg length)"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="${{-pi}}" upper="${{pi}}" effort="10" velocity="3"/>
  </joint>
</robot>
"""
LINKS = f"""<robot {NAMESPACE}>
  <xacro:macro name="segment" params="name mass length">
    <link name="${{name}}">
      <inertial>
        <origin xyz="0 0 ${{length / 2}}"/>
        <mass value="${{mass}}"/>
        <inertia ixx="${{mass * length**2 / 12}}" iyy="${{mass * length**2 / 12}}" izz="SPIN" ixy="0" ixz="0" iyz="0"/>
      </inertial>
    </link>
  </xacro:macro>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "links.xacro").write_text(LINKS.replace("SPIN", "0.001"))
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ARM)
    return path


@pytest.mark.parametrize("arguments", [{"name": "one", "length": 0.6}, ("name=one", "length:=0.6")])
def test_arguments_make_the_robot(arm, arguments):
    robot = sy.load(arm, arguments=arguments)
    assert robot.name == "one" and robot.joint_names == ("shoulder",)
    mass, h = robot.inertias[0, 0], robot.inertias[0, 3]
    np.testing.assert_allclose([mass, h / mass, robot.inertias[0, 4]], [2.0, 0.3, 2 * 0.6**2 / 3])


def test_arguments_that_are_missing_or_unknown(arm):
    with pytest.raises(ModelError, match=r"argument .name. has no default\. Give it: --arg name=VALUE"):
        sy.load(arm)
    with pytest.raises(ModelError, match=r"has no argument lenght. It has length, name"):
        sy.load(arm, arguments={"name": "a", "lenght": 1})
    with pytest.raises(ModelError, match="'name' is no argument of a model; write NAME=VALUE"):
        sy.load(arm, arguments=["name"])
    plain = arm.with_name("plain.urdf")
    sy.save(sy.load(arm, arguments={"name": "a"}), plain)
    with pytest.raises(ModelError, match="a URDF, which takes no arguments"):
        sy.load(plain, arguments={"name": "a"})


def test_findings_name_the_file_and_line_of_the_macro(arm):
    (arm.parent / "links.xacro").write_text(LINKS.replace("SPIN", "9"))
    found = [each for each in sy.check.run(arm, arguments={"name": "a"}) if each.code == "SY203"]
    assert [(Path(each.path).name, each.line) for each in found] == [("links.xacro", 4)]
    mended = sy.check.repair(arm, arm.with_name("mended.urdf"), arguments={"name": "a"})
    assert mended.names == ("arm",) and "SY203" not in mended.remaining.codes


def test_a_robot_is_written_as_the_urdf_that_it_was(arm):
    before = {path: path.read_bytes() for path in arm.parent.iterdir()}
    robot = sy.load(arm, arguments={"name": "a"})
    report = sy.save(robot.with_inertias(1.1 * robot.inertias), arm.with_name("out.urdf"))
    assert report.changed == ("link 'arm': inertial",) and "arm.urdf.xacro was expanded" in report.notes[0]
    np.testing.assert_allclose(sy.load(report.path).inertias, 1.1 * robot.inertias, rtol=1e-12)
    assert all(path.read_bytes() == content for path, content in before.items())
    with pytest.raises(ModelError, match="robots are written as"):
        sy.save(robot, arm.with_name("out.xacro"))


def test_links_of_one_macro_get_values_of_their_own(tmp_path):
    path, out = tmp_path / "two.xacro", tmp_path / "copy/out.urdf"
    joint = '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/></joint>'
    links = '<xacro:segment name="one" mass="2" length="0.3"/><xacro:segment name="two" mass="2" length="0.3"/>'
    path.write_text(
        LINKS.replace("SPIN", "0.001")
        .replace(
            "</robot>",
            f'<link name="base"/>{links}{joint.format("a", "base", "one")}{joint.format("b", "one", "two")}</robot>',
        )
        .replace("<robot", '<robot name="two"')
    )
    robot = sy.load(path)
    theta = robot.inertias + np.array([[0, 0, 0, 0.02, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0.01, 0, 0, 0, 0, 0, 0]])
    report = sy.save(robot.with_inertias(theta), out)
    assert report.files == (out,)
    np.testing.assert_allclose(sy.load(out).inertias, theta, rtol=1e-12, atol=1e-15)


def test_packages_are_found_without_ros_and_the_environment_is_not_read(tmp_path):
    package = tmp_path / "arm_description"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>arm_description</name></package>")
    (package / "links.xacro").write_text(LINKS.replace("SPIN", "0.001"))
    path = package / "urdf/arm.xacro"
    names = '<link name="$(optenv HOME none) $(find nowhere)/a $(find arm_description)"/>'
    include = '<xacro:include filename="$(find arm_description)/links.xacro"/>'
    path.write_text(file_of(f'{include}<xacro:segment name="a" mass="1" length="1"/>{names}'))
    document = XacroDocument(path, allowed_folders(path))
    a, named = document.xml.root.children
    assert document.xml.source(a) == (package / "links.xacro", 3)
    assert named.attributes["name"] == f"none package://nowhere/a {package}"
    assert "its default; the environment is not read" in document.xml.notes[0]


def test_commands_take_arguments(arm):
    out = arm.with_name("arm.xml")
    for words in (["convert", str(arm), str(out)], ["check", str(arm)], ["analyze", str(arm)]):
        assert CliRunner().invoke(app, [*words, "--arg", "name=one"]).exit_code == 0, words
    refused = CliRunner().invoke(app, ["analyze", str(arm)])
    assert refused.exit_code == 2 and "--arg name=VALUE" in " ".join(refused.stderr.split())
    assert sy.load(out).joint_names == ("shoulder",)


def test_identify_repeats_itself_with_its_arguments(arm):
    robot = sy.load(arm, arguments={"name": "a"})
    log = sy.simulate.record(robot, duration=4.0).log
    done = sy.identify(arm, log, out=arm.parent / "out", arguments={"name": "a"})
    assert done.job.arguments == ("name=a",)
    assert (arm.parent / "out/arm_identified.urdf").is_file()
    assert job_of(robot, log).arguments == ("name=a",)


def test_a_folder_holds_the_models_and_not_their_parts(arm):
    arm.write_text(ARM.replace("$(arg name)", "arm"))
    assert models_in(arm.parent) == [arm]


def file_of(text: str) -> str:
    return f'<robot name="r" {NAMESPACE}>{text}</robot>'


def macros(count: int) -> str:
    twice = "".join(f'<xacro:macro name="m{i}"><xacro:m{i + 1}/><xacro:m{i + 1}/></xacro:macro>' for i in range(count))
    return f'{twice}<xacro:macro name="m{count}"><link name="a"/></xacro:macro><xacro:m0/>'


HOSTILE = {
    "power": '<link name="${9**9**9}"/>',
    "long text": "<link name=\"${'a' * 10**9}\"/>",
    "long list": '<link name="${[0] * 10**9}"/>',
    "class": "<link name=\"${''.__class__.__mro__}\"/>",
    "comprehension": '<link name="${[x for x in [1].__class__.__base__.__subclasses__()]}"/>',
    "lambda": "<link name=\"${(lambda: __import__('os').getcwd())()}\"/>",
    "class in a lambda": "<link name=\"${(lambda: ''.__class__.__base__.__subclasses__())()}\"/>",
    "frame": '<link name="${[g.gi_frame.f_back for g in [(i for i in [1])]]}"/>',
    "hidden by a text": "<link name=\"${python.vars(xacro.load_yaml)['__globals__']}\"/>",
    "endless lambda": '<link name="${(lambda f: f(f))(lambda f: f(f))}"/>',
    "long loop": '<link name="${[[j for j in range(90000)] for i in range(90000)]}"/>',
    "wide format": "<link name=\"${'%999999999d' % 1}\"/>",
    "other file": "<link name=\"${xacro.load_yaml('/etc/passwd')}\"/>",
    "file above": "<link name=\"${load_yaml('../../../../../../../../etc/passwd')}\"/>",
    "include": '<xacro:include filename="/etc/passwd"/>',
    "pattern": '<xacro:include filename="/*/*/*/*"/>',
    "itself": '<xacro:include filename="hostile.urdf.xacro"/>',
    "package": '<xacro:include filename="$(find ../../etc)/passwd"/>',
    "environment": '<link name="$(env HOME)"/>',
    "evaluation": '<link name="$(eval 9**9**9)"/>',
    "macro in itself": '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
    "many macros": macros(40),
    "properties in a circle": '<xacro:property name="a" value="${b}"/><xacro:property name="b" value="${a}"/>'
    '<link name="${a}"/>',
    "deep": f'<link name="${{{"-" * 4900}1}}"/>',
    "YAML of objects": "<link name=\"${xacro.load_yaml('object.yaml')}\"/>",
    "YAML bomb": "<link name=\"${xacro.load_yaml('bomb.yaml')}\"/>",
    "half a character": "<xacro:include filename=\"${'\\ud800'}\"/>",
    "no prefix": '<include filename="a.xacro"/>',
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_soon(tmp_path, case, monkeypatch):
    monkeypatch.setattr("steelyard.model.xacro.SECONDS", 0.5)
    (tmp_path / "object.yaml").write_text('a: !!python/object/apply:os.getcwd ["x"]\n')
    levels = "".join(f"b{i + 1}: &b{i + 1} [{', '.join([f'*b{i}'] * 9)}]\n" for i in range(9))
    (tmp_path / "bomb.yaml").write_text(f"b0: &b0 [lol]\n{levels}")
    path = tmp_path / "hostile.urdf.xacro"
    path.write_text(file_of(HOSTILE[case]))
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"hostile\.urdf\.xacro") as caught:
        sy.load(path)
    assert time.monotonic() - start < 20
    assert len(str(caught.value)) < 600 and "root:" not in str(caught.value)


def test_check_refuses_arguments_that_no_model_takes(arm):
    plain = arm.with_name("plain.urdf")
    sy.save(sy.load(arm, arguments={"name": "a"}), plain)
    for words, said in ((["--arg", "a=1"], "No model takes the argument 'a'"), (["--arg", "a"], "write NAME=VALUE")):
        done = CliRunner().invoke(app, ["check", str(plain), *words])
        assert done.exit_code == 2 and said in done.stderr
    both = CliRunner().invoke(app, ["check", str(plain), str(arm), "--arg", "name=a"])
    assert both.exit_code < 2, both.stderr
