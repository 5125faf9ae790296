"""Engines read healthy models as Steelyard does, a planted difference is found in each, and misreadings as large as the
reports say."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from check.test_destinations import (
    BALANCED,
    COVERED,
    CROSSED,
    FINGER,
    FIXED,
    FRAMED,
    IMPOSSIBLE,
    PLAIN,
    TURNED_TOOL,
)
from robots import package_folder, urdf
from steelyard import check
from steelyard.check import engines as engine_module
from steelyard.check.engines import BY_NAME, ENGINES, EngineComparison, EngineReading, compare_engines
from steelyard.check.render import engine_lines
from steelyard.errors import OptionError
from steelyard.model.formats import load as sy_load
from steelyard.model.formats import opened, read_sketch

HERE = ("mujoco", "pinocchio", "drake", "pybullet", "idyntree", "dartpy")
USUAL = tuple(each.name for each in ENGINES if each.usual)


@pytest.fixture
def model(tmp_path):
    def write(text, name="model.urdf"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def reading(path, engine):
    """What one engine reads of a model; skips where it is not installed."""
    found = compare_engines(path, engines=(engine,))
    if found.missing:
        pytest.skip(f"{engine} is not installed")
    return found.readings[0]


def size(found, quantity, element="arm"):
    return max(
        (each.relative for each in found.differences if each.quantity == quantity and f"'{element}'" in each.element),
        default=0.0,
    )


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("engine", USUAL)
def test_engines_agree_on_a_healthy_model(model, engine):
    found = reading(model(TURNED_TOOL), engine)
    assert found.differences == ()
    assert (found.joints, found.bodies >= 2) == (2, True)
    assert found.largest_equal < BY_NAME[engine].tolerance


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("engine", HERE)
def test_a_planted_difference_is_found(model, engine, monkeypatch):
    """The engine is given a copy with one number changed, the mass of the hand by a thousandth."""
    path = model(TURNED_TOOL)
    other = TURNED_TOOL.replace('<mass value="0.5"/>', '<mass value="0.5005"/>').encode()
    monkeypatch.setattr("steelyard.model.urdf.UrdfDocument.alone", lambda *_, geometry: other)
    found = reading(path, engine)
    elements = {each.element for each in found.differences}
    assert size(found, "mass", "hand") == pytest.approx(1e-3, rel=1e-3)
    assert size(found, "gravity torque", "shoulder") > 0
    assert elements == {"link 'hand'", "joint 'shoulder'", "joint 'wrist'"}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    "old, new, quantity, element",
    [
        ('ixz="0" iyy="0.0005"', 'ixz="1e-5" iyy="0.0005"', "inertia", "hand"),
        (
            '<origin xyz="0 0 0.02" rpy="0 0 0"/><mass',
            '<origin xyz="0.001 0 0.02" rpy="0 0 0"/><mass',
            "centre",
            "hand",
        ),
        ('<origin xyz="0 0 0.4"/><parent', '<origin xyz="0 0 0.41"/><parent', "placement", "hand"),
        ('<axis xyz="1 0 0"/>', '<axis xyz="1 0.01 0"/>', "gravity torque", "wrist"),
    ],
)
def test_every_quantity_is_compared(model, old, new, quantity, element, monkeypatch):
    path = model(TURNED_TOOL)
    assert old in TURNED_TOOL
    other = TURNED_TOOL.replace(old, new).encode()
    monkeypatch.setattr("steelyard.model.urdf.UrdfDocument.alone", lambda *_, geometry: other)
    found = reading(path, "pinocchio")
    assert any(quantity in each.quantity and f"'{element}'" in each.element for each in found.differences)


LIGHT_TOOL = FIXED.replace('<mass value="1"/>', '<mass value="0"/>')
SCALED = """<mujoco model="a"><compiler settotalmass="1"/><worldbody><body name="a">
<inertial pos="0 0 0" mass="2" diaginertia="0.01 0.01 0.01"/><joint axis="0 1 0"/></body></worldbody></mujoco>"""
COMPOUND = """<mujoco model="a"><worldbody><body name="a" pos="{}"><joint name="x" axis="1 0 0"/>
<joint name="y" axis="0 1 0"/><inertial pos="0.1 0 0" mass="2" diaginertia="0.01 0.01 0.01"/></body></worldbody>
</mujoco>"""

MEASURED = [  # engine, model, size, %, quantity, link
    ("newton-collapsed", FIXED, 111, "inertia", "arm"),
    ("pybullet-merged", TURNED_TOOL, 60, "inertia", "arm"),
    ("pybullet-defaults", CROSSED, 14, "inertia", "arm"),
    ("pybullet", IMPOSSIBLE, 100, "inertia", "arm"),
    ("drake", IMPOSSIBLE, 92, "inertia", "arm"),
    ("newton", IMPOSSIBLE, 97, "inertia", "arm"),
    ("pinocchio", SCALED, 100, "mass", "a"),
    ("drake", SCALED, 100, "mass", "a"),
    ("mujoco", COVERED, 25, "mass", "arm"),
    ("newton", COVERED, 25, "mass", "arm"),
    ("drake", LIGHT_TOOL, 50, "mass", "arm"),
    ("mujoco", LIGHT_TOOL, 25, "inertia", "arm"),
    ("idyntree", LIGHT_TOOL, 25, "inertia", "arm"),
    ("pybullet", FRAMED, 50, "mass", "arm"),
    ("dartpy", FRAMED, 50, "mass", "arm"),
]


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("engine, text, told, quantity, link", MEASURED)
def test_misreadings_have_their_sizes(model, engine, text, told, quantity, link):
    path = model(text, "model.xml" if text is SCALED else "model.urdf")
    found = reading(path, engine)
    assert 100 * size(found, quantity, link) == pytest.approx(told, abs=0.51)


def test_followers_count_at_the_joint_that_they_follow(model):
    assert reading(model(FINGER), "pinocchio").differences == ()


def test_balanced_inertias_are_found(model):
    """MuJoCo's own reading is ours; an engine that does not balance differs, and so would one that does."""
    found = reading(model(BALANCED.format(0.05), "model.xml"), "pinocchio")
    assert size(found, "inertia", "a") == pytest.approx(0.808, abs=1e-3)


