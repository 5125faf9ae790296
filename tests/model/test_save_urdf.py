"""URDF write-back: only declared elements change, other bytes stay, and other engines read the new inertias."""

import codecs
import dataclasses
import re
import warnings

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import random_bodies
from edits import differences, feasible, perturbed, relative_error
from properties import tried
from robots import EXAMPLE_ROBOTS, URDFS
from steelyard.errors import ModelError
from steelyard.model import load, save, xml_edit

NAMES = [str(path.relative_to(EXAMPLE_ROBOTS)) for path in URDFS]
REFUSED = ("quadrotor_base.urdf", "iris_simple.urdf", "ur3.urdf")  # no movable joint, no name
ROBOTS = [name for name in NAMES if not name.endswith(REFUSED)]
NEW = re.compile(rb"\s*<(inertial)\b.*?</inertial>|\s*<dynamics\b[^>]*/>|\s*<dynamics\b.*?</dynamics>", re.DOTALL)
MESH = re.compile(rb"<(mesh|texture)\b[^>]*>")


def without_identified(content: bytes) -> bytes:
    return MESH.sub(b"", NEW.sub(b"", content))


def declared(report):
    """Elements that a report declares, by the start of their path."""
    allowed = []
    for line in report.changed:
        if name := re.match(r"link '(.*)': inertial", line):
            allowed.append(f"link[{name[1]}]/inertial")
        elif name := re.match(r"joint '(.*)': ", line):
            allowed.append(f"joint[{name[1]}]/dynamics")
        else:
            assert re.match(r"<(mesh|texture|compiler)> in line \d+: \w+=", line)
            allowed.append("mesh")
    return allowed


@pytest.mark.claim("pipeline.saved", "an identified URDF differs from the given one in the declared elements only")
@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", ROBOTS)
def test_nothing_but_the_declared_elements_differs(name, tmp_path):
    source = EXAMPLE_ROBOTS / name
    robot = load(source)
    new = perturbed(robot).with_joint_properties(damping=robot.damping + 0.1, frictionloss=robot.frictionloss + 0.2)
    report = save(new, tmp_path / "out.urdf")
    before, after = source.read_bytes(), report.path.read_bytes()
    changed = differences(before, after)
    allowed = declared(report)
    assert changed
    for path, what in changed:
        assert any(path.split("/", 2)[2].startswith(part) for part in allowed) or path.endswith("mesh"), (path, what)
        assert what == "added" or what.startswith("@"), (path, what)
    assert without_identified(before) == without_identified(after)
    assert before.count(b"<!--") == after.count(b"<!--")
    assert [p.name for p in tmp_path.iterdir()] == ["out.urdf"]


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchio_and_mujoco_read_the_new_inertias(name, tmp_path):
    robot = perturbed(load(EXAMPLE_ROBOTS / name), seed=1)
    path = save(robot, tmp_path / "out.urdf").path
    model = pin.buildModelFromUrdf(str(path))
    for body, theta in zip(robot.body_joints, robot.inertias, strict=True):
        theirs = model.inertias[model.getJointId(robot.joints[body].name)].toDynamicParameters()
        assert relative_error(theirs, theta) < 1e-9
    # links are feasible wherever their body is (the file's own bad ones are not ours to change)
    for before, after in zip(load(EXAMPLE_ROBOTS / name).links, load(path).links, strict=True):
        assert feasible(after.theta) or np.array_equal(after.theta, before.theta) or not feasible(before.theta)
    # MuJoCo refuses some of the files for bad inertials of links that carry nothing else; what it read, it still reads
    original = compiled(EXAMPLE_ROBOTS / name)
    if original is not None:
        m = compiled(path)
        assert m is not None
        for body, before, theta in zip(
            robot.body_names, load(EXAMPLE_ROBOTS / name).inertias, robot.inertias, strict=True
        ):
            # it passes over inertia without mass (the feet of bolt.urdf), then and now
            if relative_error(mujoco_parameters(original, original.body(body).id), before) < 1e-9:
                assert relative_error(mujoco_parameters(m, m.body(body).id), theta) < 1e-9


