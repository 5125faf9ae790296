"""Tensors about the origins of all links are found without geometry, and repaired exactly."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from robots import EXAMPLE_ROBOTS
from steelyard.check.catalog import selected
from steelyard.check.inertial_repair import repair_inertials, with_inertials
from steelyard.check.shaped_inertials import about_origins
from steelyard.model.formats import read_sketch

WRONG = ("panda_description/urdf/panda.urdf", "z1_description/urdf/z1.urdf", "xarm_description/urdf/xarm7.urdf")
RIGHT = (*WRONG, "laikago_description/urdf/laikago.urdf", "romeo_description/urdf/romeo.urdf")


def shifted(inertial):
    """The inertial with its tensor about the part's origin."""
    c, R = inertial.com, inertial.rotation
    about = inertial.tensor_in_part + inertial.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return replace(inertial, tensor=R.T @ about @ R)


@pytest.mark.parametrize("name", WRONG)
def test_found_and_repaired(name):
    right = read_sketch(EXAMPLE_ROBOTS / name, meshes=False)
    wrong = with_inertials(right, {i: shifted(each) for i, _, each in right.stated() if each.usable})
    repaired, changes = repair_inertials(wrong, selected(("SY305",)), lambda finding: True)
    assert len(changes) >= 5 and not about_origins(repaired)
    for index, change in changes.items():
        before = right.parts[index].inertial.tensor_in_part
        np.testing.assert_allclose(change.after.tensor_in_part, before, atol=1e-12)


def test_two_links_are_enough_where_their_geometry_agrees():
    """The UR5 has its other centres of mass in their joints, where nothing moves."""
    right = read_sketch(EXAMPLE_ROBOTS / "ur_description/urdf/ur5_robot.urdf")
    wrong = with_inertials(right, {i: shifted(each) for i, _, each in right.stated() if each.usable})
    moved = about_origins(wrong)
    assert {right.parts[i].name for i in moved} == {"upper_arm_link", "forearm_link"}
    for index, tensor in moved.items():
        np.testing.assert_allclose(tensor, right.parts[index].inertial.tensor_in_part, atol=1e-12)
    assert not about_origins(right)


def test_links_whose_geometry_agrees_as_they_are_speak_against_it():
    """All links of the PUMA 560 have their origins near their centres of mass, and shapes like their tensors."""
    near = read_sketch(Path(str(files("steelyard.model") / "data" / "puma560.urdf")))
    bare = replace(near, parts=tuple(replace(part, shapes=()) for part in near.parts))
    assert about_origins(bare) and not about_origins(near)


def test_no_robot_is_taken_for_one():
    assert not [name for name in RIGHT if about_origins(read_sketch(EXAMPLE_ROBOTS / name, meshes=False))]
