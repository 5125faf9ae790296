"""Rules of destinations: each finds a file with what is misread, and nothing in its twin; sizes are those measured."""

import re

import numpy as np
import pytest

from steelyard import check
from steelyard.check.catalog import DESTINATIONS, MISREAD, RULES, destinations_of, selected
from steelyard.check.destinations import Destination, Misread
from steelyard.errors import OptionError

pytestmark = pytest.mark.claim(
    "linter.destinations", "what simulators misread is found in the model that they will misread, with its size"
)

PLAIN = """<robot name="plain">
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0.05 0 0.2" rpy="0 0 0"/><mass value="2"/>
      <inertia ixx="0.008" ixy="0" ixz="0" iyy="0.025" iyz="0" izz="0.03"/></inertial>
    <collision><origin xyz="0.05 0 0.2"/><geometry><box size="{box}"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="50" velocity="2"/></joint>
  <link name="hand">
    <inertial><origin xyz="0 0 0.02" rpy="0 0 0"/><mass value="0.5"/>
      <inertia ixx="0.0003" ixy="0" ixz="0" iyy="0.0005" iyz="0" izz="0.0006"/></inertial>
    <collision><origin xyz="0 0 0.02"/><geometry><box size="{small}"/></geometry></collision>
  </link>
  <joint name="wrist" type="revolute"><origin xyz="0 0 0.4"/><parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="20" velocity="2"/></joint>
</robot>
"""


def sides(moments, mass):
    """Of the box with these moments, less Bullet's margin."""
    squares = 6 / mass * (sum(moments) - 2 * np.array(moments))
    return " ".join(f"{side - 2e-3:.9f}" for side in np.sqrt(squares))


PLAIN = PLAIN.format(box=sides((0.008, 0.025, 0.03), 2), small=sides((3e-4, 5e-4, 6e-4), 0.5))
HEAD, TAIL = PLAIN.split("</robot>")
TOOL = """  <link name="tool"><inertial><origin xyz="0 0.02 0.1" rpy="0 0 0"/><mass value="1"/>
    <inertia ixx="0.003" ixy="0" ixz="0" iyy="0.008" iyz="0" izz="0.01"/></inertial></link>
  <joint name="flange" type="fixed"><origin xyz="0 0 0.4" rpy="{rpy}"/><parent link="arm"/><child link="tool"/></joint>
"""
COVER = """  <link name="cover"><collision><geometry><box size="0.1 0.1 0.05"/></geometry></collision></link>
  <joint name="clip" type="fixed"><parent link="arm"/><child link="cover"/></joint>
"""
FINGER = PLAIN.replace("</limit>", "").replace(
    '<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="shoulder" offset="0.5"/>'
)
FIXED, TURNED_TOOL = (f"{HEAD}{TOOL.format(rpy=rpy)}</robot>" for rpy in ("0 0 0", "0.7 0.2 0"))
COVERED = f"{HEAD}{COVER}</robot>"
FRAMED = f'{HEAD}<link name="frame"/>{COVER.replace("clip", "pin").replace("cover", "frame").splitlines()[1]}</robot>'
IMPOSSIBLE = PLAIN.replace('izz="0.03"', 'izz="0.08"')
CROSSED = PLAIN.replace('ixx="0.008" ixy="0"', 'ixx="0.008" ixy="0.004"')
LOSSY = PLAIN.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.2"/>')
HEAVY = PLAIN.replace(
    '<link name="base"/>',
    '<link name="base"><inertial><origin xyz="0 0 0"/><mass value="4"/>'
    '<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.05"/></inertial></link>',
)
GEARED = PLAIN.replace(
    "</robot>",
    '<transmission name="t"><joint name="wrist"/><actuator name="m"><mechanicalReduction>100</mechanicalReduction>'
    "<motorInertia>1e-5</motorInertia></actuator></transmission></robot>",
)
MASSLESS = re.sub(r"<inertial><origin xyz=\"0.05.*?</inertial>", "", PLAIN, flags=re.S)
BARE = PLAIN.replace('<origin xyz="0.05 0 0.2" rpy="0 0 0"/><mass', "<mass")
BALANCED = """<mujoco model="a"><compiler balanceinertia="true"/><worldbody><body name="a">
<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 {}"/><joint axis="0 1 0"/></body></worldbody></mujoco>"""

