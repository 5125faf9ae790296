"""URDF and MJCF files that other readers take: odd declarations, prefixes, bytes, leftovers, loops, implicit worlds."""

import mujoco
import numpy as np
import pinocchio
import pytest

import steelyard as sy
from check.corpus.cases import LIMIT, MJCF, URDF
from robots import urdf
from steelyard import check
from steelyard.errors import ModelError
from steelyard.inertia import to_com_inertia

DECLARED = '<?xml version="1.0"?>\n'
BODY = URDF.removeprefix(DECLARED)
HEADS = {  # what stands before the root -> words of the note
    "version zero": ('<?xml version="0.0" ?>\n', "version 0.0"),
    "version two": ("<?xml version='2'?>\n", "version 2"),
    "no version": ('<?xml encoding="utf-8"?>\n', "version none"),
    "blank line": ("\n  " + DECLARED, "line 2: White space"),
    "mark and blank line": ("\ufeff\n" + DECLARED, "line 2: White space"),
    "comment": ("<!-- made by\nhand -->\n" + DECLARED, "line 3: A comment"),
    "xml 1.1": ('<?xml version="1.1"?>\n', None),
    "mark": ("\ufeff" + DECLARED, None),
    "nothing": ("", None),
}


@pytest.fixture
def write(tmp_path):
    def write(text, name="robot.urdf"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def same_robot(a, b):
    assert a.joint_names == b.joint_names
    np.testing.assert_array_equal(a.inertias, b.inertias)


@pytest.mark.parametrize("case", HEADS)
def test_what_stands_before_the_root(write, case):
    head, words = HEADS[case]
    path = write(head + BODY)
    robot = sy.load(path)
    same_robot(robot, sy.load(write(URDF, "plain.urdf")))
    findings = check.run(path)
    assert findings.items == ()
    assert findings.notes == robot.notes
    assert len(robot.notes) == (words is not None)
    assert words is None or words in robot.notes[0]
    if case not in ("comment", "no version"):  # which urdfdom refuses, too
        assert pinocchio.buildModelFromUrdf(str(path)).nv == 2


@pytest.mark.parametrize("case", ["version zero", "blank line", "mark"])
def test_mjcf_with_the_same_heads(write, case):
    robot = sy.load(write(HEADS[case][0] + MJCF, "robot.xml"))
    same_robot(robot, sy.load(write(MJCF, "plain.xml")))


@pytest.mark.parametrize("case", HEADS)
def test_written_copies_keep_the_head_byte_by_byte(write, tmp_path, case):
    path = write(HEADS[case][0] + BODY)
    sy.save(sy.load(path), tmp_path / "copy.urdf")
    assert (tmp_path / "copy.urdf").read_bytes() == path.read_bytes()


def test_lines_count_from_the_top_of_the_file(write):
    path = write("\n\n" + URDF.replace('mass value="2"', 'mass value="-2"'))
    (finding,) = check.run(path)
    assert "<inertial>" in path.read_text().splitlines()[finding.line - 1]


def test_bytes_of_another_encoding_are_latin(write, tmp_path):
    path = write(URDF.replace("a comment that", "m\u00fcsste").encode("latin-1"))
    robot = sy.load(path)
    assert "line 3: not UTF-8" in robot.notes[0]
    sy.save(robot, tmp_path / "copy.urdf")
    assert (tmp_path / "copy.urdf").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "extension",
    [
        '<gazebo reference="hand"><sensor:camera name="c"><sensor:rate x:unit="Hz"/></sensor:camera></gazebo>',
        '<gazebo><controller:gazebo_ros_time name="t" plugin="x.so"/></gazebo>',
        '<body:material name="grey"/>',
    ],
)
def test_prefixes_that_nobody_declared(write, extension):
    path = write(URDF.replace("</robot>", extension + "</robot>"))
    same_robot(sy.load(path), sy.load(write(URDF, "plain.urdf")))
    assert check.run(path).items == ()
    assert pinocchio.buildModelFromUrdf(str(path)).nv == 2


