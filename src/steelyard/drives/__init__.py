"""Drives of joints that log commands instead of torques: how they move in simulation, and what makes them move so."""

from steelyard.drives.parameters import Drives
from steelyard.drives.refinement import Refined, covariance, refine
from steelyard.drives.rollout import Rollout, rollout
from steelyard.drives.simulation import Simulation, step_for
from steelyard.drives.unknowns import Unknowns, unknowns
from steelyard.drives.windows import Recorded, Windows, windows_of

__all__ = [
    "Drives",
    "Recorded",
    "Refined",
    "Rollout",
    "Simulation",
    "Unknowns",
    "Windows",
    "covariance",
    "refine",
    "rollout",
    "step_for",
    "unknowns",
    "windows_of",
]
