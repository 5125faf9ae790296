"""SDF written back, where only declared elements change, and written new, where other engines read the same robot."""

import dataclasses
import re

import numpy as np
import pytest

import pinocchio_adapter as adapter
from edits import differences, feasible, perturbed, relative_error
from model.test_sdf import BODY, HINGE, included, joint, link, two, written
from random_sdf import sdf_text
from robots import EXAMPLE_ROBOTS, URDFS, package_folder, random_state
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError
from steelyard.model import library, load, save, xml, xml_edit
from steelyard.model.formats import opened

# no movable joint, or bodies that no distribution of mass has
REFUSED = ("quadrotor_base.urdf", "iris_simple.urdf", "ur3.urdf", "romeo_small.urdf", "romeo_laas_small.urdf")
NAMES = [str(path.relative_to(EXAMPLE_ROBOTS)) for path in URDFS if path.name not in REFUSED]
SUITE = package_folder("dm_control") / "suite"
ROTOR = "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>-5</drake:gear_ratio>"


@pytest.mark.claim("pipeline.sdf_new", "a URDF saved as SDF has the torques of the URDF, in Drake too, to 1e-9")
@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", NAMES)
def test_drake_computes_the_torques_of_a_urdf_from_its_sdf(name, tmp_path):
    robot = load(EXAMPLE_ROBOTS / name)
    path = save(robot, tmp_path / "out.sdf").path
    again = load(path)
    assert again.joint_names == robot.joint_names
    for field in ("lower", "upper", "effort_limits", "velocity_limits", "damping", "frictionloss"):
        assert np.array_equal(getattr(again, field), getattr(robot, field)), field
    rng, model = np.random.default_rng(0), adapter.load(EXAMPLE_ROBOTS / name, False)
    states = [random_state(robot, rng) for _ in range(2)]
    theirs = [adapter.inverse_dynamics(model, model.createData(), robot, *state) for state in states]
    ours = [inverse_dynamics(again, *state) for state in states]
    assert np.abs(np.array(ours) - theirs).max() <= 1e-9 * np.abs(theirs).max()
    pytest.importorskip("pydrake")
    from drake_adapter import Plant

    plant = Plant(path, robot.gravity)
    links = [each for each in again.links if each.name != "world"]
    # Drake puts possible inertias in the place of others
    replaced = [each for each in links if relative_error(plant.theta(each.name), each.theta) > 1e-9]
    assert not any(feasible(each.theta) and each.theta[0] > 1e-6 for each in replaced)
    if not replaced:
        drakes = [plant.inverse_dynamics(again, *state) for state in states]
        assert np.abs(np.array(drakes) - theirs).max() <= 1e-9 * np.abs(theirs).max()


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", ["humanoid", "cheetah", "walker", "acrobot"])
def test_models_of_mujoco_keep_their_torques(name, tmp_path):
    robot = load(SUITE / f"{name}.xml")
    report = save(robot, tmp_path / "out.sdf")
    again = load(report.path, gravity=robot.gravity)
    kept = robot.with_joint_properties(armature=again.armature)  # of balls and free bases none is written
    q, v, a = random_state(robot, np.random.default_rng(1))
    assert np.allclose(inverse_dynamics(again, q, v, a), inverse_dynamics(kept, q, v, a), rtol=1e-9, atol=1e-9)
    assert "Not in the new file" in " ".join(report.notes)
    lost = [site.name for site in robot.sites if site.body >= 0 and site.name not in again.frames]
    assert all(name in robot.frames and "have its name" in " ".join(report.notes) for name in lost)


def test_fixed_links_their_geometry_and_frames_are_written(tmp_path):
    source = EXAMPLE_ROBOTS / "panda_description/urdf/panda.urdf"
    robot = load(source)
    path = save(robot, tmp_path / "panda.sdf").path
    again = load(path)
    assert {each.name for each in robot.links} <= set(again.frames)
    for each in (each for each in robot.links if each.body >= 0):
        other = again.frame(each.name)
        assert robot.body_names[each.body] == again.body_names[other.body]
        assert np.allclose(other.position, each.position, atol=1e-12)
        assert np.allclose(other.rotation, each.rotation, atol=1e-12)
    found = [(piece.link, piece.role) for piece in opened(path).pieces()]
    assert found == [(piece.link, piece.role) for piece in opened(source).pieces()]
    assert all(piece.solid or piece.file.path for piece in opened(path).pieces())