WITH_XACRO = URDF.replace('name="small"', 'name="small" xmlns:xacro="http://www.ros.org/wiki/xacro"')
BOX = '<geometry><box size="0.1 0.1 0.4"/></geometry>'
HARMLESS = {  # old text, new text, words of the note
    "material of a shape": (BOX, BOX + "<xacro:grey/>", "in link 'arm'"),
    "inside the geometry": (BOX, BOX.replace("<box", "<xacro:grey/><box"), "in link 'arm'"),
    "top": ("</robot>", "<xacro:arm_gazebo/></robot>", "links and joints that it stood for are missing"),
    "gazebo": ("</robot>", '<gazebo reference="arm"><xacro:dark/></gazebo></robot>', "in gazebo"),
}
HARMFUL = {
    "inertial": ('<mass value="2"/>', '<xacro:mass value="2"/>', "stands in link 'arm'"),
    "link": ('<link name="base"/>', '<link name="base"><xacro:inertia_of_box/></link>', "stands in link 'base'"),
    "joint": (LIMIT, "<xacro:limit/>", "stands in joint 'shoulder'"),
    "macro": ("</robot>", '<xacro:macro name="x"/></robot>', "xacro robot.urdf > robot_expanded.urdf"),
    "include": ("</robot>", '<gazebo><xacro:include filename="x"/></gazebo></robot>', "not expanded"),
}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("case", HARMLESS)
def test_leftovers_of_xacro_that_change_no_link(write, case, declared):
    old, new, words = HARMLESS[case]
    path = write((WITH_XACRO if declared else URDF).replace(old, new, 1))
    robot = sy.load(path)
    same_robot(robot, sy.load(write(URDF, "plain.urdf")))
    (note,) = robot.notes
    assert words in note
    assert f"line {path.read_text()[: path.read_text().index('<xacro:')].count(chr(10)) + 1}:" in note
    assert check.run(path).notes == robot.notes


@pytest.mark.parametrize("case", HARMFUL)
def test_leftovers_that_may_change_links_are_refused(write, case):
    old, new, words = HARMFUL[case]
    path = write(WITH_XACRO.replace(old, new, 1))
    for read in (sy.load, check.run):
        with pytest.raises(ModelError, match="line ") as told:
            read(path)
        assert words in str(told.value)


DRAKE = '<loop_joint name="pin" type="revolute"><link1 link="hand"/><link2 link="base"/></loop_joint>'
GAZEBO = '<gazebo><joint name="pin" type="{}"><parent>{}</parent><child>{}</child></joint></gazebo>'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (DRAKE, "hinge"),
        (GAZEBO.format("revolute", "hand", "base"), "hinge"),
        (GAZEBO.format("fixed", "world", "hand"), "weld"),
        (GAZEBO.format("screw", "arm", "base"), "connect"),
    ],
)
def test_loops_of_dialects_are_told(write, text, kind):
    path = write(URDF.replace("</robot>", text + "</robot>"))
    (note,) = sy.load(path).notes
    (finding,) = check.run(path)
    assert finding.code == "SY509"
    assert finding.message in note
    assert f'kind = "{kind}"' in note
    assert "robot.steelyard.toml" in note


@pytest.mark.parametrize(
    "text",
    [
        GAZEBO.format("fixed", "world", "base"),  # says that the base is fixed
        GAZEBO.format("revolute", "hand", "camera"),  # a part of the simulation alone
        '<transmission name="t"><joint name="shoulder"/></transmission>',
        '<ros2_control name="c" type="system"><joint name="wrist"/></ros2_control>',
    ],
)
def test_other_joints_of_dialects_are_no_loops(write, text):
    path = write(URDF.replace("</robot>", text + "</robot>"))
    assert sy.load(path).notes == ()
    assert check.run(path).items == ()