def test_mujoco_reads_most_of_the_robots():
    assert sum(compiled(EXAMPLE_ROBOTS / name) is not None for name in ROBOTS) >= 40


def compiled(path):
    """MuJoCo's model of a URDF without its meshes, None where MuJoCo refuses its inertials."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about limits and mimics
        try:
            return mujoco.MjModel.from_xml_string(mesh_free(path))
        except ValueError as error:
            assert "inertia" in str(error)
            return None


def mesh_free(path) -> str:
    root = etree.fromstring(path.read_bytes())
    for link in root.findall("link"):
        for part in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(part)
    return etree.tostring(root).decode()


def mujoco_parameters(m, body):
    """theta (10,) of a compiled body, about its frame, by the parallel-axis theorem."""
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, m.body_iquat[body])
    R, c, mass = R.reshape(3, 3), m.body_ipos[body], m.body_mass[body]
    I = R @ np.diag(m.body_inertia[body]) @ R.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([mass, *(mass * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def test_an_unchanged_robot_gives_the_same_bytes(tmp_path):
    source = EXAMPLE_ROBOTS / "xarm_description/urdf/xarm7.urdf"
    report = save(load(source), tmp_path / "same.urdf")
    assert report.path.read_bytes() == source.read_bytes()
    assert report.changed == () and report.notes == () and report.files == (report.path,)


def test_a_bad_inertial_that_was_not_identified_stays(tmp_path):
    source = EXAMPLE_ROBOTS / "romeo_description/urdf/romeo_small.urdf"
    robot = load(source)
    bad = [i for i, theta in enumerate(robot.inertias) if not feasible(theta)]
    report = save(perturbed(robot), tmp_path / "out.urdf")
    names = {robot.body_names[i] for i in bad}
    assert bad and not names & set(re.findall(r"link '(.*?)'", " ".join(report.changed)))
    assert (load(report.path).inertias[bad] == robot.inertias[bad]).all()


TINY = """<?xml version='1.0' encoding='{encoding}'?>
<!-- Grüße: the arm -->
<robot name="tiny" xmlns:xacro="http://www.ros.org/wiki/other">
  <link name='base'/>
  <link   name = 'upper' >
    <!-- weighed in 2019 -->
    <inertial><mass   value = "1.0"/> <!-- kg > -->
      <origin rpy="0.3 -0.2 0.1" xyz='0 0 0.1'/>
      <inertia ixx="0.01" iyy='0.02' izz="0.015"/>
    </inertial>
    <visual><geometry><mesh filename="package://x/upper &amp; more.stl"/></geometry></visual>
  </link>
  <link name="lower"/> <link name="tip"></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit effort="10" lower="-1" upper="1" velocity="3"/>
    <dynamics friction='0.5'/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/>
    <child link="lower"/>
  </joint>
  <joint name="fix" type="fixed"><parent link="lower"/><child link="tip"/></joint>
  <transmission name="t"><type>a &lt; b</type></transmission>
  <gazebo reference="upper"><plugin name="p" filename="lib.so"><![CDATA[ <link name="upper"> ]]></plugin></gazebo>
