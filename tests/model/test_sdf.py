"""SDF files: what Drake reads of them, and what the format says where Drake does not look."""

import numpy as np
import pytest

from edits import relative_error
from random_sdf import sdf_text
from robots import random_state
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError
from steelyard.model import load, save
from steelyard.model.formats import models_in, opened, read_sketch
from steelyard.model.joint import joint_pose

BODY = "<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
OTHER = 'name="m"', 'name="n"'
HINGE = "<axis><xyz>0 0 1</xyz></axis>"


def written(folder, text, name="robot.sdf", version="1.11"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.startswith(("<sdf", "<?xml")) else f'<sdf version="{version}">{text}</sdf>')
    return path


def link(name, pose="0 0 0 0 0 0", inside=BODY):
    return f'<link name="{name}"><pose>{pose}</pose>{inside}</link>'


def joint(name, parent, child, kind="revolute", inside=HINGE):
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def two(inside="", kind="revolute", of_joint=HINGE, first=BODY):
    """A base that flies and what a joint carries on it."""
    links = link("a", inside=first) + link("b", "0 0 1 0 0 0")
    return f'<model name="m">{links}{joint("j", "a", "b", kind, of_joint)}{inside}</model>'


@pytest.mark.claim("pipeline.sdf", "SDF of random models means to Steelyard what it means to Drake, to 1e-9")
@pytest.mark.parametrize("seed", range(12))
def test_drake_reads_the_same_robot(tmp_path, seed):
    pytest.importorskip("pydrake")
    from drake_adapter import Plant

    rng = np.random.default_rng(seed)
    path = written(tmp_path, sdf_text(rng))
    robot, plant = load(path), Plant(path, (0, 0, -9.81))
    links = [each for each in robot.links if each.name != "world"]
    assert max(relative_error(each.theta, plant.theta(each.name)) for each in links) < 1e-9
    base = links[0].name if robot.floating else None
    for _ in range(3):
        q, v, a = random_state(robot, rng)
        theirs = plant.inverse_dynamics(robot, q, v, a, base)
        ours = inverse_dynamics(robot, q, v, a)
        assert np.abs(ours - theirs).max() <= 1e-9 * np.abs(theirs).max()
    # what a product of inertia with the other sign would do is far from rounding
    other = robot.inertias * np.where(np.isin(range(10), (5, 7, 8)), -1.0, 1.0)
    assert np.abs(inverse_dynamics(robot.with_inertias(other), q, v, a) - theirs).max() > 1e-6 * np.abs(theirs).max()
    for site in robot.sites:
        if site.body == -1:
            R, p = plant.pose(site.name)
            assert np.allclose(site.rotation, R, atol=1e-9) and np.allclose(site.position, p, atol=1e-9)


@pytest.mark.parametrize(
    "shape, size",
    [
        ("box", "<size>0.1 0.2 0.3</size>"),
        ("sphere", "<radius>0.2</radius>"),
        ("cylinder", "<radius>0.1</radius><length>0.4</length>"),
        ("capsule", "<radius>0.1</radius><length>0.4</length>"),
        ("ellipsoid", "<radii>0.1 0.2 0.3</radii>"),
    ],
)
@pytest.mark.parametrize("mass", ["", "<mass>0.7</mass>"])
def test_automatic_inertials_are_those_of_drake(tmp_path, shape, size, mass):
    pytest.importorskip("pydrake")
    from drake_adapter import Plant

    geometry = f"<geometry><{shape}>{size}</{shape}></geometry>"
    first = (
        f'<inertial auto="true"><density>300</density>{mass}</inertial>'
        f'<collision name="c"><pose>0.1 0.2 0 0.3 -0.5 1</pose>{geometry}</collision>'
        f'<collision name="d"><density>900</density><pose>0 -0.4 0.1 0 1 0</pose>{geometry}</collision>'
    )
    path = written(tmp_path, two(first=first))
    robot = load(path)
    assert relative_error(robot.links[0].theta, Plant(path, (0, 0, -9.81)).theta("a")) < 1e-9
    (sketched,) = [part for part in read_sketch(path).parts if part.name == "a"]
    assert relative_error(sketched.inertial.theta, robot.links[0].theta) < 1e-12