@pytest.mark.parametrize("kind", ["fixed", "revolute", "prismatic", "floating"])
def test_the_world_of_drake(write, kind):
    joint = f'<joint name="weld" type="{kind}"><parent link="world"/><child link="base"/>{LIMIT}</joint>'
    heavy = '<link name="base"><inertial><mass value="3"/><inertia ixx="0.03" iyy="0.04" izz="0.05"/></inertial></link>'
    text = URDF.replace('<link name="base"/>', heavy).replace("</robot>", joint + "</robot>")
    path = write(text)
    robot = sy.load(path)
    stated = sy.load(write(text.replace("</robot>", '<link name="world"/></robot>'), "stated.urdf"))
    same_robot(robot, stated)
    assert stated.notes == ()
    assert "taken for the ground" in robot.notes[0]
    assert ("weld" in robot.joint_names) == (kind != "fixed")
    (finding,) = (each for each in check.run(path) if each.code != "SY503")
    assert (finding.code, finding.severity) == ("SY510", "info")
    sy.save(robot.with_inertias(1.01 * robot.inertias), path.with_name("copy.urdf"))
    np.testing.assert_allclose(sy.load(path.with_name("copy.urdf")).inertias, 1.01 * robot.inertias)


ROTOR = (
    '<transmission type="SimpleTransmission"><joint name="shoulder"/><actuator name="motor">'
    '<drake:gear_ratio value="50"/><drake:rotor_inertia value="2e-5"/></actuator></transmission></robot>'
)


