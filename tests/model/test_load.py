"""Reading URDF and MJCF: every element that matters, and a message that teaches for every mistake."""

import mujoco
import numpy as np
import pinocchio
import pytest

from robots import urdf
from steelyard.errors import ModelError
from steelyard.inertia import from_com_inertia, transform
from steelyard.model import load
from steelyard.model.xml import read
from steelyard.spatial import rotation_from_rpy

TWO_LINKS = """<?xml version="1.0"?>
<robot name="two">
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/><mass value="2"/>
      <inertia ixx="0.3" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.1"/></inertial>
  </link>
  <link name="tool"><inertial><mass value="0.5"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 2 0"/>
    <limit lower="-1" upper="2" velocity="3" effort="4"/><dynamics damping="0.5" friction="0.25"/></joint>
  <joint name="mount" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="0 0 1" rpy="0 0.4 0"/></joint>
</robot>
"""


@pytest.fixture
def model(tmp_path):
    def write(text, name="robot.urdf"):
        path = tmp_path / name
        path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
        return path

    return write


def test_everything_of_a_small_urdf(model):
    robot = load(model(TWO_LINKS))
    assert (robot.nb, robot.nv, robot.nq) == (1, 1, 1)
    assert robot.joint_names == ("swing",)
    assert robot.body_names == ("arm",)
    assert (robot.lower, robot.upper, robot.velocity_limits, robot.effort_limits) == (-1, 2, 3, 4)
    assert (robot.damping, robot.frictionloss, robot.armature) == (0.5, 0.25, 0.0)
    np.testing.assert_allclose(robot.joints[0].subspace[:, 0], [0, 0, 0, 0, 1, 0])
    R = rotation_from_rpy(np.array([0.1, 0.2, 0.3]))
    arm = from_com_inertia(
        2.0, np.array([0, 0, 0.5]), R @ np.array([[0.3, 0.01, 0], [0.01, 0.2, 0], [0, 0, 0.1]]) @ R.T
    )
    tool = from_com_inertia(0.5, np.zeros(3), 0.1 * np.eye(3))
    moved = transform(tool, rotation_from_rpy(np.array([0, 0.4, 0])), np.array([0, 0, 1.0]))
    np.testing.assert_allclose(robot.inertias[0], arm + moved)
    assert [(link.name, link.body, link.has_inertial) for link in robot.links] == [
        ("base", -1, False),
        ("arm", 0, True),
        ("tool", 0, True),
    ]
    np.testing.assert_array_equal(robot.gravity, [0, 0, -9.81])


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "continuous"])
@pytest.mark.parametrize(
    "limit",
    [
        "",
        "<limit effort='1' velocity='1'/>",
        "<limit lower='-1' upper='2' effort='1' velocity='1'/>",
        "<limit lower='1' effort='1' velocity='1'/>",
        "<limit lower='0' upper='0' effort='1' velocity='1'/>",
        "<limit lower='1' upper='1' effort='1' velocity='1'/>",
        "<limit lower='2' upper='-1' effort='1' velocity='1'/>",
    ],
)
def test_ranges_are_those_that_mujoco_compiles(model, kind, limit):
    body = "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
    text = (
        f"<robot name='two'><link name='base'/><link name='arm'>{body}</link><joint name='swing' type='{kind}'>"
        f"<parent link='base'/><child link='arm'/><axis xyz='0 1 0'/>{limit}</joint></robot>"
    )
    m = mujoco.MjModel.from_xml_string(text)
    compiled = m.jnt_range[0] if m.jnt_limited[0] else [-np.inf, np.inf]
    robot = load(model(text))
    np.testing.assert_array_equal([robot.lower[0], robot.upper[0]], compiled)


def test_a_bound_that_is_missing_is_zero(model):
    robot = load(model(TWO_LINKS.replace('lower="-1" upper="2"', 'upper="2"')))
    read = pinocchio.buildModelFromXML(TWO_LINKS.replace('lower="-1" upper="2"', 'upper="2"'))
    assert (robot.lower, robot.upper) == (read.lowerPositionLimit, read.upperPositionLimit) == (0, 2)


def test_a_speed_or_an_effort_of_nothing_is_no_limit(model):
    robot = load(model(TWO_LINKS.replace('velocity="3" effort="4"', 'velocity="0" effort="0"')))
    assert (robot.lower, robot.upper, robot.velocity_limits, robot.effort_limits) == (-1, 2, np.inf, np.inf)


def test_floating_base_and_gravity(model):
    robot = load(model(TWO_LINKS), floating=True, gravity=(0, 0, -1.62))
    assert robot.floating
    assert (robot.nb, robot.nv, robot.nq) == (2, 7, 8)
    assert robot.missing_inertials == ("base",)
    np.testing.assert_array_equal(robot.gravity, [0, 0, -1.62])
    np.testing.assert_array_equal(robot.neutral, [0, 0, 0, 0, 0, 0, 1, 0])


def test_a_free_base_of_the_file_can_be_welded(model):
    text = '<mujoco><worldbody><body name="a" pos="1 0 0"><freejoint/><geom size=".1"/><body name="b">'
    text += '<joint name="j" ref="0.5"/><geom size=".1" pos="0 0 1"/></body></body></worldbody></mujoco>'
    assert load(model(text, "m.xml")).floating
    robot = load(model(text, "m.xml"), floating=False)
    assert (robot.nv, robot.body_names) == (1, ("b",))
    np.testing.assert_allclose(robot.joints[0].position, [1, 0, 0])


