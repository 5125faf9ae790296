"""MJCF write-back: MuJoCo compiles the same model but for the identified numbers, and other bytes stay."""

import importlib.util
import re
import warnings

import mujoco
import numpy as np
import pytest
import trimesh

from edits import differences, feasible, perturbed, relative_error
from robots import package_folder
from steelyard.errors import ModelError
from steelyard.model import load, save

DM_CONTROL = package_folder("dm_control")
MODELS = (
    "suite/acrobot.xml",
    "suite/ball_in_cup.xml",
    "suite/finger.xml",
    "suite/fish.xml",
    "suite/hopper.xml",
    "suite/humanoid_CMU.xml",
    "suite/manipulator.xml",
    "suite/quadruped.xml",
    "suite/stacker.xml",
    "suite/swimmer.xml",
    "suite/walker.xml",
    "mujoco/testing/assets/humanoid.xml",
    "mujoco/testing/assets/cartpole_no_names.xml",
    "mujoco/testing/assets/model_with_ball_joints.xml",
    "third_party/ant/ant.xml",
    "third_party/kinova/jaco_hand.xml",
    "locomotion/walkers/assets/rodent.xml",
    "locomotion/walkers/assets/jumping_ball/jumping_ball_with_head.xml",
)
PANDA = "robosuite/models/assets/robots/panda/robot.xml"
# what inertias, joint properties and the file's folder reach; everything else of a compiled model has to be equal
REACHED = re.compile(
    r"body_(mass|inertia|ipos|iquat|subtreemass|invweight0|simple|sameframe)|dof_(M0|invweight0|armature|damping"
    r"|frictionloss|simplenum|length)|tendon_invweight0|actuator_acc0|(geom|site)_sameframe|(cam|light)_poscom0|bvh_"
    r"|M_|mapM|D_|mapD|n[MBCD]$|nbuffer|n?paths|\w+_pathadr|text_data|stat"
)


