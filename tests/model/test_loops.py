"""Loop closures from MJCF, against MuJoCo's own constraints, and from side files; written back."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import steelyard as sy
from steelyard.dynamics.closed_loop.constraint import constants, gaps, jacobian, placed
from steelyard.errors import ModelError
from steelyard.model import library
from steelyard.model.compare import fingerprint
from steelyard.model.loops import LOOP_KINDS, Loop
from steelyard.model.side import read_side
from steelyard.model.side_write import side_text

TREE = """<mujoco><worldbody>
  <body name="a" pos="0.1 0.2 0.3" quat="0.9 0.1 0.3 0.2"><joint name="i" axis="0 1 0.2" ref="0.3"/>
    <geom size=".1"/>
    <body name="a2" pos="0 0.2 0.1" quat="0.7 0.2 -0.1 0.3"><geom size=".1"/>
      <site name="on_a" pos="0.2 0 0.1" quat="0.8 0 0.5 0.1"/></body>
    <body name="c" pos="0.3 0 0"><joint name="k" axis="0 0 1"/><joint name="l" type="slide" axis="1 0 0"/>
      <geom size=".1"/></body></body>
  <body name="b" pos="1 0 0"><joint name="j" type="ball"/><geom size=".1"/><site name="on_b" pos="0 0.1 0.3"/></body>
