"""Contacts with the floor of an MJCF file: MuJoCo's own contacts have what was written, and nothing else changes."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from steelyard.model import load, save
from steelyard.model.formats import document_of
from steelyard.model.robot import ContactParameters

ICY = ContactParameters((0.3, 0.01, 0.002), (0.009, 1.2), (0.8, 0.9, 0.002, 0.4, 3.0), 4)
STIFF = replace(ICY, solref=(-4e4, -250.0))
BALL = '<body pos="{} 0 .02"><freejoint/><geom size=".03" mass="1" condim="3" priority="{}"/></body>'
FLOORS = {
    "plane": '<geom type="plane" size="5 5 .1"/>',
    "of a class": '<geom class="rough" type="plane" size="5 5 .1"/>',
    "in a frame": '<frame pos="0 0 .001"><geom type="plane" size="5 5 .1"/></frame><geom type="box" size="1 1 .01"/>',
    "of a body": '<geom size=".01" pos="0 0 3" contype="0" conaffinity="0"/>'
    '<body><geom name="seen" size=".01" contype="0" conaffinity="0"/><geom type="box" size="5 5 .01"/></body>',
}


def model(tmp_path, floor: str, *, feet: int = 0, more: str = ""):
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><default><default class="rough"><geom friction="2 .1 .1" solref=".05 1" condim="6"/></default>'
        f"</default><worldbody>{floor}{BALL.format(0, feet)}{BALL.format(1, 0)}</worldbody>{more}</mujoco>"
    )
    return path


def contacts(path) -> set[ContactParameters]:
    """What MuJoCo's contacts have in the position of the file."""
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    assert d.ncon >= 2
    return {
        ContactParameters(tuple(c.friction[[0, 2, 3]]), tuple(c.solref), tuple(c.solimp), condim=int(c.dim))
        for c in d.contact
    }


@pytest.mark.parametrize("wanted", [ICY, STIFF], ids=["time constant", "stiffness"])
@pytest.mark.parametrize("feet", [0, 3])
@pytest.mark.parametrize("floor", FLOORS.values(), ids=FLOORS)
def test_contacts_are_those_that_were_written(tmp_path, floor, feet, wanted):
    path = model(tmp_path, floor, feet=feet)
    robot = load(path)
    assert contacts(path) != {wanted} and document_of(robot).holds_floor
    save(replace(robot, floor=wanted), tmp_path / "written.xml")
    found = load(tmp_path / "written.xml")
    assert contacts(tmp_path / "written.xml") == {wanted} == {found.floor}
    save(found, tmp_path / "again.xml")
    assert (tmp_path / "again.xml").read_bytes() == (tmp_path / "written.xml").read_bytes()


def test_only_the_floor_changes(tmp_path):
    path = model(tmp_path, FLOORS["of a class"])
    save(replace(load(path), floor=ICY), tmp_path / "written.xml")
    before, after = (mujoco.MjModel.from_xml_path(str(each)) for each in (path, tmp_path / "written.xml"))
    for name in ("friction", "solref", "solimp", "condim", "priority", "pos", "size"):
        one, other = (getattr(m, f"geom_{name}") for m in (before, after))
        np.testing.assert_array_equal(one[1:], other[1:])
    np.testing.assert_array_equal(before.geom_size[0], after.geom_size[0])


@pytest.mark.parametrize(
    ("floor", "more"),
    [
        ("", ""),
        ('<replicate count="2" offset="3 0 0"><geom type="box" size="1 1 .01"/></replicate>', ""),
        (
            '<geom name="floor" type="plane" size="5 5 .1"/><geom name="other" size=".1" pos="0 0 -1"/>'
            '<body pos="0 0 -1"><freejoint/><geom name="toe" size=".01" mass="1"/></body>',
            '<contact><pair geom1="floor" geom2="toe"/></contact>',
        ),
    ],
    ids=["none", "made by a generator", "pairs of geoms"],
)
def test_floors_that_have_no_place_for_it_stay(tmp_path, floor, more):
    path = model(tmp_path, floor, more=more)
    robot = load(path)
    assert not document_of(robot).holds_floor
    report = save(replace(robot, floor=ICY), tmp_path / "written.xml")
    assert not report.changed and "friction 0.3, time constant 0.009 s" in report.notes[-1]
    assert (tmp_path / "written.xml").read_bytes() == path.read_bytes()


def test_what_depends_on_both_geoms_is_no_property_of_the_floor(tmp_path):
    assert load(model(tmp_path, FLOORS["plane"])).floor is None
    told = FLOORS["plane"].replace("<geom", '<geom priority="1" friction=".7 .01 .002"')
    assert load(model(tmp_path, told)).floor.friction == (0.7, 0.01, 0.002)
    assert load(model(tmp_path, told + '<geom type="box" size="1 1 .01" priority="1"/>')).floor is None
    assert load(model(tmp_path, told, feet=1)).floor is None


def test_other_formats_have_no_place_for_it(tmp_path):
    path = model(tmp_path, FLOORS["plane"])
    path.write_text(path.read_text().replace(BALL.format(1, 0), "").replace('pos="0 0 .02"', ""))
    robot = replace(load(path), floor=ICY)
    assert robot.floor.time_constant == 0.009 and STIFF.time_constant == pytest.approx(2 / 250)
    for name in ("robot.urdf", "robot.sdf"):
        assert "no place for contacts with the floor" in save(robot, tmp_path / name).notes[-1]
