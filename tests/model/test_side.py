"""Side files: placement of rotors against compositions written out by hand, strictness, messages."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steelyard.errors import ModelError
from steelyard.inertia import parameters
from steelyard.model import library, load, locking, write_side
from steelyard.model.compare import fingerprint
from steelyard.model.robot import Link
from steelyard.model.side import read_side, side_path
from steelyard.model.side_mechanism import ROTOR_KEYS

MOUNTED = """<mujoco><worldbody>
  <body name="stand" pos="0 0 1">
    <body name="arm" pos="0.1 0 0" euler="0 90 0">
      <joint name="roll" type="hinge" axis="1 0 0"/>
      <joint name="pitch" type="hinge" axis="0 1 0" pos="0 0 0.2"/>
      <geom type="box" size="0.1 0.1 0.1" mass="1"/>
      <body name="housing" pos="0 0.3 0" euler="0 0 90"><geom type="sphere" size="0.05" mass="0.5"/></body>
      <body name="hand" pos="0 0 0.4">
        <joint name="slide" type="slide" axis="0 0 1"/>
        <geom type="box" size="0.05 0.05 0.05" mass="0.3"/>
        <body name="ball" pos="0 0 0.2"><joint name="socket" type="ball"/><geom size="0.02" mass="0.1"/></body>
      </body>
    </body>
  </body>
</worldbody></mujoco>"""


@pytest.fixture
def mounted(tmp_path):
    (tmp_path / "mounted.xml").write_text(MOUNTED)
    return load(tmp_path / "mounted.xml")


def _read(tmp_path, robot, text):
    path = tmp_path / "robot.steelyard.toml"
    path.write_text(text)
    return read_side(path, robot)


def _rotor(tmp_path, robot, text):
    (rotor,) = _read(tmp_path, robot, f"[[rotor]]\ngear_ratio = 9\n{text}").rotors
    return rotor


def test_side_path_is_beside_the_model():
    assert side_path("robots/arm.urdf").as_posix() == "robots/arm.steelyard.toml"


def test_reading_leaves_the_robot_alone(tmp_path):
    robot = library.scara()
    assert _read(tmp_path, robot, "version = 1\n").rotors == ()
    assert len(robot.rotors) == 4


def test_a_written_file_reads_back(tmp_path, mounted):
    """Any axis and frame, the ground, a link that rides on a body, unknown parameters, no symmetry."""
    text = """[[rotor]]