@pytest.mark.parametrize("make", [library.puma560, library.scara, library.cheetah3_leg])
def test_there_and_back_again(make, tmp_path):
    robot = make()
    back = load(
        save(dataclasses.replace(load(save(robot, tmp_path / "a.sdf").path), source=None), tmp_path / "b.xml").path
    )
    assert back.joint_names == robot.joint_names
    assert relative_error(back.inertias, robot.inertias) < 1e-12
    assert np.array_equal(back.armature, robot.armature)


@pytest.mark.parametrize("seed", range(6))
def test_random_robots_written_new_are_the_same(seed, tmp_path):
    rng = np.random.default_rng(seed)
    robot = load(written(tmp_path, sdf_text(rng)))
    new = dataclasses.replace(robot, source=None)
    again = load(save(new, tmp_path / "out.sdf").path)
    q, v, a = random_state(robot, rng)
    assert np.allclose(inverse_dynamics(again, q, v, a), inverse_dynamics(robot, q, v, a), rtol=1e-9, atol=1e-9)
    assert np.array_equal(again.armature, robot.armature) and np.array_equal(again.damping, robot.damping)
    assert np.array_equal(again.lower, robot.lower)


def declared(report):
    """Elements that a report declares, by what is in their path."""
    allowed = []
    for line in report.changed:
        if name := re.match(r"link '(.*)': inertial", line):
            allowed.append(f"link[{name[1].rpartition('::')[2]}]/inertial")
        elif name := re.match(r"joint '(.*?)(?:_axis2?)?': ", line):
            allowed.append(f"joint[{name[1]}]/")
    return allowed


@pytest.mark.parametrize("seed", range(6))
def test_nothing_but_the_declared_elements_differs(seed, tmp_path):
    pytest.importorskip("pydrake")
    from drake_adapter import Plant

    source = written(tmp_path, sdf_text(np.random.default_rng(seed)), "in/robot.sdf")
    robot = load(source)
    masters = {each.mimics for each in robot.joints}
    changed = {
        field: getattr(robot, field) + np.where(getattr(robot, field) > 0, 0.1, 0.0)
        for field in ("damping", "armature")
    }
    new = perturbed(robot).with_joint_properties(**changed)
    report = save(new, tmp_path / "out.sdf")
    before, after = source.read_bytes(), report.path.read_bytes()
    allowed = declared(report)
    found = differences(before, after)
    assert found and masters
    for path, what in found:
        assert any(part in path for part in allowed), (path, what)
        assert what in ("added", "text") or what.startswith("children"), (path, what)
    again = load(report.path)
    assert relative_error(again.inertias, new.inertias) < 1e-9
    assert np.allclose(again.armature, new.armature) and np.allclose(again.damping, new.damping)
    plant = Plant(report.path, robot.gravity)
    for each in (each for each in again.links if each.name != "world"):
        assert relative_error(plant.theta(each.name), each.theta) < 1e-9


def test_an_unchanged_robot_gives_the_same_bytes(tmp_path):
    source = written(tmp_path, two(), "in/robot.sdf")
    report = save(load(source), tmp_path / "same.sdf")
    assert report.path.read_bytes() == source.read_bytes() and report.changed == ()


def test_words_that_say_the_same_stay(tmp_path):
    pose = "<pose degrees='true'>0 0 1.25e-1 30\t0 0</pose>"
    body = BODY.replace("<mass>2</mass>", f"<!-- weighed --><mass> 2.0<!-- kg --> </mass>{pose}")
    source = written(tmp_path, two(first=body), "in/robot.sdf")
    robot = load(source)
    theta = robot.inertias.copy()
    theta[0] *= 2
    text = save(robot.with_inertias(theta), tmp_path / "out.sdf").path.read_text()
    assert f"<!-- weighed --><mass> 4<!-- kg --> </mass>{pose}" in text
    none = written(tmp_path, two(first=""), "in/none.sdf")
    theta = load(none).inertias * 2.0
    assert "<inertial>" in save(load(none).with_inertias(theta), tmp_path / "none.sdf").path.read_text()
    ball = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
    axis = HINGE.replace("</axis>", "<dynamics/></axis>")
    empty = load(written(tmp_path, two(of_joint=axis, first="<inertial><inertia/></inertial>"), "in/empty.sdf"))
    new = empty.with_inertias(empty.inertias * 2.0)
    new = new.with_joint_properties(damping=np.eye(7)[6], frictionloss=np.eye(7)[6])
    again = load(save(new, tmp_path / "empty.sdf").path)
    assert relative_error(again.inertias, new.inertias) < 1e-12 and again.damping[6] == again.frictionloss[6] == 1
    stated = f"<inertial auto='true'><density>1</density></inertial><collision name='c'>{ball}</collision>"
    stated = load(written(tmp_path, two(first=stated), "in/stated.sdf"))
    path = save(stated.with_inertias(stated.inertias * 2.0), tmp_path / "stated.sdf").path
    assert relative_error(load(path).inertias, stated.inertias * 2.0) < 1e-12 and "auto='false'" in path.read_text()
    auto = f"<inertial auto='true'/><collision name='c'>{ball}</collision>"
    filled = written(tmp_path, two(first=auto), "in/auto.sdf")
    doubled = load(filled).with_inertias(load(filled).inertias * 2.0)
    path = save(doubled, tmp_path / "auto.sdf").path
    assert relative_error(load(path).inertias, doubled.inertias) < 1e-12 and "auto" not in path.read_text()