def test_an_automatic_inertial_of_a_cone_is_that_of_its_mesh(tmp_path):
    from steelyard.inertia import solids

    n, r, length = 400, 0.2, 0.5
    angles = 2 * np.pi * np.arange(n) / n
    ring = np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(n, -length / 2)])
    points = np.vstack([ring, [0, 0, length / 2], [0, 0, -length / 2]])
    around = np.arange(n)
    faces = [np.column_stack([around, np.roll(around, -1), np.full(n, n)])]
    faces.append(np.column_stack([np.roll(around, -1), around, np.full(n, n + 1)]))
    import steelyard as sy

    meshed = sy.inertia.mesh.parameters(points, np.concatenate(faces), density=700.0)
    assert relative_error(solids.filled("cone", (r, length), 700.0), meshed) < 1e-3


def test_a_link_without_inertial_has_one_kilogram_and_it_is_said(tmp_path):
    robot = load(written(tmp_path, two(first="")))
    assert np.array_equal(robot.links[0].theta, [1, 0, 0, 0, 1, 0, 1, 0, 0, 1])
    assert any("no <inertial> states mass and tensor of a" in note for note in robot.notes)
    partial = load(written(tmp_path, two(first="<inertial><mass>0.5</mass></inertial>")))
    assert np.array_equal(partial.links[0].theta, [0.5, 0, 0, 0, 1, 0, 1, 0, 0, 1])


def test_what_nothing_holds_flies_and_fixed_holds_it_where_it_is(tmp_path):
    path = written(tmp_path, two().replace('<model name="m">', '<model name="m"><pose>0 0 2 0.5 0 0</pose>'))
    robot = load(path)
    assert robot.floating and any("so it flies" in note for note in robot.notes)
    held = load(path, floating=False)
    assert not held.floating and held.nv == 1 and not any("flies" in note for note in held.notes)
    _, p = joint_poses(held, np.zeros(1))
    assert np.allclose(p[0], [0, -np.sin(0.5), 2 + np.cos(0.5)])
    grounded = written(tmp_path, two(joint("hold", "world", "a", "fixed", "")))
    assert not load(grounded).floating


@pytest.mark.parametrize("version, axis, expected", [
    ("1.4", "<xyz>0 1 0</xyz>", (0, 1, 0)),
    ("1.6", "<xyz>0 1 0</xyz>", (0, 0, 1)),
    ("1.6", "<xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", (0, 1, 0)),
    ("1.6", '<xyz expressed_in="__model__">0 1 0</xyz>', (0, 1, 0)),
    ("1.7", "<xyz>0 1 0</xyz><use_parent_model_frame>true</use_parent_model_frame>", (0, 0, 1)),
    ("1.9", '<xyz expressed_in="a">0 1 0</xyz>', (-1, 0, 0)),
])  # fmt: skip
def test_axes_are_expressed_as_the_version_says(tmp_path, version, axis, expected):
    links = link("a", "0 0 0 0 0 1.5707963267948966") + link("b", "0 0 1 1.5707963267948966 0 0")
    text = f'<model name="m">{links}{joint("j", "a", "b", inside=f"<axis>{axis}</axis>")}</model>'
    path = written(tmp_path, text, version=version)
    robot = load(path, floating=False)
    R, _ = joint_poses(robot, robot.neutral)
    assert R[0] @ robot.joints[0].subspace[3:, 0] == pytest.approx(expected, abs=1e-12)
    pytest.importorskip("pydrake")
    if version == "1.7":  # Drake refuses what that version has no longer
        return
    from drake_adapter import Plant

    plant = Plant(path, (0, 0, -9.81))
    theirs = plant.plant.GetJointByName("j")
    R, _ = plant.pose("b")
    frame = theirs.frame_on_child().GetFixedPoseInBodyFrame().rotation().matrix()
    assert R @ frame @ theirs.revolute_axis() == pytest.approx(expected, abs=1e-9)


