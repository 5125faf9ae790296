"""Explanations frozen as text; each sentence was checked by hand against the tables and the geometry of the robot."""

import numpy as np
import pytest

from robots import urdf
from steelyard.errors import OptionError
from steelyard.identifiable import identifiability
from steelyard.model import library, load

pytestmark = pytest.mark.claim("identifiability.words", "explanations in words, checked by hand")


def lines(text):
    return text.splitlines()


def test_leg_abad():
    assert lines(identifiability(library.cheetah3_leg()).explain("abad_link")) == [
        "abad_link can only move in 1 of 6 directions; its weight acts along 2 more.",
        "Identifiable: hz.",
        "Identifiable only in combination: hy and Ixx. The combinations are",
        "  abad_link.hy + y_hip thigh.m - thigh.hy + y_hip shank.m - shank.hy",
        (
            "  abad_link.Ixx + y_hip^2 thigh.m - 2 y_hip thigh.hy + thigh.Izz + y_hip^2 shank.m - 2 y_hip "
            "shank.hy + shank.Izz"
        ),
        ("Not identifiable: m, hx, Ixy, Iyy, Ixz, Iyz and Izz have no effect on anything measured, in any motion."),
        (
            "Why not more: inertia can pass between abad_link and the ground in 7 ways that nothing measured "
            "shows; 3 come with joint 'abad' itself, 4 with what this experiment leaves out."
        ),
        "What would reveal more:",
        (
            "  letting the base move freely with its wrench measured: Ixy, Ixz and Iyz alone and m, hx, "
            "Iyy and Izz in combination."
        ),
        "  a wrench sensor under the robot: hx, Ixy and Ixz alone and m in combination.",
        "  a wrench sensor in front of abad_link: hx, Ixy and Ixz alone and m in combination.",
    ]


def test_leg_thigh():
    assert lines(identifiability(library.cheetah3_leg()).explain("thigh")) == [
        "thigh can only move in 3 of 6 directions; its weight acts along 3 more.",
        "Identifiable: hx, Ixy and Ixz.",
        "Identifiable only in combination: m, hy, hz, Ixx, Iyy, Iyz and Izz. The combinations are",
        "  thigh.hz + z_knee shank.m",
        "  thigh.Ixx - thigh.Izz + z_knee^2 shank.m",
        "  thigh.Iyy + z_knee^2 shank.m",
        "  thigh.Iyz - z_knee shank.hy",
        "  abad_link.hy + y_hip thigh.m - thigh.hy + y_hip shank.m - shank.hy",
        (
            "  abad_link.Ixx + y_hip^2 thigh.m - 2 y_hip thigh.hy + thigh.Izz + y_hip^2 shank.m - 2 y_hip "
            "shank.hy + shank.Izz"
        ),
        (
            "Why not more: inertia can pass between thigh and abad_link in 3 ways that nothing measured shows; "
            "the axis of joint 'hip' alone allows 3."
        ),
        "What would reveal more:",
        "  letting the base move freely with its wrench measured: 1 more combination of the same parameters.",
        "  a wrench sensor under the robot: 1 more combination of the same parameters.",
        "  a wrench sensor in front of thigh: 1 more combination of the same parameters.",
    ]


def test_base_of_given_twists():
    """x, y and the turn about z are what "planar" stands for; only "planar" stays horizontal under a tilted robot."""
    leg = library.cheetah3_leg(floating=True)
    named, given = (identifiability(leg, base=base).explain("torso") for base in ("planar", np.eye(6)[:, [0, 1, 5]]))
    assert "letting the base move freely" in named
    assert named.startswith(given)
    assert "mounting the robot tilted" in named.removeprefix(given)


def test_leg_shank_free():
    assert lines(identifiability(library.cheetah3_leg(floating=True)).explain("shank")) == [
        "shank can move in every direction.",
        "Identifiable: hx, hz, Ixy, Iyy, Ixz and Iyz.",
        "Identifiable only in combination: m, hy, Ixx and Izz. The combinations are",
        "  shank.Ixx - shank.Izz",
        "  thigh.hz + z_knee shank.m",
        "  thigh.Ixx - thigh.Izz + z_knee^2 shank.m",
        "  thigh.Iyy + z_knee^2 shank.m",
        "  thigh.Iyz - z_knee shank.hy",
        "  abad_link.hy + y_hip thigh.m - thigh.hy + y_hip shank.m - shank.hy",
        (
            "  abad_link.Ixx + y_hip^2 thigh.m - 2 y_hip thigh.hy + thigh.Izz + y_hip^2 shank.m - 2 y_hip "
            "shank.hy + shank.Izz"
        ),
        (
            "  abad_link.Iyy - abad_link.Izz - y_hip^2 thigh.m + 2 y_hip thigh.hy - thigh.Izz - y_hip^2 shank.m "
            "+ 2 y_hip shank.hy - shank.Izz"
        ),
        "  and 7 more.",
        (
            "Why not more: inertia can pass between shank and thigh in 3 ways that nothing measured shows; the "
            "axis of joint 'knee' alone allows 3."
        ),
        "What would reveal more:",
        "  a wrench sensor in front of shank: m, hy, Ixx and Izz alone.",
    ]