@pytest.mark.parametrize("merge", ["", ' merge="true"'])
def test_included_models_are_copied_where_they_change(tmp_path, merge):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "package.xml").write_text("<package/>")
    source = included(folder, merge=merge)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    robot = load(source)
    report = save(robot.with_inertias(robot.inertias * 1.5), folder / "out" / "new.sdf")
    assert [path.name for path in report.files] == ["new_model-1_9_1.sdf", "new.sdf"]
    assert {path: path.read_bytes() for path in before} == before
    assert relative_error(load(report.path).inertias, robot.inertias * 1.5) < 1e-12
    with pytest.raises(ModelError, match="file of the model itself"):
        save(robot.with_inertias(robot.inertias * 1.5), folder / "arm" / "model-1_9.sdf")


def test_armature_has_a_place_only_where_drake_has_one(tmp_path):
    axis = HINGE.replace("</axis>", "</axis>" + ROTOR)
    source = written(tmp_path, two(of_joint=axis), "in/robot.sdf")
    robot = load(source)
    assert robot.armature[-1] == pytest.approx(0.25)
    new = robot.with_joint_properties(armature=np.array([*np.zeros(6), 0.5]))
    text = save(new, tmp_path / "out.sdf").path.read_text()
    assert "<drake:rotor_inertia>0.02</drake:rotor_inertia><drake:gear_ratio>-5<" in text
    bare = load(written(tmp_path, two(), "in/bare.sdf"))
    report = save(bare.with_joint_properties(armature=new.armature), tmp_path / "bare.sdf")
    assert "no place for the armature" in " ".join(report.notes)


def test_what_sdf_cannot_say_is_refused_or_told(tmp_path):
    robot = library.scara()
    with pytest.raises(ModelError, match="keeps the name 'world'"):
        save(dataclasses.replace(robot, body_names=("world", *robot.body_names[1:]), links=()), tmp_path / "out.sdf")
    planar = EXAMPLE_ROBOTS / "pr2_description/urdf/pr2.urdf"
    assert load(save(load(planar, floating=True), tmp_path / "pr2.sdf").path).floating
    ball = f'<model name="m">{link("a")}{joint("j", "world", "a", "ball", "")}</model>'
    report = save(
        dataclasses.replace(load(written(tmp_path, ball)), source=None).with_joint_properties(damping=np.ones(3)),
        tmp_path / "ball.sdf",
    )
    assert "no place for: damping" in " ".join(report.notes)


@pytest.mark.parametrize(
    "before, values, after",
    [
        ("<a>1 2</a>", (1, 3), "<a>1 3</a>"),
        ("<a/>", (4,), "<a>4</a>"),
        ("<a></a>", (4,), "<a>4</a>"),
        ("<a><!-- x -->  1.0 <!-- y --></a>", (2,), "<a><!-- x -->  2 <!-- y --></a>"),
        ("<a>1 <!-- x --> 2</a>", (1, 5), "<a>1 <!-- x --> 5</a>"),
        ("<a><![CDATA[7]]></a>", (8,), "<a><![CDATA[8]]></a>"),
        ("<a>nan word</a>", (1, 2, 3), "<a>1 2 3</a>"),
    ],
)
def test_numbers_are_put_where_the_text_is(tmp_path, before, values, after):
    path = tmp_path / "a.xml"
    path.write_text(f"<r>{before}</r>")
    document = xml.read(path)
    edits = xml_edit.set_text_numbers(document, document.root.children[0], values)
    assert xml_edit.apply(document, edits).decode() == f"<r>{after}</r>"
    assert xml_edit.assign_text(document, document.root.children[0], "a<b")[0].text.count("&lt;") == 1
