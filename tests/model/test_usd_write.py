"""USD written: a robot reads back as it was, and a copy differs from its source in what was identified alone."""

import dataclasses
import difflib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from properties import tried
from random_robots import urdf_text
from robots import EXAMPLE_ROBOTS, package_folder
from steelyard.check.repaired_copy import repair
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError
from steelyard.inertia import to_com_inertia
from steelyard.model import library, load, save
from steelyard.model.compare import structure_difference, value_difference
from steelyard.model.drive import Drive
from steelyard.model.formats import opened
from usd_stages import body, joint, pendulum, text

NUMBERS = {"physics:mass", "physics:centerOfMass", "physics:diagonalInertia", "physics:principalAxes"}
SINGLE = 1e-6


def identified(robot):
    """The robot with other values of everything that can be identified."""
    one = np.array([j.features.has_axis for j in robot.free_joints for _ in range(j.nv)], dtype=float)
    return robot.with_inertias(1.25 * robot.inertias).with_joint_properties(
        armature=robot.armature + 0.01 * one,
        damping=robot.damping + 0.02 * one,
        frictionloss=robot.frictionloss + 0.03 * one,
    )


def changed_lines(before: str, after: str) -> list[str]:
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in found if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def of_attributes(lines: list[str]) -> set[str]:
    return {word for line in lines for word in line.split() if ":" in word}


@tried(15)
@given(st.integers(0, 2**32 - 1))
def test_random_robots_read_back_from_new_files(tmp_path_factory, seed):
    folder, rng = tmp_path_factory.mktemp("random"), np.random.default_rng(seed)
    types = ("revolute", "continuous", "prismatic", "fixed", "planar")
    (folder / "r.urdf").write_text(urdf_text(rng, links=6, types=types))
    robot = load(folder / "r.urdf", floating=bool(rng.integers(2)), gravity=(0.1, 0.2, -9.0))
    found = load(save(robot, folder / "r.usda").path)
    assert structure_difference(robot, found, SINGLE) is None
    assert found.gravity == pytest.approx(robot.gravity, rel=SINGLE)
    if robot.nq == robot.nv:
        q, v, a = rng.uniform(-1, 1, size=(3, robot.nv))
        tau = inverse_dynamics(robot, q, v, a)
        assert np.abs(inverse_dynamics(found, q, v, a) - tau).max() <= 3e-6 * np.abs(tau).max()


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", ["cheetah", "humanoid", "quadruped", "walker", "manipulator", "acrobot", "hopper"])
def test_robots_of_mujoco_read_back_with_their_geometry(name, tmp_path):
    """Joints that add up between two bodies, several free bodies and drives among them."""
    robot = load(package_folder("dm_control") / "suite" / f"{name}.xml")
    report = save(robot, tmp_path / "r.usda")
    found = load(report.path)
    q, _, a = np.random.default_rng(0).uniform(-1, 1, size=(3, max(robot.nq, robot.nv)))
    q = q[: robot.nq]
    for where in robot.quaternions:
        q[where] /= np.linalg.norm(q[where])
    tau = inverse_dynamics(robot, q, a[: robot.nv], a[: robot.nv])
    assert np.abs(inverse_dynamics(found, q, a[: robot.nv], a[: robot.nv]) - tau).max() <= 1e-5 * np.abs(tau).max()
    moving = {link.name for link in robot.links if link.body >= 0}
    seen = (each for each in opened(robot.source.path).pieces() if each.role and each.link in moving)
    solids = [each.solid for each in seen if each.solid]
    again = [each.solid for each in opened(report.path).pieces() if each.solid]
    assert sorted(round(x, 5) for s in again for x in s[1]) == pytest.approx(
        sorted(round(x, 5) for s in solids for x in s[1]), abs=2e-5
    )


def test_loops_and_drives_are_in_new_files(tmp_path):
    robot = dataclasses.replace(
        library.four_bar_leg(), drives={"hip": Drive("position", kp=20.0, kd=2.0, limit=9.0)}, actuated=()
    )
    robot = dataclasses.replace(robot, drives={robot.joint_names[0]: robot.drives["hip"]})
    found = load(save(robot, tmp_path / "leg.usdc").path)
    for one, other in zip(robot.loops, found.loops, strict=True):
        assert (one.kind, one.bodies) == (other.kind, other.bodies)
        assert other.positions == pytest.approx(one.positions, abs=SINGLE)
        kept = one.rotations[0].T @ one.rotations[1]
        assert other.rotations[0].T @ other.rotations[1] == pytest.approx(kept, abs=1e-6)
    assert not found.drives[robot.joint_names[0]].differing(robot.drives[robot.joint_names[0]], SINGLE)