def test_panda_link2():
    assert lines(identifiability(load(urdf("panda"))).explain("panda_link2")) == [
        "panda_link2 can only move in 3 of 6 directions; its weight acts along 2 more.",
        "Identifiable: hx, Ixy, Ixz and Iyz.",
        "Identifiable only in combination: hy, Ixx, Iyy and Izz. The combinations are",
        (
            "  panda_link2.hy + y_panda_joint3 panda_link3.m - panda_link3.hz + y_panda_joint3 panda_link4.m + "
            "y_panda_joint3 panda_link5.m + y_panda_joint3 panda_link6.m + y_panda_joint3 panda_link7.m"
        ),
        (
            "  panda_link2.Ixx - panda_link2.Iyy + y_panda_joint3^2 panda_link3.m - 2 y_panda_joint3 "
            "panda_link3.hz + panda_link3.Iyy + (x_panda_joint4^2 + y_panda_joint3^2) panda_link4.m + "
            "(x_panda_joint5^2 + y_panda_joint3^2) panda_link5.m + (x_panda_joint5^2 + y_panda_joint3^2) "
            "panda_link6.m + (x_panda_joint5^2 + y_panda_joint3^2) panda_link7.m"
        ),
        (
            "  panda_link2.Izz + y_panda_joint3^2 panda_link3.m - 2 y_panda_joint3 panda_link3.hz + "
            "panda_link3.Iyy + (x_panda_joint4^2 + y_panda_joint3^2) panda_link4.m + (x_panda_joint5^2 + "
            "y_panda_joint3^2) panda_link5.m + (x_panda_joint5^2 + y_panda_joint3^2) panda_link6.m + "
            "(x_panda_joint5^2 + y_panda_joint3^2) panda_link7.m"
        ),
        "  panda_link1.Izz + panda_link2.Iyy",
        "Not identifiable: m and hz have no effect on anything measured, in any motion.",
        (
            "Why not more: inertia can pass between panda_link2 and panda_link1 in 3 ways that nothing measured "
            "shows; the axis of joint 'panda_joint2' alone allows 3."
        ),
        "What would reveal more:",
        "  a wrench sensor in front of panda_link2: hz and Iyy alone and m in combination.",
        "  letting the base move freely with its wrench measured: m and hz in combination.",
        "  a wrench sensor under the robot: m and hz in combination.",
        "  mounting the robot tilted: hz in combination.",
    ]


def test_humanoid_foot():
    assert lines(identifiability(load(urdf("talos_reduced"), floating=True)).explain("leg_left_6_link")) == [
        "leg_left_6_link can move in every direction.",
        "Identifiable: hy, hz, Ixx, Ixy, Ixz and Iyz.",
        "Identifiable only in combination: m, hx, Iyy and Izz. The combinations are",
        "  leg_left_6_link.Iyy - leg_left_6_link.Izz",
        "  leg_left_5_link.hx + leg_left_6_link.hx",
        "  leg_left_5_link.Ixx - leg_left_5_link.Izz - leg_left_6_link.Izz",
        "  leg_left_5_link.Iyy + leg_left_6_link.Izz",
        "  leg_left_4_link.hz + z_leg_left_5_joint leg_left_5_link.m + z_leg_left_5_joint leg_left_6_link.m",
        (
            "  leg_left_4_link.Ixx - leg_left_4_link.Izz + z_leg_left_5_joint^2 leg_left_5_link.m + "
            "z_leg_left_5_joint^2 leg_left_6_link.m"
        ),
        ("  leg_left_4_link.Iyy + z_leg_left_5_joint^2 leg_left_5_link.m + z_leg_left_5_joint^2 leg_left_6_link.m"),
        (
            "  leg_left_3_link.hz + z_leg_left_4_joint leg_left_4_link.m + z_leg_left_4_joint leg_left_5_link.m "
            "+ z_leg_left_4_joint leg_left_6_link.m"
        ),
        "  and 16 more.",
        (
            "Why not more: inertia can pass between leg_left_6_link and leg_left_5_link in 3 ways that nothing "
            "measured shows; the axis of joint 'leg_left_6_joint' alone allows 3."
        ),
        "What would reveal more:",
        "  a wrench sensor in front of leg_left_6_link: m, hx, Iyy and Izz alone.",
    ]