joint = "roll"
gear_ratio = -9.5
carrier = "world"
axis = [1, 2, 3]
position = [0.1, 0.2, 0.3]
[[rotor]]
joint = "slide"
gear_ratio = 100
carrier = "housing"
rotation = [0.1, 1.5707963267948966, 0.3]
mass = 0.2
com = [0.01, 0.02, 0.03]
inertia = [3e-4, 1e-5, 2e-5, 4e-4, 1e-5, 5e-4]
symmetric = false
[[rotor]]
joint = "pitch"
gear_ratio = 7
mass = 0.1
inertia = 1e-5
"""
    robot = _read(tmp_path, mounted, text)
    again = read_side(write_side(robot, tmp_path / "written.steelyard.toml"), mounted)
    for one, other in zip(robot.rotors, again.rotors, strict=True):
        assert (one.joint, one.gear_ratio, one.carrier, one.symmetric) == (
            other.joint,
            other.gear_ratio,
            other.carrier,
            other.symmetric,
        )
        for name in ("axis", "rotation", "position", "theta"):
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-12)


def test_defaults_follow_the_joint(tmp_path, mounted):
    """The joint's axis and the nearest point on it, in the frame of the body before it; z of the rotor frame along."""
    pitch = _rotor(tmp_path, mounted, 'joint = "pitch"')
    assert (pitch.carrier, pitch.gear_ratio, pitch.symmetric) == (None, 9.0, True)
    np.testing.assert_allclose(pitch.axis, [0, 1, 0], atol=1e-12)
    # in the world the arm's z points along x, so the anchor 0.2 above its frame lies 0.2 further along x
    np.testing.assert_allclose(pitch.position, [0.1 + 0.2, 0, 1], atol=1e-12)
    np.testing.assert_allclose(pitch.rotation[:, 2], pitch.axis, atol=1e-12)
    np.testing.assert_array_equal(pitch.theta, np.zeros(10))

    slide = _rotor(tmp_path, mounted, 'joint = "slide"')
    assert slide.carrier == "arm"
    np.testing.assert_allclose(slide.axis, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(slide.position, [0, 0, 0.4], atol=1e-12)


def test_the_documented_example_reads(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "side_file.md").read_text()
    first, second = _read(tmp_path, library.puma560(), page.split("```toml\n")[1].split("```")[0]).rotors
    assert (first.joint, first.carrier, second.carrier) == ("joint1", None, "link1")
    assert second.theta[9] == pytest.approx(4.1e-4)
    for key in ROTOR_KEYS:
        assert f"| `{key}` |" in page


def test_a_lumped_carrier_is_its_body(tmp_path, mounted):
    """Numbers refer to the named link's frame; the rotor states them in the frame of the body the link rides on."""
    rotor = _rotor(
        tmp_path,
        mounted,
        """
joint = "slide"
carrier = "housing"
axis = [2, 0, 0]
position = [0.01, 0.02, 0.03]
rotation = [0.1, 0.2, 0.3]
mass = 0.5
inertia = 1e-4
""",
    )
    assert rotor.carrier == "arm"
    turn = Rotation.from_euler("z", 90, degrees=True)
    np.testing.assert_allclose(rotor.axis, [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(rotor.position, np.array([0, 0.3, 0]) + turn.apply([0.01, 0.02, 0.03]), atol=1e-12)
    expected = turn * Rotation.from_euler("xyz", [0.1, 0.2, 0.3])
    np.testing.assert_allclose(rotor.rotation, expected.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(parameters.to_com_inertia(rotor.theta)[2], 1e-4 * np.eye(3), atol=1e-18)


@pytest.mark.parametrize("name", ["world", "stand"])
def test_a_standing_carrier_is_the_ground(tmp_path, mounted, name):
    """Bodies that cannot move stand on the ground: their frame is placed in the world."""
    rotor = _rotor(tmp_path, mounted, f'joint = "slide"\ncarrier = "{name}"\nposition = [0, 0, 0.5]')
    assert rotor.carrier is None
    np.testing.assert_allclose(rotor.position, [0, 0, 0.5 if name == "world" else 1.5], atol=1e-12)
    np.testing.assert_allclose(rotor.axis, [1, 0, 0], atol=1e-12)


def test_full_inertia_about_the_centre_of_mass(tmp_path, mounted):
    text = """
joint = "slide"
mass = 2.0
com = [0.0, 0.1, 0.2]
inertia = [0.030, 0.001, 0.002, 0.031, 0.003, 0.032]
symmetric = false
"""
    mass, com, I = parameters.to_com_inertia(_rotor(tmp_path, mounted, text).theta)
    assert mass == 2.0
    np.testing.assert_allclose(com, [0, 0.1, 0.2])
    np.testing.assert_allclose(I, [[0.030, 0.001, 0.002], [0.001, 0.031, 0.003], [0.002, 0.003, 0.032]], atol=1e-15)


def test_symmetry_is_about_the_axis_whatever_the_frame(tmp_path, mounted):
    """A disc about x in the rotor frame spins symmetrically about x, not about z."""
    disc = 'joint = "slide"\nmass = 1\ncom = [0.3, 0, 0]\ninertia = [3e-3, 0, 0, 2e-3, 0, 2e-3]\nrotation = [0, 0, 0]\n'
    assert _rotor(tmp_path, mounted, disc + "axis = [1, 0, 0]").symmetric
    with pytest.raises(ModelError, match="symmetric = false"):
        _rotor(tmp_path, mounted, disc + "axis = [0, 0, 1]")
    with pytest.raises(ModelError, match=r"com or inertia change .* \[1.0, 0.0, 0.0\]"):
        _rotor(tmp_path, mounted, disc.replace("0.3, 0, 0", "0.3, 1e-4, 0") + "axis = [1, 0, 0]")


def test_several_motors_of_a_joint_and_several_joints_of_a_motor(tmp_path, mounted):
    """Two motors on one joint, two that turn with the sum and the difference of two: read, named, written, read."""
    pair = "[[rotor]]\njoint = ['roll', 'pitch']\ngear_ratio = [50, {}]\nmass = 1\ninertia = 1e-4\n"
    robot = _read(tmp_path, mounted, f"[[rotor]]\n{GOOD}\n[[rotor]]\n{GOOD}\n" + pair.format(50) + pair.format(-50))
    names = ["rotor(slide)", "rotor(slide:2)", "rotor(roll+pitch)", "rotor(roll+pitch:2)"]
    assert [rotor.name for rotor in robot.rotors] == names
    assert robot.rotors[3].gears == (("roll", 50.0), ("pitch", -50.0))
    write_side(robot, tmp_path / "again.steelyard.toml")
    again = read_side(tmp_path / "again.steelyard.toml", replace(robot, rotors=()))
    assert [(rotor.name, rotor.gears) for rotor in again.rotors] == [(r.name, r.gears) for r in robot.rotors]
    assert fingerprint(again, rotors=True) == fingerprint(robot, rotors=True)
    stiff = locking.locked(robot, {"roll": 0.0})
    assert [rotor.gears for rotor in stiff.rotors][2:] == [(("pitch", 50.0),), (("pitch", -50.0),)]


GOOD = 'joint = "slide"\ngear_ratio = 5'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 2", r"robot.steelyard.toml: version is 2; this release reads side files of version 1"),
        ("version = true", r"version is True"),
        (
            f"[[rotor]]\n{GOOD}\ngear = 5",
            r"rotor\[0\].gear is not known. .*Valid here: joint, gear_ratio, carrier, axis",
        ),
        (
            "loops = []",
            r"robot.steelyard.toml: loops is not known. Did you mean 'loop'\? Valid here: version, actuated, rotor",
        ),
        ("[rotor]\njoint = 'slide'", r"rotor is .*array of tables: start each entry with \[\[rotor\]\]"),
        ("rotor = 3", r"rotor is 3; expected an array of tables"),
        (f"[[rotor]]\n{GOOD}\ngear_ration = 5", r"rotor\[0\].gear_ration is not known. Did you mean 'gear_ratio'\?"),
        ("[[rotor]]\njoint = ['roll', 'roll']\ngear_ratio = [1, 2]", r"joint is .*expected .*a list of different ones"),
        (
            "[[rotor]]\njoint = ['roll', 'slide']\ngear_ratio = 5",
            r"gear_ratio is 5; expected a list of 2 finite numbers",
        ),
        ("[[rotor]]\njoint = ['roll', 'slide']\ngear_ratio = [5, 0]", r"gear_ratio is .*2 ratios .*none of them zero"),
        ("[[rotor]]\njoint = ['roll', 'leg']\ngear_ratio = [5, 1]", r"joint is 'leg', which robot"),
        ("[[rotor]]\ngear_ratio = 5", r"rotor\[0\].joint is missing. Its joints: roll, pitch, slide, socket"),
        ("[[rotor]]\njoint = 'elbow'", r"joint is 'elbow', which robot '.*' does not have. Its joints: roll"),
        ("[[rotor]]\njoint = 'socket'", r"joint is 'socket', a spherical joint with 3 degrees of freedom"),
        ("[[rotor]]\njoint = 7", r"joint is 7; expected a string"),
        ("[[rotor]]\njoint = 'slide'", r"gear_ratio is missing"),
        ("[[rotor]]\njoint = 'slide'\ngear_ratio = 0", r"gear_ratio is 0"),
        ("[[rotor]]\njoint = 'slide'\ngear_ratio = '9:1'", r"gear_ratio is '9:1'; expected one finite number"),
        ("[[rotor]]\njoint = 'slide'\ngear_ratio = true", r"gear_ratio is True; expected one finite number"),
        ("[[rotor]]\njoint = 'slide'\ngear_ratio = inf", r"gear_ratio is inf; expected one finite number"),
        (f"[[rotor]]\n{GOOD}\ncarrier = 'leg'", r"carrier is 'leg', .* Its links: world, .*stand, arm, housing"),
        (f"[[rotor]]\n{GOOD}\naxis = [0, 0, 0]", r"axis is \[0, 0, 0\]; expected a direction"),
        (f"[[rotor]]\n{GOOD}\naxis = 'z'", r"axis is 'z'; expected a list of 3 finite numbers"),
        (f"[[rotor]]\n{GOOD}\nposition = [0, 1]", r"position is \[0, 1\]; expected a list of 3 finite numbers"),
        (f"[[rotor]]\n{GOOD}\nrotation = [0, 1, nan]", r"rotation is .*; expected a list of 3 finite numbers"),
        (f"[[rotor]]\n{GOOD}\nmass = 1", r"inertia is missing; give mass and inertia together"),
        (f"[[rotor]]\n{GOOD}\ninertia = 1e-4", r"mass is missing; give mass and inertia together"),
        (f"[[rotor]]\n{GOOD}\ncom = [0, 0, 0]", r"mass is missing"),
        (f"[[rotor]]\n{GOOD}\nmass = 1\ninertia = [1, 2]", r"inertia is \[1, 2\]; expected a list of 6 finite numbers"),
        (
            f"[[rotor]]\n{GOOD}\nmass = 1\ninertia = 'disc'",
            r"inertia is 'disc'; expected a spin inertia or a list of 6",
        ),
        (f"[[rotor]]\n{GOOD}\nmass = -1\ninertia = 1e-4", r"rotor\[0\]: no body has mass -1 kg"),
        (f"[[rotor]]\n{GOOD}\nmass = 1\ninertia = [1, 0, 0, 1, 0, 3]", r"less than the sum of the other two"),
        (f"[[rotor]]\n{GOOD}\nsymmetric = 'yes'", r"symmetric is 'yes'; expected true or false"),
        ("[[rotor", r"is not valid TOML: .*at end of document"),
    ],
)
def test_messages(tmp_path, mounted, text, message):
    with pytest.raises(ModelError, match=message):
        _read(tmp_path, mounted, text)


def test_files_that_cannot_be_read(tmp_path):
    robot = library.scara()
    with pytest.raises(ModelError, match=r"none.steelyard.toml is missing. Give the path"):
        read_side(tmp_path / "none.steelyard.toml", robot)
    binary = tmp_path / "binary.steelyard.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="is not UTF-8"):
        read_side(binary, robot)
    binary.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(ModelError, match="is larger than 1 MB"):
        read_side(binary, robot)


def test_the_documented_example_of_what_a_format_lacks_reads(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "side_file.md").read_text()
    example = re.search(r"## What a format lacks\n\n```toml\n(.*?)```", page, flags=re.DOTALL)[1]
    robot = library.scara()
    tool = Link("tool", robot.nb - 1, np.eye(3), np.array([0.1, 0.0, 0.0]), np.zeros(10), False)
    path = tmp_path / "arm.steelyard.toml"
    path.write_text("version = 1\n" + example)
    found = read_side(path, replace(robot, links=(tool,), gravity=np.zeros(3)))
    assert found.gravity.tolist() == [0, 0, -9.81] and [site.name for site in found.sites] == ["tool"]
    assert (found.armature[0], found.damping[0], found.frictionloss[0]) == (0.1, 0.2, 0.3)
    assert found.velocity_limits[0] == 2.2 and np.array_equal(found.armature[1:], robot.armature[1:])