def test_refusals_and_crashes_are_rows(model, monkeypatch):
    refused = reading(model(IMPOSSIBLE), "mujoco")
    assert refused.refused
    assert "A + B >= C" in refused.refused or "arm" in refused.refused
    path = model(PLAIN)
    monkeypatch.setattr(engine_module, "ADAPTERS", str(model("import os; os.abort()", "crash.py")))
    assert "signal 6" in reading(path, "mujoco").refused
    monkeypatch.setattr(engine_module, "ADAPTERS", str(model("import time; time.sleep(60)", "hang.py")))
    found = compare_engines(path, engines=("mujoco",), limit=0.3)
    assert "no answer within 0.3 s" in found.readings[0].refused
    assert found.ok


def test_engines_are_given_allowed_files_alone(model, tmp_path):
    """Meshes by full paths where they may be opened; others, and pictures, are left out, and nothing else."""
    (tmp_path / "box.stl").write_text("solid\nendsolid\n")
    box = re.search(r"<box.*?/>", PLAIN)[0]
    text = PLAIN.replace(box, '<mesh filename="box.stl"/>', 1).replace(box, '<mesh filename="/etc/hostname"/>')
    text = text.replace("</link>", "<visual><geometry><sphere radius='1'/></geometry></visual></link>", 1)
    text = text.replace(re.findall(r"<box.*?/>", PLAIN)[1], '<mesh filename="/etc/hostname"/>')
    document = opened(model(text))
    whole, bare = (document.alone(geometry=geometry).decode() for geometry in (True, False))
    assert f'filename="{tmp_path / "box.stl"}"' in whole
    assert "hostname" not in whole + bare
    assert "sphere" not in whole
    assert "<collision>" not in bare
    assert whole.count("<inertial>") == bare.count("<inertial>") == 2