def test_humanoid_held():
    assert lines(
        identifiability(load(urdf("talos_reduced"), floating=True), base="fixed").explain("leg_left_1_link")
    ) == [
        "leg_left_1_link can only move in 1 of 6 directions; its weight acts along 1 more.",
        "No parameter is identifiable alone.",
        "Identifiable only in combination: Izz. The combinations are",
        (
            "  leg_left_1_link.Izz + leg_left_2_link.Izz + leg_left_3_link.Izz + leg_left_4_link.Izz + "
            "leg_left_5_link.Izz + leg_left_6_link.Izz"
        ),
        (
            "Not identifiable: m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz and Iyz have no effect on anything measured, in "
            "any motion."
        ),
        (
            "Why not more: inertia can pass between leg_left_1_link and base_link in 9 ways that nothing "
            "measured shows; 3 come with joint 'leg_left_1_joint' itself, 6 with what this experiment leaves out."
        ),
        "What would reveal more:",
        (
            "  letting the base move freely with its wrench measured: hy, Ixy, Ixz and Iyz alone and m, "
            "hx, hz, Ixx and Iyy in combination."
        ),
        "  a wrench sensor under the robot: hy, Ixz and Iyz alone and m and hx in combination.",
        "  a wrench sensor in front of leg_left_1_link: hy, Ixz and Iyz alone and m and hx in combination.",
        "  mounting the robot tilted: hy alone and hx in combination.",
    ]


def test_puma_static():
    assert lines(identifiability(library.puma560(), locked=("joint1",), motion="static").explain("link2")) == [
        "link2: the robot stands still, so only its weight shows.",
        "Identifiable: hy.",
        "Identifiable only in combination: hx. The combinations are",
        "  link2.hx + x_joint3 link3.m + x_joint3 link4.m + x_joint3 link5.m + x_joint3 link6.m",
        "Not identifiable: m, hz, Ixx, Ixy, Iyy, Ixz, Iyz and Izz have no effect on anything measured, in any motion.",
        (
            "Why not more: inertia can pass between link2 and link1 in 8 ways that nothing measured shows; 3 "
            "come with joint 'joint2' itself, 5 with what this experiment leaves out."
        ),
        "What would reveal more:",
        "  letting the base move freely with its wrench measured: m and hz in combination.",
        "  a wrench sensor under the robot: m and hz in combination.",
        "  a wrench sensor in front of link2: m and hz in combination.",
        "  moving instead of standing still: Izz in combination.",
    ]


def test_scara_some():
    assert lines(identifiability(library.scara(), sensors=["joint1", "joint3"]).explain("link3")) == [
        "link3: found numerically, from the rank of a random regression.",
        "No parameter is identifiable alone.",
        "Identifiable only in combination: m, hx, hy and Izz. The combinations are",
        "  link3.m + link4.m",
        "  link2.hx + link3.hx",
        "  link2.hy + link3.hy",
        "  link2.Izz + 2 x_joint3 link3.hx + link3.Izz",
        "Not identifiable: hz, Ixx, Ixy, Iyy, Ixz and Iyz have no effect on anything measured, in any motion.",
        "What would reveal more:",
        (
            "  letting the base move freely with its wrench measured: hx and hy alone and hz, Ixx, Ixy, "
            "Iyy, Ixz and Iyz in combination."
        ),
        "  a wrench sensor in front of link3: hx, hy, Ixz, Iyz and Izz alone and hz in combination.",
        "  a wrench sensor under the robot: hx and hy alone and hz, Ixz and Iyz in combination.",
    ]


def test_changes_are_found_by_doing_them():
    """What the text promises of a wrench sensor is what the analysis with that sensor says."""
    robot = library.cheetah3_leg()
    before, after = identifiability(robot), identifiability(robot, sensors=("joints", "base"))
    alone = [
        n for n, s in zip(after.names, after.status, strict=True) if s.name == "ALONE" and n.startswith("abad_link")
    ]
    assert [n.split(".")[1] for n in alone] == ["hx", "hz", "Ixy", "Ixz"]
    assert "a wrench sensor under the robot: hx, Ixy and Ixz alone" in before.explain("abad_link")


def test_unknown_link():
    with pytest.raises(OptionError, match="thigh"):
        identifiability(library.cheetah3_leg()).explain("toe")