def joint_poses(robot, q):
    """Rotations (nj, 3, 3) and positions (nj, 3) of all joint frames in the world, written out."""
    R, p = np.zeros((robot.nj, 3, 3)), np.zeros((robot.nj, 3))
    for i, (each, at, parent) in enumerate(zip(robot.joints, robot.q_slices, robot.parents, strict=True)):
        turned, moved = joint_pose(each, each.ratio * q[at] + each.offset if each.nq == 1 else q[at])
        above = (np.eye(3), np.zeros(3)) if parent < 0 else (R[parent], p[parent])
        R[i], p[i] = above[0] @ turned, above[1] + above[0] @ moved
    return R, p


def placed(robot, R, p, name):
    """Pose of a link in the world, from those of all joints."""
    frame = robot.frame(name)
    if frame.body < 0:
        return frame.rotation, frame.position
    R, p = (each[robot.body_joints[frame.body]] for each in (R, p))
    return R @ frame.rotation, p + R @ frame.position


def test_joints_in_any_direction_make_a_tree(tmp_path):
    """A joint whose child carries its parent moves it the other way; what the two do to each other is the same."""
    screwed = "<axis><xyz>0 1 1</xyz></axis><screw_thread_pitch>0.3</screw_thread_pitch>"
    links = link("a") + link("b", "0 0 1 0.3 0 0") + link("c", "0 1 1 0 0.2 0") + link("d", "1 0 0 0 0 0")
    joints = joint("j", "a", "b", "screw", screwed) + joint("k", "b", "c") + joint("l", "d", "c")
    at, q = {}, np.array([0.3, -0.5, 0.7])
    for held in "abcd":  # from each of them, other joints are turned
        hold = joint("hold", "world", held, "fixed", "")
        robot = load(written(tmp_path, f'<model name="m">{links}{hold}{joints}</model>'))
        assert set(robot.joint_names) == {"j", "k", "l"} and not robot.loops
        R, p = joint_poses(robot, q[["jkl".index(name) for name in robot.joint_names]])
        world = {name: placed(robot, R, p, name) for name in "bd"}
        at[held] = [world["b"][0].T @ world["d"][0], world["b"][0].T @ (world["d"][1] - world["b"][1])]
    for held in "bcd":
        assert all(np.allclose(one, other, atol=1e-12) for one, other in zip(at["a"], at[held], strict=True))


def test_a_second_joint_closes_a_loop(tmp_path):
    links = "".join(
        link(name, f"{x} {y} 0 0 0 0") for name, x, y in (("a", 0, 0), ("b", 1, 0), ("c", 1, 1), ("d", 0, 1))
    )
    ring = [joint(f"j{i}", *ends) for i, ends in enumerate(("ab", "bc", "ad", "dc"))]
    hold = joint("hold", "world", "a", "fixed", "")
    robot = load(written(tmp_path, f'<model name="m">{links}{hold}{"".join(ring)}</model>'))
    assert robot.nv == 3 and [(loop.name, loop.kind) for loop in robot.loops] == [("j3", "hinge")]
    (loop,) = robot.loops
    assert set(loop.bodies) == {"d", "c"} and np.allclose(loop.positions, [[1, 0, 0], [0, 0, 0]])


def test_screws_of_both_spellings_are_drakes(tmp_path):
    pytest.importorskip("pydrake")
    from drake_adapter import Plant

    for pitch in ("<screw_thread_pitch>0.2</screw_thread_pitch>", "<thread_pitch>-31.4</thread_pitch>", ""):
        path = written(tmp_path, two(kind="screw", of_joint=HINGE + pitch))
        theirs = Plant(path, (0, 0, -9.81)).plant.GetJointByName("j").screw_pitch()
        assert load(path).joints[1].subspace[2, 0] * 2 * np.pi == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1)])