def test_only_the_identified_numbers_of_a_text_change(tmp_path):
    source = tmp_path / "arm.usda"
    words = text(pendulum()).replace('def Xform "link"', '# a comment stays { "\n    def Xform "link"')
    source.write_text(words)
    robot = load(source)
    report = save(robot.with_inertias(1.5 * robot.inertias), tmp_path / "out.usda")
    lines = changed_lines(words, report.path.read_text())
    assert of_attributes(lines) == {"physics:diagonalInertia", "physics:mass"}  # the axes stay
    assert len(lines) == 4
    assert load(report.path).inertias == pytest.approx(1.5 * robot.inertias, rel=SINGLE)


def test_opinions_that_the_file_lacks_are_added_where_they_count(tmp_path):
    """The masses are in a payload, which nobody touches; the copy lies elsewhere and finds it."""
    (tmp_path / "parts").mkdir()
    payload = tmp_path / "parts" / "arm.usda"
    payload.write_text(text(pendulum()))
    source = tmp_path / "robot.usda"
    source.write_text('#usda 1.0\n\ndef "robot" (\n    prepend payload = @./parts/arm.usda@\n)\n{\n}\n')
    robot = load(source)
    report = save(identified(robot), tmp_path / "out" / "robot.usda")
    assert payload.read_text() == text(pendulum())
    assert "@../parts/arm.usda@" in report.path.read_text()
    found = load(report.path, folders=[tmp_path])
    assert found.inertias == pytest.approx(1.25 * robot.inertias, rel=SINGLE)
    assert (found.armature[0], found.damping[0], found.frictionloss[0]) == pytest.approx((0.01, 0.02, 0.03))
    lines = changed_lines(source.read_text(), report.path.read_text())
    assert of_attributes(lines) <= {*NUMBERS, "newton:armature", "newton:damping", "newton:friction"}


@pytest.mark.parametrize("target", ["out.usdc", "out.usd", "out.usda"])
def test_binary_layers_change_in_identified_attributes_only(target, tmp_path):
    stage = pendulum()
    stage.GetRootLayer().Export(str(tmp_path / "arm.usdc"))
    robot = load(tmp_path / "arm.usdc")
    save(identified(robot), tmp_path / target)
    before, after = (Sdf.Layer.OpenAsAnonymous(str(tmp_path / name)) for name in ("arm.usdc", target))
    paths: list = []
    after.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    different = set()
    for path in (each for each in paths if each.IsPropertyPath()):
        one, other = before.GetAttributeAtPath(path), after.GetAttributeAtPath(path)
        if other is not None and (one is None or one.default != other.default):
            different.add(path.name)
    assert different == {
        *("physics:mass", "physics:diagonalInertia"),
        *("newton:armature", "newton:damping", "newton:friction"),
    }


def test_newtons_tensor_is_kept_and_added_where_single_precision_cannot_hold_the_moments(tmp_path):
    stage = pendulum()
    stage.GetPrimAtPath("/arm/link").CreateAttribute("newton:inertia", Sdf.ValueTypeNames.DoubleArray).Set(
        [0.3, 0.4, 0.5, 0.01, 0.02, 0.03]
    )
    (tmp_path / "a.usda").write_text(text(stage))
    robot = load(tmp_path / "a.usda")
    save(robot.with_inertias(1.1 * robot.inertias), tmp_path / "b.usda")
    written = Usd.Stage.Open(str(tmp_path / "b.usda"))
    prim = written.GetPrimAtPath("/arm/link")
    assert list(prim.GetAttribute("newton:inertia").Get()) == pytest.approx([0.33, 0.44, 0.55, 0.011, 0.022, 0.033])
    tiny = robot.with_inertias(1e-10 * robot.inertias)
    found = load(save(dataclasses.replace(tiny, source=None), tmp_path / "c.usda").path)
    assert to_com_inertia(found.inertias[0])[2] == pytest.approx(to_com_inertia(tiny.inertias[0])[2], rel=1e-5)


