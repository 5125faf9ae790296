"""`[known]` tables of side files: frames against compositions by hand, strictness, the documented example."""

import re
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import ModelError
from steelyard.model import library, load
from steelyard.model.side import read_known, read_side
from steelyard.spatial import rotation_from_rpy

PAGE = (Path(__file__).parents[2] / "docs" / "side_file.md").read_text("utf-8")
ELLIPSOID = '[[known.ellipsoid]]\nlink = "{}"\nsemi_axes = [0.1, 0.2, 0.3]\n'.format
HAND = """<robot name="r"><link name="ground"/><link name="arm"/><link name="hand"/>
<joint name="j" type="revolute"><parent link="ground"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="0.5 0.1 0" rpy="0.2 0.4 0.9"/></joint>
</robot>"""


@pytest.fixture
def robot(tmp_path):
    (tmp_path / "r.urdf").write_text(HAND)
    return load(tmp_path / "r.urdf")


def known_of(tmp_path, robot, text):
    (tmp_path / "r.steelyard.toml").write_text(text)
    return read_known(tmp_path / "r.steelyard.toml", robot)


def test_ellipsoids_are_in_the_frame_of_their_link(tmp_path, robot):
    text = ELLIPSOID("hand") + "center = [0, 0, 0.1]\nrotation = [0, 0.5, 0]\n" + ELLIPSOID("arm")
    turned, plain = known_of(tmp_path, robot, text).ellipsoids["arm"]
    R = rotation_from_rpy(np.array([0.2, 0.4, 0.9]))
    np.testing.assert_allclose(turned.center, [0.5, 0.1, 0] + R @ [0, 0, 0.1], atol=1e-12)
    axes = R @ rotation_from_rpy(np.array([0, 0.5, 0]))
    np.testing.assert_allclose(turned.Q, axes @ np.diag([0.01, 0.04, 0.09]) @ axes.T, atol=1e-12)
    np.testing.assert_allclose(plain.Q, np.diag([0.01, 0.04, 0.09]), atol=1e-12)


def test_ellipsoids_of_centres_of_mass_and_of_rotors(tmp_path):
    rotor = '[[rotor]]\njoint = "joint1"\ngear_ratio = 50\n'
    place = "semi_axes = [0.1, 0.2, 0.3]\ncenter = [0, 0, 0.05]\n"
    holds = '[[known.ellipsoid]]\n{} = "{}"\nholds = "{}"\n'.format
    entries = ("link", "link2", "com"), ("rotor", "rotor(joint1)", "com"), ("rotor", "rotor(joint1)", "mass")
    text = "version = 1\n" + rotor + "".join(holds(*each) + place for each in entries)
    (tmp_path / "r.steelyard.toml").write_text(text)
    robot = read_side(tmp_path / "r.steelyard.toml", library.puma560())
    known = read_known(tmp_path / "r.steelyard.toml", robot)
    assert set(known.centers) == {"link2", "rotor(joint1)"} and set(known.ellipsoids) == {"rotor(joint1)"}
    for each in (known.centers["link2"], *known.ellipsoids["rotor(joint1)"]):  # in the frame of link or rotor
        np.testing.assert_allclose(each.center, [0, 0, 0.05])
        np.testing.assert_allclose(each.Q, np.diag([0.01, 0.04, 0.09]), atol=1e-12)
    assert any("the centre of mass of" in text and "rotor(joint1)" in text for text in known.words())
    for again, message in (
        (holds("link", "link2", "com") + place, "has an ellipsoid already"),
        (holds("rotor", "link2", "com") + place, r"is no rotor of robot.*It has rotor\(joint1\)"),
        (holds("link", "link2", "inertia") + place, 'expected "mass" or "com"'),
        ('[[known.ellipsoid]]\nlink = "link2"\nrotor = "rotor(joint1)"\n' + place, "belongs to one of them"),
    ):
        (tmp_path / "r.steelyard.toml").write_text(text + again)
        with pytest.raises(ModelError, match=message):
            read_known(tmp_path / "r.steelyard.toml", robot)


def test_the_documented_example_reads(tmp_path):
    robot = library.puma560()
    known = known_of(tmp_path, robot, re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)[1])
    assert known.masses == {"link1": 7.1, ("link2", "link3"): 22.2, "all": 35.0}
    assert known.fixed == {"link6": "all", "link5": ("mass", "com")}
    assert known.tied == (("link4", "link5", "y"),) and len(known.ellipsoids["link3"]) == 1
    assert len(tuple(known.words())) == 7
    assert read_side(tmp_path / "r.steelyard.toml", robot).rotors == ()


@pytest.mark.parametrize(
    "text, message",
    [
        ("[known.mass]\narm = 1", "mass is not known. Did you mean 'masses'"),
        ("known = 3", "known is 3; expected a table"),
        ("[known]\nmasses = 3", r"masses is 3; expected a table: start it with \[masses\]"),
        ("[known.masses]\narm = -1", "arm is -1; expected a positive number of kilograms"),
        ('[known.masses]\n"arm+leg" = 1', r"\[known.masses\].arm\+leg: robot 'r' has no body 'leg'. Its bodies: arm"),
        ("[known.fixed]\nhand = 'all'", "has no body 'hand'"),
        ("[known.fixed]\narm = ['size']", 'expected a list of "mass"'),
        ("[[known.tie]]\nfirst = 'arm'", "second is missing"),
        ("[[known.tie]]\nfirst = 'arm'\nsecond = 'arm'\nmirror = 'w'", "mirror is 'w'"),
        (ELLIPSOID("ground"), "'ground', which is no moving link of robot 'r'. It has arm, hand"),
        (ELLIPSOID("arm").replace("0.1, ", "-0.1, "), "three positive lengths"),
        ("[[known.ellipsoid]]\nlink = 'arm'", "semi_axes is missing"),
    ],
)
def test_messages(tmp_path, robot, text, message):
    for read in (read_known, read_side):
        (tmp_path / "r.steelyard.toml").write_text(text)
        with pytest.raises(ModelError, match=message):
            read(tmp_path / "r.steelyard.toml", robot)


def test_ellipsoids_of_rotors_that_the_same_file_has(tmp_path, robot):
    side = tmp_path / "r.steelyard.toml"
    rotor = '[[rotor]]\njoint = "j"\ngear_ratio = 50\n'
    side.write_text(rotor + ELLIPSOID("rotor(j)").replace("link", "rotor") + ELLIPSOID("arm"))
    with_rotor = read_side(side, robot)
    assert set(read_known(side, with_rotor).ellipsoids) == {"rotor(j)", "arm"}
    side.write_text(ELLIPSOID("rotor(j)").replace("link", "rotor"))
    with pytest.raises(ModelError, match="It has no rotors"):
        read_side(side, robot)