def test_a_gearbox_between_two_hinges_is_a_mimic(tmp_path, signs):
    axes = [f"<axis><xyz>0 0 {sign}</xyz></axis>" for sign in signs]
    box = HINGE + HINGE.replace("axis>", "axis2>") + "<gearbox_ratio>3</gearbox_ratio>"
    box += "<gearbox_reference_body>a</gearbox_reference_body>"
    joints = joint("one", "a", "b", inside=axes[0]) + joint("other", "a", "c", inside=axes[1])
    text = f'<model name="m">{link("a")}{link("b", "1 0 0 0 0 0")}{link("c", "-1 0 0 0 0 0")}{joints}'
    robot = load(written(tmp_path, f"{text}{joint('box', 'b', 'c', 'gearbox', box)}</model>"))
    follower = next(each for each in robot.joints if each.mimics)
    assert (follower.name, follower.mimics) == ("other", "one")
    assert follower.ratio == -3 * signs[0] * signs[1]
    with pytest.raises(ModelError, match="gearbox without a hinge"):
        load(written(tmp_path, f"{text}{joint('box', 'b', 'c', 'gearbox', HINGE)}</model>"))


def test_a_world_gives_its_gravity_and_the_model_that_moves(tmp_path):
    floor = '<model name="floor"><static>true</static><link name="l"><collision name="c"><geometry><plane/></geometry>'
    floor += (
        '</collision><collision name="d"><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>'
    )
    crate = f'<model name="crate">{link("box")}</model>'
    world = f"<world name='w'><gravity>0 0 -1.6</gravity>{floor}{crate}{two()}</world>"
    path = written(tmp_path, world, "moon.world")
    robot = load(path)
    assert robot.joint_names[1:] == ("j",) and robot.body_names == ("a", "b") and robot.gravity[2] == -1.6
    assert any("crate::box" in note for note in robot.notes)
    assert [geom["name"] for geom in opened(path).surroundings()] == ["floor::l 0", "floor::l 1"]
    assert models_in(tmp_path) == [path]
    with pytest.raises(ModelError, match=r"2 model\(s\) that move .*m.*n.*--arg model=m"):
        load(written(tmp_path, f"<world name='w'>{two()}{two().replace(*OTHER)}</world>"))
    pair = written(tmp_path, f"<world name='w'>{two()}{two().replace(*OTHER)}</world>")
    one, other = (load(pair, arguments={"model": name}) for name in "mn")
    assert one.body_names == other.body_names == ("a", "b") and "n::a" in one.notes[0] and "m::a" in other.notes[0]
    save(other.with_inertias(3 * other.inertias), tmp_path / "copy.sdf")
    for name, factor in (("m", 1), ("n", 3)):
        again = load(tmp_path / "copy.sdf", arguments={"model": name})
        np.testing.assert_allclose(again.inertias, factor * one.inertias)
    for word, said in (("model=x", r"\(m, n\)"), ("mode=m", "takes the argument model; 'mode' was given")):
        with pytest.raises(ModelError, match=said):
            load(pair, arguments=[word])
    tied = f"<world name='w'>{two()}{crate}{joint('tie', 'm::b', 'crate', 'fixed', '')}</world>"
    assert set(load(written(tmp_path, tied)).frames) >= {"m::a", "m::b", "crate::box"}
    assert load(written(tmp_path, f"<world name='w'>{two()}</world>")).gravity[2] == -9.8
    with pytest.raises(ModelError, match="all models are static"):
        load(written(tmp_path, two("<static>1</static>")))