def test_the_rotor_inertia_of_drake_is_armature(write, tmp_path):
    """Drake 1.51.1 has the same mass matrix: 2e-5 * 50^2 kg m^2 more at the joint."""
    path = write(URDF.replace("</robot>", ROTOR))
    robot, plain = sy.load(path), sy.load(write(URDF, "plain.urdf"))
    np.testing.assert_allclose(robot.armature, plain.armature + np.where(np.arange(robot.nv) == 0, 0.05, 0.0))
    sy.save(robot.with_inertias(1.1 * robot.inertias), tmp_path / "out.urdf")
    np.testing.assert_allclose(sy.load(tmp_path / "out.urdf").armature, robot.armature)
    pydrake = pytest.importorskip("pydrake.all")
    plant = pydrake.MultibodyPlant(0.0)
    pydrake.Parser(plant).AddModels(str(path))
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    zero = np.zeros(robot.nv)
    M = [
        sy.inverse_dynamics(robot, zero, zero, each) - sy.inverse_dynamics(robot, zero, zero, zero)
        for each in np.eye(robot.nv)
    ]
    np.testing.assert_allclose(plant.CalcMassMatrix(plant.CreateDefaultContext()), M, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("parent", ["World", "ground", "worlds"])
def test_other_names_are_mistakes(write, parent):
    path = write(URDF.replace('<parent link="base"/>', f'<parent link="{parent}"/>'))
    with pytest.raises(ModelError, match=parent):
        sy.load(path)


@pytest.mark.parametrize("text", ["1_5", "\u0661", "1e", "0x10", "1,5", "infinite", "1.5.", "--1", "1d3", ""])
def test_numbers_that_only_python_takes(write, text):
    path = write(URDF.replace('mass value="2"', f'mass value="{text}"'))
    with pytest.raises(ModelError, match="expected one finite number"):
        sy.load(path)
    assert "SY104" in check.run(path).codes


@pytest.mark.parametrize(("text", "value"), [(" 1.5 ", 1.5), ("+.5", 0.5), ("1.", 1.0), ("15E-1", 1.5)])
def test_numbers_of_the_format(write, text, value):
    assert sy.load(write(URDF.replace('mass value="2"', f'mass value="{text}"'))).inertias[0, 0] == value


@pytest.mark.parametrize("master", ["thumb", "Wrist", "shoulder_2"])
def test_a_mimic_of_nothing_is_refused(write, master):
    path = write(URDF.replace(LIMIT, LIMIT + f'<mimic joint="{master}"/>'))
    with pytest.raises(ModelError, match=f"mimics '{master}', which is no joint of this file"):
        sy.load(path)
    assert "SY507" in check.run(path).codes


def test_a_mimic_in_a_part_put_under_a_prefix_is_the_one_of_that_part():
    """Published hands have one: `index_q1` for `Left_index_q1`."""
    robot = sy.load(urdf("alex_psyonic_hands"))
    followed = {joint.name: joint.mimics for joint in robot.joints if joint.mimics}
    assert followed["Left_index_q2"] == "Left_index_q1"
    assert any("'index_q1'" in note and "'Left_index_q1' is taken" in note for note in robot.notes)


GLUED = URDF.replace('" rpy="', '"rpy="')


def test_attributes_without_a_blank_between_them(write):
    path, twin = write(GLUED), sy.load(write(URDF, "plain.urdf"))
    robot = sy.load(path)
    same_robot(robot, twin)
    line = GLUED[: GLUED.index('"rpy=')].count("\n") + 1
    assert [f"line {line}: a blank is missing" in each for each in robot.notes] == [True]
    assert pinocchio.buildModelFromUrdf(str(path)).nv == 2
    out = path.with_name("out.urdf")
    sy.save(robot.with_inertias(2 * robot.inertias), out)
    sy.save(twin.with_inertias(2 * robot.inertias), path.with_name("twin.urdf"))
    assert out.read_text() == path.with_name("twin.urdf").read_text().replace('" rpy="', '"rpy="')
    for spoilt in ("<origin xyz=", "<robot name="):  # what readers of the format refuse, too
        with pytest.raises(ModelError, match="not well-formed"):
            sy.load(write(URDF.replace(spoilt, spoilt.rstrip("=") + '"', 1)))


TENSOR = '<inertia ixx="0.02" iyy="0.03" izz="0.04"/>'
ARM = f"""<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 0.1"/><mass value="2"/>{TENSOR}
</inertial><collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""


def test_a_mass_without_a_tensor(write):
    """MuJoCo fills the same box; Pinocchio keeps the mass, and a tensor of zero, as for a link that shows nothing."""
    path = write(ARM.replace(TENSOR, ""))
    robot = sy.load(path)
    assert "no <inertia>; it was taken for that of its collision geometry" in robot.notes[0]
    body = '<mujoco><worldbody><body><joint/><geom type="box" size=".05 .1 .15" mass="2"/></body></worldbody></mujoco>'
    filled = mujoco.MjModel.from_xml_string(body).body_inertia[1]
    mass, com, tensor = to_com_inertia(robot.inertias[0])
    np.testing.assert_allclose((mass, *com), (2, 0, 0, 0.1))
    np.testing.assert_allclose(np.sort(np.diag(tensor)), np.sort(filled))
    assert check.run(path, select=["SY105"]).codes == ("SY105",)
    bare = write(ARM.replace(TENSOR, "").replace('<box size="0.1 0.2 0.3"/>', '<box size="0 0 0"/>'))
    assert "a point mass" in sy.load(bare).notes[0]
    ours, theirs = sy.load(bare).inertias[0], pinocchio.buildModelFromUrdf(str(bare)).inertias[1]
    np.testing.assert_allclose(ours[0], theirs.mass)
    assert not theirs.inertia.any() and not np.any(to_com_inertia(ours)[2])
    sy.save(robot.with_inertias(2 * robot.inertias), path.with_name("out.urdf"))
    np.testing.assert_allclose(sy.load(path.with_name("out.urdf")).inertias, 2 * robot.inertias)


@pytest.mark.parametrize(
    "solid",
    [
        '<box size="0 0 0"/>',
        '<cylinder radius="0" length="1"/>',
        '<sphere radius="0"/>',
        '<mesh filename="m.obj" scale="0 0 0"/>',
    ],
)
def test_geometry_of_no_size_is_a_finding_and_left_out_of_mjcf(write, solid):
    write("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n", "m.obj")
    path = write(ARM.replace('<box size="0.1 0.2 0.3"/>', solid))
    found = check.run(path, select=["SY605"])
    assert len(found.items) == 1 and "geometry of no size" in found.items[0].message
    report = sy.save(sy.load(path), path.with_name("new.xml"))
    assert any("size of zero" in each for each in report.notes)
    model = mujoco.MjModel.from_xml_path(str(path.with_name("new.xml")))
    assert model.ngeom == 0
    np.testing.assert_allclose(np.sort(model.body("arm").inertia), [0.02, 0.03, 0.04])
