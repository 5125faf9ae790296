"""Drives of joints that log commands instead of torques: how they move in simulation, and what makes them move so."""

from typing import TYPE_CHECKING

from steelyard.drives.drive import Drive, drives_of
from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.drives.arrays import DriveArrays, arrays_of, told
    from steelyard.drives.coordinates import Unknowns, unknowns
    from steelyard.drives.refinement import Refined, covariance, refine
    from steelyard.drives.rollouts import Rollout, rollout
    from steelyard.drives.simulation import Simulation, step_for
    from steelyard.drives.windows import Recorded, Windows, windows_of

# Loaded on first use: what simulates.
__getattr__ = lazy(
    __name__,
    {
        **dict.fromkeys(("DriveArrays", "arrays_of", "told"), "arrays"),
        **dict.fromkeys(("Refined", "covariance", "refine"), "refinement"),
        **dict.fromkeys(("Rollout", "rollout"), "rollouts"),
        **dict.fromkeys(("Simulation", "step_for"), "simulation"),
        **dict.fromkeys(("Unknowns", "unknowns"), "coordinates"),
        **dict.fromkeys(("Recorded", "Windows", "windows_of"), "windows"),
    },
)

__all__ = [
    "Drive",
    "DriveArrays",
    "Recorded",
    "Refined",
    "Rollout",
    "Simulation",
    "Unknowns",
    "Windows",
    "arrays_of",
    "covariance",
    "drives_of",
    "refine",
    "rollout",
    "step_for",
    "told",
    "unknowns",
    "windows_of",
]