def included(folder, *, merge=""):
    """A robot whose arm is a model of its own, in its folder."""
    part = f'<model name="arm"><pose>9 9 9 0 0 0</pose>{link("p", "0 0 0.5 0 0 0")}{link("q", "0 0 1 0 0 0")}'
    part += f'<frame name="tip" attached_to="q"><pose>0 0 0.2 0 0 0</pose></frame>{joint("elbow", "p", "q")}</model>'
    written(folder, part, "arm/model-1_9.sdf", "1.9")
    (folder / "arm" / "model.config").write_text(
        '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.9">model-1_9.sdf</sdf></model>'
    )
    name = "p" if merge else "left::p"
    text = f'<model name="m">{link("a", "1 0 0 0 0 0")}<include{merge}><uri>model://arm</uri><name>left</name>'
    text += '<pose relative_to="a">0 0 1 0 0 0</pose><placement_frame>tip</placement_frame></include>'
    return written(folder, f"{text}{joint('shoulder', 'a', name)}</model>")


@pytest.mark.parametrize("merge", ["", ' merge="true"'])
def test_included_models_are_placed_by_their_frames(tmp_path, merge):
    (tmp_path / "package.xml").write_text("<package/>")
    path = included(tmp_path, merge=merge)
    robot = load(path)
    assert robot.joint_names[1:] == (("shoulder", "elbow") if merge else ("shoulder", "left::elbow"))
    _, p = joint_poses(robot, robot.neutral)
    # its tip, 1.2 above its origin, is 1 above `a`
    assert np.allclose(p[1:] - p[0], [[0, 0, 0.3], [0, 0, 0.8]])
    assert sorted(each.name for each in opened(path).referenced()) == ["model-1_9.sdf"]
    pytest.importorskip("pydrake")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.package_map().Add("arm", str(tmp_path / "arm"))
    named = path.read_text().replace("model://arm", "package://arm/model-1_9.sdf")
    parser.AddModels(str(written(tmp_path, named, "named.sdf")))
    plant.Finalize()
    frames = [plant.GetFrameByName(name).CalcPoseInWorld(plant.CreateDefaultContext()) for name in "apq"]
    theirs = [frame.translation() for frame in frames]
    assert np.allclose(p[1:] - p[0], np.array(theirs[1:]) - theirs[0], atol=1e-9)