ODD = """#usda 1.0
# { é (
def 'robot' (
    delete apiSchemas = ["X"]
    payload = @arm.usda@
    doc = "{"
)
{
    over "link" {}
    over "base"
    {
        custom string note = ''' } " { '''
    }
}
"""


def test_text_in_one_line_and_in_odd_words_is_edited(tmp_path):
    (tmp_path / "arm.usda").write_text(text(pendulum()))
    source = tmp_path / "odd.usda"
    source.write_text(ODD, newline="\r\n")
    robot = load(source)
    assert robot.body_names == ("link",)
    found = load(save(identified(robot), tmp_path / "out.usda").path)
    assert found.inertias == pytest.approx(1.25 * robot.inertias, rel=SINGLE)
    assert found.armature == pytest.approx([0.01])


def test_attributes_that_state_a_property_are_those_that_change(tmp_path):
    stage = pendulum()
    prim = stage.GetPrimAtPath("/arm/hinge")
    for name, number in (("physxJoint:armature", 0.1), ("mjc:damping", 0.2)):
        prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(number)
    (tmp_path / "a.usda").write_text(text(stage))
    robot = load(tmp_path / "a.usda")
    assert (robot.armature[0], robot.damping[0]) == pytest.approx((0.1, 0.2))
    found = save(robot.with_joint_properties(armature=[0.3], damping=[0.4]), tmp_path / "b.usda").path
    lines = changed_lines((tmp_path / "a.usda").read_text(), found.read_text())
    assert of_attributes(lines) == {"physxJoint:armature", "mjc:damping"}


def test_parts_of_instances_and_archives_are_not_edited(tmp_path):
    stage = pendulum()
    stage.GetRootLayer().Export(str(tmp_path / "arm.usda"))
    whole = Usd.Stage.CreateInMemory()
    copy = whole.DefinePrim("/robot")
    copy.GetReferences().AddReference("./arm.usda")
    copy.SetInstanceable(True)
    (tmp_path / "two.usda").write_text(text(whole))
    robot = load(tmp_path / "two.usda")
    with pytest.raises(ModelError, match="instanceable"):
        save(robot.with_inertias(2 * robot.inertias), tmp_path / "out.usda")
    with pytest.raises(ModelError, match="archives are read"):
        save(robot, tmp_path / "out.usdz")


def test_impossible_moments_are_repaired_in_a_copy(tmp_path):
    stage = pendulum()
    UsdPhysics.MassAPI(stage.GetPrimAtPath("/arm/link")).CreateDiagonalInertiaAttr((0.1, 0.1, 0.9))
    cube = UsdGeom.Cube.Define(stage, "/arm/link/box")
    cube.CreateSizeAttr(0.5)
    (tmp_path / "a.usda").write_text(text(stage))
    found = repair(tmp_path / "a.usda", tmp_path / "b.usda")
    assert found.names == ("link",)
    lines = changed_lines((tmp_path / "a.usda").read_text(), (tmp_path / "b.usda").read_text())
    assert of_attributes(lines) <= NUMBERS
    assert value_difference(load(tmp_path / "b.usda"), load(tmp_path / "b.usda")) is None


def test_a_urdf_with_meshes_is_one_file(tmp_path):
    robot = load(EXAMPLE_ROBOTS / "double_pendulum_description/urdf/double_pendulum.urdf")
    report = save(robot, tmp_path / "p.usdc")
    assert [each.name for each in report.files] == ["p.usdc"]
    meshes = [each for each in opened(report.path).pieces() if each.solid is None]
    assert meshes and all(each.faces is not None for each in meshes)
    body_names = {each.link for each in meshes}
    assert body_names <= {*robot.body_names, *(link.name for link in robot.links)}


def test_a_closed_fourbar_edits_like_any_other(tmp_path):
    stage = pendulum()
    body(stage, "/arm/rod", mass=1.0, com=(0, 0, 0), moments=(1, 1, 1))
    joint(stage, "/arm/a", "RevoluteJoint", "/arm/link", "/arm/rod", axis="X")
    joint(stage, "/arm/b", "RevoluteJoint", "/arm/rod", "/arm/base", axis="Z")
    (tmp_path / "a.usda").write_text(text(stage))
    robot = load(tmp_path / "a.usda")
    found = load(save(identified(robot), tmp_path / "b.usda").path)
    assert found.loop_names == robot.loop_names == ("b",)
    assert found.armature == pytest.approx([0.01, 0.01])