def compiled(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mujoco.MjModel.from_xml_path(str(path))


def body_parameters(m, body):
    """theta (10,) of a compiled body, about its frame, by the parallel-axis theorem."""
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, m.body_iquat[body])
    R, c, mass = R.reshape(3, 3), m.body_ipos[body], m.body_mass[body]
    I = R @ np.diag(m.body_inertia[body]) @ R.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([mass, *(mass * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def lumped(m, robot):
    """(nb, 10) inertias of the robot's bodies in a compiled model, with those welded to them."""
    total = np.zeros((robot.nb, 10))
    for index, link in enumerate(robot.links):
        if link.body >= 0:
            J = np.zeros((4, 4))
            theta = body_parameters(m, index)
            I = theta[[4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(3, 3)
            J[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I
            J[:3, 3], J[3, :3], J[3, 3] = theta[1:4], theta[1:4], theta[0]
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = link.rotation, link.position
            J = T @ J @ T.T
            S = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
            total[link.body] += [J[3, 3], *J[:3, 3], S[0, 0], S[0, 1], S[1, 1], S[0, 2], S[1, 2], S[2, 2]]
    return total


def with_properties(robot, seed=0):
    """Other joint properties; a free joint keeps none, for `<freejoint>` has no place for them."""
    rng = np.random.default_rng(seed)
    rows = [np.full(j.nv, 0.0 if j.kind == "free" else rng.uniform(0.01, 1)) for j in robot.free_joints]
    new = np.concatenate(rows)
    return robot.with_joint_properties(
        damping=robot.damping + new, armature=robot.armature + 0.1 * new, frictionloss=robot.frictionloss + new
    )


def assert_same_but_for_the_identified(before, after):
    for name in dir(before):
        if name.startswith("_") or REACHED.match(name):
            continue
        one, other = getattr(before, name), getattr(after, name)
        if isinstance(one, np.ndarray) and one.dtype != object:
            assert one.shape == other.shape and np.array_equal(one, other), name
        elif isinstance(one, (int, float, bytes)):
            assert one == other, name


def model_paths():
    paths = [DM_CONTROL / name for name in MODELS]
    if importlib.util.find_spec("robosuite"):
        paths.append(package_folder("robosuite").parent / PANDA)
    return paths


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("source", model_paths(), ids=lambda path: "/".join(path.parts[-2:]))
def test_mujoco_compiles_the_same_model_but_for_the_identified(source, tmp_path):
    robot = load(source)
    new = with_properties(perturbed(robot))
    report = save(new, tmp_path / "out.xml")
    before, after = compiled(source), compiled(report.path)
    assert_same_but_for_the_identified(before, after)
    assert relative_error(lumped(after, robot), new.inertias) < 1e-9
    own = [j for j, joint in enumerate(robot.joints) if joint.kind != "free"]
    for field in ("damping", "armature", "frictionloss"):
        theirs = getattr(after, f"dof_{field}")
        theirs = theirs.reshape(after.nv, -1)[:, 0] if theirs.ndim > 1 else theirs
        for j in own:
            name = mujoco.mj_id2name(after, mujoco.mjtObj.mjOBJ_JOINT, j)
            at = after.jnt_dofadr[j]
            assert theirs[at] == getattr(new, field)[new.v_slices[j]][0], name
    assert [p.name for p in tmp_path.iterdir()] == ["out.xml"]
    changed = differences(source.read_bytes(), report.path.read_bytes())
    allowed = ("inertial", "joint", "joint[", "compiler", "include", "freejoint")
    for path, what in changed:
        assert path.rsplit("/", 1)[-1].startswith(allowed) and (what == "added" or what.startswith("@")), (path, what)
        if path.endswith("include"):
            assert what == "@file"
        if "joint" in path.rsplit("/", 1)[-1]:
            assert what in ("@damping", "@armature", "@frictionloss")


def test_an_unchanged_model_gives_the_same_bytes(tmp_path):
    source = DM_CONTROL / "third_party/ant/ant.xml"
    report = save(load(source), tmp_path / "same.xml")
    assert report.path.read_bytes() == source.read_bytes() and report.changed == ()


PARTS = {
    "main.xml": """<mujoco model='m'>
  <!-- of the main file -->
  <compiler angle="radian" meshdir="meshes"/>
  <default><joint damping='2'/><default class="stiff"><joint armature="0.5"/></default></default>
  <include file="assets.xml"/>
  <worldbody>
    <frame pos='0 0 1'>
      <body name="base"><!-- b -->
        <joint name="j0" class="stiff"/>
        <geom type="mesh" mesh="box"/>
        <include file='sub/arm.xml'/>
      </body>
    </frame>
    <body><freejoint/><inertial pos="0 0 0" mass="2" diaginertia="1 1 1" euler='0 0 0.5'/></body>
  </worldbody>
</mujoco>
""",
    "assets.xml": '<mujoco><asset><mesh name="box" file="box.stl"/></asset></mujoco>\n',
    "sub/arm.xml": """<mujocoinclude>
  <!-- of the arm -->
  <body name="arm" pos="0 0 1">
    <joint name="ball" type="ball"/>
    <inertial   fullinertia="1 1 1 0.1 0 0"  pos="0 0 0"
                mass="1"/>
    <include file="hand.xml"/>
  </body>
</mujocoinclude>
""",
    "sub/hand.xml": """<mujocoinclude>\r\n\t<body name="hand">\r\n\t\t<joint damping="1 2"/>\r\n\t\t<geom size="0.1"/>\r
\t</body>\r\n</mujocoinclude>\r\n""",
}


def parts(folder):
    for name, text in PARTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    (folder / "meshes").mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(folder / "meshes" / "box.stl")
    return load(folder / "main.xml")


@pytest.mark.parametrize("where", ["robot", "robot/sub", "results/run 1"])
def test_included_files_that_change_are_written_beside(tmp_path, where):
    robot = parts(tmp_path / "robot")
    new = with_properties(perturbed(robot))
    report = save(new, tmp_path / where / "out.xml")
    names = [path.name for path in report.files]
    assert names[-1] == "out.xml" and sorted(names[:-1]) == ["out_arm.xml", "out_hand.xml"]
    assert all((tmp_path / "robot" / name).read_bytes() == text.encode() for name, text in PARTS.items())
    before, after = compiled(tmp_path / "robot/main.xml"), compiled(report.path)
    assert_same_but_for_the_identified(before, after)
    assert relative_error(lumped(after, robot), new.inertias) < 1e-9
    arm, hand, main = (
        (tmp_path / where / name).read_bytes().decode() for name in ("out_arm.xml", "out_hand.xml", "out.xml")
    )
    assert re.search(r'<inertial   fullinertia="[^"]*"  pos="[^"]*"\n                mass="[^"]*"/>', arm)
    assert "<!-- of the arm -->" in arm and '<include file="out_hand.xml"/>' in arm
    assert hand.count("\r\n") == hand.count("\n") == 7 and '<body name="hand">\r\n\t\t<inertial pos="' in hand
    assert re.search(r'<joint damping="[\d.]+ 2" frictionloss="[\d.]+" armature="', hand)
    assert "<include file='out_arm.xml'/>" in main and re.search(r"diaginertia=\"[^\"]*\" quat='[^']*'/>", main)
    assert re.search(
        r'<body name="base"><!-- b -->\n        <inertial pos="[^"]*" quat="[^"]*" mass="[^"]*" diag', main
    )
    assert re.search(r'<joint name="j0" class="stiff" damping="2[^"]*" frictionloss="[^"]*" armature="0.5', main)
    if where == "robot":
        assert '<include file="assets.xml"/>' in main and 'meshdir="meshes"' in main
    else:
        up = "../" if where == "robot/sub" else "../../robot/"
        assert f'file="{up}assets.xml"' in main and f'meshdir="{up}meshes"' in main


def test_a_change_in_the_main_file_alone_leaves_the_others(tmp_path):
    robot = parts(tmp_path / "robot")
    theta = robot.inertias.copy()
    theta[robot.body_index("base")] *= 1.5
    report = save(robot.with_inertias(theta), tmp_path / "robot" / "out.xml")
    assert report.changed == ("body 'base': inertial",) and report.files == (report.path,)
    far = save(robot.with_inertias(theta), tmp_path / "out.xml")
    assert far.files == (far.path,)
    assert relative_error(load(far.path).inertias, theta) < 1e-12


def one(folder, body, *, before="", after="", name="one.xml"):
    path = folder / name
    path.write_text(f"<mujoco>{before}<worldbody>{body}</worldbody>{after}</mujoco>")
    return load(path)


LINK = '<body name="{0}"><joint name="j{0}"/><geom size="0.1"/>{1}</body>'


def test_assets_beside_the_main_file_get_a_folder(tmp_path):
    (tmp_path / "robot").mkdir()
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "robot" / "box.stl")
    asset = '<asset><mesh file="box.stl"/></asset>'
    robot = one(tmp_path / "robot", '<body name="a"><joint/><geom type="mesh" mesh="box"/></body>', before=asset)
    report = save(robot.with_inertias(2 * robot.inertias), tmp_path / "out" / "one.xml")
    assert '<mujoco><compiler meshdir="../robot"/><asset>' in report.path.read_text()
    assert any('meshdir="../robot"' in line for line in report.changed)
    assert load(report.path, folders=[tmp_path / "robot"]).inertias == pytest.approx(2 * robot.inertias)


def test_inertials_are_read_where_geoms_alone_were(tmp_path):
    robot = one(tmp_path, LINK.format("a", LINK.format("b", "")), before='<compiler inertiafromgeom="true"/>')
    theta = robot.inertias * [[1.0], [1.3]]
    report = save(robot.with_inertias(theta), tmp_path / "out.xml")
    assert 'inertiafromgeom="auto"' in report.path.read_text() and len(report.changed) == 2
    assert relative_error(load(report.path).inertias, theta) < 1e-12
    # an inertial that MuJoCo passed over would come into force
    ignored = '<body><joint/><geom size="0.1"/><inertial pos="0 0 0" mass="9" diaginertia="1 1 1"/></body>'
    robot = one(tmp_path, LINK.format("a", "") + ignored, before='<compiler inertiafromgeom="true"/>')
    refused(robot.with_inertias(robot.inertias * [[1.3], [1.0]]), tmp_path / "o.xml", 'inertiafromgeom="true"')


def refused(robot, path, match):
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(ModelError, match=match):
        save(robot, path)
    assert sorted(path.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ('<compiler boundmass="50"/>', "boundmass"),
        ('<compiler boundinertia="9"/>', "boundinertia"),
    ],
)
def test_settings_that_alter_the_result_are_named(tmp_path, setting, name):
    robot = one(tmp_path, LINK.format("a", LINK.format("b", "")), before=setting)
    new = robot.inertias.copy()
    new[0] *= 0.5
    refused(robot.with_inertias(new), tmp_path / "out.xml", f"would not read back.*{name}=")


def test_a_total_mass_that_the_file_demands_follows(tmp_path):
    inertial = '<inertial pos="0 .1 0" mass="3" diaginertia="1 2 2.5"/>'
    chain = LINK.format("a", LINK.format("b", "") + LINK.format("c", inertial))
    robot = one(tmp_path, chain, before='<compiler settotalmass="14"/><compiler angle="radian"/>')
    assert robot.inertias[:, 0].sum() == pytest.approx(14)
    theta = robot.inertias * [[0.5], [1.0], [1.3]]
    report = save(robot.with_inertias(theta), tmp_path / "out.xml")
    assert relative_error(load(report.path).inertias, theta) < 1e-12
    assert any("settotalmass" in line for line in report.changed) and 'settotalmass="14"' not in report.path.read_text()
    assert load(tmp_path / "one.xml").inertias[:, 0].sum() == pytest.approx(14)


def test_springs_that_the_compiler_chose_stay(tmp_path):
    default = '<default><joint springdamper="1 1" stiffness="7"/></default>'
    body = LINK.format("a", LINK.format("b", "")).replace('name="jb"', 'name="jb" springdamper="0.1 2" damping="3"')
    robot = one(
        tmp_path, body + '<body><joint springdamper="0 0" damping="4"/><geom size=".1"/></body>', before=default
    )
    new = robot.with_inertias(robot.inertias * [[0.5], [1.2], [1.5]])
    new = new.with_joint_properties(damping=new.damping * [1.0, 1.5, 1.0])
    report = save(new, tmp_path / "out.xml")
    found, before = (mujoco.MjModel.from_xml_path(str(path)) for path in (report.path, tmp_path / "one.xml"))
    np.testing.assert_array_equal(found.jnt_stiffness, before.jnt_stiffness)
    np.testing.assert_allclose(load(report.path).damping, new.damping, rtol=1e-12)
    assert relative_error(load(report.path).inertias, new.inertias) < 1e-12
    assert sum("springdamper" in line for line in report.changed) == 2
    assert save(robot, tmp_path / "same.xml").changed == ()


@pytest.mark.parametrize(
    "maker",
    [
        '<replicate count="2" offset="1 0 0"><body><joint/><geom size="0.1"/></body></replicate>',
        '<attach model="other" body="x" prefix="o-"/>',
        '<flexcomp type="grid" count="2 2 1" spacing=".1 .1 .1" mass="1" name="f" radius=".01" dim="2"/>',
    ],
    ids=["replicate", "attach", "flexcomp"],
)
def test_bodies_that_are_not_written_are_refused(tmp_path, maker):
    (tmp_path / "other.xml").write_text(f"<mujoco><worldbody>{LINK.format('x', '')}</worldbody></mujoco>")
    asset = '<asset><model name="other" file="other.xml"/></asset>'
    robot = one(tmp_path, LINK.format("a", "") + f'<body name="m">{maker}</body>' + LINK.format("z", ""), before=asset)
    theta = robot.inertias.copy()
    theta[robot.body_index("a")] *= 2
    assert relative_error(load(save(robot.with_inertias(theta), tmp_path / "a.xml").path).inertias, theta) < 1e-12
    theta[robot.body_index("z")] *= 2
    refused(
        robot.with_inertias(theta), tmp_path / "out.xml", "'z' cannot be written back.*<(replicate|attach|flexcomp)>"
    )
    damping = robot.damping.copy()
    damping[robot.joint_names.index("jz")] = 3
    refused(robot.with_joint_properties(damping=damping), tmp_path / "out.xml", "'jz' cannot be written back")


def test_replicated_geoms_do_not_matter(tmp_path):
    robot = one(tmp_path, '<replicate count="3"><geom size="1"/></replicate>' + LINK.format("a", ""))
    assert save(perturbed(robot), tmp_path / "out.xml").changed == ("body 'a': inertial",)


def test_fused_bodies_are_refused(tmp_path):
    robot = one(
        tmp_path, LINK.format("a", '<body name="x"><geom size="0.1"/></body>'), before='<compiler fusestatic="true"/>'
    )
    refused(perturbed(robot), tmp_path / "out.xml", "fusestatic")


def test_an_inertial_in_a_frame_is_refused(tmp_path):
    inside = '<frame pos="1 0 0"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></frame>'
    robot = one(tmp_path, f'<body name="a"><joint/>{inside}</body>')
    refused(perturbed(robot), tmp_path / "out.xml", "inside a <frame>")


def test_flat_and_diagonal_bodies_are_written_as_such(tmp_path):
    robot = one(tmp_path, LINK.format("a", ""))
    flat = np.array([2.0, 0, 0, 0, 1.0, 0, 1.5, 0, 0, 2.5 - 1e-15])
    text = save(robot.with_inertias([flat]), tmp_path / "flat.xml").path.read_text()
    written = re.search(r'quat="1 0 0 0" mass="2" diaginertia="([^"]*)"', text)
    np.testing.assert_allclose([float(x) for x in written[1].split()], [1.0, 1.5, 2.5], rtol=3e-12)


def test_a_free_base_and_what_it_cannot_hold(tmp_path):
    robot = one(tmp_path, '<body name="a"><freejoint name="f"/><geom size="0.1"/></body>' + LINK.format("b", ""))
    report = save(robot.with_joint_properties(damping=np.ones(7)), tmp_path / "out.xml")
    assert report.changed == ("joint 'jb': damping",) and "damping of f;" in report.notes[0]
    held = one(tmp_path, '<body name="a"><joint type="free" name="f"/><geom size="0.1"/></body>')
    report = save(held.with_joint_properties(damping=np.ones(6)), tmp_path / "out.xml")
    assert report.changed == ("joint 'f': damping",) and load(report.path).damping == pytest.approx(1)


def test_a_base_freed_on_reading(tmp_path):
    one(tmp_path, '<body name="base"><geom size="0.2"/>' + LINK.format("a", "") + "</body>")
    robot = perturbed(load(tmp_path / "one.xml", floating=True))
    report = save(robot, tmp_path / "out.xml")
    assert set(report.changed) == {"body 'base': inertial", "body 'a': inertial"}
    assert relative_error(load(report.path, floating=True).inertias, robot.inertias) < 1e-12


def test_a_base_welded_on_reading(tmp_path):
    one(tmp_path, '<body name="base"><freejoint/><geom size="0.2"/>' + LINK.format("a", "") + "</body>")
    robot = perturbed(load(tmp_path / "one.xml", floating=False))
    report = save(robot, tmp_path / "out.xml")
    assert report.changed == ("body 'a': inertial",)
    assert load(report.path).floating


def test_input_files_are_never_targets(tmp_path):
    robot = perturbed(parts(tmp_path / "robot"))
    before = {path: path.read_bytes() for path in (tmp_path / "robot").rglob("*.xml")}
    for name in ("main.xml", "assets.xml", "sub/arm.xml"):
        refused(robot, tmp_path / "robot" / name, "never changed")
    (tmp_path / "robot/sub/main.xml").write_text("mine")
    assert {path: path.read_bytes() for path in before} == before


def test_names_of_included_files_do_not_collide(tmp_path):
    parts(tmp_path)
    (tmp_path / "out_arm.xml").write_text(PARTS["sub/arm.xml"].replace("hand.xml", "sub/hand.xml"))
    main = tmp_path / "main.xml"
    main.write_text(main.read_text().replace("sub/arm.xml", "out_arm.xml"))
    robot = perturbed(load(main))
    report = save(robot, tmp_path / "out.xml")
    assert sorted(p.name for p in report.files) == ["out.xml", "out_hand.xml", "out_out_arm.xml"]
    assert relative_error(load(report.path).inertias, robot.inertias) < 1e-12


def test_every_link_of_a_welded_group_stays_feasible(tmp_path):
    source = DM_CONTROL / "suite/quadruped.xml"
    report = save(perturbed(load(source), size=0.1), tmp_path / "out.xml")
    assert "affine map" in " ".join(report.notes)
    assert all(feasible(link.theta) for link in load(report.path).links if link.theta[0] > 0)


def test_files_that_would_lose_their_includes_are_written_too(tmp_path):
    parts(tmp_path / "robot")
    arm = tmp_path / "robot/sub/arm.xml"
    arm.write_text(arm.read_text().replace('file="hand.xml"', 'file="sub/hand.xml"'))  # as seen from the main file
    robot = load(tmp_path / "robot/main.xml")
    theta = robot.inertias.copy()
    theta[robot.body_index("base")] *= 1.5
    report = save(robot.with_inertias(theta), tmp_path / "far" / "out.xml")
    assert [p.name for p in report.files] == ["out_arm.xml", "out.xml"]
    written = report.files[0].read_bytes()
    assert written == arm.read_bytes().replace(b"sub/hand.xml", b"../robot/sub/hand.xml")


def test_files_named_by_an_included_file_that_moves_follow(tmp_path):
    folder = tmp_path / "robot" / "sub"
    folder.mkdir(parents=True)
    trimesh.creation.box((1, 2, 3)).export(folder / "box.stl")
    (folder / "other.xml").write_text(f"<mujoco><worldbody>{LINK.format('x', '')}</worldbody></mujoco>")
    (folder / "arm.xml").write_text(
        '<mujoco><asset><model name="o" file="other.xml"/><mesh file="box.stl"/></asset><worldbody><body name="a">'
        '<joint/><geom type="mesh" mesh="box"/><attach model="o" body="x" prefix="o-"/></body></worldbody></mujoco>'
    )
    (tmp_path / "robot" / "main.xml").write_text('<mujoco><include file="sub/arm.xml"/></mujoco>')
    robot = load(tmp_path / "robot" / "main.xml")
    theta = robot.inertias.copy()
    theta[robot.body_index("a")] *= 1.5
    report = save(robot.with_inertias(theta), tmp_path / "out.xml")
    text = (tmp_path / "out_arm.xml").read_text()
    assert 'file="robot/sub/other.xml"' in text and 'file="robot/sub/box.stl"' in text and "<compiler" not in text
    assert relative_error(load(report.path).inertias, theta) < 1e-12