B = "<link name='b'><pose relative_to='{}'/></link>"
A = "<link name='a'><pose relative_to='{}'/></link>"
HOSTILE = {
    "itself": "<model name='m'><include><uri>itself.sdf</uri></include></model>",
    "circle": f"<model name='m'>{A.format('b')}{B.format('a')}{joint('j', 'a', 'b')}</model>",
    "attached": f"<model name='m'><frame name='f' attached_to='f'/>{link('b')}{joint('j', 'world', 'f')}</model>",
    "lost": f"<model name='m'>{A.format('nowhere')}{link('b')}{joint('j', 'a', 'b')}</model>",
    "gone": f"<model name='m'>{link('a')}<include><uri>model://gone</uri></include></model>",
    "remote": f"<model name='m'>{link('a')}<include><uri>https://fuel.example/arm</uri></include></model>",
    "outside": f"<model name='m'>{link('a')}<include><uri>../../secret.sdf</uri></include></model>",
    "deep": "<model name='m'>" * 80 + link("a") + "</model>" * 80,
    "deeper": "<model name='m'>" * 50_000 + "</model>" * 50_000,
    "many": two().replace('name="a"', f'name="a"><{"x/><" * 50_000}y/', 1),
    "number": two().replace("<mass>2", "<mass>2 kg"),
    "poses": two().replace("0 0 1 0 0 0", "0 0 1"),
    "axis": two(of_joint="<axis><xyz>0 0 0</xyz></axis>"),
    "no axis": two(of_joint=""),
    "kind": two(kind="hinge"),
    "same": f"<model name='m'>{link('a')}{link('a')}{joint('j', 'world', 'a')}</model>",
    "self": f"<model name='m'>{link('a')}{joint('j', 'a', 'a')}</model>",
    "nameless": f"<model name='m'><link/>{link('a')}</model>",
    "mimic": two(of_joint=HINGE.replace("</axis>", '<mimic joint="k"/></axis>')),
    "entities": '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><sdf version="1.9"><model name="&e;"/></sdf>',
    "params": f"<world name='w'><include><uri>x</uri><experimental:params/></include>{two()}</world>",
    "drake": two("<drake:joint name='k' type='planar'/>"),
    "worlds": f"<world name='w'>{two()}</world><world name='v'/>",
    "empty": "",
    "quaternion": two().replace('<pose>0 0 1 0 0 0', '<pose rotation_format="quat_xyzw">0 0 1 0 0 0 0'),
    "inertial": two(first=BODY.replace("<mass>", '<pose relative_to="b">0 0 0 0 0 0</pose><mass>')),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_one_message(tmp_path, name):
    written(tmp_path, two(), "secret.sdf")
    text = HOSTILE[name]
    path = written(tmp_path, text if "DOCTYPE" not in text else "<sdf" + "", f"p/q/{name}.sdf")
    if "DOCTYPE" in text:
        path.write_text(text)
    if name == "many":
        assert load(path).nv == 7
        return
    with pytest.raises(ModelError) as refused:
        load(path)
    assert len(str(refused.value)) < 1000 and name in str(refused.value)
    assert "root:" not in str(refused.value)


def test_includes_do_not_multiply_without_end(tmp_path):
    for k in range(20):
        twice = "".join(f"<include><uri>f{k + 1}.sdf</uri><name>{side}</name></include>" for side in "ab")
        written(tmp_path, f"<model name='m'>{twice}</model>", f"f{k}.sdf")
    written(tmp_path, f"<model name='m'>{link('a')}</model>", "f20.sdf")
    with pytest.raises(ModelError, match="more than 1000 times"):
        load(tmp_path / "f0.sdf")


def test_long_chains_of_frames_are_followed(tmp_path):
    frames = "".join(f'<frame name="f{k}" attached_to="f{k + 1}"><pose>0 0 1 0 0 0</pose></frame>' for k in range(5000))
    frames += '<frame name="f5000"/>'
    robot = load(written(tmp_path, two(frames)))
    assert robot.frame("f0").position == pytest.approx([0, 0, 5000])


def test_what_a_world_includes_beside_the_robot_is_not_missed(tmp_path):
    sun = "<include><uri>https://fuel.gazebosim.org/1.0/OpenRobotics/models/Sun</uri></include>"
    robot = load(written(tmp_path, f"<world name='w'>{sun}{two()}</world>"))
    assert robot.nv == 7 and any("not a local file" in note for note in robot.notes)
    with pytest.raises(ModelError, match=r"nothing in the file can move.*Sun' is not a local file"):
        load(written(tmp_path, f"<world name='w'>{sun}</world>"))


def test_comments_may_hold_options_of_commands(tmp_path):
    path = written(tmp_path, f"<!-- gz sdf --check robot.sdf -->{two()}<!-- 1 -- 2 --->")
    assert load(path).nv == 7
    with pytest.raises(ModelError, match="not well-formed"):
        load(written(tmp_path, f"<!-- gz{two()}"))


def test_limits_as_the_format_means_them(tmp_path):
    def limited(limit):
        return load(written(tmp_path, two(of_joint=f"<axis><xyz>0 0 1</xyz><limit>{limit}</limit></axis>"))).joints[1]

    none = limited("<lower>-1e16</lower><upper>1e16</upper><effort>-1</effort><velocity>-1</velocity>")
    assert np.isinf([none.lower, none.upper, none.effort_limit, none.velocity_limit]).all()
    some = limited("<lower>-1</lower><effort>3</effort>")
    assert (some.lower, some.upper, some.effort_limit) == (-1, np.inf, 3)
    still = load(written(tmp_path, two(of_joint="<axis><limit><lower>0</lower><upper>0</upper></limit></axis>")))
    assert np.isinf(still.upper[-1]) and any("from 0 to 0 only" in note for note in still.notes)
