"""Robots of the literature, ready to use: kinematics, inertias, friction and motor rotors with their sources stated.

The files lie in `model/data`; docs/papers.md lists them. All are SI, z up, and stand still at their base unless
`floating=True`.
"""

from importlib.resources import files
from pathlib import Path

import numpy as np

from steelyard.model.formats import load
from steelyard.model.robot import Robot
from steelyard.model.side import read_side, side_path


def puma560(*, floating: bool | None = None, gravity=None) -> Robot:
    """Unimation PUMA 560, six revolute joints (Armstrong, Khatib, Burdick 1986). Options as in `load`."""
    return _bundled("puma560", floating, gravity)


def scara(*, floating: bool | None = None, gravity=None) -> Robot:
    """A SCARA, RRPR, every axis vertical (kinematics of paper C, Table 4; masses our own). Options as in `load`."""
    return _bundled("scara", floating, gravity)


def cheetah3_leg(*, floating: bool | None = None, gravity=None) -> Robot:
    """Front left leg of the MIT Cheetah 3: ab/ad, hip, knee (Wensing, Kim, Slotine 2018; Bledt et al. 2018).

    floating: None or False fixes the torso, True lets it move freely. gravity: as in `load`.
    """
    return _bundled("cheetah3_leg", floating, gravity)


def cheetah3(*, floating: bool | None = None, gravity=None) -> Robot:
    """The MIT Cheetah 3 with its twelve rotors (paper C, Table 6); `sy.simulate.walk` drives it.

    floating: None or True lets the torso move freely, False fixes it. gravity: as in `load`.
    """
    return _bundled("cheetah3", floating is not False, gravity)


def five_bar(*, floating: bool | None = None, gravity=None) -> Robot:
    """A spherical five-bar linkage with two motors and one closed loop (structure of paper D, section 3; masses
    ours)."""
    return _bundled("five_bar", floating, gravity)


def four_bar_leg(*, floating: bool | None = None, gravity=None) -> Robot:
    """A planar leg whose knee is driven through a four-bar linkage (our own). Options as in `load`."""
    return _bundled("four_bar_leg", floating, gravity)


def palletiser(*, floating: bool | None = None, gravity=None) -> Robot:
    """A palletising arm of three loops: a driving and two levelling parallelograms (our own). Options as in `load`."""
    return _bundled("palletiser", floating, gravity)


def quadruped(*, floating: bool | None = None, gravity=None) -> Robot:
    """A quadruped of the size of a Go2, of boxes and rods (our own); `sy.simulate.walk` drives it.

    floating: None or True lets the trunk move freely, False fixes it. gravity: as in `load`.
    """
    robot = _bundled("quadruped", floating is not False, gravity)
    return robot.with_joint_properties(armature=np.r_[np.zeros(robot.nv - 12), np.full(12, 0.01)])  # kg m^2, of motors


def _bundled(name: str, floating, gravity) -> Robot:
    path = Path(str(files("steelyard.model") / "data" / f"{name}.urdf"))
    robot = load(path, floating=floating, gravity=gravity)
    return read_side(side_path(path), robot) if side_path(path).is_file() else robot