</worldbody>
<equality>{}</equality>
<actuator><motor joint="k"/><position joint="i"/></actuator></mujoco>"""
CLOSURES = {
    "point of bodies": '<connect name="ring" body1="a2" body2="b" anchor="0.1 0.2 0.3"/>',
    "point on the ground": '<connect name="ring" body1="c" anchor="0.1 0.2 0.3"/>',
    "point of sites": '<connect name="ring" site1="on_a" site2="on_b"/>',
    "weld of bodies": '<weld name="ring" body1="a2" body2="b"/>',
    "weld posed": '<weld name="ring" body1="c" body2="b" relpose="0.1 0.2 0.3 0.8 0.2 0.1 0.3" anchor="0.2 0.1 0"/>',
    "weld to the ground": '<weld name="ring" body1="c"/>',
    "weld of sites": '<weld name="ring" site1="on_a" site2="on_b"/>',
}


def _loaded(tmp_path, closure):
    path = tmp_path / "loop.xml"
    path.write_text(TREE.format(closure))
    return sy.load(path), mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.parametrize("closure", CLOSURES.values(), ids=CLOSURES.keys())
def test_gaps_and_rates_are_mujocos(tmp_path, closure):
    robot, m = _loaded(tmp_path, closure)
    assert robot.loop_names == ("ring",) and robot.loops[0].kind == closure[1:].split()[0]
    assert robot.actuated == ("i", "k") and not robot.notes
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    d, rng = mujoco.MjData(m), np.random.default_rng(0)
    names = [m.joint(i).name for i in range(m.njnt)]
    assert names == list(robot.joint_names)
    for _ in range(3):
        q = rng.normal(size=robot.nq)
        q[-4:] /= np.linalg.norm(q[-4:])
        d.qpos[:] = q
        d.qpos[-4:] = np.roll(q[-4:], 1)
        mujoco.mj_fwdPosition(m, d)
        at = placed(robot, q[None])
        ours = gaps(robot, at)[0] * constants(robot).row_sizes
        theirs = d.efc_pos[: d.nefc]
        np.testing.assert_allclose(np.linalg.norm(ours[:3]), np.linalg.norm(theirs[:3]), rtol=1e-9)
        K = jacobian(robot, at, side=1)[0, :3] * constants(robot).length
        J = d.efc_J.ravel()[: 3 * m.nv].reshape(3, m.nv)
        # MuJoCo's rows are in world axes, ours in the first frame's and relative to it: the rate of the distance is one
        np.testing.assert_allclose(ours[:3] @ K, theirs[:3] @ J, rtol=1e-8, atol=1e-10)
        if len(ours) == 6:
            np.testing.assert_allclose(
                np.sin(np.linalg.norm(ours[3:]) / 2), np.linalg.norm(theirs[3:]), rtol=1e-9, atol=1e-12
            )


def test_inactive_constraints_and_other_kinds_are_no_loops(tmp_path):
    closures = '<connect name="off" body1="c" anchor="0 0 0" active="false"/><joint joint1="i" joint2="k"/>'
    robot, _ = _loaded(tmp_path, closures + CLOSURES["weld of bodies"])
    assert robot.loop_names == ("ring",) and "1 equality constraints not modelled" in robot.notes[0]
    assert robot.mimic_names == ("i",)
    tree, _ = _loaded(tmp_path, closures)
    assert tree.loops == () and tree.actuated == ()


def test_loops_belong_to_the_fingerprint():
    robot = library.four_bar_leg()
    tree = replace(robot, loops=(), actuated=())
    assert fingerprint(robot) != fingerprint(tree)
    assert fingerprint(robot) != fingerprint(robot.with_actuated(["hip", "knee"]))
    assert fingerprint(tree) == fingerprint(replace(tree, actuated=("hip",)))


SIDE = """version = 1
actuated = ["hip", "crank"]
[[loop]]
name = "pin"
kind = "hinge"
link = "coupler"
other = "shank"
position = [-0.02, 0, -0.31]
axis = [0, 1, 0]
"""


def _side(tmp_path, text):
    path = tmp_path / "leg.steelyard.toml"
    path.write_text(text)
    return read_side(path, sy.load(library.four_bar_leg().source.path))


def test_side_file_states_one_frame_or_both(tmp_path):
    one = _side(tmp_path, SIDE)
    both = _side(tmp_path, SIDE + "other_position = [-0.1, 0, -0.01]\nother_axis = [0, 1, 0]\n")
    for name in ("rotations", "positions"):
        np.testing.assert_allclose(getattr(one.loops[0], name), getattr(both.loops[0], name), atol=1e-12)
    assert one.loops[0].bodies == ("coupler", "shank") and one.actuated == ("hip", "crank")
    world = _side(tmp_path, SIDE.replace('other = "shank"', 'other = "world"'))
    assert world.loops[0].bodies == ("coupler", None)
    np.testing.assert_allclose(world.loops[0].positions[1], [-0.1, 0, -0.31])


def test_side_file_written_back_reads_the_same(tmp_path):
    robot = library.palletiser()
    path = tmp_path / "again.steelyard.toml"
    path.write_text(side_text(robot))
    again = read_side(path, sy.load(robot.source.path))
    assert again.loop_names == robot.loop_names and again.actuated == robot.actuated
    for one, two in zip(robot.loops, again.loops, strict=True):
        assert (one.kind, one.bodies) == (two.kind, two.bodies)
        np.testing.assert_allclose(one.rotations, two.rotations, atol=1e-12)
        np.testing.assert_allclose(one.positions, two.positions, atol=1e-12)
    assert "[[loop]]" not in side_text(robot, known=robot.loop_names)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "pin"', "", r"loop\[0\].name is missing; every loop needs a name"),
        ('"hinge"', '"pin"', r"loop\[0\].kind is 'pin'; expected one of connect, hinge, slide, cylinder, weld"),
        ('kind = "hinge"', "", r"loop\[0\].kind is missing"),
        ('"shank"', '"foot"', r"other is 'foot', which robot 'four_bar_leg' does not have. Its links: world, base"),
        ('link = "coupler"', "", r"loop\[0\].link is missing. Its links: world"),
        ('"shank"', '"coupler"', r"loop\[0\] ties 'coupler' to 'coupler', which are one rigid body"),
        ("[0, 1, 0]", "[0, 0, 0]", r"loop\[0\].axis is \[0, 0, 0\]; expected a direction"),
        ("[0, 1, 0]", "[0, 1, 0]\nrotation = [0, 0, 0]", r"axis is .*; expected either an axis or rotation, not both"),
        ('"hinge"', '"weld"', r"axis is .*; expected rotation: a weld keeps the whole orientation"),
        ("axis =", "axes =", r"loop\[0\].axes is not known. Did you mean 'axis'"),
        ('"crank"]', '"knob"]', r"actuated is .*'knob'.*; expected names of joints of robot 'four_bar_leg': hip, knee"),
        ('["hip", "crank"]', '"hip"', r"actuated is 'hip'; expected a list of strings"),
        ("axis = [0, 1, 0]", 'axis = [0, 1, 0]\n[[loop]]\nname = "pin"\nkind = "weld"\nlink = "crank"\nother = "world"',
         r"loop\[1\].name is 'pin'; expected a name that no other loop has"),
    ],
)  # fmt: skip
def test_messages_of_side_files(tmp_path, old, new, message):
    assert old in SIDE
    with pytest.raises(ModelError, match=message):
        _side(tmp_path, SIDE.replace(old, new))


def test_loops_of_unknown_kind_and_motors_of_unknown_joints():
    with pytest.raises(ModelError, match=r"unknown kind 'glue'. Known kinds: connect"):
        Loop("ring", "glue", (None, "a"), np.stack([np.eye(3)] * 2), np.zeros((2, 3)))
    with pytest.raises(ModelError, match=r"no joint 'ankle' to drive. Its joints: hip, knee"):
        library.four_bar_leg().with_actuated(["ankle"])
    loop = library.four_bar_leg().loops[0]
    assert loop.equations == len(LOOP_KINDS["hinge"]) == 5