def test_an_engine_that_is_not_there(model, monkeypatch):
    monkeypatch.setattr(engine_module, "find_spec", lambda name: None)
    monkeypatch.delenv("STEELYARD_ENGINES", raising=False)
    found = compare_engines(model(PLAIN))
    assert (found.readings, found.missing) == ((), USUAL)
    monkeypatch.setenv("STEELYARD_ENGINES", "/nowhere/python")
    with pytest.raises(OptionError, match="STEELYARD_ENGINES"):
        compare_engines(model(PLAIN))
    with pytest.raises(OptionError, match="unknown"):
        compare_engines(model(PLAIN), engines=("unity",))


def test_the_command_line(model, capsys):
    path = model(FRAMED)
    engines = ("mujoco", "pybullet")
    status = check.check_models([path], select=["SY2"], engines=engines)
    said = capsys.readouterr().out
    if "not installed" in said:
        pytest.skip("pybullet is not installed")
    assert status == 1
    assert re.search(r"mujoco [\d.]+ +equal: 2 links, 2 joints", said)
    assert re.search(r"link 'arm' mass +50 %", said)
    assert check.check_models([path], select=["SY2"], engines=engines, format="json") == 1
    document = json.loads(capsys.readouterr().out)
    readings = {each["engine"]: each for each in document["engines"][0]["readings"]}
    assert readings["mujoco"]["differences"] == []
    assert readings["pybullet"]["differences"][0]["relative"] > 1
    assert not check.run(path, select=["SY2"], engines=engines).ok
    assert check.run(path, select=["SY2"], engines="mujoco").ok


HEALTHY = ("go2", "xarm7", "panda", "ur5_robot", "a1", "solo12", "talos_left_arm", "z1", "TwoDofs")


@pytest.mark.exhaustive(keep=0)
@pytest.mark.parametrize("stem", HEALTHY)
def test_engines_agree_on_published_models(stem):
    found = compare_engines(urdf(stem), engines=HERE)
    weighed = ("mujoco", "pybullet", "dartpy")  # give links without inertial one
    whole = all(part.inertial is not None for part in read_sketch(urdf(stem)).parts)
    for each in found.readings:
        assert not each.refused, each
        assert each.differences == () or (each.engine in weighed and not whole), each


def test_compound_joints_of_drake(model):
    for place, same in (("0 0 0.3", False), ("0 0 0", True)):
        assert (size(reading(model(COMPOUND.format(place), "a.xml"), "drake"), "gravity torque", "x") == 0) == same


def test_mjcf_in_pinocchio_and_mujoco():
    path = package_folder("dm_control") / "suite" / "walker.xml"
    found = compare_engines(path, engines=("mujoco", "pinocchio"))
    assert all(each.differences == () for each in found.readings)
    assert np.isfinite([each.largest_equal for each in found.readings]).all()


def test_no_agreement_is_told_where_nothing_was_compared():
    refused, empty = EngineReading("mujoco", refused="no"), EngineReading("drake", "1.0")
    for readings in ((), (refused,), (refused, empty)):
        assert "no engine has read it" in repr(EngineComparison(Path("a.urdf"), readings))
    agrees = EngineReading("drake", "1.0", bodies=2)
    assert "1 engine agrees on what was compared" in repr(EngineComparison(Path("a.urdf"), (refused, agrees)))
    shown = "\n".join(engine_lines(EngineComparison(Path("a.urdf"), (empty,), missing=("newton",))))
    assert "nothing in it could be compared" in shown and "steelyard[engines]" not in shown


def test_identifiers_stand_for_names(model):
    """An engine that reads USD calls link 'arm-1.0' arm_1_0."""
    robot = sy_load(model(PLAIN.replace('"arm"', '"arm-1.0"')))
    said = engine_module._by_our_names(robot, {"arm_1_0": 1, "elsewhere": 2})
    assert said == {"arm-1.0": 1, "elsewhere": 2}
