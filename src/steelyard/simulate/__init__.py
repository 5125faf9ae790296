"""Logs with known truth, from MuJoCo: robots along a joint motion, and a quadruped that walks."""

from steelyard.simulate.trajectories import PERFECT, STEP, JointPD, Sensors, follow, record, rich_motion
from steelyard.simulate.walking import FEET, walk

__all__ = [
    "FEET",
    "PERFECT",
    "STEP",
    "JointPD",
    "Sensors",
    "follow",
    "record",
    "rich_motion",
    "walk",
]