CASES = {  # rule: file with the fault, its twin, and what the message says of the size, as measured in the program
    "SY703": (FINGER, PLAIN, "'shoulder'"),
    "SY706": (HEAVY, PLAIN, "4 kg of 6.5"),
    "SY717": (COVERED, PLAIN, "20 % heavier"),
    "SY721": (LOSSY, PLAIN, "2.4 % of its effort limit"),
    "SY742": (LOSSY, PLAIN, "0.2 N m"),
    "SY743": (FINGER, PLAIN, "'wrist'"),
    "SY744": (GEARED, PLAIN, "0.1 kg m^2"),
    "SY761": (COVERED, PLAIN, "'cover'"),
    "SY762": (MASSLESS, PLAIN, "0.5 of 0.5 kg"),
    "SY771": (BARE, PLAIN, "'arm'"),
}
ALL = [f"{name}==any" for name in DESTINATIONS]


@pytest.fixture
def model(tmp_path):
    def write(text):
        path = tmp_path / ("model.xml" if text.startswith("<mujoco") else "model.urdf")
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("code", CASES)
def test_found_in_the_fault_and_not_in_its_twin(model, code):
    fault, twin, told = CASES[code]
    findings = [each for each in check.run(model(fault), destination=ALL) if each.code == code]
    assert findings
    assert told is None or any(told in each.message for each in findings), findings
    assert code not in check.run(model(twin), destination=ALL).codes
    assert code not in check.run(model(fault)).codes  # silent, unless the destination is named


def test_every_rule_of_a_destination_is_tried():
    assert {rule.code for rule in RULES if rule.misread} == set(CASES)


@pytest.mark.parametrize(
    "version, affected",
    [("3.10.0", True), ("3.11", True), ("3.13", True), ("3.14", False), ("3", True), ("", True), ("4.0.0", False)],
)
def test_versions(version, affected):
    """A version that is asked for in part is any that begins so; none, all."""
    known = Misread(("newton",), "mujoco", ("urdf",), "a report", first="3.10", mended="3.14.0")
    assert known.affects(Destination("mujoco", {"mujoco": version})) is affected
    assert known.affects(Destination("newton", {"mujoco": version})) is affected
    assert not known.affects(Destination("mujoco", {"mujoco": "3.9"}))
    assert not known.affects(Destination("drake", {}))


def test_the_program_of_the_destination_counts():
    def codes(given):
        return {rule.code for rule in selected(["SY7"], destinations=destinations_of(given))}

    assert "SY721" in codes("isaacsim==6.1.0") - codes("isaacsim==6.0")
    assert codes("urdf-usd-converter==0.3.3") == {"SY717"}
    assert codes("mujoco==any") | codes("newton==any") == codes("mujoco==any,newton==any")


def test_without_a_version_the_installed_one_counts(monkeypatch):
    monkeypatch.setattr("steelyard.check.destinations.version", lambda name: "3.12.0")
    (found,) = destinations_of("mujoco")
    assert found.versions == {"mujoco": "3.12.0"}
    assert "mujoco 3.12.0 as installed" in found.note


@pytest.mark.parametrize("given", ["unity", "mujoco==new", "isaac==6.1", "mujoco=3"])
def test_wrong_destinations_are_refused(given):
    with pytest.raises(OptionError, match=r"mujoco|isaac"):
        destinations_of(given)


def test_rules_of_destinations_are_not_selected_without_one(model, tmp_path):
    with pytest.raises(OptionError, match="--for"):
        check.repair(model(HEAVY), tmp_path / "out.urdf", fix=("SY706",))
    with pytest.raises(OptionError, match="--for"):
        selected(["SY706"])
    assert all(not rule.misread for rule in selected())


def test_records_are_consistent():
    formats = {"urdf", "mjcf", "sdf", "usd"}
    assert all(set(each.formats) <= formats and each.destinations and each.reference for each in MISREAD)
    required = {"mujoco", "newton", "isaac", "gazebo", "drake", "pybullet", "pinocchio"}
    assert required <= set(DESTINATIONS)
    assert Misread(("a",), "b", ("urdf",), "c").affects(Destination("a", {"b": "1"}))


def test_the_command_line(model, capsys):
    path = model(LOSSY)
    assert check.check_models([path], select=["SY7"], destination="isaacsim==6.1.0") == 1
    said = capsys.readouterr().out
    assert "SY721 warning joint 'shoulder'" in said
    assert "isaacsim from 6.1.0, IsaacSim#841" in said
    assert check.check_models([path], select=["SY721"], destination="isaacsim==6.0") == 0
    assert check.check_models([path], destination="unity") == 2