</robot>
<!-- end -->
"""


def tiny(folder, *, encoding="utf-8", bom=b"", newline="\n"):
    path = folder / "tiny.urdf"
    path.write_bytes(bom + TINY.format(encoding=encoding).replace("\n", newline).encode(encoding))
    return path


THETA = np.array([2.0, 0.2, 0.0, -0.1, 0.125, 0.0, 0.25, 0.03125, 0.0, 0.1875])


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "bom"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("iso-8859-1", b""),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
    ],
)
def test_every_byte_of_the_result_is_as_expected(tmp_path, encoding, bom, newline):
    robot = load(tiny(tmp_path, encoding=encoding, bom=bom, newline=newline))
    new = robot.with_inertias([robot.inertias[0], THETA]).with_joint_properties(damping=[0.25, 1e-7])
    report = save(new, tmp_path / "new folder" / "out.urdf")
    expected = TINY.replace(
        '<link name="lower"/>',
        """<link name="lower">
    <inertial>
      <origin xyz="0.1 0 -0.05" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia ixx="IXX" ixy="0" ixz="IXZ" iyy="IYY" iyz="0" izz="IZZ"/>
    </inertial>
  </link>""",
    )
    expected = expected.replace("<dynamics friction='0.5'/>", "<dynamics friction='0.5' damping='0.25'/>")
    child = '<child link="lower"/>\n  </joint>'
    expected = expected.replace(child, '<child link="lower"/>\n    <dynamics damping="1e-07"/>\n  </joint>')
    expected = expected.format(encoding=encoding).replace("\n", newline)
    content = report.path.read_bytes()
    assert content.startswith(bom)
    text = content[len(bom) :].decode(encoding)
    written = dict(re.findall(r'(i[xyz]{2})="([^"]*)"', text.split('<link name="lower">')[1]))
    for key in ("ixx", "ixz", "iyy", "izz"):
        expected = expected.replace(key.upper(), written[key])
    assert text == expected
    assert (float(written["ixx"]), float(written["iyy"])) == pytest.approx((0.125 - 0.005, 0.25 - 0.025))
    assert set(report.changed) == {"link 'lower': inertial", "joint 'shoulder': damping", "joint 'elbow': damping"}


def test_rotated_axes_of_an_inertial_are_kept(tmp_path):
    robot = load(tiny(tmp_path))
    report = save(robot.with_inertias([THETA, robot.inertias[1]]), tmp_path / "out.urdf")
    text = report.path.read_text()
    assert 'rpy="0.3 -0.2 0.1"' in text and "<!-- kg > -->" in text and 'ixx="0.01"' not in text
    assert re.search(r'<inertia ixx="[^"]*" iyy=\'[^\']*\' izz="[^"]*" ixy="[^"]*" ixz="[^"]*" iyz="[^"]*"/>', text)
    assert relative_error(load(report.path).inertias[0], THETA) < 1e-14


def test_values_that_did_not_change_keep_their_spelling(tmp_path):
    robot = load(tiny(tmp_path))
    heavier = robot.inertias.copy()
    heavier[0, 4:] += 0.25 * np.array([0.5, 0, 0.5, 0, 0, 0.5])
    text = save(robot.with_inertias(heavier), tmp_path / "out.urdf").path.read_text()
    assert '<mass   value = "1.0"/>' in text and "xyz='0 0 0.1'" in text


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("part", range(3))
@tried(15)
@given(seed=st.integers(0, 2**32 - 1), exponent=st.floats(-6, 6), newline=st.sampled_from(["\n", "\r\n", ""]))
def test_any_inertia_survives_exactly_enough(tmp_path_factory, part, seed, exponent, newline):
    seed = [part, seed]
    folder = tmp_path_factory.mktemp("any")
    robot = load(tiny(folder, newline=newline))
    theta = random_bodies.bodies(seed, (2,)) * 10.0**exponent
    damping = np.random.default_rng(seed).exponential(size=2)
    new = robot.with_inertias(theta).with_joint_properties(damping=damping)
    found = load(save(new, folder / "out.urdf").path)
    assert relative_error(found.inertias, theta) < 1e-13
    assert (found.damping == damping).all()  # shortest texts read back as the same doubles
    rest = without_identified((folder / "out.urdf").read_bytes())
    opened = f'<link name="lower">{newline + "  " if newline else ""}</link>'.encode()
    assert rest.replace(opened, b'<link name="lower"/>') == without_identified((folder / "tiny.urdf").read_bytes())


def test_fixed_links_follow_when_they_have_to(tmp_path):
    source = EXAMPLE_ROBOTS / "solo_description/robots/solo12.urdf"
    robot = load(source)
    body = robot.body_index("FL_LOWER_LEG")
    theta = robot.inertias.copy()
    theta[body, 1:] *= 0.3  # shorter leg: its foot, far out, no longer fits in
    theta[body, 4:] *= 0.3
    report = save(robot.with_inertias(theta), tmp_path / "out.urdf")
    assert set(report.changed) == {"link 'FL_FOOT': inertial", "link 'FL_LOWER_LEG': inertial"}
    assert "FL_FOOT" in report.notes[0] and "affine" in report.notes[0]
    found = load(report.path)
    parts = [link for link in found.links if link.body == body and link.has_inertial]
    assert len(parts) == 2 and all(feasible(link.theta) for link in parts)
    before = [link for link in robot.links if link.body == body and link.has_inertial]
    assert parts[1].theta[0] == pytest.approx(before[1].theta[0])  # as the mass of the body, that of the foot
    # small changes leave the foot alone
    theta = robot.inertias.copy()
    theta[body] *= 1.02
    assert save(robot.with_inertias(theta), tmp_path / "near.urdf").changed == ("link 'FL_LOWER_LEG': inertial",)


def with_inertial(name, *, mass, **moments):
    text = " ".join(f'{key}="{value}"' for key, value in moments.items())
    return f'<link name="{name}"><inertial><mass value="{mass}"/><inertia {text}/></inertial></link>'


def test_fixed_links_of_a_bad_body_are_scaled(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(
        TINY.format(encoding="utf-8")
        .replace('<link name="lower"/>', with_inertial("lower", mass=1, ixx=0, iyy=0, izz=9))
        .replace('<link name="tip"></link>', with_inertial("tip", mass=5, ixx=1, iyy=1, izz=1))
    )
    robot = load(path)
    report = save(robot.with_inertias([robot.inertias[0], THETA]), tmp_path / "out.urdf")
    assert "they were scaled by" in report.notes[0]
    assert all(feasible(link.theta) for link in load(report.path).links if link.body == 1)


def test_the_heaviest_link_takes_the_inertia_of_an_empty_main_link(tmp_path):
    path = tmp_path / "frame.urdf"
    path.write_text(
        TINY.format(encoding="utf-8").replace(
            '<link name="tip"></link>', with_inertial("tip", mass=5, ixx=1, iyy=1, izz=1)
        )
    )
    robot = load(path)
    report = save(robot.with_inertias([robot.inertias[0], THETA]), tmp_path / "out.urdf")
    assert report.changed == ("link 'tip': inertial",)
    assert '<link name="lower"/>' in report.path.read_text()


def test_a_base_that_was_freed_is_written_too(tmp_path):
    source = EXAMPLE_ROBOTS / "a1_description/urdf/a1.urdf"
    robot = perturbed(load(source, floating=True)).with_joint_properties(damping=np.ones(18))
    report = save(robot, tmp_path / "out.urdf")
    assert any("floating_base" in note and "damping" in note for note in report.notes)
    assert relative_error(load(report.path, floating=True).inertias, robot.inertias) < 1e-9
    assert len([line for line in report.changed if "inertial" in line]) >= robot.nb


def test_what_urdf_cannot_say_is_noted(tmp_path):
    robot = load(tiny(tmp_path), gravity=(0, 0, -1.62)).with_joint_properties(armature=[0.1, 0.0])
    report = save(robot, tmp_path / "out.urdf")
    assert report.path.read_bytes() == (tmp_path / "tiny.urdf").read_bytes()
    assert "armature of shoulder" in report.notes[0] and "Gravity" in report.notes[1]


def test_relative_meshes_are_followed_to_another_folder(tmp_path):
    (tmp_path / "robot" / "meshes").mkdir(parents=True)
    (tmp_path / "robot" / "meshes" / "a b.stl").write_bytes(b"solid")
    path = tmp_path / "robot" / "arm.urdf"
    meshes = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in ("meshes/a b.stl", "package://x/a.stl", "/abs/a.stl", "missing.stl")
    )
    text = TINY.format(encoding="utf-8").replace('<link name="lower"/>', f'<link name="lower">{meshes}</link>')
    folder = '<mujoco><compiler meshdir="meshes"/></mujoco>'  # of MuJoCo's extension of URDF
    path.write_text(text.replace("<link name='base'/>", f"{folder}<link name='base'/>"))
    robot = load(path)
    assert save(robot, tmp_path / "robot" / "same.urdf").changed == ()
    report = save(robot, tmp_path / "results" / "out.urdf")
    assert len(report.changed) == 2 and '"../robot/meshes/a b.stl"' in report.changed[1]
    assert report.path.read_bytes() == path.read_bytes().replace(b'"meshes', b'"../robot/meshes')


def refused(robot, path, match):
    before = sorted(path.parent.rglob("*")) if path.parent.exists() else None
    with pytest.raises(ModelError, match=match):
        save(robot, path)
    assert (sorted(path.parent.rglob("*")) if path.parent.exists() else None) == before


@pytest.mark.parametrize("theta", [-THETA, 0 * THETA, [1, 0, 0, 0, 1, 0, 1, 0, 0, 2.1], [np.nan, *THETA[1:]]], ids=str)
def test_infeasible_bodies_are_refused(tmp_path, theta):
    robot = load(tiny(tmp_path))
    for path in (tmp_path / "out.urdf", tmp_path / "new" / "deep" / "out.urdf"):
        refused(robot.with_inertias([theta, robot.inertias[1]]), path, "Body 'upper' cannot be written.*fit.consistent")
    assert not (tmp_path / "new").exists()


def test_inputs_and_unfit_targets_are_refused(tmp_path):
    source = tiny(tmp_path)
    robot = load(source)
    (tmp_path / "link.urdf").symlink_to(source)
    (tmp_path / "folder.urdf").mkdir()
    refused(robot, source, "never changed")
    refused(robot, tmp_path / "link.urdf", "never changed")
    refused(robot, tmp_path / "out.txt", "suffix '.txt'")
    refused(robot, tmp_path / "folder.urdf", "is a folder")
    refused(robot, source / "out.urdf", "cannot be written")
    for value in (-0.1, np.inf, np.nan):
        refused(robot.with_joint_properties(damping=[value, 0]), tmp_path / "o.urdf", "Joint 'shoulder' has damping")


def test_a_source_that_changed_or_went_is_refused(tmp_path):
    robot = load(tiny(tmp_path))
    moved = dataclasses.replace(robot.joints[1], position=np.ones(3))
    other = dataclasses.replace(robot, joints=(robot.joints[0], moved))
    refused(other, tmp_path / "out.urdf", "position of joint 'elbow' differs")
    source = tmp_path / "tiny.urdf"
    source.write_text(source.read_text().replace('name="elbow"', 'name="knee"'))
    refused(robot, tmp_path / "out.urdf", "joints differ: 'elbow' against 'knee'")
    source.unlink()
    refused(robot, tmp_path / "out.urdf", "missing")


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("digits", [3, 6])
def test_a_file_that_reads_back_differently_does_not_appear(tmp_path, monkeypatch, digits):
    robot = load(EXAMPLE_ROBOTS / "ur_description/urdf/ur5_robot.urdf")
    (tmp_path / "out.urdf").write_text("an earlier result")
    monkeypatch.setattr(xml_edit, "_short", lambda value: f"{value:.{digits}g}")
    refused(perturbed(robot), tmp_path / "out.urdf", "would not read back as the robot")
    assert (tmp_path / "out.urdf").read_text() == "an earlier result"


def test_an_earlier_result_is_replaced(tmp_path):
    robot = load(tiny(tmp_path))
    (tmp_path / "out.urdf").write_text("an earlier result")
    save(robot, tmp_path / "out.urdf")
    assert (tmp_path / "out.urdf").read_bytes() == (tmp_path / "tiny.urdf").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.urdf", "tiny.urdf"]
