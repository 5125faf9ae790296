"""Angles in degrees are found on robots of all kinds, and no robot in radians has them."""

import re
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from robots import EXAMPLE_ROBOTS
from steelyard import check

DEGREES = 180 / np.pi
PUMA, QUADRUPED = (Path(sy.library.__file__).parent / "data" / f"{name}.urdf" for name in ("puma560", "quadruped"))
PANDA = EXAMPLE_ROBOTS / "panda_description" / "urdf" / "panda.urdf"
UR5 = EXAMPLE_ROBOTS / "ur_description" / "urdf" / "ur5_robot.urdf"


def found(text: str, folder) -> list[str]:
    path = folder / "robot.urdf"
    path.write_text(text)
    return [each.message for each in check.run(path, meshes=False) if each.code == "SY511"]


def scaled(path: Path, *keys: str) -> str:
    """A URDF with limits in whole degrees."""
    return re.sub(
        rf'\b({"|".join(keys)})="([^"]+)"', lambda m: f'{m[1]}="{DEGREES * float(m[2]):.0f}"', path.read_text()
    )


@pytest.mark.parametrize("path", [PUMA, QUADRUPED, PANDA, UR5], ids=lambda path: path.stem)
def test_position_limits(tmp_path, path):
    (message,) = found(scaled(path, "lower", "upper"), tmp_path)
    assert "position" in message and "velocity" not in message


@pytest.mark.parametrize("path", [PUMA, PANDA, UR5], ids=lambda path: path.stem)
def test_speeds(tmp_path, path):
    (message,) = found(scaled(path, "velocity"), tmp_path)
    assert "velocity" in message and "position" not in message


@pytest.mark.parametrize("rpy", ["0 0 90", "-180 0 0", "0 45 0", "12.5 0 270"])
def test_orientations(tmp_path, rpy):
    (message,) = found(re.sub(r'rpy="[^"]*"', f'rpy="{rpy}"', PUMA.read_text(), count=1), tmp_path)
    assert f"is {rpy} rad" in message


def test_a_turned_joint_is_told_where_the_robot_is_read(tmp_path):
    path = tmp_path / "robot.urdf"
    joint = '<joint name="joint2" type="revolute">'
    before, after = PUMA.read_text().split(joint)
    path.write_text(before + joint + re.sub(r'rpy="[^"]*"', 'rpy="90 0 0"', after, count=1))
    assert any("degrees?" in note for note in sy.load(path).notes)


@pytest.mark.parametrize(
    "limits",
    [
        'lower="-100" upper="100" velocity="1000"',
        'lower="-9.42" upper="9.42" velocity="52.4"',
        'lower="-10" upper="20" velocity="50"',
    ],
)
def test_many_turns_and_unknown_speeds_are_no_degrees(tmp_path, limits):
    assert not found(re.sub(r'lower=.* velocity="[^"]*"', f'{limits} effort="9"', QUADRUPED.read_text()), tmp_path)


def test_one_joint_of_many_is_no_unit(tmp_path):
    assert not found(re.sub(r'upper="[^"]*"', 'upper="170"', QUADRUPED.read_text(), count=1), tmp_path)


def test_robots_in_radians_are_not_found(tmp_path):
    for path in (PUMA, QUADRUPED, PANDA, UR5):
        assert not found(path.read_text(), tmp_path)