def test_mimic_joints_follow_their_master():
    robot = load(urdf("panda"))
    assert robot.mimic_names == ("panda_finger_joint2",)
    assert "panda_finger_joint2" not in robot.joint_names
    assert robot.nb == robot.nv + 1


def test_robots_are_frozen(model):
    robot = load(model(TWO_LINKS))
    with pytest.raises(ValueError, match="read-only"):
        robot.inertias[0, 0] = 1.0
    heavier = robot.with_inertias(robot.inertias * 2)
    assert heavier.inertias[0, 0] == 2 * robot.inertias[0, 0]
    with pytest.raises(ModelError, match=r"\(1, 10\)"):
        robot.with_inertias(np.ones(7))


BROKEN = {
    "not well-formed": (TWO_LINKS.replace("</robot>", ""), r"robot\.urdf, line \d+: not well-formed"),
    "unknown joint type": (TWO_LINKS.replace('"revolute"', '"hinge"'), r"joint name=\"swing\".*'hinge'.*revolute"),
    "no parent": (TWO_LINKS.replace('<parent link="base"/>', ""), "swing.*has no parent link.*base, arm"),
    "unknown parent": (TWO_LINKS.replace('<parent link="base"/>', '<parent link="bse"/>'), "'bse'.*base, arm, tool"),
    "letters for numbers": (TWO_LINKS.replace('value="2"', 'value="two"'), 'mass.*value="two".*one finite number'),
    "infinite mass": (TWO_LINKS.replace('value="2"', 'value="inf"'), "finite"),
    "no mass": (TWO_LINKS.replace('<mass value="2"/>', ""), "arm.*no <mass>"),
    "zero axis": (TWO_LINKS.replace("0 2 0", "0 0 0"), "swing.*axis"),
    "two joints of one name": (TWO_LINKS.replace('"mount"', '"swing"'), "already defined in line 9"),
    "two roots": (TWO_LINKS.replace("</robot>", '<link name="lost"/></robot>'), "2 root links.*base, lost"),
    "no movable joint": (TWO_LINKS.replace('"revolute"', '"fixed"'), "no movable joint.*floating=True"),
    "entities": ('<!DOCTYPE r [<!ENTITY a "b">]>' + TWO_LINKS[22:], "DOCTYPE"),
    "another format": ("<sdf/>", "root element is <sdf>"),
    "empty": ("", "is empty"),
    "binary": (b"\x00\x01\x02", "not well-formed"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_urdf(model, fault):
    text, message = BROKEN[fault]
    with pytest.raises(ModelError, match=message):
        load(model(text))


def test_loops_and_mimic_circles(model):
    loop = TWO_LINKS.replace(
        "</robot>", '<joint name="back" type="fixed"><parent link="tool"/><child link="arm"/></joint></robot>'
    )
    with pytest.raises(ModelError, match="second parent for link 'arm'"):
        load(model(loop))
    selfish = TWO_LINKS.replace("<dynamics", '<mimic joint="swing"/><dynamics')
    with pytest.raises(ModelError, match="circle"):
        load(model(selfish))


def test_billion_laughs_end_at_once(model):
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    text = f'<!DOCTYPE robot [<!ENTITY l0 "lol">{entities}]><robot name="&l11;"><link name="a"/></robot>'
    with pytest.raises(ModelError):
        load(model(text))


def test_external_entities_are_not_read(model, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    text = f'<!DOCTYPE robot [<!ENTITY s SYSTEM "{secret.as_uri()}">]><robot name="&s;"><link name="a"/></robot>'
    with pytest.raises(ModelError, match="entities are not accepted"):
        load(model(text))


def test_missing_files_and_wrong_suffixes(tmp_path):
    with pytest.raises(ModelError, match="is missing"):
        load(tmp_path / "no.urdf")
    (tmp_path / "folder.urdf").mkdir()
    with pytest.raises(ModelError, match="is a folder"):
        load(tmp_path / "folder.urdf")
    with pytest.raises(ModelError, match=r"suffix '\.stl'"):
        load(tmp_path / "robot.stl")


def test_mujoco_complaints_name_the_file(model):
    with pytest.raises(ModelError, match=r"cannot compile .*m\.xml"):
        load(model('<mujoco><worldbody><body><joint axis="0 0 0"/></body></worldbody></mujoco>', "m.xml"))
    with pytest.raises(ModelError, match="gravity"):
        load(model(TWO_LINKS), gravity=(1, 2))


def test_a_chain_of_two_thousand_links(model):
    links = "".join(f'<link name="l{i}"/>' for i in range(2001))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(2000)
    )
    assert load(model(f'<robot name="r">{links}{joints}</robot>')).nb == 2000


def test_elements_know_the_characters_inside_them(tmp_path):
    path = tmp_path / "arm.sdf"
    path.write_text('<link name="arm">\n  <pose>0 0 <!-- m -->1 &amp; 2</pose><mass>2</mass>\n</link>')
    link = read(path).root
    assert [child.text for child in link.children] == ["0 0 1 & 2", "2"]
    assert link.text == "\n  \n"
