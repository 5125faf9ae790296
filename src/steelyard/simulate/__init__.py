"""Logs with known truth, from MuJoCo: robots along a joint motion, and a quadruped that walks."""

from steelyard.simulate.trajectories import (
    PERFECT,
    STEP,
    JointPD,
    Recording,
    Sensors,
    Trajectory,
    follow,
    record,
    rich_motion,
)
from steelyard.simulate.walking import FEET, Walk, WalkNoise, walk

__all__ = [
    "FEET",
    "PERFECT",
    "STEP",
    "JointPD",
    "Recording",
    "Sensors",
    "Trajectory",
    "Walk",
    "WalkNoise",
    "follow",
    "record",
    "rich_motion",
    "walk",
]
