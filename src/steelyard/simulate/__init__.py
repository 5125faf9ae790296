"""Logs with known truth, from MuJoCo: robots along a joint motion, and a quadruped that walks."""

from steelyard.simulate.motion import EXACT, WalkNoise
from steelyard.simulate.trajectories import PERFECT, STEP, JointPD, Sensors, follow, record, rich_motion
from steelyard.simulate.truth import Truth
from steelyard.simulate.walking import FEET, walk

__all__ = [
    "EXACT",
    "FEET",
    "PERFECT",
    "STEP",
    "JointPD",
    "Sensors",
    "Truth",
    "WalkNoise",
    "follow",
    "record",
    "rich_motion",
    "walk",
]
